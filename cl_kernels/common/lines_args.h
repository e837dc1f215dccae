/* Arguments of kernels that process up to six tensors of one shape element by element, along the
 * lines of the last dimension. The last view may be the linear element index instead of a
 * tensor. */
#ifndef TENON_COMMON_LINES_ARGS_H
#define TENON_COMMON_LINES_ARGS_H

#include "common/args.h"

#define TENON_LINES_VIEWS   6
#define TENON_LINES_SCALARS 8

typedef struct lines_args {
    tenon_i64 offset[TENON_LINES_VIEWS];    /* elements */
    tenon_i64 stride[TENON_LINES_VIEWS][8]; /* elements */
    tenon_i64 shape[8];
    tenon_i64 length;                      /* of a line: the last entry of the shape */
    tenon_i64 along[TENON_LINES_VIEWS];    /* strides along a line: the last strides */
    tenon_i64 scalar[TENON_LINES_SCALARS]; /* bits of an acc_t (f32 in the low 32 bits), or of an
                                              integer */
    tenon_i64 pieces;                      /* pieces per line */
    tenon_i64 chunk;                       /* elements of a piece */
    tenon_i64 count;                       /* pieces of all lines */
    tenon_i64 items;                       /* work-items that have work, divided by `parts` */
    tenon_i64 each;                        /* adjacent pieces per work-item, if step is 1 */
    tenon_i64 step;  /* from one piece of a work-item to its next; 1: the pieces are adjacent */
    tenon_i32 parts; /* work-items that share a piece */
    tenon_i32 rank;  /* at least 1 */
    tenon_i32 flags; /* specific to the operation */
    tenon_i32 unit;  /* elements that a work-item on a GPU handles at once (common/stream.clh) */
} lines_args;

#endif

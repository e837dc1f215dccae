/* Arguments of kernels that go over up to six tensors of one shape, element by element, along the
 * lines of the last dimension. The last of them may be no tensor but the elements' numbers. */
#ifndef TENON_COMMON_LINES_ARGS_H
#define TENON_COMMON_LINES_ARGS_H

#include "common/args.h"

#define TENON_LINES_VIEWS   6
#define TENON_LINES_SCALARS 8

typedef struct lines_args {
    tenon_i64 offset[TENON_LINES_VIEWS];    /* elements */
    tenon_i64 stride[TENON_LINES_VIEWS][8]; /* elements */
    tenon_i64 shape[8];
    tenon_i64 length;                      /* of a line: the last size */
    tenon_i64 along[TENON_LINES_VIEWS];    /* a line: the last strides */
    tenon_i64 scalar[TENON_LINES_SCALARS]; /* bits of an acc_t (f32 in the low 32 bits), or of an
                                              integer */
    tenon_i64 pieces;                      /* into which a line is cut */
    tenon_i64 chunk;                       /* elements of a piece */
    tenon_i64 count;                       /* pieces of all lines */
    tenon_i64 items;                       /* work-items that have work, but for `parts` */
    tenon_i64 each;                        /* pieces of a work-item, where they are neighbours */
    tenon_i64 step;  /* from one piece of a work-item to its next; 1: neighbours */
    tenon_i32 parts; /* work-items that share a piece */
    tenon_i32 rank;  /* at least 1 */
    tenon_i32 flags; /* of the operation's */
    tenon_i32 unit;  /* elements that a GPU's work-item takes at once (common/stream.clh) */
} lines_args;

#endif

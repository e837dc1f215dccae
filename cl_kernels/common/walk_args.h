/* Arguments of kernels that process one index space with up to five operands, element by
 * element. */
#ifndef TENON_COMMON_WALK_ARGS_H
#define TENON_COMMON_WALK_ARGS_H

#include "common/args.h"

#define TENON_WALK_OPERANDS 5

typedef struct walk_args {
    tenon_i64 offset[TENON_WALK_OPERANDS]; /* elements */
    tenon_i64 items;                       /* work-items that have work */
    tenon_i64 pieces;                      /* pieces per row */
    tenon_i64 chunk;                       /* elements per piece */
    tenon_i64 parts;                       /* work-items that share a piece (common/stream.clh) */
    tenon_i64 rows;                        /* product of all sizes but the last */
    tenon_i64 rows_each;                   /* rows per work-item */
    tenon_i64 length;                      /* of a row: the last entry of the shape */
    tenon_i64 step[TENON_WALK_OPERANDS];   /* along a row: the last strides */
    tenon_i64 shape[8];
    tenon_i64 stride[TENON_WALK_OPERANDS][8]; /* elements */
    tenon_i32 rank;                           /* at least 1 */
    tenon_i32 unit; /* elements that a work-item on a GPU handles at once */
} walk_args;

#endif

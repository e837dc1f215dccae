/* Arguments of the compaction kernels. Offsets and strides are in elements. */
#ifndef TENON_COMPACT_ARGS_H
#define TENON_COMPACT_ARGS_H

#include "common/args.h"

/* Operands. The first two have the index space of the arguments. */
enum { COMPACT_MASK, COMPACT_X, COMPACT_Y, COMPACT_INDICES, COMPACT_COUNT, COMPACT_OPERANDS };
#define COMPACT_INPUTS 2

/* Flags: operands that are present; indices are coordinates. */
#define COMPACT_HAS_X       1
#define COMPACT_HAS_INDICES 2
#define COMPACT_COORDINATES 4

typedef struct compact_args {
    tenon_i64 offset[COMPACT_OPERANDS];
    tenon_i64 shape[8]; /* of the mask and x, in row-major order, merged */
    tenon_i64 stride[COMPACT_INPUTS][8];
    tenon_i64 rank;            /* at least 1 */
    tenon_i64 sizes[8];        /* of the mask's own dimensions, for coordinates */
    tenon_i64 dimensions;      /* their number */
    tenon_i64 sign;            /* bits that do not distinguish an element from zero */
    tenon_i64 step[2];         /* strides of y and of the indices */
    tenon_i64 coordinate_step; /* stride between the coordinates of an element */
    tenon_i64 capacity;
    tenon_i64 elements; /* of the mask */
    tenon_i64 length;   /* elements per block */
    tenon_i64 blocks;
    tenon_i64 workspace; /* start of the counts of the blocks, in 32-bit integers */
    tenon_i32 flags;
    tenon_i32 size; /* bytes of an element of x */
} compact_args;

#endif

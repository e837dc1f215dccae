/* Arguments of the gather kernels. Offsets and strides are in elements. */
#ifndef TENON_GATHER_ARGS_H
#define TENON_GATHER_ARGS_H

#include "common/walk_args.h"

typedef struct gather_args {
    walk_args walk;    /* over y: x, indices, y; absent dimensions have stride 0 */
    tenon_i64 size;    /* of x along the axis */
    tenon_i64 step;    /* stride of x along the axis */
    tenon_i64 missing; /* bits of an element whose index is out of range */
} gather_args;

/* Layout of the indices, for kernels that process all of them by their row-major index. */
typedef struct gather_list_args {
    tenon_i64 count;
    tenon_i64 rank; /* at least 1 */
    tenon_i64 shape[8];
    tenon_i64 stride[2][8]; /* of the indices, and of the tensor with an element per index */
} gather_list_args;

/* A stable radix sort, 8 bits at a time, of pairs of a row and the position of the index that
 * selects it. Positions in the workspace count 32-bit integers from `workspace` on. */
#define GATHER_DIGITS 256
typedef struct gather_sort_args {
    tenon_i64 offset;    /* of indices */
    tenon_i64 workspace; /* start of the workspace */
    gather_list_args list;
    tenon_i64 rows;    /* of the table; also represents an index out of range */
    tenon_i64 block;   /* pairs per work-item */
    tenon_i64 blocks;  /* work-items */
    tenon_i64 from_at; /* rows, then positions: output of the previous pass */
    tenon_i64 to_at;   /* rows, then positions: output of this pass */
    tenon_i64 counts_at;
    tenon_i64 totals_at;
    tenon_i32 shift; /* of the digit; 0 in the first pass, which reads the indices */
    tenon_i32 reserved;
} gather_sort_args;

typedef struct gather_backward_args {
    tenon_i64 dy_offset, index_offset, dx_offset;
    tenon_i64 workspace;
    gather_list_args list;  /* its second strides are those of dy */
    tenon_i64 sorted_at;    /* in the workspace: rows, then positions */
    tenon_i64 rows, step;   /* of dx along the axis: size and stride */
    tenon_i64 rows_each;    /* per work-item, for one piece of one line */
    tenon_i64 lines;        /* product of all sizes but the last */
    tenon_i64 pieces;       /* per line */
    tenon_i64 chunk;        /* elements per piece */
    tenon_i64 items;        /* work-items that have work */
    tenon_i64 shape[8];     /* of dx without the axis */
    tenon_i64 stride[2][8]; /* of dy and dx */
    tenon_i64 rank;         /* at least 1 */
} gather_backward_args;

#endif

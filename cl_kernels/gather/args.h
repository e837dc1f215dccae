/* Arguments of the gather kernels. Offsets and strides are in elements. */
#ifndef TENON_GATHER_ARGS_H
#define TENON_GATHER_ARGS_H

#include "common/walk_args.h"

typedef struct gather_args {
    walk_args walk;    /* over y: x, indices, y; those that lack a dimension have stride 0 there */
    tenon_i64 size;    /* of x along the axis */
    tenon_i64 step;    /* the stride of x along the axis */
    tenon_i64 missing; /* bits of an element whose index is out of range */
} gather_args;

/* Where the indices lie, for kernels that go through all of them by their row-major number. */
typedef struct gather_list_args {
    tenon_i64 count;
    tenon_i64 rank; /* at least 1 */
    tenon_i64 shape[8];
    tenon_i64 stride[2][8]; /* of indices, and of what has an element for each of them */
} gather_list_args;

/* A stable sort by 8 bits at a time, of pairs of a row's number and the number of the index that
 * names it. Places in the workspace count 32-bit integers from `workspace` on. */
#define GATHER_DIGITS 256
typedef struct gather_sort_args {
    tenon_i64 offset;    /* of indices */
    tenon_i64 workspace; /* of it all */
    gather_list_args list;
    tenon_i64 rows;    /* of the table; stands for an index out of range */
    tenon_i64 block;   /* pairs of a work-item */
    tenon_i64 blocks;  /* work-items */
    tenon_i64 from_at; /* rows, then numbers, as the last pass left them */
    tenon_i64 to_at;   /* as this one leaves them */
    tenon_i64 counts_at;
    tenon_i64 totals_at;
    tenon_i32 shift; /* of the digit; 0 in the first pass, which reads the indices */
    tenon_i32 reserved;
} gather_sort_args;

typedef struct gather_backward_args {
    tenon_i64 dy_offset, index_offset, dx_offset;
    tenon_i64 workspace;
    gather_list_args list;  /* its second strides are those of dy */
    tenon_i64 sorted_at;    /* in the workspace: rows, then numbers */
    tenon_i64 rows, step;   /* of dx along the axis: size and stride */
    tenon_i64 rows_each;    /* that a work-item does, for one piece of one line */
    tenon_i64 lines;        /* product of all sizes but the last */
    tenon_i64 pieces;       /* into which a line is cut */
    tenon_i64 chunk;        /* elements of a piece */
    tenon_i64 items;        /* work-items that have work */
    tenon_i64 shape[8];     /* of dx without the axis */
    tenon_i64 stride[2][8]; /* of dy and dx */
    tenon_i64 rank;         /* at least 1 */
} gather_backward_args;

#endif

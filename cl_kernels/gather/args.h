/* Arguments of the gather and scatter kernels. Offsets and strides are in elements. */
#ifndef TENON_GATHER_ARGS_H
#define TENON_GATHER_ARGS_H

#include "common/walk_args.h"

/* Values of tenon_scatter_op. */
#define SCATTER_SET      0
#define SCATTER_ADD      1
#define SCATTER_MULTIPLY 2
#define SCATTER_MIN      3
#define SCATTER_MAX      4

/* A tuple of `count` coordinates, which indexes that many dimensions of the table; most often one.
 * The tuple selects the sum of weight[k] times coordinate k. */
typedef struct gather_tuple_args {
    tenon_i64 size[8];   /* of the dimension that coordinate k indexes */
    tenon_i64 weight[8]; /* a stride of the table, or the number of keys per entry */
    tenon_i64 step;      /* stride between the coordinates in the indices */
    tenon_i32 count;
    tenon_i32 from_end; /* 1: negative coordinates count from the end */
} gather_tuple_args;

typedef struct gather_args {
    walk_args walk; /* over y: x, indices, y; absent dimensions have stride 0 */
    gather_tuple_args tuple;
    tenon_i64 missing; /* bits of an element whose index is out of range */
} gather_args;

typedef struct gather_zero_args {
    walk_args walk; /* over y */
} gather_zero_args;

/* The tuples of a scatter in row-major order. Each tuple has a key, the number of the part of the
 * table that it updates: the sum of its own selection (gather_tuple_args) and of its key strides,
 * which are 0 except for batches. */
#define GATHER_LIST_INDICES 0
#define GATHER_LIST_UPDATES 1
#define GATHER_LIST_KEYS    2
typedef struct gather_list_args {
    tenon_i64 count;
    tenon_i64 rank; /* at least 1 */
    tenon_i64 shape[8];
    tenon_i64 stride[3][8]; /* of the indices, the updates and the keys */
} gather_list_args;

/* A stable radix sort, 8 bits at a time, of pairs of a key and the position of its tuple. Positions
 * in the workspace count 32-bit integers from `workspace` on. */
#define GATHER_DIGITS 256
typedef struct gather_sort_args {
    tenon_i64 offset;    /* of indices */
    tenon_i64 workspace; /* start of the workspace */
    gather_list_args list;
    gather_tuple_args tuple;
    tenon_i64 keys;    /* number of keys; also represents a tuple that is out of range */
    tenon_i64 block;   /* pairs per work-item */
    tenon_i64 blocks;  /* work-items */
    tenon_i64 from_at; /* keys, then positions: output of the previous pass */
    tenon_i64 to_at;   /* keys, then positions: output of this pass */
    tenon_i64 counts_at;
    tenon_i64 totals_at;
    tenon_i32 shift; /* of the digit; 0 in the first pass, which reads the indices */
    tenon_i32 reserved;
} gather_sort_args;

/* A scatter of lines of updates. Lines consist of the last dimension of the columns: the dimensions
 * in which neighbors share a tuple. */
typedef struct scatter_args {
    tenon_i64 update_offset, index_offset, y_offset;
    tenon_i64 workspace;
    gather_list_args list;
    gather_tuple_args tuple;
    tenon_i64 sorted_at;     /* in the workspace: keys, then positions */
    tenon_i64 keys;          /* number of keys */
    tenon_i64 key_rank;      /* at least 1 */
    tenon_i64 key_shape[8];  /* dimensions of y that keys number in row-major order */
    tenon_i64 key_stride[8]; /* of y */
    tenon_i64 rank;          /* of the columns, at least 1 */
    tenon_i64 shape[8];      /* of the columns */
    tenon_i64 stride[2][8];  /* of the updates and y */
    tenon_i64 lines;         /* product of the sizes of the columns except the last */
    tenon_i64 pieces;        /* per line */
    tenon_i64 chunk;         /* elements per piece */
    tenon_i64 each;          /* keys, or sorted pairs, per work-item, for one piece of one line */
    tenon_i64 items;         /* work-items that have work */
    tenon_i64 sign;          /* bits of an integer's sign, or 0 */
    tenon_i32 op;
    tenon_i32 reserved;
} scatter_args;

/* A scatter in which each work-item applies all tuples, in order, to its part of y. */
typedef struct scatter_ordered_args {
    walk_args walk;  /* over batches and columns: y, updates, indices */
    tenon_i64 count; /* of the other dimensions of the tuples */
    tenon_i64 shape[8];
    tenon_i64 stride[2][8]; /* of the indices and the updates */
    gather_tuple_args tuple;
    tenon_i64 range; /* a work-item applies tuples that select `range` consecutive offsets */
    tenon_i64 sign;  /* bits of an integer's sign, or 0 */
    tenon_i32 op;
    tenon_i32 rank; /* of the other dimensions, at least 1 */
} scatter_ordered_args;

#endif

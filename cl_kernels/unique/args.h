/* Arguments of the kernels of tenon_unique. Offsets and strides are in elements. */
#ifndef TENON_UNIQUE_ARGS_H
#define TENON_UNIQUE_ARGS_H

#include "common/args.h"

enum {
    UNIQUE_X,
    UNIQUE_Y,
    UNIQUE_FIRST,
    UNIQUE_INVERSE,
    UNIQUE_COUNTS,
    UNIQUE_COUNT,
    UNIQUE_OPERANDS
};

/* Flags: operands that are present; equal elements are merged only if they are neighbors. */
#define UNIQUE_HAS_Y       1
#define UNIQUE_HAS_FIRST   2
#define UNIQUE_HAS_INVERSE 4
#define UNIQUE_HAS_COUNTS  8
#define UNIQUE_RUNS        16
/* The line of keys is sorted, and their indices in x are in the workspace. */
#define UNIQUE_HAS_ORDER 32

/* The index space of x and the inverse. */
enum { UNIQUE_SPACE_X, UNIQUE_SPACE_INVERSE, UNIQUE_VIEWS };

typedef struct unique_args {
    tenon_i64 offset[UNIQUE_OPERANDS];
    tenon_i64 rank;                    /* at least 1 */
    tenon_i64 shape[8];                /* of x in row-major order, merged */
    tenon_i64 stride[UNIQUE_VIEWS][8]; /* of x and the inverse */
    tenon_i64 y_step, first_step, counts_step;
    tenon_i64 sign, negative_zero, flip, infinity, toggle; /* key_rule of sort/keys.clh */
    tenon_i64 capacity;
    tenon_i64 elements;
    tenon_i64 length; /* elements per block */
    tenon_i64 blocks;
    tenon_i64 keys_at, keys_step;  /* the line of elements: x itself, or in the workspace */
    tenon_i64 order_at, blocks_at; /* in the workspace, in 32-bit integers */
    tenon_i32 flags;
    tenon_i32 reserved;
} unique_args;

#endif

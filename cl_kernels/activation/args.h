/* Arguments of the activation kernels. */
#ifndef TENON_ACTIVATION_ARGS_H
#define TENON_ACTIVATION_ARGS_H

#include "common/args.h"

/* The views are x, y; or x, dy, dx. */
typedef struct elementwise_args {
    tenon_i64 offset[3];   /* elements */
    tenon_i64 alpha, beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 elements;
    tenon_i64 chunk; /* elements per work-item, or per piece that `parts` work-items share */
    tenon_i64 parts;
    tenon_i64 shape[8];
    tenon_i64 stride[3][8]; /* elements */
    tenon_i32 rank;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 unit; /* elements that a work-item on a GPU handles at once (common/stream.clh) */
    tenon_i32 reserved;
} elementwise_args;

#endif

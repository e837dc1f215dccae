/* Arguments of the activation kernels. */
#ifndef TENON_ACTIVATION_ARGS_H
#define TENON_ACTIVATION_ARGS_H

#include "common/args.h"

typedef struct forward_args {
    tenon_i64 x_offset, y_offset; /* elements */
    tenon_i64 alpha, beta;        /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 elements;
    tenon_i64 chunk; /* elements of a work-item */
    tenon_i64 shape[8];
    tenon_i64 x_stride[8], y_stride[8]; /* elements */
    tenon_i32 rank;
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
} forward_args;

#endif

/* Arguments of the kernels of gated linear units: operands a, b, y; or a, b, dy, da, db. */
#ifndef TENON_GATED_ARGS_H
#define TENON_GATED_ARGS_H

#include "common/walk_args.h"

typedef struct gated_args {
    walk_args walk;
    tenon_i64 alpha, beta; /* of the activation: bits of an acc_t (f32 in the low 32 bits) */
    tenon_i32 activation;  /* run-time kind, TENON_ACT_* */
    tenon_i32 reserved;
} gated_args;

#endif

/* Arguments of elementwise/binary.cl. */
#ifndef TENON_ELEMENTWISE_ARGS_H
#define TENON_ELEMENTWISE_ARGS_H

#include "common/walk_args.h"

typedef struct elementwise_args {
    walk_args walk;
    tenon_i64 alpha, beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i32 kind;
    tenon_i32 reserved;
} elementwise_args;

#endif

/* Arguments of the kernel that updates a loss scale. */
#ifndef TENON_OPTIMIZER_LOSS_SCALE_ARGS_H
#define TENON_OPTIMIZER_LOSS_SCALE_ARGS_H

#include "common/args.h"

#define LOSS_SCALE_SCALARS 5

typedef struct loss_scale_args {
    tenon_i64 skip, state;                /* offsets, in elements */
    tenon_i64 stride;                     /* of the state, in elements */
    tenon_i64 scalar[LOSS_SCALE_SCALARS]; /* bits of floats: growth, backoff, interval, minimum,
                                             maximum */
    tenon_i64 is_byte;                    /* the type of skip is u8 instead of i32 */
} loss_scale_args;

#endif

/* Arguments of the capability trials. Each is `trial(result, args)`: work-item i sets result[i] to
 * 1 if what it tried came out right, to anything else if not. The host gives values in `args` so
 * that nothing folds at compile time. */
#ifndef TENON_CAPABILITY_ARGS_H
#define TENON_CAPABILITY_ARGS_H

#include "common/args.h"

typedef struct trial_args {
    tenon_i32 one;        /* 1 */
    tenon_i32 iterations; /* of a timed loop */
} trial_args;

#endif

/* Arguments of the capability trials. Each is `trial(result, args)`: work-item i sets result[i] to
 * TRIAL_RIGHT if what it tried came out right. The host gives values in `args` so that nothing
 * folds at compile time. */
#ifndef TENON_CAPABILITY_ARGS_H
#define TENON_CAPABILITY_ARGS_H

#include "common/args.h"

#define TRIAL_WRONG 0
#define TRIAL_RIGHT 1
#define TRIAL_TOLD  2 /* right, and the compiler says what would otherwise be measured */

typedef struct trial_args {
    tenon_i32 one;        /* 1 */
    tenon_i32 iterations; /* of a timed loop */
} trial_args;

#endif

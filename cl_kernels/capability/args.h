/* Arguments of the capability probes. Each probe is a kernel `trial(result, args)`: work-item i
 * sets result[i] to TRIAL_RIGHT if the probed operation gives the correct result. The host
 * passes values in `args` to prevent constant folding. */
#ifndef TENON_CAPABILITY_ARGS_H
#define TENON_CAPABILITY_ARGS_H

#include "common/args.h"

#define TRIAL_WRONG 0
#define TRIAL_RIGHT 1
#define TRIAL_TOLD  2 /* correct, and the compiler states what would otherwise be measured */

typedef struct trial_args {
    tenon_i32 one;        /* always 1 */
    tenon_i32 iterations; /* of a timed loop */
} trial_args;

#endif

/* Cases that are training steps. */
#ifndef BENCH_CASES_TRAINING_H
#define BENCH_CASES_TRAINING_H

#include "../bench.h"
#include "../networks/training.h"

/* Makes a case of a training step whose values and steps are listed. The case frees `training`,
 * which was allocated or begins an allocated struct. On failure the case must still be destroyed.
 */
bool bench_training_case(bench_session *session, bench_training *training, bench_case *bench);

/* Makes the case of a network that can be trained. */
bool bench_training_make(bench_session *session, uint32_t number, bench_case *bench);

#endif

/* Cases that are training steps. */
#ifndef BENCH_CASES_TRAINING_H
#define BENCH_CASES_TRAINING_H

#include "../bench.h"
#include "../networks/training.h"
#include "../shapes/shapes.h"

/* Makes a case of a training step whose values and steps are listed. The case frees `training`,
 * which was allocated or begins an allocated struct. On failure the case must still be destroyed.
 */
bool bench_training_case(bench_session *session, bench_training *training, bench_case *bench);

/* Makes the case of a training step of a network. */
bool bench_training_make(bench_session *session, const bench_network_shape *shape,
                         bench_case *bench);

#endif

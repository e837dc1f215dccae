/* The cases of training in the suite of networks. */
#ifndef BENCH_CASES_TRAINING_H
#define BENCH_CASES_TRAINING_H

#include "../bench.h"

/* Makes the case of a network that can be trained. */
bool bench_training_make(bench_session *session, uint32_t number, bench_case *bench);

#endif

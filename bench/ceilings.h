/* What the device can do at most, and what is to be known of it first. */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H

#include "bench.h"

/* Measures the limits by kernels of the benchmark's own: memory, arithmetic, launches. Prints them,
 * and writes them to options->json where that is given. False where a kernel gives a wrong result,
 * or the device fails. */
bool bench_ceilings(bench_session *session);

/* What the driver says of the device, which capabilities it has, what its compiler takes, and the
 * registers and memory of the main kernels, as JSON to options->json or the standard output. */
bool bench_facts(bench_session *session);

/* Every solver of every family with its parameters and their ranges, as JSON to the standard
 * output: what --solver takes. */
bool bench_solvers(void);

#endif

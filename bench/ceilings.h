/* Commands that need a device and no cases: the device's limits, and building in advance. */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H

#include "bench.h"

/* Measures the limits with the benchmark's own kernels: memory, arithmetic, launches. Prints them,
 * and writes them to options->json if that is given. Returns false if a kernel gives a wrong
 * result, or the device fails. */
bool bench_ceilings(bench_session *session);

/* Returns the device's limits from the store; measures and stores them if there are none, and
 * prints them. Returns NULL if the store is off, or if they cannot be measured. The caller releases
 * them. */
struct json_t *bench_ceilings_of(bench_session *session);

/* Builds and checks the programs that "run" would measure, and stores them, without measuring. With
 * options->json, records the output of the compiler and the device model's estimate for each.
 * Returns false if a solver that should support its case could not be built. */
bool bench_build_ahead(bench_session *session);

/* Prints every solver of every family with its parameters and their ranges as JSON to standard
 * output: the values of --solver. */
bool bench_solvers(void);

#endif

/* Commands that need a device and no case: its limits, and building ahead. */
#ifndef BENCH_CEILINGS_H
#define BENCH_CEILINGS_H

#include "bench.h"

/* Measures the limits by kernels of the benchmark's own: memory, arithmetic, launches. Prints them,
 * and writes them to options->json where that is given. False where a kernel gives a wrong result,
 * or the device fails. */
bool bench_ceilings(bench_session *session);

/* Makes what "run" would measure, so that programs are built, checked and kept, and measures
 * nothing. With options->json: what the compiler and the device model say of each. False where one
 * that should serve could not be made. */
bool bench_build_ahead(bench_session *session);

/* Every solver of every family with its parameters and their ranges, as JSON to the standard
 * output: what --solver takes. */
bool bench_solvers(void);

#endif

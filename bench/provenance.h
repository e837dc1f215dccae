/* Describes the origin of results in result files: the build, the host with its clock rate, and the
 * state of the persistent cache. */
#ifndef BENCH_PROVENANCE_H
#define BENCH_PROVENANCE_H

#include "bench.h"

#include <jansson.h>

/* Returns {"commit", "tree", "compiler", "flags"} of this build. */
json_t *bench_json_build(void);

/* Returns the mean clock of the processors in MHz; 0 where the system does not report it. */
double bench_clock(void);

/* Returns the host: system, processor, threads, pinning, and the clock before the run and now. */
json_t *bench_json_host(double clock_before);

/* Returns the state of the persistent cache: "cold" without stored programs, "warm" with them, or
 * "off". */
const char *bench_store_state(const tenon_context *context);

#endif

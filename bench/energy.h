/* The energy that the device under test has used: RAPL for processors, NVML for NVIDIA's cards. */
#ifndef BENCH_ENERGY_H
#define BENCH_ENERGY_H

#include "bench.h"

/* Finds the counter of the session's device: "rapl", "nvml", or NULL if there is none that can be
 * read. Replaces the counter of an earlier session. */
const char *bench_energy_open(const bench_session *session);

/* Returns nanojoules since bench_energy_open; 0 without a counter. RAPL counts whole packages,
 * NVML the card. A counter that wraps around must be read more often than that happens (RAPL:
 * minutes). */
double bench_energy_now(void);

#endif

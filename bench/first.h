/* The parts of bench-first, the measurements of first calls. */
#ifndef BENCH_FIRST_H
#define BENCH_FIRST_H

#include "process.h"

#define BENCH_MOST_ROUNDS 32

/* Measures the first inference of each network whose name contains `filter` with all caches empty
 * and with Tenon's store full, and prints the medians. */
void bench_first_networks(const bench_caches *caches, int rounds, const char *filter);

#endif

/* tenon-bench first: the measurements of first calls, and its parts. */
#ifndef BENCH_FIRST_H
#define BENCH_FIRST_H

#include "process.h"

#include "command_line.h"

#include <jansson.h>

#define BENCH_MOST_ROUNDS 32

extern const command bench_first_command;

/* The results so far: an array of objects as in results.schema.json. */
typedef struct bench_first {
    int rounds; /* of each measurement */
    json_t *results;
} bench_first;

/* Adds the seconds of the rounds of a measurement. */
void bench_first_add(bench_first *first, const char *name, const char *caches, const double *times);

/* Measures the first inference of each network whose name contains `filter` with all caches empty
 * and with Tenon's store full, prints the medians and adds the results. */
void bench_first_networks(const bench_caches *caches, const char *filter, bench_first *first);

#endif

/* The ways to serve a call that `tenon-bench regret` measures, by their names with all parameters.
 */
#ifndef BENCH_CANDIDATES_H
#define BENCH_CANDIDATES_H

#include "bench.h"
#include "check/case.h"

#define BENCH_MOST_CANDIDATES 256

typedef struct bench_candidates {
    tenon_context *kinds[32]; /* the device, taken for each kind of its class; its own first */
    uint32_t kind_count;
    char names[BENCH_MOST_CANDIDATES][TN_SOLVER_NAME_SIZE];
    uint32_t count;
} bench_candidates;

/* Makes the contexts, in which plans are made and nothing is built. */
bool bench_candidates_open(bench_session *session, bench_candidates *candidates);
void bench_candidates_close(bench_candidates *candidates);

/* Adds a name that is new. */
void bench_candidates_add(bench_candidates *candidates, const char *name);

/* Adds every solver that may be chosen for the call, with the parameters that it takes by the
 * tables of each kind. */
void bench_candidates_add_shipped(bench_candidates *candidates, const tn_case *c);

/* Adds what differs from a candidate in one parameter: half of it, twice, and of small ones one
 * less and one more. */
void bench_candidates_add_neighbours(bench_candidates *candidates, const tn_case *c,
                                     const char *name);

#endif

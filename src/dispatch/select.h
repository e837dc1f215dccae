/* Selection among the solvers of a family. */
#ifndef TN_DISPATCH_SELECT_H
#define TN_DISPATCH_SELECT_H

#include "dispatch/request.h"

/* A solver for a problem with its estimated time, or the reason why it cannot be selected. */
typedef struct tn_candidate {
    const tn_solver *solver;
    double time;
    const char *why_not; /* NULL if it can be selected */
} tn_candidate;

/* Exceeds the number of solvers in every family. */
#define TN_MAX_SOLVERS 24

/* Lists all solvers of the family: first those that can be selected, ordered by estimated time,
 * then the others. Returns the number of those that can be selected. */
uint32_t tn_candidates(tenon_context *context, const tn_family *family, const tn_problem *problem,
                       tn_candidate list[TN_MAX_SOLVERS]);

/* Selects a solver: the forced one, or else the one with the lowest estimate. Checks it once per
 * device, and continues with the next one if it gives wrong results. */
tenon_status tn_select(const tn_request *request, tn_choice *choice);

/* Fails if no solver, or not the forced one, can serve the problem. Builds and checks no kernel. */
tenon_status tn_select_serves(const tn_request *request);

#endif

/* Choosing among the solvers of a family. */
#ifndef TN_DISPATCH_SELECT_H
#define TN_DISPATCH_SELECT_H

#include "dispatch/request.h"

/* A solver for a problem: its time by estimate, or why it is not chosen. */
typedef struct tn_candidate {
    const tn_solver *solver;
    double time;
    const char *why_not; /* NULL where it may be chosen */
} tn_candidate;

/* More than any family has. */
#define TN_MOST_SOLVERS 24

/* Lists all solvers of the family: those that may be chosen, the fastest by estimate first, and
 * behind them the others. Returns how many may be chosen. */
uint32_t tn_candidates(tenon_context *context, const tn_family *family, const tn_problem *problem,
                       tn_candidate list[TN_MOST_SOLVERS]);

/* Chooses among the family's solvers: the forced one, else the one with the least estimate; checks
 * it once for this device, and takes the next where it is found wrong. */
tenon_status tn_select(const tn_request *request, tn_choice *choice);

#endif

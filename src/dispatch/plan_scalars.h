/* The scalars of a plan's run: parameters of the operation that a run sets for itself. */
#ifndef TN_DISPATCH_PLAN_SCALARS_H
#define TN_DISPATCH_PLAN_SCALARS_H

#include "dispatch/plan.h"

/* Fills in what a run's launches are given: the plan's parameters with `given` (one at least) in
 * their places. Fails where a name, a kind or a value is not allowed, or the kernels would have to
 * be others. Allocates nothing. */
tenon_status tn_scalars_take(const char *caller, const tenon_plan *plan, const tenon_scalar *given,
                             uint32_t count, double scalars[TN_MAX_SCALARS]);

/* The given scalars as " NAME=VALUE NAME=VALUE", cut to the room that there is. */
#define TN_SCALARS_TEXT_SIZE 512
const char *tn_scalars_text(const tenon_scalar *given, uint32_t count,
                            char text[TN_SCALARS_TEXT_SIZE]);

#endif

/* Scalars of a plan's run: parameters of the operation that a run may set. */
#ifndef TN_DISPATCH_PLAN_SCALARS_H
#define TN_DISPATCH_PLAN_SCALARS_H

#include "dispatch/plan.h"

/* Computes the scalars for a run's launches: the plan's parameters with those in `given` (at least
 * one) replaced. Fails if a name, a kind or a value is invalid, or if the change would require
 * different kernels. Allocates nothing. */
tenon_status tn_scalars_take(const char *caller, const tenon_plan *plan, const tenon_scalar *given,
                             uint32_t count, double scalars[TN_MAX_SCALARS]);

/* Writes the given scalars as " NAME=VALUE NAME=VALUE", truncated to fit. */
#define TN_SCALARS_TEXT_SIZE 512
const char *tn_scalars_text(const tenon_scalar *given, uint32_t count,
                            char text[TN_SCALARS_TEXT_SIZE]);

#endif

/* Interface of conv/cpu_direct for the self-check. */
#ifndef TN_OPS_CONV_FORWARD_CPU_DIRECT_H
#define TN_OPS_CONV_FORWARD_CPU_DIRECT_H

#include "ops/conv/problem/problem.h"

/* Returns a number of filters per group that takes more than one work-group of two panels and
 * makes the last panel partial. */
int64_t tn_conv_cpu_direct_filters(tenon_context *context, const conv_problem *problem);

/* Limits the runs of pixels and panels of filters per work-group, so that a small problem has
 * several work-groups along every dimension. Returns false if that does not fit the local memory.
 */
bool tn_conv_cpu_direct_cut(tenon_context *context, const conv_problem *problem, int32_t runs,
                            int32_t panels, int32_t *values);

#endif

/* What the self-check needs to know of conv/cpu_direct. */
#ifndef TN_OPS_CONV_FORWARD_CPU_DIRECT_H
#define TN_OPS_CONV_FORWARD_CPU_DIRECT_H

#include "ops/conv/problem/problem.h"

/* How many filters of a group make more than one work-group of two panels, and the last panel a
 * ragged one. */
int64_t tn_conv_cpu_direct_filters(tenon_context *context, const conv_problem *problem);

/* Gives each work-group so few runs of pixels and panels of filters that a small
 * problem has several along every dimension. False where that does not fit the local memory. */
bool tn_conv_cpu_direct_cut(tenon_context *context, const conv_problem *problem, int32_t runs,
                            int32_t panels, int32_t *values);

#endif

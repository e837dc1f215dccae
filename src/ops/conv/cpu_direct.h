/* What the self-check needs to know of conv/cpu_direct. */
#ifndef TN_OPS_CONV_CPU_DIRECT_H
#define TN_OPS_CONV_CPU_DIRECT_H

#include "ops/conv/internal.h"

/* Gives each work-group of the choice little, so that a small problem has several along every
 * dimension. Returns how many filters of a group make more than one work-group, and the last panel
 * of one a ragged one. */
int64_t tn_conv_cpu_direct_cut(tenon_context *context, const conv_problem *problem,
                               tn_choice *choice);

#endif

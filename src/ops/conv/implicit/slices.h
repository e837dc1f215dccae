/* The gradient of filters on GPUs, with the pixels split into slices whose partial sums are added
 * in order. */
#ifndef TN_OPS_CONV_IMPLICIT_SLICES_H
#define TN_OPS_CONV_IMPLICIT_SLICES_H

#include "ops/conv/implicit/implicit.h"

/* Returns the pixels per slice for `slices` slices. */
int64_t tn_conv_slice(const conv_problem *problem, int64_t slices);

/* Returns the number of slices, at most `most`, that the pixels and the workspace allow. */
int64_t tn_conv_slices(const conv_problem *problem, int64_t most);

/* Returns the number of slices to request if the product has `groups` work-groups without slices
 * and a slice should have at least `least` pixels. */
int32_t tn_conv_tune_slices(tenon_context *context, const conv_problem *problem, int64_t groups,
                            int64_t least);

/* Return the size of the slices' sums and the work of adding them up; the last function records
 * the launch. With one slice there is nothing to add. */
uint64_t tn_conv_slices_size(const conv_problem *problem, int64_t slices);
tn_work tn_conv_slices_work(const conv_problem *problem, int64_t slices);
tenon_status tn_conv_record_slices(const char *caller, tn_recording *recording,
                                   const conv_problem *problem, int64_t slices);

#endif

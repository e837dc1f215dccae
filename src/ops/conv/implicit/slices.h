/* The gradient of filters on GPUs in slices of the pixels, whose partial sums are added in order.
 */
#ifndef TN_OPS_CONV_IMPLICIT_SLICES_H
#define TN_OPS_CONV_IMPLICIT_SLICES_H

#include "ops/conv/implicit/implicit.h"

/* The pixels of a slice, where there are `slices`. */
int64_t tn_conv_slice(const conv_problem *problem, int64_t slices);

/* The number of slices, at most `most`, that the pixels and the workspace allow. */
int64_t tn_conv_slices(const conv_problem *problem, int64_t most);

/* The number of slices to request where the product has `groups` work-groups without them and a
 * slice should have at least `least` pixels. */
int32_t tn_conv_tune_slices(tenon_context *context, const conv_problem *problem, int64_t groups,
                            int64_t least);

/* The size of the slices' sums, the work of adding them up, and its launch: none for one slice. */
uint64_t tn_conv_slices_size(const conv_problem *problem, int64_t slices);
tn_work tn_conv_slices_work(const conv_problem *problem, int64_t slices);
tenon_status tn_conv_record_slices(const char *caller, tn_recording *recording,
                                   const conv_problem *problem, int64_t slices);

#endif

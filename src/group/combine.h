/* Combining arrays in the order of the ranks. */
#ifndef TN_GROUP_COMBINE_H
#define TN_GROUP_COMBINE_H

#include "group/member.h"

/* Returns false for a type or kind that tn_combine does not serve. */
bool tn_combine_serves(tenon_group_kind kind, tenon_dtype dtype);

/* Enqueues y = x[0] ∘ x[1] ∘ … on the member's own stream. All arrays are of one type and length,
 * in the member's OpenCL context. y may be exactly one of them. `sync` receives an event. */
tenon_status tn_combine(const tn_group_member *member, tenon_group_kind kind, const tenon_tensor *x,
                        uint32_t count, const tenon_tensor *y, const tenon_sync *sync);

#endif

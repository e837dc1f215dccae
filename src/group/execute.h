/* Executing a collective whose inputs are ready. */
#ifndef TN_GROUP_EXECUTE_H
#define TN_GROUP_EXECUTE_H

#include "group/member.h"
#include "group/steps.h"

/* A collective with its tensors. */
typedef struct tn_group_call {
    const char *name; /* of the public function */
    tn_collective collective;
    tenon_group_kind combination; /* of the kinds that combine */
    tenon_tensor *x, *y; /* one per member; those of members without an input or output are zeros */
} tn_group_call;

/* Moves and combines the data, and returns when it is done. On failure the message names the call
 * and the rank of the member. Commands that use the tensors have then ended. */
tenon_status tn_group_execute(const tn_group_member *members, tn_group_call *call);

#endif

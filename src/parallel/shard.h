/* The part of an array that each member keeps: values, gradients and moments of Adam. */
#ifndef TN_PARALLEL_SHARD_H
#define TN_PARALLEL_SHARD_H

#include "parallel/flat.h"

#include <tenon/optimizer.h>

/* The parts of the local members. */
typedef struct tn_shards {
    int64_t size; /* elements of a part */
    bool owns_values;
    tenon_tensor values[TENON_GROUP_MAX_MEMBERS];
    tenon_tensor gradients[TENON_GROUP_MAX_MEMBERS];
    tenon_tensor moments[TENON_GROUP_MAX_MEMBERS][2]; /* the first, the second */
} tn_shards;

/* Creates the parts of an array of `size` elements, a multiple of the group's members; all are 0.
 * `whole`: the arrays of the local members, whose parts become the values; NULL: values have memory
 * of their own. After a failure, tn_shards_destroy frees what was created. */
tenon_status tn_shards_create(const char *caller, tenon_group *group, tenon_dtype dtype,
                              int64_t size, const tenon_tensor *whole, tn_shards *shards);
void tn_shards_destroy(const tenon_group *group, tn_shards *shards);

/* Returns the part of a local member of an array. */
tenon_tensor tn_shard_of(const tenon_group *group, const tn_shards *shards,
                         const tenon_tensor *array, uint32_t member);

/* Enqueues a step of Adam on each local member. */
tenon_status tn_shards_step(const char *caller, const tenon_group *group, const tn_shards *shards,
                            const tenon_adam_params *params);

#endif

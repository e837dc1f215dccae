/* Adam with moments that are divided among the members (ZeRO-1). */
#include "parallel/shard.h"

#include "base/checked.h"

#include <tenon/parallel.h>

#include <stdlib.h>

struct tenon_sharded_adam {
    tenon_group *group;
    uint32_t members, count; /* local members; parameters */
    tn_shards shards;        /* of the values */
    tenon_tensor values[TENON_GROUP_MAX_MEMBERS], gradients[TENON_GROUP_MAX_MEMBERS];
    tenon_tensor *value_views, *gradient_views; /* `count` per member */
};

static tenon_sharded_adam *allocate_adam(tenon_group *group, uint32_t count)
{
    tenon_sharded_adam *a = calloc(1, sizeof *a);
    if (a == NULL)
        return NULL;
    const int64_t all = (int64_t)tn_local_count(group) * count;
    a->group = group;
    a->members = tn_local_count(group);
    a->count = count;
    a->value_views = tn_array(all, sizeof *a->value_views);
    a->gradient_views = tn_array(all, sizeof *a->gradient_views);
    if (a->value_views != NULL && a->gradient_views != NULL)
        return a;
    tenon_sharded_adam_destroy(a);
    return NULL;
}

static tenon_status fill_adam(const char *caller, tenon_sharded_adam *a,
                              const tenon_tensor *parameters)
{
    const tenon_dtype dtype = parameters[0].dtype;
    int64_t size = 0;
    TN_TRY(tn_flat_size(caller, a->count, parameters, tn_member_count(&a->group->places), &size));
    TN_TRY(tn_flat_create(caller, a->group, dtype, size, a->values));
    TN_TRY(tn_flat_create(caller, a->group, dtype, size, a->gradients));
    for (uint32_t m = 0; m < a->members; m++) {
        const size_t first = (size_t)m * a->count;
        tn_flat_views(a->count, parameters, &a->values[m], &a->value_views[first]);
        tn_flat_views(a->count, parameters, &a->gradients[m], &a->gradient_views[first]);
    }
    return tn_shards_create(caller, a->group, dtype, size, a->values, &a->shards);
}

TENON_API tenon_status tenon_sharded_adam_create(tenon_group *group, uint32_t count,
                                                 const tenon_tensor *parameters,
                                                 tenon_sharded_adam **out)
{
    static const char caller[] = "tenon_sharded_adam_create";
    if (out == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: out is NULL", caller);
    *out = NULL;
    TN_TRY(tn_flat_check(caller, count, parameters));
    TN_TRY(tn_group_check(caller, group));
    tenon_sharded_adam *a = allocate_adam(group, count);
    if (a == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    const tenon_status status = fill_adam(caller, a, parameters);
    if (status == TENON_OK)
        *out = a;
    else
        tenon_sharded_adam_destroy(a);
    return status;
}

TENON_API void tenon_sharded_adam_destroy(tenon_sharded_adam *a)
{
    if (a == NULL)
        return;
    tn_group_drain(a->group);
    tn_shards_destroy(a->group, &a->shards);
    tn_flat_destroy(a->group, a->values);
    tn_flat_destroy(a->group, a->gradients);
    free(a->value_views);
    free(a->gradient_views);
    free(a);
}

TENON_API const tenon_tensor *tenon_sharded_adam_parameters(const tenon_sharded_adam *a,
                                                            uint32_t member)
{
    return a != NULL && member < a->members ? &a->value_views[(size_t)member * a->count] : NULL;
}

TENON_API const tenon_tensor *tenon_sharded_adam_gradients(const tenon_sharded_adam *a,
                                                           uint32_t member)
{
    return a != NULL && member < a->members ? &a->gradient_views[(size_t)member * a->count] : NULL;
}

TENON_API const tenon_tensor *tenon_sharded_adam_moments(const tenon_sharded_adam *a,
                                                         uint32_t member)
{
    return a != NULL && member < a->members ? a->shards.moments[member] : NULL;
}

TENON_API tenon_status tenon_sharded_adam_step(tenon_sharded_adam *a,
                                               const tenon_adam_params *params)
{
    static const char caller[] = "tenon_sharded_adam_step";
    if (a == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: adam is NULL", caller);
    tenon_status status = tenon_group_reduce_scatter(a->group, TENON_GROUP_SUM, a->gradients,
                                                     a->shards.gradients, NULL);
    if (status != TENON_OK)
        return tn_fail_because(status, "%s", caller);
    TN_TRY(tn_shards_step(caller, a->group, &a->shards, params));
    status = tenon_group_all_gather(a->group, a->shards.values, a->values, NULL);
    return status == TENON_OK ? TENON_OK : tn_fail_because(status, "%s", caller);
}

#include "parallel/shard.h"

tenon_tensor tn_shard_of(const tenon_group *group, const tn_shards *shards,
                         const tenon_tensor *array, uint32_t member)
{
    const int64_t rank = (int64_t)tn_first_rank(&group->places) + member;
    return tn_array_part(array, rank * shards->size, shards->size);
}

/* Creates the moments, whose arrays are those of all members. */
static tenon_status create_moments(const char *caller, tenon_group *group, tenon_dtype dtype,
                                   tn_shards *shards)
{
    const tenon_dtype type = dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
    for (int i = 0; i < 2; i++) {
        tenon_tensor arrays[TENON_GROUP_MAX_MEMBERS] = {{.rank = 0}};
        const tenon_status status = tn_flat_create(caller, group, type, shards->size, arrays);
        for (uint32_t m = 0; m < tn_local_count(group); m++)
            shards->moments[m][i] = arrays[m];
        TN_TRY(status);
    }
    return TENON_OK;
}

tenon_status tn_shards_create(const char *caller, tenon_group *group, tenon_dtype dtype,
                              int64_t size, const tenon_tensor *whole, tn_shards *shards)
{
    shards->size = size / tn_member_count(&group->places);
    shards->owns_values = whole == NULL;
    if (whole == NULL)
        TN_TRY(tn_flat_create(caller, group, dtype, shards->size, shards->values));
    else
        for (uint32_t m = 0; m < tn_local_count(group); m++)
            shards->values[m] = tn_shard_of(group, shards, &whole[m], m);
    TN_TRY(tn_flat_create(caller, group, dtype, shards->size, shards->gradients));
    return create_moments(caller, group, dtype, shards);
}

void tn_shards_destroy(const tenon_group *group, tn_shards *shards)
{
    if (shards->owns_values)
        tn_flat_destroy(group, shards->values);
    tn_flat_destroy(group, shards->gradients);
    for (uint32_t m = 0; m < tn_local_count(group); m++)
        for (int i = 0; i < 2; i++)
            tenon_tensor_destroy(&shards->moments[m][i]);
}

tenon_status tn_shards_step(const char *caller, const tenon_group *group, const tn_shards *shards,
                            const tenon_adam_params *params)
{
    for (uint32_t m = 0; m < tn_local_count(group); m++) {
        const tenon_status status =
            tenon_adam(group->members[m].stream, params, &shards->gradients[m], &shards->values[m],
                       &shards->moments[m][0], &shards->moments[m][1], NULL, NULL);
        if (status != TENON_OK)
            return tn_fail_because(tn_group_fail_at(group, m, status), "%s", caller);
    }
    return TENON_OK;
}

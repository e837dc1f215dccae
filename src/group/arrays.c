#include "group/arrays.h"

#include "base/shape.h"

#include <tenon/elementwise.h>

static int64_t elements_of(const tenon_tensor *tensors, uint32_t count)
{
    int64_t elements = 0;
    for (uint32_t i = 0; i < count; i++)
        elements += tenon_tensor_elements(&tensors[i]);
    return elements;
}

/* Sets `array` to a view of a dense tensor; otherwise allocates it. */
static tenon_status make(const tn_group_member *member, const tenon_tensor *tensors, uint32_t count,
                         bool is_apart, tenon_tensor *array, bool *made)
{
    const int64_t elements = elements_of(tensors, count);
    if ((count == 1 && !is_apart && tn_tensor_dense(&tensors[0])) || elements == 0) {
        *array = tenon_tensor_view(tensors[0].dtype, 1, &elements);
        array->memory = tensors[0].memory;
        array->offset = tensors[0].offset;
        return TENON_OK;
    }
    TN_TRY(tn_array_create(member, tensors[0].dtype, elements, array));
    *made = true;
    return TENON_OK;
}

/* Copies between tensors and the array that contains them one after the other. */
static tenon_status copy(const tn_group_member *member, const tenon_tensor *tensors, uint32_t count,
                         const tenon_tensor *array, bool gathers)
{
    uint64_t offset = array->offset;
    for (uint32_t i = 0; i < count; i++) {
        const tenon_tensor *t = &tensors[i];
        tenon_tensor dense = tenon_tensor_view(t->dtype, t->rank, t->shape);
        dense.memory = array->memory;
        dense.offset = offset;
        offset += (uint64_t)tenon_tensor_elements(t) * tenon_dtype_size(t->dtype);
        if (tenon_tensor_elements(t) > 0)
            TN_TRY(tenon_copy(member->own, NULL, gathers ? t : &dense, gathers ? &dense : t, NULL));
    }
    return TENON_OK;
}

static tenon_status gather_inputs(tenon_group *group, tn_job *job, uint32_t m, uint64_t *members)
{
    const uint32_t count = job->call.count;
    const tenon_tensor *x = &job->call.x[m * count];
    const tn_group_member *member = &group->members[job->first + m];
    if (x->dtype == TENON_DTYPE_INVALID)
        return TENON_OK;
    TN_TRY(make(member, x, count, false, &job->x[m], &job->x_made[m]));
    if (!job->x_made[m])
        return TENON_OK;
    *members |= UINT64_C(1) << (job->first + m);
    return copy(member, x, count, &job->x[m], true);
}

/* Many tensors are combined in place, in the array of the inputs. But if each member combines
 * everything, it must not overwrite what others still read. */
static tenon_status make_outputs(tenon_group *group, tn_job *job, uint32_t m)
{
    const uint32_t count = job->call.count;
    const tenon_tensor *x = &job->call.x[m * count], *y = &job->call.y[m * count];
    const bool is_apart =
        job->call.collective.is_small && job->members > 1 && tn_same_memory(&x->memory, &y->memory);
    if (y->dtype == TENON_DTYPE_INVALID)
        return TENON_OK;
    if (count > 1 && !(job->call.collective.is_small && job->members > 1)) {
        job->y[m] = job->x[m];
        return TENON_OK;
    }
    return make(&group->members[job->first + m], y, count, is_apart, &job->y[m], &job->y_made[m]);
}

tenon_status tn_arrays_gather(tenon_group *group, tn_job *job, uint64_t *members)
{
    for (uint32_t m = 0; m < job->members; m++) {
        tenon_status status = gather_inputs(group, job, m, members);
        if (status == TENON_OK)
            status = make_outputs(group, job, m);
        TN_TRY(tn_group_fail_at(group, job->first + m, status));
    }
    return TENON_OK;
}

tenon_status tn_arrays_scatter(tenon_group *group, tn_job *job, uint64_t *members)
{
    const uint32_t count = job->call.count;
    for (uint32_t m = 0; m < job->members; m++) {
        const uint32_t local = job->first + m;
        if (!job->y_made[m] && count == 1)
            continue;
        *members |= UINT64_C(1) << local;
        TN_TRY(tn_group_fail_at(
            group, local,
            copy(&group->members[local], &job->call.y[m * count], count, &job->y[m], false)));
    }
    return TENON_OK;
}

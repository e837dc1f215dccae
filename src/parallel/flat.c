#include "parallel/flat.h"

#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"

#include <stdio.h>

/* Elements; kernels read aligned vectors. */
#define ALIGNMENT 64

tenon_status tn_flat_check(const char *caller, uint32_t count, const tenon_tensor *tensors)
{
    if (count == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is 0, must be at least 1", caller);
    if (tensors == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: parameters is NULL", caller);
    for (uint32_t i = 0; i < count; i++) {
        char name[32];
        snprintf(name, sizeof name, "parameters[%u]", (unsigned)i);
        TN_TRY(tn_tensor_check(caller, name, &tensors[i]));
        if (!tn_dtype_is_float(tensors[i].dtype))
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: %s is of type %s; f64, f32, f16 and bf16 are supported", caller,
                           name, tenon_dtype_string(tensors[i].dtype));
        if (tensors[i].dtype != tensors[0].dtype)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s is of type %s, but parameters[0] is of type %s", caller, name,
                           tenon_dtype_string(tensors[i].dtype),
                           tenon_dtype_string(tensors[0].dtype));
    }
    return TENON_OK;
}

static int64_t room_of(const tenon_tensor *tensor)
{
    return tn_round_up(tenon_tensor_elements(tensor), ALIGNMENT);
}

tenon_status tn_flat_size(const char *caller, uint32_t count, const tenon_tensor *tensors,
                          uint32_t parts, int64_t *size)
{
    const int64_t unit = (int64_t)ALIGNMENT * parts, most = INT64_MAX / 16;
    int64_t end = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (tenon_tensor_elements(&tensors[i]) > most - unit - end)
            return tn_fail(TENON_ERROR_OUT_OF_MEMORY,
                           "%s: parameters[0] to parameters[%u] have more than %lld elements",
                           caller, (unsigned)i, (long long)most);
        end += room_of(&tensors[i]);
    }
    *size = tn_max_i64(tn_round_up(end, unit), unit);
    return TENON_OK;
}

void tn_flat_views(uint32_t count, const tenon_tensor *shapes, const tenon_tensor *array,
                   tenon_tensor *views)
{
    uint64_t offset = array->offset;
    for (uint32_t i = 0; i < count; i++) {
        views[i] = tenon_tensor_view(array->dtype, shapes[i].rank, shapes[i].shape);
        views[i].memory = array->memory;
        views[i].offset = offset;
        offset += (uint64_t)room_of(&shapes[i]) * tenon_dtype_size(array->dtype);
    }
}

/* Fills an array and waits for it, so that it may be used in any stream. */
static tenon_status fill_with_zeros(tenon_context *context, const tenon_tensor *array)
{
    tenon_stream *stream;
    TN_TRY(tenon_stream_create(context, NULL, &stream));
    tenon_status status = tenon_tensor_fill(stream, array, 0, NULL);
    if (status == TENON_OK)
        status = tenon_stream_finish(stream);
    tenon_stream_destroy(stream);
    return status;
}

tenon_status tn_flat_create(const char *caller, tenon_group *group, tenon_dtype dtype, int64_t size,
                            tenon_tensor *arrays)
{
    for (uint32_t m = 0; m < tn_local_count(group); m++) {
        const tn_group_member *member = &group->members[m];
        tenon_status status = tn_array_create(member, dtype, size, &arrays[m]);
        if (status == TENON_OK)
            status = fill_with_zeros(member->context, &arrays[m]);
        if (status != TENON_OK)
            return tn_fail_because(tn_group_fail_at(group, m, status), "%s", caller);
    }
    return TENON_OK;
}

void tn_flat_destroy(const tenon_group *group, tenon_tensor *arrays)
{
    for (uint32_t m = 0; arrays != NULL && m < tn_local_count(group); m++)
        tenon_tensor_destroy(&arrays[m]);
}

/* Rules for the type and shape of outputs that several operations share. */
#include "ops/common/output_shape.h"

#include <string.h>

tenon_dtype tn_sum_dtype(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}

bool tn_shape_set(tenon_tensor *output, tenon_dtype dtype, uint32_t rank, const int64_t *shape)
{
    if (rank > TENON_MAX_RANK)
        return false;
    output->dtype = dtype;
    output->rank = rank;
    if (rank > 0)
        memcpy(output->shape, shape, rank * sizeof *shape);
    return true;
}

bool tn_shape_append(tenon_tensor *output, int64_t size)
{
    if (output->rank == TENON_MAX_RANK)
        return false;
    output->shape[output->rank++] = size;
    return true;
}

bool tn_shape_axis(int32_t axis, uint32_t rank, uint32_t *number)
{
    const int64_t found = axis < 0 ? (int64_t)axis + rank : axis;
    *number = (uint32_t)found;
    return found >= 0 && found < rank;
}

/* Broadcasts a view to the shape found so far, and that to the view. */
static bool broadcast_one(const tenon_tensor *view, tenon_tensor *output)
{
    const uint32_t rank = view->rank > output->rank ? view->rank : output->rank;
    int64_t shape[TENON_MAX_RANK];
    for (uint32_t i = 1; i <= rank; i++) {
        const int64_t a = i <= view->rank ? view->shape[view->rank - i] : 1,
                      b = i <= output->rank ? output->shape[output->rank - i] : 1;
        if (a != b && a != 1 && b != 1)
            return false;
        shape[rank - i] = a == 1 ? b : a;
    }
    return tn_shape_set(output, output->dtype, rank, shape);
}

bool tn_shape_broadcast(const tenon_tensor *const *views, uint32_t count, tenon_tensor *output)
{
    bool fits = tn_shape_set(output, output->dtype, 0, NULL);
    for (uint32_t i = 0; fits && i < count; i++)
        fits = views[i] == NULL || broadcast_one(views[i], output);
    return fits;
}

static bool shape_like(const tenon_tensor *view, tenon_dtype dtype, tenon_tensor *output)
{
    return tn_shape_set(output, dtype, view->rank, view->shape);
}

bool tn_shape_of_first(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    return shape_like(views[0], views[0]->dtype, output);
}

bool tn_shape_of_second(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    return shape_like(views[1], views[1]->dtype, output);
}

bool tn_shape_of_first_bool(const void *params, const tenon_tensor *const *views,
                            tenon_tensor *output)
{
    (void)params;
    return shape_like(views[0], TENON_DTYPE_BOOL, output);
}

bool tn_shape_of_first_i32(const void *params, const tenon_tensor *const *views,
                           tenon_tensor *output)
{
    (void)params;
    return shape_like(views[0], TENON_DTYPE_I32, output);
}

bool tn_shape_of_second_i32(const void *params, const tenon_tensor *const *views,
                            tenon_tensor *output)
{
    (void)params;
    return shape_like(views[1], TENON_DTYPE_I32, output);
}

bool tn_shape_one_i32(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    (void)views;
    return tn_shape_set(output, TENON_DTYPE_I32, 0, NULL);
}

bool tn_shape_one_sum(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    return tn_shape_set(output, tn_sum_dtype(views[0]->dtype), 0, NULL);
}

bool tn_shape_of_two(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    (void)params;
    output->dtype = views[0]->dtype;
    return tn_shape_broadcast(views, 2, output);
}

bool tn_shape_of_two_bool(const void *params, const tenon_tensor *const *views,
                          tenon_tensor *output)
{
    (void)params;
    output->dtype = TENON_DTYPE_BOOL;
    return tn_shape_broadcast(views, 2, output);
}

#include "ops/common/axis.h"

#include <string.h>

void tn_axis_space_fill(const tenon_tensor *const *views, uint32_t count, uint32_t by,
                        uint32_t axis, tn_axis_space *space)
{
    const tenon_tensor *full = views[0];
    tn_space rows = {.rank = full->rank - 1, .views = count};
    memset(space, 0, sizeof *space);
    for (uint32_t d = 0; d < rows.rank; d++)
        rows.shape[d] = full->shape[d < axis ? d : d + 1];
    for (uint32_t v = 0; v < count; v++) {
        if (views[v] == NULL)
            continue;
        for (uint32_t d = 0; d < rows.rank; d++)
            rows.stride[v][d] = views[v]->stride[d < axis ? d : d + 1];
        space->axis[v] = views[v]->shape[axis] > 1 ? views[v]->stride[axis] : 1;
    }
    tn_space_sort(&rows, by);
    tn_space_collapse(&rows);
    if (rows.rank == 0)
        rows.rank = (uint32_t)(rows.shape[0] = 1);
    space->size = full->shape[axis];
    space->rank = rows.rank;
    memcpy(space->shape, rows.shape, sizeof space->shape);
    memcpy(space->stride, rows.stride, sizeof space->stride);
}

int64_t tn_axis_rows(const tn_axis_space *space)
{
    int64_t rows = 1;
    for (uint64_t d = 0; d < space->rank; d++)
        rows *= space->shape[d];
    return rows;
}

void tn_axis_args_fill(const tn_axis_space *space, axis_args *args)
{
    memset(args, 0, sizeof *args);
    memcpy(args->axis, space->axis, sizeof args->axis);
    memcpy(args->stride, space->stride, sizeof args->stride);
    memcpy(args->shape, space->shape, sizeof args->shape);
    args->size = space->size;
    args->rows = tn_axis_rows(space);
    args->rank = (tenon_i64)space->rank;
}

tenon_status tn_axis_shape_check(const tn_call *call, uint32_t operand, uint32_t axis, int64_t size)
{
    const tenon_tensor *view = call->operands[operand].view;
    tenon_tensor wanted = *call->operands[0].view;
    if (view == NULL)
        return TENON_OK;
    wanted.shape[axis] = size;
    return tn_shape_check(call->caller, call->operands[operand].name, view, wanted.rank,
                          wanted.shape);
}

tn_axis_walk tn_axis_walk_of(const tenon_tensor *view, uint32_t axis)
{
    tn_axis_walk w = {1, view->shape[axis], 1};
    for (uint32_t d = 0; d < view->rank; d++)
        if (d != axis)
            *(d < axis ? &w.outer : &w.inner) *= view->shape[d];
    return w;
}

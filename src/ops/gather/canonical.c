/* The canonical problems of gather and its gradient. */
#include "ops/common/rows.h"
#include "ops/gather/internal.h"

#include <string.h>

static void at_least_one(tn_space *space)
{
    if (space->rank == 0)
        space->rank = (uint32_t)(space->shape[0] = 1);
}

void tn_gather_canonicalize(const tenon_tensor *x, const tenon_tensor *indices,
                            const tenon_tensor *y, uint32_t axis, gather_problem *problem)
{
    tn_space space = {.rank = y->rank, .views = GATHER_OPERANDS};
    memcpy(space.shape, y->shape, sizeof space.shape);
    memcpy(space.stride[GATHER_TO], y->stride, sizeof y->stride);
    for (uint32_t d = 0; d < y->rank; d++) {
        bool indexed = d >= axis && d < axis + indices->rank;
        if (indexed)
            space.stride[GATHER_INDICES][d] = indices->stride[d - axis];
        else
            space.stride[GATHER_FROM][d] = x->stride[d < axis ? d : d + 1 - indices->rank];
    }
    tn_space_sort(&space, GATHER_TO);
    tn_space_collapse(&space);
    at_least_one(&space);
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = y->dtype;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
    problem->size = x->shape[axis];
    problem->step = x->stride[axis];
}

/* Returns the space of the indices and of dy, in the order of the indices and of the sums. */
static gather_list_args list_of(const tenon_tensor *dy, const tenon_tensor *indices, uint32_t axis)
{
    tn_space space = {.rank = indices->rank, .views = 2};
    gather_list_args list = {.count = tenon_tensor_elements(indices)};
    memcpy(space.shape, indices->shape, sizeof space.shape);
    memcpy(space.stride[0], indices->stride, sizeof indices->stride);
    memcpy(space.stride[1], dy->stride + axis, indices->rank * sizeof *dy->stride);
    tn_space_collapse(&space);
    at_least_one(&space);
    list.rank = space.rank;
    memcpy(list.shape, space.shape, sizeof list.shape);
    memcpy(list.stride, space.stride, sizeof list.stride);
    return list;
}

void tn_gather_backward_canonicalize(const tenon_tensor *dy, const tenon_tensor *indices,
                                     const tenon_tensor *dx, uint32_t axis,
                                     gather_backward_problem *problem)
{
    tn_space space = {.rank = dx->rank - 1, .views = 2};
    for (uint32_t d = 0; d < space.rank; d++) {
        space.shape[d] = dx->shape[d < axis ? d : d + 1];
        space.stride[0][d] = dy->stride[d < axis ? d : d + indices->rank];
        space.stride[1][d] = dx->stride[d < axis ? d : d + 1];
    }
    tn_space_sort(&space, 1);
    tn_space_collapse(&space);
    at_least_one(&space);
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = dx->dtype;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
    problem->size = dx->shape[axis];
    problem->step = dx->stride[axis];
    problem->list = list_of(dy, indices, axis);
}

/* The canonical problem of the element-wise operations. */
#include "base/shape.h"
#include "ops/elementwise/internal.h"

#include <string.h>

static void exchange(tn_space *space, uint32_t d, uint32_t e)
{
    int64_t size = space->shape[d];
    space->shape[d] = space->shape[e];
    space->shape[e] = size;
    for (uint32_t v = 0; v < space->views; v++) {
        int64_t stride = space->stride[v][d];
        space->stride[v][d] = space->stride[v][e];
        space->stride[v][e] = stride;
    }
}

/* Sorts the dimensions so that a view's strides fall. */
static void sort_by(tn_space *space, uint32_t view)
{
    const int64_t *stride = space->stride[view];
    for (uint32_t d = 1; d < space->rank; d++)
        for (uint32_t e = d; e > 0 && stride[e - 1] < stride[e]; e--)
            exchange(space, e - 1, e);
}

tenon_status tn_elementwise_canonicalise(const char *operation, uint32_t kind,
                                         const tn_argument *arguments, uint32_t count,
                                         elementwise_problem *problem)
{
    const tenon_tensor *output = arguments[count - 1].view;
    tn_space space = {.rank = output->rank, .views = count};
    memcpy(space.shape, output->shape, sizeof space.shape);
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(tn_broadcast(operation, arguments[i].name, arguments[i].view, output->rank,
                            output->shape, space.stride[i]));
    sort_by(&space, count - 1);
    tn_space_collapse(&space);
    if (space.rank == 0) { /* one element */
        space.rank = 1;
        space.shape[0] = 1;
        for (uint32_t i = 0; i < count; i++)
            space.stride[i][0] = 1;
    }
    memset(problem, 0, sizeof *problem);
    problem->head.size = sizeof *problem;
    problem->head.forced = -1;
    problem->from = arguments[0].view->dtype;
    problem->to = output->dtype;
    problem->kind = kind;
    problem->operands = count;
    problem->rank = space.rank;
    memcpy(problem->shape, space.shape, sizeof problem->shape);
    memcpy(problem->stride, space.stride, sizeof problem->stride);
    return TENON_OK;
}

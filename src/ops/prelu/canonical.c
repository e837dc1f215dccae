/* The canonical problem of the parametric ReLU's gradient. */
#include "base/shape.h"
#include "ops/prelu/internal.h"

#include <string.h>

/* Appends the dimensions of `all` that slope has (`kept`), or those that it lacks, where the stride
 * of dslope is 0. */
static void append(const tn_space *all, bool kept, tn_space *space)
{
    for (uint32_t d = 0; d < all->rank; d++) {
        if ((all->stride[PRELU_DSLOPE][d] != 0) != kept)
            continue;
        space->shape[space->rank] = all->shape[d];
        for (uint32_t v = 0; v < all->views; v++)
            space->stride[v][space->rank] = all->stride[v][d];
        space->rank++;
    }
}

/* Makes a space with the dimensions of slope first. They are not merged with the others. */
static void make_space(tn_space *all, bool empty, tn_space *space)
{
    tn_space_sort(all, PRELU_DX);
    *space = (tn_space){.views = all->views};
    append(all, true, space);
    if (!empty)
        append(all, false, space);
    tn_space_collapse(space);
}

tenon_status tn_prelu_backward_canonicalize(const tn_call *call, prelu_backward_problem *problem)
{
    const tn_argument *arguments = call->operands;
    const tenon_tensor *x = arguments[PRELU_X].view;
    const bool empty = tn_tensor_empty(x);
    tn_space all = {.rank = x->rank, .views = PRELU_VIEWS}, space;
    memcpy(all.shape, x->shape, sizeof all.shape);
    for (uint32_t v = 0; v < PRELU_VIEWS; v++)
        TN_TRY(tn_broadcast(call->caller, arguments[v].name, arguments[v].view, x->rank, x->shape,
                            all.stride[v]));
    make_space(&all, empty, &space);
    tn_problem_begin(&problem->head, sizeof *problem);
    problem->dtype = x->dtype;
    while (problem->kept < space.rank && space.stride[PRELU_DSLOPE][problem->kept] != 0)
        problem->kept++;
    const uint32_t shift = problem->kept == 0;
    for (uint32_t d = 0; d < space.rank; d++) {
        problem->shape[shift + d] = space.shape[d];
        for (uint32_t v = 0; v < PRELU_VIEWS; v++)
            problem->stride[v][shift + d] = space.stride[v][d];
    }
    if (shift != 0) {
        problem->shape[0] = 1;
        problem->kept = 1;
    }
    problem->rank = shift + space.rank;
    if (problem->rank == problem->kept)
        problem->shape[problem->rank++] = empty ? 0 : 1;
    return TENON_OK;
}

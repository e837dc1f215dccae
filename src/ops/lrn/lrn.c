/* Argument validation of tenon_lrn_forward and tenon_lrn_backward, their families, and the
 * canonical problem. */
#include "base/shape.h"
#include "ops/lrn/internal.h"

#include <inttypes.h>

static const tn_solver *const forward_solvers[] = {&tn_lrn_rows};
static const tn_solver *const backward_solvers[] = {&tn_lrn_backward_planes, &tn_lrn_backward_rows};

/* Bits for the exponents that need no powers, and for the channels as the last dimension. */
static uint64_t lrn_paths(const tn_problem *problem)
{
    const lrn_problem *p = (const lrn_problem *)problem;
    const uint32_t power = p->beta == 0.5 ? 1U : p->beta == 0.75 ? 2U : p->beta == 1 ? 4U : 8U;
    return tn_paths_of_flags(power | (p->dimension + 1 == p->rank ? 16U : 0U), 31);
}

const tn_family tn_lrn_family = {
    .name = "lrn", TN_SOLVERS(forward_solvers), .awkward = tn_lrn_awkward, .paths = lrn_paths};

const tn_family tn_lrn_backward_family = {.name = "lrn_backward",
                                          TN_SOLVERS(backward_solvers),
                                          .awkward = tn_lrn_backward_awkward,
                                          .paths = lrn_paths};

/* The largest number of channels in a sum. */
#define MOST_CHANNELS 65536

static tenon_status lrn_check_params(const char *caller, const tenon_lrn_params *params)
{
    if (params->size < 1 || params->size > MOST_CHANNELS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: size is %" PRId64 ", must be from 1 to %d", caller,
                       params->size, MOST_CHANNELS);
    TN_TRY(tn_number_check(caller, "alpha", params->alpha, 0, 1e300));
    TN_TRY(tn_number_check(caller, "beta", params->beta, 0, 100));
    return tn_number_check(caller, "k", params->k, 0, 1e300);
}

/* A dimension of all operands of a walk. */
typedef struct dimension {
    int64_t size, stride[LRN_WALKS];
    bool is_channel;
} dimension;

static bool lrn_mergeable(const dimension *outer, const dimension *inner)
{
    bool uniform = !outer->is_channel && !inner->is_channel;
    for (int v = 0; v < LRN_WALKS; v++)
        uniform = uniform && outer->stride[v] == inner->stride[v] * inner->size;
    return uniform;
}

/* Fills in the problem from valid views in the order of the walk; views[LRN_WALK_DY] may be NULL.
 */
static void lrn_canonicalize(const tenon_lrn_params *params,
                             const tenon_tensor *const views[LRN_WALKS], lrn_problem *p)
{
    const tenon_tensor *result = views[LRN_WALK_RESULT];
    dimension sorted[TENON_MAX_RANK];
    uint32_t count = 0;
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = result->dtype;
    p->is_backward = views[LRN_WALK_DY] != NULL;
    p->size = params->size;
    p->beta = params->beta;
    p->channels = result->shape[1];
    for (uint32_t d = 0; d < result->rank; d++) {
        dimension now = {.size = result->shape[d], .is_channel = d == 1};
        if (now.size == 1 && d != 1)
            continue;
        for (int v = 0; v < LRN_WALKS; v++)
            now.stride[v] = views[v] != NULL && now.size > 1 ? views[v]->stride[d] : 0;
        uint32_t at = count++;
        for (; at > 0 && sorted[at - 1].stride[LRN_WALK_RESULT] < now.stride[LRN_WALK_RESULT]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = now;
    }
    for (uint32_t i = 0; i < count; i++) {
        dimension *now = &sorted[i];
        if (i > 0 && lrn_mergeable(now - 1, now)) {
            now->size *= now[-1].size;
            p->rank--;
        }
        p->dimension = now->is_channel ? p->rank : p->dimension;
        p->shape[p->rank] = now->size;
        for (int v = 0; v < LRN_WALKS; v++)
            p->stride[v][p->rank] = now->stride[v];
        p->rank++;
    }
}

/* Checks what both directions have in common. */
static tenon_status lrn_check_call(const tn_call *call, const tenon_lrn_params *params)
{
    const tn_argument *first = &call->operands[0];
    const tenon_tensor *x = first->view;
    TN_TRY(lrn_check_params(call->caller, params));
    TN_TRY(tn_float_check(call->caller, first->name, call->context, x->dtype));
    if (x->rank < 2)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: rank is %u, must be at least 2: N, C and further dimensions",
                       call->caller, x->rank);
    for (uint32_t i = 1; i < call->operand_count; i++) {
        const tn_argument *other = &call->operands[i];
        TN_TRY(tn_same_dtype_check(call->caller, other->name, other->view, first->name, x->dtype));
        TN_TRY(tn_shape_check(call->caller, other->name, other->view, x->rank, x->shape));
    }
    return TENON_OK;
}

static void lrn_set_scalars(const tenon_lrn_params *params, tn_call *call)
{
    call->scalars[LRN_SCALAR_ALPHA] = params->alpha / (double)params->size;
    call->scalars[LRN_SCALAR_K] = params->k;
}

tenon_status tn_lrn_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_tensor *const views[] = {call->operands[LRN_X].view, call->operands[LRN_Y].view,
                                         NULL};
    TN_TRY(lrn_check_call(call, given));
    lrn_canonicalize(given, views, (lrn_problem *)problem);
    lrn_set_scalars(given, call);
    *empty = tn_tensor_empty(views[LRN_WALK_X]);
    return TENON_OK;
}

tenon_status tn_lrn_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                     bool *empty)
{
    const tenon_tensor *const views[] = {call->operands[LRN_BACKWARD_X].view,
                                         call->operands[LRN_BACKWARD_DX].view,
                                         call->operands[LRN_BACKWARD_DY].view};
    TN_TRY(lrn_check_call(call, given));
    lrn_canonicalize(given, views, (lrn_problem *)problem);
    lrn_set_scalars(given, call);
    *empty = tn_tensor_empty(views[LRN_WALK_X]);
    return TENON_OK;
}

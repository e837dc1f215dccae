/* Argument validation of recurrent layers and their gradient, the canonical problem, and the
 * families. */
#include "base/shape.h"
#include "ops/rnn/internal.h"

#include <inttypes.h>
#include <math.h>

static const tn_solver *const solvers[] = {&tn_rnn_direct, &tn_rnn_shared, &tn_rnn_step,
                                           &tn_rnn_sequence};
static const tn_solver *const data_solvers[] = {&tn_rnn_step, &tn_rnn_sequence};

static const tn_solver *const weights_solvers[] = {&tn_rnn_backward_weights_products};

static uint64_t rnn_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const rnn_problem *)problem)->flags, UINT32_MAX >> 1);
}

const tn_family tn_rnn_family = {
    .name = "rnn", TN_SOLVERS(solvers), .awkward = tn_rnn_awkward, .paths = rnn_paths};

const tn_family tn_rnn_backward_data_family = {.name = "rnn_backward_data",
                                               TN_SOLVERS(data_solvers),
                                               .awkward = tn_rnn_awkward,
                                               .paths = rnn_paths};

const tn_family tn_rnn_backward_weights_family = {.name = "rnn_backward_weights",
                                                  TN_SOLVERS(weights_solvers),
                                                  .awkward = tn_rnn_awkward,
                                                  .paths = rnn_paths};

static tenon_status rnn_check_params(const char *caller, const tenon_rnn_params *params)
{
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_RNN_GRU, "tenon_rnn_kind"));
    TN_TRY(tn_kind_check(caller, "direction", params->direction, TENON_RNN_BIDIRECTIONAL,
                         "tenon_rnn_direction"));
    TN_TRY(tn_kind_check(caller, "order", params->order, TENON_RNN_ORDER_IOFC, "tenon_rnn_order"));
    TN_TRY(tn_number_check(caller, "clip", params->clip, 0, (double)INFINITY));
    if ((params->flags & TENON_RNN_RESET_AFTER) != 0 && params->kind != TENON_RNN_GRU)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: flag TENON_RNN_RESET_AFTER is set, but kind is not "
                       "TENON_RNN_GRU",
                       caller);
    return TENON_OK;
}

static tenon_status check_ranks(const tn_call *call, const tenon_rnn_params *params,
                                const rnn_operand *operands)
{
    const uint32_t cell = tn_rnn_cell(params);
    const rnn_sizes none = {0};
    int64_t shape[RNN_RANK];
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const tenon_tensor *view = call->operands[i].view;
        const uint32_t rank = tn_rnn_shape(operands[i].shape, cell, &none, false, shape);
        if (view != NULL && view->rank != rank)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be %u",
                           call->caller, call->operands[i].name, view->rank, rank);
    }
    return TENON_OK;
}

/* Checks the ranks, and that w has whole gates, before the sizes are derived. */
static tenon_status check_weights(const tn_call *call, const tenon_rnn_params *params,
                                  const rnn_operand *operands, const tenon_tensor *w,
                                  const tenon_tensor *r)
{
    const int64_t gates = RNN_GATES_OF(tn_rnn_cell(params));
    TN_TRY(check_ranks(call, params, operands));
    if (w->shape[1] % gates != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: w: dimension 1 has size %" PRId64 ", must be a multiple of %" PRId64
                       ", the number of gates",
                       call->caller, w->shape[1], gates);
    if (w->shape[1] == 0 || r->shape[2] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: r: the hidden size and the size of the output must not be 0",
                       call->caller);
    return TENON_OK;
}

/* Checks the shape of an operand and its type, which follows from that of operand `typed`; that it
 * exists for the cell, and that values which only Tenon reads are dense. */
static tenon_status check_operand(const char *caller, const tn_argument *operand, rnn_shape which,
                                  const char *typed, const rnn_problem *p)
{
    const tenon_tensor *view = operand->view;
    const tenon_dtype wanted = tn_rnn_dtype(which, (tenon_dtype)p->dtype);
    const bool is_own = which == RNN_SHAPE_RESERVE || which == RNN_SHAPE_DGATES;
    int64_t shape[RNN_RANK];
    if (p->cell != RNN_CELL_LSTM &&
        (which == RNN_SHAPE_PEEPHOLE || which == RNN_SHAPE_PROJECTION || which == RNN_SHAPE_C0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: must be NULL unless kind is TENON_RNN_LSTM", caller, operand->name);
    if (which == RNN_SHAPE_LENGTHS || is_own) {
        if (view->dtype != wanted)
            return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be %s", caller,
                           operand->name, tenon_dtype_string(view->dtype),
                           tenon_dtype_string(wanted));
    } else {
        TN_TRY(tn_same_dtype_check(caller, operand->name, view, typed, wanted));
    }
    const uint32_t rank =
        tn_rnn_shape(which, p->cell, &p->size, (p->flags & RNN_HAS_PROJECTION) != 0, shape);
    TN_TRY(tn_shape_check(caller, operand->name, view, rank, shape));
    if (is_own && !tn_tensor_empty(view) && !tn_tensor_dense(view))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: must be dense in row-major order",
                       caller, operand->name);
    return TENON_OK;
}

static uint32_t flags_of(const tenon_rnn_params *params, const tn_call *call,
                         const rnn_operand *operands)
{
    uint32_t flags = params->kind == TENON_RNN_RELU ? RNN_IS_RELU : 0;
    for (uint32_t i = 0; i < call->operand_count; i++)
        flags |= call->operands[i].view != NULL ? operands[i].flag : 0;
    return flags | (params->direction == TENON_RNN_REVERSE ? RNN_REVERSE_0 : 0) |
           (params->direction == TENON_RNN_BIDIRECTIONAL ? RNN_BOTH : 0);
}

/* Fills in the problem of a call whose sizes have been derived, and checks all operands. The type
 * is that of operand `typed`. `flags` are added to those of the call. */
static tenon_status complete(const tenon_rnn_params *params, const tn_call *call,
                             const rnn_operand *operands, rnn_sizes sizes, uint32_t typed,
                             uint32_t flags, rnn_problem *p)
{
    const tenon_dtype dtype = call->operands[typed].view->dtype;
    const char *name = call->operands[typed].name;
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = dtype;
    p->cell = tn_rnn_cell(params);
    p->flags = flags | flags_of(params, call, operands);
    p->order = p->cell == RNN_CELL_SIMPLE ? 0 : params->order;
    p->size = sizes;
    TN_TRY(tn_float_check(call->caller, name, call->context, dtype));
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const tenon_tensor *view = call->operands[i].view;
        if (view == NULL)
            continue;
        TN_TRY(check_operand(call->caller, &call->operands[i], operands[i].shape, name, p));
        for (uint32_t d = 0; d < view->rank; d++)
            p->stride[i][d] = view->shape[d] > 1 ? view->stride[d] : 0;
    }
    return TENON_OK;
}

tenon_status tn_rnn_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_rnn_params *params = given;
    const tenon_tensor *v[RNN_OPERANDS];
    rnn_problem *p = (rnn_problem *)problem;
    for (uint32_t i = 0; i < RNN_OPERANDS; i++)
        v[i] = call->operands[i].view;
    TN_TRY(rnn_check_params(call->caller, params));
    TN_TRY(check_weights(call, params, tn_rnn_operands, v[RNN_W], v[RNN_R]));
    TN_TRY(complete(params, call, tn_rnn_operands, tn_rnn_sizes(params, v), RNN_W, 0, p));
    *empty =
        p->size.batch == 0 || (p->size.steps == 0 && (p->flags & (RNN_HAS_HN | RNN_HAS_CN)) == 0);
    call->scalars[RNN_SCALAR_CLIP] = params->clip;
    return TENON_OK;
}

static tenon_status check_clip(const char *caller, const tenon_rnn_params *params)
{
    if (params->clip > 0)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: params: clip is %g, must be 0: there is no gradient with limited "
                       "arguments",
                       caller, params->clip);
    return TENON_OK;
}

tenon_status tn_rnn_backward_data_prepare(const void *given, tn_call *call, tn_problem *problem,
                                          bool *empty)
{
    const tenon_rnn_params *params = given;
    const tenon_tensor *v[RNN_DATA_OPERANDS];
    rnn_problem *p = (rnn_problem *)problem;
    for (uint32_t i = 0; i < RNN_DATA_OPERANDS; i++)
        v[i] = call->operands[i].view;
    TN_TRY(rnn_check_params(call->caller, params));
    TN_TRY(check_clip(call->caller, params));
    TN_TRY(check_weights(call, params, tn_rnn_data_operands, v[RNN_DATA_W], v[RNN_DATA_R]));
    TN_TRY(complete(params, call, tn_rnn_data_operands, tn_rnn_data_sizes(params, v), RNN_DATA_W, 0,
                    p));
    p->backward = 1;
    *empty =
        p->size.batch == 0 || (p->size.steps == 0 && (p->flags & (RNN_HAS_HN | RNN_HAS_CN)) == 0);
    call->scalars[RNN_SCALAR_CLIP] = 0;
    return TENON_OK;
}

/* Checks the sizes of the values that the forward call and the gradient of the data have stored,
 * before other sizes are derived. Sets *projects if the layer has a projection. */
static tenon_status check_stored(const tn_call *call, const tenon_rnn_params *params,
                                 const tenon_tensor *const *v, bool *projects)
{
    const uint32_t cell = tn_rnn_cell(params);
    const int64_t kept = RNN_RESERVED_OF(cell), size = v[RNN_WEIGHTS_RESERVE]->shape[3];
    if (size == 0 || size % kept != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: reserve: dimension 3 has size %" PRId64
                       ", must be a positive multiple of %" PRId64 ", the values kept of a unit",
                       call->caller, size, kept);
    if (v[RNN_WEIGHTS_Y]->shape[3] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y: dimension 3 must not have size 0",
                       call->caller);
    *projects = cell == RNN_CELL_LSTM &&
                v[RNN_WEIGHTS_DGATES]->shape[3] != size / kept * RNN_COLUMNS_OF(cell);
    if (v[RNN_WEIGHTS_DPROJECTION] != NULL && cell == RNN_CELL_LSTM && !*projects)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: dprojection: must be NULL, since dgates has no columns of a projection",
                       call->caller);
    return TENON_OK;
}

tenon_status tn_rnn_backward_weights_prepare(const void *given, tn_call *call, tn_problem *problem,
                                             bool *empty)
{
    const tenon_rnn_params *params = given;
    const tenon_tensor *v[RNN_WEIGHTS_OPERANDS];
    rnn_problem *p = (rnn_problem *)problem;
    bool projects = false;
    for (uint32_t i = 0; i < RNN_WEIGHTS_OPERANDS; i++)
        v[i] = call->operands[i].view;
    TN_TRY(rnn_check_params(call->caller, params));
    TN_TRY(check_clip(call->caller, params));
    TN_TRY(check_ranks(call, params, tn_rnn_weights_operands));
    TN_TRY(check_stored(call, params, v, &projects));
    TN_TRY(complete(params, call, tn_rnn_weights_operands, tn_rnn_weights_sizes(params, v),
                    RNN_WEIGHTS_X, projects ? RNN_HAS_PROJECTION : 0, p));
    p->backward = 2;
    *empty = true;
    for (uint32_t i = RNN_WEIGHTS_DW; i < RNN_WEIGHTS_OPERANDS; i++)
        *empty &= v[i] == NULL || tn_tensor_empty(v[i]);
    return TENON_OK;
}

/* Argument validation of tenon_rnn_forward, its canonical problem, and its family. */
#include "base/shape.h"
#include "ops/rnn/internal.h"

#include <inttypes.h>
#include <math.h>

static const tn_solver *const solvers[] = {&tn_rnn_step, &tn_rnn_sequence};

static uint64_t rnn_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const rnn_problem *)problem)->flags, UINT32_MAX >> 1);
}

const tn_family tn_rnn_family = {
    .name = "rnn", TN_SOLVERS(solvers), .awkward = tn_rnn_awkward, .paths = rnn_paths};

uint32_t tn_rnn_cell(const tenon_rnn_params *params)
{
    if (params->kind == TENON_RNN_LSTM)
        return RNN_CELL_LSTM;
    if (params->kind != TENON_RNN_GRU)
        return RNN_CELL_SIMPLE;
    return (params->flags & TENON_RNN_RESET_AFTER) != 0 ? RNN_CELL_GRU_AFTER : RNN_CELL_GRU;
}

int tn_rnn_gate(uint32_t cell, uint32_t order, int gate)
{
    static const int lstm[] = {0, 2, 3, 1}, gru[] = {1, 0, 2};
    if (cell == RNN_CELL_LSTM)
        return order == TENON_RNN_ORDER_IOFC ? lstm[gate] : gate;
    return cell != RNN_CELL_SIMPLE && order == TENON_RNN_ORDER_IFGO ? gru[gate] : gate;
}

int tn_rnn_peephole(uint32_t order, int gate)
{
    return order == TENON_RNN_ORDER_IOFC && gate > 0 ? 3 - gate : gate;
}

bool tn_rnn_has_second(const rnn_problem *p)
{
    return p->cell == RNN_CELL_GRU || (p->flags & RNN_HAS_PROJECTION) != 0;
}

rnn_sizes tn_rnn_sizes(const tenon_rnn_params *params, const tenon_tensor *const *views)
{
    return (rnn_sizes){.directions = params->direction == TENON_RNN_BIDIRECTIONAL ? 2 : 1,
                       .steps = views[RNN_X]->shape[0],
                       .batch = views[RNN_X]->shape[1],
                       .inputs = views[RNN_X]->shape[2],
                       .hidden = views[RNN_W]->shape[1] / RNN_GATES_OF(tn_rnn_cell(params)),
                       .output = views[RNN_R]->shape[2]};
}

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

static tenon_status check_types(const tn_call *call, const tenon_tensor *const *v)
{
    const char *caller = call->caller;
    const tenon_dtype dtype = (tenon_dtype)v[RNN_X]->dtype;
    const tenon_dtype sums = dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
    TN_TRY(tn_float_check(caller, "x", call->context, dtype));
    for (uint32_t i = 1; i < RNN_OPERANDS; i++)
        if (i != RNN_LENGTHS && i != RNN_RESERVE)
            TN_TRY(tn_same_dtype_check(caller, call->operands[i].name, v[i], "x", dtype));
    if (v[RNN_LENGTHS] != NULL && v[RNN_LENGTHS]->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: lengths: type is %s, must be i32", caller,
                       tenon_dtype_string(v[RNN_LENGTHS]->dtype));
    if (v[RNN_RESERVE] != NULL && v[RNN_RESERVE]->dtype != sums)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: reserve: type is %s, must be %s", caller,
                       tenon_dtype_string(v[RNN_RESERVE]->dtype), tenon_dtype_string(sums));
    return TENON_OK;
}

/* Checks the ranks of x, w and r, from which all sizes follow, and that w has whole gates. */
static tenon_status check_ranks(const char *caller, const tenon_rnn_params *params,
                                const tenon_tensor *const *v)
{
    static const char *const names[] = {"x", "w", "r"};
    const int64_t gates = RNN_GATES_OF(tn_rnn_cell(params));
    for (int i = RNN_X; i <= RNN_R; i++)
        if (v[i]->rank != 3)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be 3", caller,
                           names[i], v[i]->rank);
    if (v[RNN_W]->shape[1] % gates != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: w: dimension 1 has size %" PRId64 ", must be a multiple of %" PRId64
                       ", the number of gates",
                       caller, v[RNN_W]->shape[1], gates);
    if (v[RNN_W]->shape[1] == 0 || v[RNN_R]->shape[2] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: r: the hidden size and the size of the output must not be 0", caller);
    return TENON_OK;
}

static tenon_status check_shapes(const tn_call *call, const tenon_rnn_params *params,
                                 const tenon_tensor *const *v)
{
    const uint32_t cell = tn_rnn_cell(params);
    const rnn_sizes s = tn_rnn_sizes(params, v);
    const int64_t d = s.directions, rows = v[RNN_W]->shape[1], h = s.hidden,
                  p = v[RNN_PROJECTION] != NULL ? s.output : h;
    const struct {
        uint32_t rank;
        int64_t shape[RNN_RANK];
    } wanted[RNN_OPERANDS] = {
        [RNN_X] = {3, {s.steps, s.batch, s.inputs}},
        [RNN_W] = {3, {d, rows, s.inputs}},
        [RNN_R] = {3, {d, rows, p}},
        [RNN_BIAS] = {2, {d, rows}},
        [RNN_RECURRENT_BIAS] = {2, {d, rows}},
        [RNN_PEEPHOLE] = {2, {d, 3 * h}},
        [RNN_PROJECTION] = {3, {d, p, h}},
        [RNN_LENGTHS] = {1, {s.batch}},
        [RNN_H0] = {3, {d, s.batch, p}},
        [RNN_C0] = {3, {d, s.batch, h}},
        [RNN_Y] = {4, {s.steps, d, s.batch, p}},
        [RNN_HN] = {3, {d, s.batch, p}},
        [RNN_CN] = {3, {d, s.batch, h}},
        [RNN_RESERVE] = {4, {d, s.steps, s.batch, h * RNN_RESERVED_OF(cell)}}};
    for (uint32_t i = 0; i < RNN_OPERANDS; i++)
        if (v[i] != NULL)
            TN_TRY(tn_shape_check(call->caller, call->operands[i].name, v[i], wanted[i].rank,
                                  wanted[i].shape));
    return TENON_OK;
}

/* Checks that operands of an LSTM are given only for an LSTM, and that the reserve is dense. */
static tenon_status check_given(const tn_call *call, const tenon_rnn_params *params,
                                const tenon_tensor *const *v)
{
    static const int own[] = {RNN_PEEPHOLE, RNN_PROJECTION, RNN_C0, RNN_CN};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (v[own[i]] != NULL && params->kind != TENON_RNN_LSTM)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s: must be NULL unless kind is TENON_RNN_LSTM", call->caller,
                           call->operands[own[i]].name);
    if (v[RNN_RESERVE] != NULL && !tn_tensor_empty(v[RNN_RESERVE]) &&
        !tn_tensor_dense(v[RNN_RESERVE]))
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: reserve: must be dense in row-major order",
                       call->caller);
    return TENON_OK;
}

static uint32_t flags_of(const tenon_rnn_params *params, const tenon_tensor *const *v)
{
    static const struct {
        int operand;
        uint32_t flag;
    } flags[] = {{RNN_BIAS, RNN_HAS_BIAS},
                 {RNN_RECURRENT_BIAS, RNN_HAS_RECURRENT_BIAS},
                 {RNN_PEEPHOLE, RNN_HAS_PEEPHOLE},
                 {RNN_PROJECTION, RNN_HAS_PROJECTION},
                 {RNN_LENGTHS, RNN_HAS_LENGTHS},
                 {RNN_H0, RNN_HAS_H0},
                 {RNN_C0, RNN_HAS_C0},
                 {RNN_HN, RNN_HAS_HN},
                 {RNN_CN, RNN_HAS_CN},
                 {RNN_RESERVE, RNN_HAS_RESERVE}};
    uint32_t result = params->kind == TENON_RNN_RELU ? RNN_IS_RELU : 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        result |= v[flags[i].operand] != NULL ? flags[i].flag : 0;
    return result | (params->direction == TENON_RNN_REVERSE ? RNN_REVERSE_0 : 0) |
           (params->direction == TENON_RNN_BIDIRECTIONAL ? RNN_BOTH : 0);
}

static void rnn_canonicalize(const tenon_rnn_params *params, const tenon_tensor *const *v,
                             rnn_problem *p)
{
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = v[RNN_X]->dtype;
    p->cell = tn_rnn_cell(params);
    p->flags = flags_of(params, v);
    p->order = p->cell == RNN_CELL_SIMPLE ? 0 : params->order;
    p->size = tn_rnn_sizes(params, v);
    for (uint32_t i = 0; i < RNN_OPERANDS; i++)
        for (uint32_t d = 0; v[i] != NULL && d < v[i]->rank; d++)
            p->stride[i][d] = v[i]->shape[d] > 1 ? v[i]->stride[d] : 0;
}

tenon_status tn_rnn_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_rnn_params *params = given;
    const tenon_tensor *v[RNN_OPERANDS];
    rnn_problem *p = (rnn_problem *)problem;
    for (uint32_t i = 0; i < RNN_OPERANDS; i++)
        v[i] = call->operands[i].view;
    TN_TRY(rnn_check_params(call->caller, params));
    TN_TRY(check_ranks(call->caller, params, v));
    TN_TRY(check_given(call, params, v));
    TN_TRY(check_types(call, v));
    TN_TRY(check_shapes(call, params, v));
    rnn_canonicalize(params, v, p);
    *empty = p->size.batch == 0 || (p->size.steps == 0 && v[RNN_HN] == NULL && v[RNN_CN] == NULL);
    call->scalars[RNN_SCALAR_CLIP] = params->clip;
    return TENON_OK;
}

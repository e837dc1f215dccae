/* Recurrent layers in one direction, with as many inputs as hidden units: LSTM and tanh with a
 * bias, and GRU that resets after the product, without one. All initial states have the same
 * memory. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/peers.h"

#include "ops/registry.h"
#include "ops/rnn/internal.h"

#include <stdlib.h>

enum { X, W, R, BIAS, STATE, Y };

typedef struct layer {
    bench_operands operands;
    tenon_rnn_params params;
    tenon_plan *plan;
    bench_cell cell;
    bench_rnn peer;
} layer;

/* The number of gates: of matrices of weights, both of the inputs and of the hidden units. */
static const int64_t gates[] = {[BENCH_CELL_LSTM] = 4, [BENCH_CELL_GRU] = 3, [BENCH_CELL_TANH] = 1};

static bool has_bias(const layer *l)
{
    return l->cell != BENCH_CELL_GRU;
}

static bool has_cell_state(const layer *l)
{
    return l->cell == BENCH_CELL_LSTM;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const layer *l = data;
    const tenon_memory *m = l->operands.memory[turn % l->operands.copies];
    const tenon_memory memories[RNN_OPERANDS] = {
        [RNN_X] = m[X],      [RNN_W] = m[W],
        [RNN_R] = m[R],      [RNN_BIAS] = m[BIAS],
        [RNN_H0] = m[STATE], [RNN_C0] = has_cell_state(l) ? m[STATE] : (tenon_memory){0},
        [RNN_Y] = m[Y]};
    return BENCH_WELL(tenon_plan_run(stream, l->plan, memories, RNN_OPERANDS, NULL));
}

/* A part is the first step of a sequence: the random weights are so large that the error bounds of
 * later steps, which grow with them, say nothing. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const layer *l = data;
    const bench_operand *o = l->operands.operand;
    part->first = number * l->peer.hidden;
    part->views[RNN_X] = tenon_tensor_slice(tenon_tensor_slice(o[X].host, 0, 0, 1), 1, number, 1);
    part->views[RNN_W] = o[W].host;
    part->views[RNN_R] = o[R].host;
    part->views[RNN_BIAS] = o[BIAS].host;
    part->views[RNN_H0] = tenon_tensor_slice(o[STATE].host, 1, number, 1);
    if (has_cell_state(l))
        part->views[RNN_C0] = part->views[RNN_H0];
    part->views[RNN_Y] = tenon_tensor_slice(tenon_tensor_slice(o[Y].view, 0, 0, 1), 2, number, 1);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const layer *l = data;
    const double work =
        2.0 * (double)gates[l->cell] * (double)l->peer.hidden * (double)l->peer.hidden;
    const bench_parts parts = {
        &tn_operation_rnn, &l->params, l->plan->name, &l->operands, Y, l->peer.batch, work, cut, l};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    layer *l = bench->tenon.data;
    tenon_plan_release(l->plan);
    bench_operands_destroy(&l->operands);
    free(l);
}

static void add_operands(layer *l)
{
    const bench_rnn *r = &l->peer;
    const int64_t rows = gates[l->cell] * r->hidden;
    const int64_t x[] = {r->steps, r->batch, r->hidden}, w[] = {1, rows, r->hidden},
                  state[] = {1, r->batch, r->hidden}, y[] = {r->steps, 1, r->batch, r->hidden};
    bench_operand_add(&l->operands, r->dtype, 3, x, false);
    bench_operand_add(&l->operands, r->dtype, 3, w, false);
    bench_operand_add(&l->operands, r->dtype, 3, w, false);
    if (has_bias(l))
        bench_operand_add(&l->operands, r->dtype, 2, w, false);
    else
        bench_operand_add_absent(&l->operands);
    bench_operand_add(&l->operands, r->dtype, 3, state, false);
    bench_operand_add(&l->operands, r->dtype, 4, y, true);
}

static void set_parameters(layer *l, const char *solver)
{
    l->params = (tenon_rnn_params)TENON_RNN_PARAMS_INIT;
    l->params.solver = solver;
    l->params.kind = l->cell == BENCH_CELL_GRU    ? TENON_RNN_GRU
                     : l->cell == BENCH_CELL_LSTM ? TENON_RNN_LSTM
                                                  : TENON_RNN_TANH;
    if (l->cell == BENCH_CELL_GRU) {
        l->params.flags = TENON_RNN_RESET_AFTER;
        l->params.order = TENON_RNN_ORDER_IOFC; /* oneDNN's order of a GRU's gates */
    }
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_recurrent_shape *s = &suite->shapes->cases[number].recurrent;
    layer *l = calloc(1, sizeof *l);
    if (l == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, l, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    l->cell = s->cell;
    l->peer =
        (bench_rnn){s->cell == BENCH_CELL_GRU, s->steps, s->n, s->hidden, dtype, &l->operands};
    set_parameters(l, session->options->solver);
    add_operands(l);
    const bench_operand *o = l->operands.operand;
    const tenon_tensor *const views[RNN_OPERANDS] = {
        [RNN_X] = &o[X].view,      [RNN_W] = &o[W].view,
        [RNN_R] = &o[R].view,      [RNN_BIAS] = has_bias(l) ? &o[BIAS].view : NULL,
        [RNN_H0] = &o[STATE].view, [RNN_C0] = has_cell_state(l) ? &o[STATE].view : NULL,
        [RNN_Y] = &o[Y].view};
    if (!bench_operands_create(session, &l->operands, false) ||
        !bench_plan(session, &tn_operation_rnn, &l->params, views, bench, &l->plan))
        return false;
    bench->operations = 4.0 * (double)gates[l->cell] * (double)s->steps * (double)s->n *
                        (double)s->hidden * (double)s->hidden;
    if (l->cell != BENCH_CELL_TANH)
        BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_rnn(&l->peer, bench_way_at));
    return true;
}

const bench_kind bench_recurrent_cases = {bench_case_count, bench_case_name, bench_floating, make};

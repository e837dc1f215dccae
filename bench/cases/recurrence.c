/* Recurrent layers in one direction, with as many inputs as hidden units: LSTM with a bias, and GRU
 * that resets after the product, without one. All initial states have the same memory. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/peers.h"

#include "ops/registry.h"
#include "ops/rnn/internal.h"

#include <stdio.h>
#include <stdlib.h>

static const int64_t hidden[] = {128, 256, 512, 1024}, batches[] = {1, 4, 16, 64},
                     steps[] = {1, 10, 100};

#define HIDDEN  (sizeof hidden / sizeof *hidden)
#define BATCHES (sizeof batches / sizeof *batches)
#define STEPS   (sizeof steps / sizeof *steps)

enum { X, W, R, BIAS, STATE, Y };

typedef struct layer {
    bench_operands operands;
    tenon_rnn_params params;
    tenon_plan *plan;
    bench_rnn peer;
} layer;

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return 2 * HIDDEN * BATCHES * STEPS;
}

static bench_rnn layer_of(uint32_t number)
{
    return (bench_rnn){.is_gru = number / STEPS / BATCHES / HIDDEN != 0,
                       .steps = steps[number % STEPS],
                       .batch = batches[number / STEPS % BATCHES],
                       .hidden = hidden[number / STEPS / BATCHES % HIDDEN]};
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    const bench_rnn r = layer_of(number);
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s h%d n%d t%d", r.is_gru ? "gru" : "lstm", (int)r.hidden,
             (int)r.batch, (int)r.steps);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const layer *l = data;
    const tenon_memory *m = l->operands.memory[turn % l->operands.copies];
    const tenon_memory memories[RNN_OPERANDS] = {
        [RNN_X] = m[X],      [RNN_W] = m[W],
        [RNN_R] = m[R],      [RNN_BIAS] = m[BIAS],
        [RNN_H0] = m[STATE], [RNN_C0] = l->peer.is_gru ? (tenon_memory){0} : m[STATE],
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
    if (!l->peer.is_gru)
        part->views[RNN_C0] = part->views[RNN_H0];
    part->views[RNN_Y] = tenon_tensor_slice(tenon_tensor_slice(o[Y].view, 0, 0, 1), 2, number, 1);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const layer *l = data;
    const double work =
        (l->peer.is_gru ? 6.0 : 8.0) * (double)l->peer.hidden * (double)l->peer.hidden;
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
    const int64_t rows = (r->is_gru ? 3 : 4) * r->hidden;
    const int64_t x[] = {r->steps, r->batch, r->hidden}, w[] = {1, rows, r->hidden},
                  state[] = {1, r->batch, r->hidden}, y[] = {r->steps, 1, r->batch, r->hidden};
    bench_operand_add(&l->operands, r->dtype, 3, x, false);
    bench_operand_add(&l->operands, r->dtype, 3, w, false);
    bench_operand_add(&l->operands, r->dtype, 3, w, false);
    if (r->is_gru)
        bench_operand_add_absent(&l->operands);
    else
        bench_operand_add(&l->operands, r->dtype, 2, w, false);
    bench_operand_add(&l->operands, r->dtype, 3, state, false);
    bench_operand_add(&l->operands, r->dtype, 4, y, true);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    (void)suite;
    layer *l = calloc(1, sizeof *l);
    if (l == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, l, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    l->peer = layer_of(number);
    l->peer.dtype = dtype;
    l->peer.operands = &l->operands;
    l->params = (tenon_rnn_params)TENON_RNN_PARAMS_INIT;
    l->params.solver = session->options->solver;
    if (l->peer.is_gru) {
        l->params.kind = TENON_RNN_GRU;
        l->params.flags = TENON_RNN_RESET_AFTER;
        l->params.order = TENON_RNN_ORDER_IOFC; /* oneDNN's order of a GRU's gates */
    }
    add_operands(l);
    const bench_operand *o = l->operands.operand;
    const tenon_tensor *const views[RNN_OPERANDS] = {
        [RNN_X] = &o[X].view,      [RNN_W] = &o[W].view,
        [RNN_R] = &o[R].view,      [RNN_BIAS] = l->peer.is_gru ? NULL : &o[BIAS].view,
        [RNN_H0] = &o[STATE].view, [RNN_C0] = l->peer.is_gru ? NULL : &o[STATE].view,
        [RNN_Y] = &o[Y].view};
    if (!bench_operands_create(session, &l->operands, false) ||
        !bench_plan(session, &tn_operation_rnn, &l->params, views, bench, &l->plan))
        return false;
    bench->operations = (l->peer.is_gru ? 12.0 : 16.0) * (double)l->peer.steps *
                        (double)l->peer.batch * (double)l->peer.hidden * (double)l->peer.hidden;
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_rnn(&l->peer, bench_way_at));
    return true;
}

static const bench_kind functions = {count, name_of, bench_floating, make};

const bench_suite bench_suite_recurrence = {
    "recurrence", "LSTM and GRU layers, forward: hidden units, batch and steps", &functions, 0.3,
    0};

/* Activations on vectors. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/loop.h"
#include "peers/peers.h"

#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>

/* The loop of an activation. */
static const struct {
    tenon_activation_kind kind;
    bench_loop_kind loop;
} loops[] = {{TENON_ACTIVATION_RELU, BENCH_LOOP_RELU},
             {TENON_ACTIVATION_SIGMOID, BENCH_LOOP_SIGMOID},
             {TENON_ACTIVATION_TANH, BENCH_LOOP_TANH}};

#define LOOPS     (sizeof loops / sizeof *loops)
#define MOST_PART (1 << 16) /* elements that are verified together */

typedef struct map {
    bench_operands operands;
    tenon_activation_params params;
    tenon_plan *plan;
    bench_map peer;
    bench_loop loop;
} map;

enum { X, Y };

static bool call(void *data, tenon_stream *stream, int turn)
{
    const map *m = data;
    return BENCH_WELL(
        tenon_plan_run(stream, m->plan, m->operands.memory[turn % m->operands.copies], 2, NULL));
}

/* Returns the size of a part: the largest power of two that divides the vector, up to a limit. */
static int64_t part_of(const map *m)
{
    const int64_t power = m->peer.elements & -m->peer.elements;
    return power < MOST_PART ? power : MOST_PART;
}

static void cut(const void *data, int64_t number, bench_part *part)
{
    const map *m = data;
    const bench_operand *o = m->operands.operand;
    const int64_t size = part_of(m);
    part->first = number * size;
    part->views[X] = tenon_tensor_slice(o[X].host, 0, part->first, size);
    part->views[Y] = tenon_tensor_slice(o[Y].view, 0, part->first, size);
}

/* Verifies the first part and the last. */
static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const map *m = data;
    const bench_parts parts = {&tn_operation_activation,
                               &m->params,
                               m->plan->name,
                               &m->operands,
                               Y,
                               m->peer.elements / part_of(m),
                               (double)INFINITY,
                               cut,
                               m};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    map *m = bench->tenon.data;
    tenon_plan_release(m->plan);
    bench_operands_destroy(&m->operands);
    free(m);
}

/* Adds the peer of a loop, if the activation has one. */
static void add_loop(bench_session *session, map *m, bench_case *bench)
{
    for (size_t i = 0; i < LOOPS; i++)
        if (loops[i].kind == m->peer.kind) {
            m->loop = (bench_loop){loops[i].loop, m->peer.elements / BENCH_LOOP_COLS,
                                   m->peer.dtype, &m->operands,
                                   {X, X, X},     Y};
            BENCH_ADD_PEER(session, bench, "loop", bench_loop_way(&m->loop, bench_way_at));
        }
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_activation_shape *s = &suite->shapes->cases[number].activation;
    map *m = calloc(1, sizeof *m);
    if (m == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, m, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    m->params = (tenon_activation_params)TENON_ACTIVATION_PARAMS_INIT;
    m->params.solver = session->options->solver;
    m->params.activation = tenon_activation_default(s->kind);
    m->peer = (bench_map){s->kind, s->elements, dtype, &m->operands, X, Y};
    bench_operand_add(&m->operands, dtype, 1, &s->elements, false);
    bench_operand_add(&m->operands, dtype, 1, &s->elements, true);
    const bench_operand *o = m->operands.operand;
    const tenon_tensor *const views[] = {&o[X].view, &o[Y].view};
    if (!bench_operands_create(session, &m->operands, s->elements > 1 << 20) ||
        !bench_plan(session, &tn_operation_activation, &m->params, views, bench, &m->plan))
        return false;
    bench->bytes = bench_operands_bytes(&m->operands);
    bench->footprint = bench->bytes * m->operands.copies;
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_map(&m->peer, bench_way_at));
    add_loop(session, m, bench);
    return true;
}

const bench_kind bench_activation_cases = {bench_case_count, bench_case_name, bench_floating, make};

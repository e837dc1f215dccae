/* Activations on vectors that fit into the caches and on larger ones. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/loop.h"
#include "peers/peers.h"

#include "ops/registry.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const tenon_activation_kind kinds[] = {TENON_ACTIVATION_RELU, TENON_ACTIVATION_SIGMOID,
                                              TENON_ACTIVATION_TANH, TENON_ACTIVATION_GELU,
                                              TENON_ACTIVATION_GELU_TANH};
static const char *const kind_names[] = {"relu", "sigmoid", "tanh", "gelu", "gelu_tanh"};
static const int64_t sizes[] = {1 << 14, 1 << 20, 1 << 24};

/* for the first kinds */
static const bench_loop_kind loops[] = {BENCH_LOOP_RELU, BENCH_LOOP_SIGMOID, BENCH_LOOP_TANH};

#define LOOPS (sizeof loops / sizeof *loops)
#define KINDS (sizeof kinds / sizeof *kinds)
#define SIZES (sizeof sizes / sizeof *sizes)

typedef struct map {
    bench_operands operands;
    tenon_activation_params params;
    tenon_plan *plan;
    bench_map peer;
    bench_loop loop;
} map;

enum { X, Y };

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return KINDS * SIZES;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s %lld", kind_names[number / SIZES],
             (long long)sizes[number % SIZES]);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const map *m = data;
    return BENCH_WELL(
        tenon_plan_run(stream, m->plan, m->operands.memory[turn % m->operands.copies], 2, NULL));
}

/* Returns the size of a part. Vectors are a multiple of it, or are smaller. */
static int64_t part_of(const map *m)
{
    return m->peer.elements < 1 << 16 ? m->peer.elements : 1 << 16;
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

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    (void)suite;
    map *m = calloc(1, sizeof *m);
    if (m == NULL)
        return false;
    const int64_t shape[] = {sizes[number % SIZES]};
    bench->tenon = (bench_way){"tenon", call, false, m, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    m->params = (tenon_activation_params)TENON_ACTIVATION_PARAMS_INIT;
    m->params.solver = session->options->solver;
    m->params.activation.kind = kinds[number / SIZES];
    bench_operand_add(&m->operands, dtype, 1, shape, false);
    bench_operand_add(&m->operands, dtype, 1, shape, true);
    const bench_operand *o = m->operands.operand;
    const tenon_tensor *const views[] = {&o[X].view, &o[Y].view};
    if (!bench_operands_create(session, &m->operands, shape[0] > 1 << 20) ||
        !bench_plan(session, &tn_operation_activation, &m->params, views, bench, &m->plan))
        return false;
    bench->bytes = bench_operands_bytes(&m->operands);
    bench->footprint = bench->bytes * m->operands.copies;
    m->peer = (bench_map){kinds[number / SIZES], shape[0], dtype, &m->operands, X, Y};
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_map(&m->peer, bench_way_at));
    m->loop = (bench_loop){loops[number / SIZES % LOOPS],
                           shape[0] / BENCH_LOOP_COLS,
                           dtype,
                           &m->operands,
                           {X, X, X},
                           Y};
    if (number / SIZES < LOOPS)
        BENCH_ADD_PEER(session, bench, "loop", bench_loop_way(&m->loop, bench_way_at));
    return true;
}

static const bench_kind functions = {count, name_of, bench_floating, make};

const bench_suite bench_suite_activation = {"activation", "activations, forward", &functions, 1, 0};

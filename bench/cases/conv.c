/* Forward convolutions of common networks. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/peers.h"
#include "shapes/shapes.h"

#include "ops/conv/problem/problem.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct convolution {
    bench_operands operands;
    tenon_conv_params params;
    tenon_plan *plan;
    bench_conv peer;
} convolution;

enum { X, W, Y };

static uint32_t count(const bench_suite *suite)
{
    return suite->shapes->count;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    bench_conv_name(&suite->shapes->conv[number], name);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const convolution *v = data;
    const tenon_memory *m = v->operands.memory[turn % v->operands.copies];
    const tenon_memory memories[] = {m[X], m[W], {0}, {0}, m[Y]};
    return BENCH_WELL(tenon_plan_run(stream, v->plan, memories, 5, NULL));
}

/* Cuts out an output channel of an image, which depends on its group's input channels. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const convolution *v = data;
    const bench_conv *c = &v->peer;
    const bench_conv_shape *s = &c->shape;
    const bench_operand *o = v->operands.operand;
    const int64_t image = number / s->k, k = number % s->k, inner = s->c / s->groups,
                  group = k / (s->k / s->groups), plane[] = {1, 1, c->p, c->q};
    ((tenon_conv_params *)(void *)part->params.bytes)->groups = 1;
    part->views[CONV_X] =
        tenon_tensor_slice(tenon_tensor_slice(o[X].host, 0, image, 1), 1, group * inner, inner);
    part->views[CONV_W] = tenon_tensor_slice(o[W].host, 0, k, 1);
    part->views[CONV_Y] = tenon_tensor_view(o[Y].view.dtype, 4, plane);
    part->first = number * c->p * c->q;
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const convolution *v = data;
    const bench_conv_shape *s = &v->peer.shape;
    const int64_t all = s->n * s->k;
    const bench_parts parts = {&tn_operation_conv,
                               &v->params,
                               v->plan->name,
                               &v->operands,
                               Y,
                               all,
                               bench_conv_operations(s) / 2 / (double)all,
                               cut,
                               v};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    convolution *v = bench->tenon.data;
    tenon_plan_release(v->plan);
    bench_operands_destroy(&v->operands);
    free(v);
}

static bool prepare(bench_session *session, convolution *v, const bench_conv_shape *s,
                    tenon_dtype dtype, bench_case *bench)
{
    const int64_t p = bench_conv_output(s, false), q = bench_conv_output(s, true),
                  x[] = {s->n, s->c, s->h, s->w}, w[] = {s->k, s->c / s->groups, s->r, s->s},
                  y[] = {s->n, s->k, p, q};
    v->params = (tenon_conv_params)TENON_CONV_PARAMS_INIT;
    v->params.solver = session->options->solver;
    v->params.groups = s->groups;
    v->params.geometry = bench_conv_geometry(s);
    bench_operand_add(&v->operands, dtype, 4, x, false);
    bench_operand_add(&v->operands, dtype, 4, w, false);
    bench_operand_add(&v->operands, dtype, 4, y, true);
    const bench_operand *o = v->operands.operand;
    v->peer = (bench_conv){BENCH_CONV_FORWARD, *s, p, q, dtype, &v->operands, X, W, Y};
    const tenon_tensor *const views[] = {&o[X].view, &o[W].view, NULL, NULL, &o[Y].view};
    return bench_operands_create(session, &v->operands, false) &&
           bench_plan(session, &tn_operation_conv, &v->params, views, bench, &v->plan);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    convolution *v = calloc(1, sizeof *v);
    const bench_conv_shape shape = suite->shapes->conv[number];
    if (v == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, v, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    if (!prepare(session, v, &shape, dtype, bench))
        return false;
    bench->operations = bench_conv_operations(&shape);
    bench->bytes = bench_operands_bytes(&v->operands);
    bench->footprint = bench->bytes * v->operands.copies;
    BENCH_ADD_PEER(session, bench, "cudnn", bench_cudnn_conv(session, &v->peer, bench_way_at));
    if (suite->shapes->peers == BENCH_PEERS_GPU)
        return true;
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_conv(&v->peer, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn-blocked",
                   bench_onednn_conv(&v->peer, true, bench_way_at));
    return true;
}

const bench_kind bench_conv_cases = {count, name_of, bench_floating, make};

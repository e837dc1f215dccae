/* Forward convolutions of common networks with filters packed in panels, and images with their
 * channels last, as in inference. */
#include "judge.h"
#include "peers/peers.h"
#include "shapes/shapes.h"

#include "ops/conv/problem/problem.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct convolution {
    bench_operands operands;
    tenon_conv_params params;
    tenon_packed *packed;
    tenon_plan *plan, *unpacked;
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
    const tenon_memory memories[] = {m[X], {0}, {0}, m[Y]};
    return BENCH_WELL(tenon_plan_run(stream, v->plan, memories, 4, NULL));
}

/* Calls tenon_conv_forward with dense filters, to show the gain of packing. */
static bool call_unpacked(void *data, tenon_stream *stream, int turn)
{
    const convolution *v = data;
    const tenon_memory *m = v->operands.memory[turn % v->operands.copies];
    const tenon_memory memories[] = {m[X], m[W], {0}, {0}, m[Y]};
    return BENCH_WELL(tenon_plan_run(stream, v->unpacked, memories, 5, NULL));
}

/* Returns the N C H W view of an operand, which is stored as N H W C. */
static tenon_tensor image(const convolution *v, uint32_t operand)
{
    return tenon_tensor_nhwc(v->operands.operand[operand].view);
}

static bool add_unpacked(bench_session *session, convolution *v, bench_way *way)
{
    const tenon_tensor x = image(v, X), y = image(v, Y);
    *way = (bench_way){"unpacked", call_unpacked, false, v, NULL};
    return BENCH_WELL(tenon_conv_forward_plan(session->context, &v->params, &x,
                                              &v->operands.operand[W].view, NULL, NULL, &y,
                                              &v->unpacked));
}

/* Cuts the window of output `at` out of dimension `d` of x, and sets its padding. */
static tenon_tensor cut_window(tenon_tensor x, const bench_conv_shape *s, uint32_t d, int64_t at,
                               tenon_conv_geometry *geometry)
{
    const int64_t size = d == 1 ? s->h : s->w, first = at * s->stride - s->pad,
                  end = first + (d == 1 ? s->r : s->s), low = first > 0 ? first : 0,
                  high = end < size ? end : size;
    geometry->pad_begin[d - 1] = low - first;
    geometry->pad_end[d - 1] = end - high;
    return tenon_tensor_slice(x, d, low, high - low);
}

/* Cuts out a pixel of the result, which depends on the window under it. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const convolution *v = data;
    const bench_conv *c = &v->peer;
    const bench_operand *o = v->operands.operand;
    const int64_t column = number % c->q, row = number / c->q % c->p, n = number / c->q / c->p,
                  pixel[] = {1, c->shape.k, 1, 1};
    tenon_conv_geometry *geometry = &((tenon_conv_params *)(void *)part->params.bytes)->geometry;
    tenon_tensor x = tenon_tensor_slice(o[X].host, 0, n, 1);
    x = cut_window(x, &c->shape, 1, row, geometry);
    x = cut_window(x, &c->shape, 2, column, geometry);
    part->views[CONV_X] = tenon_tensor_nhwc(x);
    part->views[CONV_W] = o[W].host;
    part->views[CONV_Y] = tenon_tensor_view(o[Y].view.dtype, 4, pixel);
    part->first = number * c->shape.k;
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const convolution *v = data;
    const bench_conv_shape *s = &v->peer.shape;
    const bench_parts parts = {&tn_operation_conv,
                               &v->params,
                               NULL,
                               &v->operands,
                               Y,
                               s->n * v->peer.p * v->peer.q,
                               (double)(s->k * s->c * s->r * s->s) / (double)s->groups,
                               cut,
                               v};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    convolution *v = bench->tenon.data;
    tenon_plan_release(v->plan);
    tenon_plan_release(v->unpacked);
    tenon_packed_release(v->packed);
    bench_operands_destroy(&v->operands);
    free(v);
}

static bool pack(bench_session *session, convolution *v)
{
    const tenon_pack_params params = tenon_pack_params(.layout = "filter_panels");
    tenon_tensor w = v->operands.operand[W].view;
    w.memory = v->operands.memory[0][W];
    return BENCH_WELL(tenon_conv_pack_filter(session->stream, &params, &w, &v->packed, NULL));
}

static bool replan(bench_session *session, void *data, uint32_t copy, const char *solver,
                   tenon_plan **plan)
{
    const convolution *v = data;
    const tenon_tensor x = image(v, X), y = image(v, Y);
    tenon_conv_params conv = v->params;
    (void)copy;
    conv.solver = solver;
    return BENCH_WELL(tenon_conv_forward_packed_plan(session->context, &conv, &x, v->packed, NULL,
                                                     NULL, &y, plan));
}

static bool prepare(bench_session *session, convolution *v, const bench_conv_shape *s,
                    tenon_dtype dtype)
{
    const int64_t p = bench_conv_output(s, false), q = bench_conv_output(s, true),
                  x[] = {s->n, s->h, s->w, s->c}, w[] = {s->k, s->c / s->groups, s->r, s->s},
                  y[] = {s->n, p, q, s->k};
    v->params = (tenon_conv_params)TENON_CONV_PARAMS_INIT;
    v->params.geometry = bench_conv_geometry(s);
    v->params.groups = s->groups;
    bench_operand_add(&v->operands, dtype, 4, x, false);
    bench_operand_add(&v->operands, dtype, 4, w, false);
    bench_operand_add(&v->operands, dtype, 4, y, true);
    v->peer = (bench_conv){BENCH_CONV_FORWARD, *s, p, q, dtype, &v->operands, X, W, Y, true};
    return bench_operands_create(session, &v->operands, false) && pack(session, v);
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
    bench->replan = replan;
    if (!prepare(session, v, &shape, dtype) || !bench_plan_packed(session, bench, &v->plan, 1))
        return false;
    bench->operations = bench_conv_operations(&shape);
    bench->bytes = bench_operands_bytes(&v->operands);
    bench->footprint = bench->bytes * v->operands.copies;
    BENCH_ADD_PEER(session, bench, "unpacked", add_unpacked(session, v, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_conv(&v->peer, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn-blocked",
                   bench_onednn_conv(&v->peer, true, bench_way_at));
    return true;
}

const bench_kind bench_conv_nhwc_cases = {count, name_of, bench_floating, make};

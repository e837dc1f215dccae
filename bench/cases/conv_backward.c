/* The gradients of convolutions with respect to the images (dx) and the filters
 * (dw), of images with their channels first or last. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/peers.h"
#include "shapes/shapes.h"

#include "ops/conv/problem/gradient.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct gradient {
    bench_operands operands; /* in the order of the call */
    tenon_conv_backward_params params;
    tenon_plan *plan;
    bench_conv peer;
} gradient;

enum { FIRST, SECOND, RESULT };

/* Each shape has two cases: the gradient of the images, and that of the filters. */
static bool of_filter(uint32_t number)
{
    return number % 2 == 1;
}

static uint32_t count(const bench_suite *suite)
{
    return 2 * suite->shapes->count;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    char what[BENCH_CONV_NAME_SIZE];
    bench_conv_name(&suite->shapes->conv[number / 2], what);
    snprintf(name, BENCH_NAME_SIZE, "%s %s", of_filter(number) ? "dw" : "dx", what);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const gradient *g = data;
    return BENCH_WELL(
        tenon_plan_run(stream, g->plan, g->operands.memory[turn % g->operands.copies], 3, NULL));
}

static const tn_operation *operation_of(const gradient *g)
{
    return g->peer.direction == BENCH_CONV_BACKWARD_FILTER ? &tn_operation_conv_backward_filter
                                                           : &tn_operation_conv_backward_data;
}

/* Returns the view of an operand: the N C H W view of an image that is stored as N H W C; otherwise
 * the operand as it is stored. */
static tenon_tensor viewed(const gradient *g, uint32_t operand, tenon_tensor stored)
{
    return g->peer.channels_last && operand != g->peer.filter ? tenon_tensor_nhwc(stored) : stored;
}

/* Cuts out element (k, c) of the filters' gradient, or plane (image, c) of the images': `outer` and
 * `inner` are the two indices. The part depends on the operands of its group. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const gradient *g = data;
    const bench_operand *o = g->operands.operand;
    const bench_conv_shape *s = &g->peer.shape;
    const tenon_tensor in[] = {viewed(g, FIRST, o[FIRST].host), viewed(g, SECOND, o[SECOND].host)},
                       result = viewed(g, RESULT, o[RESULT].view);
    const int64_t *shape = result.shape, outer = number / shape[1], inner = number % shape[1],
                  channels = s->c / s->groups, filters = s->k / s->groups,
                  first = inner / channels * filters, one[] = {1, 1, shape[2], shape[3]};
    ((tenon_conv_backward_params *)(void *)part->params.bytes)->groups = 1;
    if (g->peer.direction == BENCH_CONV_BACKWARD_FILTER) {
        part->views[FIRST] = tenon_tensor_slice(in[0], 1, outer / filters * channels + inner, 1);
        part->views[SECOND] = tenon_tensor_slice(in[1], 1, outer, 1);
    } else {
        part->views[FIRST] =
            tenon_tensor_slice(tenon_tensor_slice(in[0], 0, outer, 1), 1, first, filters);
        part->views[SECOND] = tenon_tensor_slice(tenon_tensor_slice(in[1], 0, first, filters), 1,
                                                 inner % channels, 1);
    }
    part->views[RESULT] = tenon_tensor_view(result.dtype, 4, one);
    part->first = outer * result.stride[0] + inner * result.stride[1];
    part->step = result.stride[3];
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const gradient *g = data;
    const tenon_tensor result = viewed(g, RESULT, g->operands.operand[RESULT].view);
    const int64_t all = result.shape[0] * result.shape[1];
    const bench_parts parts = {operation_of(g),
                               &g->params,
                               g->plan->name,
                               &g->operands,
                               RESULT,
                               all,
                               bench_conv_operations(&g->peer.shape) / 2 / (double)all,
                               cut,
                               g};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    gradient *g = bench->tenon.data;
    tenon_plan_release(g->plan);
    bench_operands_destroy(&g->operands);
    free(g);
}

static bool plan(bench_session *session, gradient *g, bench_case *bench)
{
    tenon_tensor view[RESULT + 1];
    for (uint32_t i = FIRST; i <= RESULT; i++)
        view[i] = viewed(g, i, g->operands.operand[i].view);
    const tenon_tensor *const views[] = {&view[FIRST], &view[SECOND], &view[RESULT]};
    return bench_plan(session, operation_of(g), &g->params, views, bench, &g->plan);
}

/* Adds images of the given shape, stored as N C H W or as N H W C. */
static void add_images(gradient *g, tenon_dtype dtype, bool channels_last, const int64_t shape[4],
                       bool is_output)
{
    const int64_t last[] = {shape[0], shape[2], shape[3], shape[1]};
    bench_operand_add(&g->operands, dtype, 4, channels_last ? last : shape, is_output);
}

static bool prepare(bench_session *session, gradient *g, const bench_conv_shape *s, bool filter,
                    bool channels_last, tenon_dtype dtype, bench_case *bench)
{
    const int64_t p = bench_conv_output(s, false), q = bench_conv_output(s, true),
                  x[] = {s->n, s->c, s->h, s->w}, w[] = {s->k, s->c / s->groups, s->r, s->s},
                  y[] = {s->n, s->k, p, q};
    g->params = (tenon_conv_backward_params)TENON_CONV_BACKWARD_PARAMS_INIT;
    g->params.solver = session->options->solver;
    g->params.groups = s->groups;
    g->params.geometry = bench_conv_geometry(s);
    add_images(g, dtype, channels_last, filter ? x : y, false);
    if (filter)
        add_images(g, dtype, channels_last, y, false);
    bench_operand_add(&g->operands, dtype, 4, w, filter);
    if (!filter)
        add_images(g, dtype, channels_last, x, true);
    g->peer = (bench_conv){filter ? BENCH_CONV_BACKWARD_FILTER : BENCH_CONV_BACKWARD_DATA,
                           *s,
                           p,
                           q,
                           dtype,
                           &g->operands,
                           filter ? FIRST : RESULT,
                           filter ? RESULT : SECOND,
                           filter ? SECOND : FIRST,
                           channels_last};
    return bench_operands_create(session, &g->operands, false) && plan(session, g, bench);
}

static bool make_case(bench_session *session, const bench_suite *suite, uint32_t number,
                      bool channels_last, tenon_dtype dtype, bench_case *bench)
{
    gradient *g = calloc(1, sizeof *g);
    const bench_conv_shape shape = suite->shapes->conv[number / 2];
    if (g == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, g, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    if (!prepare(session, g, &shape, of_filter(number), channels_last, dtype, bench))
        return false;
    bench->operations = bench_conv_operations(&shape);
    bench->bytes = bench_operands_bytes(&g->operands);
    bench->footprint = bench->bytes * g->operands.copies;
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_conv(&g->peer, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn-blocked",
                   bench_onednn_conv(&g->peer, true, bench_way_at));
    return true;
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    return make_case(session, suite, number, false, dtype, bench);
}

static bool make_nhwc(bench_session *session, const bench_suite *suite, uint32_t number,
                      tenon_dtype dtype, bench_case *bench)
{
    return make_case(session, suite, number, true, dtype, bench);
}

const bench_kind bench_conv_gradients = {count, name_of, bench_floating, make};
const bench_kind bench_conv_nhwc_gradients = {count, name_of, bench_floating, make_nhwc};

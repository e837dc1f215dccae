/* The gradients of convolutions, ResNet-50's and depthwise ones: of the images (dx) and of the
 * filters (dw). */
#include "judge.h"
#include "peers/peers.h"
#include "shapes/shapes.h"

#include "ops/conv/gradient.h"
#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct gradient {
    bench_operands operands; /* as the call has them */
    tenon_conv_backward_params params;
    tenon_plan *plan;
    bench_conv peer;
} gradient;

enum { FIRST, SECOND, RESULT };

/* Each shape comes twice: with the gradient of its images, and of its filters. */
static bool of_filter(uint32_t number)
{
    return number % 2 == 1;
}

static uint32_t count(const bench_suite *suite)
{
    bench_conv_shape shape;
    uint32_t n = 0;
    while (bench_conv_shape_at((bench_conv_selection)suite->selection, n, &shape))
        n++;
    return 2 * n;
}

static bench_conv_shape shape_of(const bench_suite *suite, uint32_t number)
{
    bench_conv_shape shape = {0};
    (void)bench_conv_shape_at((bench_conv_selection)suite->selection, number / 2, &shape);
    return shape;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    const bench_conv_shape shape = shape_of(suite, number);
    char what[BENCH_CONV_NAME_SIZE];
    bench_conv_name(&shape, what);
    snprintf(name, BENCH_NAME_SIZE, "%s %s", of_filter(number) ? "dw" : "dx", what);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const gradient *g = data;
    return BENCH_WELL(
        tenon_plan_run(stream, g->plan, g->operands.memory[turn % g->operands.copies], 3, NULL));
}

/* Element (k, c) of the filters' gradient, or plane (image, c) of the images': `outer` and `inner`
 * are the two. What is read of the others are those of its group. */
static bool verify_part(const gradient *g, const unsigned char *got, int64_t outer, int64_t inner,
                        tn_bounded *expected, double *error_over_bound, char why[256])
{
    const bench_operand *o = g->operands.operand;
    const tenon_tensor result =
        tenon_tensor_slice(tenon_tensor_slice(o[RESULT].view, 0, outer, 1), 1, inner, 1);
    const int64_t size = result.shape[2] * result.shape[3];
    const tenon_tensor dense = tenon_tensor_view(result.dtype, 4, result.shape);
    const bench_conv_shape *s = &g->peer.shape;
    const int64_t channels = s->c / s->groups, filters = s->k / s->groups;
    tenon_conv_backward_params params = g->params;
    bool well;
    params.groups = 1;
    if (g->peer.direction == BENCH_CONV_BACKWARD_FILTER) {
        const tenon_tensor x = tenon_tensor_slice(o[FIRST].host, 1,
                                                  outer / filters * channels + inner, 1),
                           dy = tenon_tensor_slice(o[SECOND].host, 1, outer, 1);
        well = tn_conv_backward_filter_reference(
            &params, (const tenon_tensor *const[]){&x, &dy, &dense}, expected);
    } else {
        const int64_t first = inner / channels * filters;
        const tenon_tensor dy = tenon_tensor_slice(tenon_tensor_slice(o[FIRST].host, 0, outer, 1),
                                                   1, first, filters),
                           w = tenon_tensor_slice(
                               tenon_tensor_slice(o[SECOND].host, 0, first, filters), 1,
                               inner % channels, 1);
        well = tn_conv_backward_data_reference(
            &params, (const tenon_tensor *const[]){&dy, &w, &dense}, expected);
    }
    return well && bench_judge(result.dtype, got, (outer * o[RESULT].view.shape[1] + inner) * size,
                               1, size, expected, error_over_bound, why);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const gradient *g = data;
    const int64_t *shape = g->operands.operand[RESULT].view.shape;
    const int64_t size = shape[2] * shape[3], all = shape[0] * shape[1];
    const double work = bench_conv_operations(&g->peer.shape) / 2 / (double)all;
    int64_t parts = (int64_t)(BENCH_JUDGE_WORK / work) + 2;
    unsigned char *got = bench_output(stream, &g->operands, RESULT);
    tn_bounded *expected = malloc((size_t)size * sizeof *expected);
    bool well = got != NULL && expected != NULL;
    parts = parts < all ? parts : all;
    for (int64_t i = 0; well && i < parts; i++) {
        const int64_t at = parts > 1 ? i * (all - 1) / (parts - 1) : 0;
        well = verify_part(g, got, at / shape[1], at % shape[1], expected, error_over_bound, why);
    }
    free(got);
    free(expected);
    return well;
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
    const bench_operand *o = g->operands.operand;
    const tenon_tensor *const views[] = {&o[FIRST].view, &o[SECOND].view, &o[RESULT].view};
    return bench_plan(session,
                      g->peer.direction == BENCH_CONV_BACKWARD_FILTER
                          ? &tn_operation_conv_backward_filter
                          : &tn_operation_conv_backward_data,
                      &g->params, views, bench, &g->plan);
}

static bool prepare(bench_session *session, gradient *g, const bench_conv_shape *s, bool filter,
                    tenon_dtype dtype, bench_case *bench)
{
    const int64_t p = bench_conv_output(s, false), q = bench_conv_output(s, true),
                  x[] = {s->n, s->c, s->h, s->w}, w[] = {s->k, s->c / s->groups, s->r, s->s},
                  y[] = {s->n, s->k, p, q};
    g->params = tenon_conv_backward_params_default();
    g->params.solver = session->options->solver;
    g->params.groups = s->groups;
    g->params.geometry = bench_conv_geometry(s);
    bench_operand_add(&g->operands, dtype, 4, filter ? x : y, false);
    bench_operand_add(&g->operands, dtype, 4, filter ? y : w, false);
    bench_operand_add(&g->operands, dtype, 4, filter ? w : x, true);
    g->peer = (bench_conv){filter ? BENCH_CONV_BACKWARD_FILTER : BENCH_CONV_BACKWARD_DATA,
                           *s,
                           p,
                           q,
                           dtype,
                           &g->operands,
                           filter ? FIRST : RESULT,
                           filter ? RESULT : SECOND,
                           filter ? SECOND : FIRST};
    return bench_operands_create(session, &g->operands, false) && plan(session, g, bench);
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    gradient *g = calloc(1, sizeof *g);
    const bench_conv_shape shape = shape_of(suite, number);
    if (g == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, g, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    if (!prepare(session, g, &shape, of_filter(number), dtype, bench))
        return false;
    bench->operations = bench_conv_operations(&shape);
    bench->bytes = bench_operands_bytes(&g->operands);
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_conv(&g->peer, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn-blocked",
                   bench_onednn_conv(&g->peer, true, bench_way_at));
    return true;
}

const bench_suite bench_suite_conv_cpu_backward = {
    "conv-cpu-backward",
    "gradients of convolutions, of images (dx) and of filters (dw)",
    count,
    name_of,
    bench_floating,
    make,
    0.6,
    BENCH_CONV_RESNET50};

const bench_suite bench_suite_conv_cpu_depthwise = {"conv-cpu-depthwise",
                                                    "the same of depthwise convolutions",
                                                    count,
                                                    name_of,
                                                    bench_floating,
                                                    make,
                                                    0.6,
                                                    BENCH_CONV_DEPTHWISE};

/* Convolutions forward, as networks have them. */
#include "judge.h"
#include "peers/peers.h"

#include "ops/conv/internal.h"

#include <stdio.h>
#include <stdlib.h>

/* Square images and filters. */
typedef struct shape {
    const char *network;
    int64_t n, c, size, k, filter, stride, pad, groups;
} shape;

static const shape shapes[] = {
    {"resnet50 conv1", 1, 3, 224, 64, 7, 2, 3, 1},
    {"resnet50 conv2", 1, 64, 56, 64, 3, 1, 1, 1},
    {"resnet50 conv3", 1, 128, 28, 128, 3, 1, 1, 1},
    {"resnet50 conv4", 1, 256, 14, 256, 3, 1, 1, 1},
    {"resnet50 conv5", 1, 512, 7, 512, 3, 1, 1, 1},
    {"resnet50 conv2", 8, 64, 56, 64, 3, 1, 1, 1},
    {"resnet50 conv4", 8, 256, 14, 256, 3, 1, 1, 1},
    {"resnet50 conv3 down", 1, 128, 56, 128, 3, 2, 1, 1},
    {"resnet50 conv2 1x1", 1, 64, 56, 256, 1, 1, 0, 1},
    {"resnet50 conv5 1x1", 1, 512, 7, 2048, 1, 1, 0, 1},
    {"resnet50 conv4 1x1 down", 1, 512, 28, 1024, 1, 2, 0, 1},
    {"vgg16 conv1_2", 1, 64, 224, 64, 3, 1, 1, 1},
    {"vgg16 conv3_2", 1, 256, 56, 256, 3, 1, 1, 1},
    {"vgg16 conv5_2", 1, 512, 14, 512, 3, 1, 1, 1},
    {"alexnet conv2", 1, 64, 27, 192, 5, 1, 2, 1},
    {"mobilenetv2 conv1", 1, 3, 224, 32, 3, 2, 1, 1},
    {"mobilenetv2 depthwise", 1, 96, 112, 96, 3, 2, 1, 96},
    {"mobilenetv2 depthwise", 1, 144, 56, 144, 3, 1, 1, 144},
    {"mobilenetv2 expand", 1, 24, 56, 144, 1, 1, 0, 1},
};

typedef struct convolution {
    bench_operands operands;
    tenon_conv_params params;
    tenon_plan *plan;
    bench_conv peer;
} convolution;

enum { X, W, Y };

static uint32_t count(void)
{
    return sizeof shapes / sizeof *shapes;
}

static void name_of(uint32_t number, char name[BENCH_NAME_SIZE])
{
    const shape *s = &shapes[number];
    snprintf(name, BENCH_NAME_SIZE, "%s n%lld %lldx%lldx%lld", s->network, (long long)s->n,
             (long long)s->c, (long long)s->size, (long long)s->size);
}

static bool has_dtype(uint32_t number, tenon_dtype dtype)
{
    (void)number;
    (void)dtype;
    return true;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const convolution *v = data;
    const tenon_memory *m = v->operands.memory[turn % v->operands.copies];
    const tenon_memory memories[] = {m[X], m[W], {0}, {0}, m[Y]};
    return BENCH_WELL(tenon_plan_run(stream, v->plan, memories, 5, NULL));
}

/* Some output channels of some images; those of one group need that group's input channels. */
static bool verify_plane(const convolution *v, const unsigned char *got, int64_t image, int64_t k,
                         tn_bounded *expected, double *error_over_bound, char why[256])
{
    const bench_conv *c = &v->peer;
    const bench_operand *o = v->operands.operand;
    const int64_t inner = c->c / c->groups, group = k / (c->k / c->groups);
    const int64_t plane[] = {1, 1, c->p, c->q};
    tenon_conv_params params = v->params;
    params.groups = 1;
    const tenon_tensor x = tenon_tensor_slice(tenon_tensor_slice(o[X].host, 0, image, 1), 1,
                                              group * inner, inner),
                       w = tenon_tensor_slice(o[W].host, 0, k, 1),
                       y = tenon_tensor_view(o[Y].view.dtype, 4, plane);
    return tn_conv_reference(&params, &x, &w, NULL, NULL, &y, expected) &&
           bench_judge(o[Y].view.dtype, got, (image * c->k + k) * c->p * c->q, 1, c->p * c->q,
                       expected, error_over_bound, why);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const convolution *v = data;
    const bench_conv *c = &v->peer;
    const int64_t plane = c->p * c->q, work = plane * (c->c / c->groups) * c->r * c->s;
    const int64_t all = c->n * c->k;
    int64_t planes = BENCH_JUDGE_WORK / work + 2;
    unsigned char *got = bench_output(stream, &v->operands, Y);
    tn_bounded *expected = malloc((size_t)plane * sizeof *expected);
    bool well = got != NULL && expected != NULL;
    planes = planes < all ? planes : all;
    for (int64_t i = 0; well && i < planes; i++) {
        const int64_t at = planes > 1 ? i * (all - 1) / (planes - 1) : 0;
        well = verify_plane(v, got, at / c->k, at % c->k, expected, error_over_bound, why);
    }
    free(got);
    free(expected);
    return well;
}

static void destroy(bench_case *bench)
{
    convolution *v = bench->tenon.data;
    tenon_plan_release(v->plan);
    bench_operands_destroy(&v->operands);
    free(v);
}

static bool prepare(bench_session *session, convolution *v, const shape *s, tenon_dtype dtype)
{
    const int64_t x[] = {s->n, s->c, s->size, s->size},
                  w[] = {s->k, s->c / s->groups, s->filter, s->filter};
    v->params = tenon_conv_params_default();
    v->params.solver = session->options->solver;
    v->params.groups = s->groups;
    for (int d = 0; d < 2; d++) {
        v->params.geometry.stride[d] = s->stride;
        v->params.geometry.pad_begin[d] = v->params.geometry.pad_end[d] = s->pad;
    }
    const int64_t p = tenon_conv_output_size(&v->params.geometry, 0, s->size, s->filter),
                  y[] = {s->n, s->k, p, p};
    bench_operand_add(&v->operands, dtype, 4, x, false);
    bench_operand_add(&v->operands, dtype, 4, w, false);
    bench_operand_add(&v->operands, dtype, 4, y, true);
    const bench_operand *o = v->operands.operand;
    v->peer = (bench_conv){s->n,      s->c,         s->size, s->size,   s->k, s->filter,
                           s->filter, s->stride,    s->pad,  s->groups, p,    p,
                           dtype,     &v->operands, X,       W,         Y};
    return bench_operands_create(session, &v->operands, false) &&
           BENCH_WELL(tenon_conv_forward_plan(session->context, &v->params, &o[X].view, &o[W].view,
                                              NULL, NULL, &o[Y].view, &v->plan));
}

static bool make(bench_session *session, uint32_t number, tenon_dtype dtype, bench_case *bench)
{
    convolution *v = calloc(1, sizeof *v);
    if (v == NULL)
        return false;
    bench->tenon = (bench_way){"tenon", call, false, v, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    if (!prepare(session, v, &shapes[number], dtype))
        return false;
    const bench_conv *c = &v->peer;
    bench_name_solver(v->plan, bench);
    bench->operations = 2.0 * (double)(c->n * c->k * c->p * c->q) * (double)c->c /
                        (double)c->groups * (double)(c->r * c->s);
    bench->bytes = bench_operands_bytes(&v->operands);
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_conv(c, false, bench_way_at));
    BENCH_ADD_PEER(session, bench, "onednn", bench_onednn_conv(c, true, bench_way_at));
    return true;
}

const bench_suite bench_suite_conv = {
    "conv", "two-dimensional convolution, forward", count, name_of, has_dtype, make};

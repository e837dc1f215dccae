/* Maximum and average pooling of networks, without indices, with the rows or the channels of the
 * images contiguous. */
#include "dispatch/plan.h"
#include "judge.h"
#include "peers/peers.h"

#include "ops/registry.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct shape {
    const char *network;
    int64_t channels, size, window, stride, padding;
    tenon_pool_kind kind;
} shape;

static const shape shapes[] = {
    {"resnet50", 64, 112, 3, 2, 1, TENON_POOL_MAX},
    {"vgg16", 64, 224, 2, 2, 0, TENON_POOL_MAX},
    {"vgg16", 128, 112, 2, 2, 0, TENON_POOL_MAX},
    {"vgg16", 256, 56, 2, 2, 0, TENON_POOL_MAX},
    {"vgg16", 512, 14, 2, 2, 0, TENON_POOL_MAX},
    {"googlenet", 192, 28, 3, 1, 1, TENON_POOL_MAX},
    {"googlenet", 480, 28, 3, 2, 1, TENON_POOL_MAX},
    {"yolo", 256, 20, 5, 1, 2, TENON_POOL_MAX},
    {"densenet", 128, 56, 2, 2, 0, TENON_POOL_AVERAGE},
};
static const char *const layouts[] = {"nchw", "nhwc"};
static const int64_t batches[] = {1, 8};

#define LAYOUTS (sizeof layouts / sizeof *layouts)
#define BATCHES (sizeof batches / sizeof *batches)
#define SHAPES  (sizeof shapes / sizeof *shapes)

enum { X, Y };

typedef struct pass {
    bench_operands operands;
    tenon_pool_params params;
    tenon_plan *plan;
    bool channels_last;
} pass;

static const shape *shape_of(uint32_t number)
{
    return &shapes[number / BATCHES / LAYOUTS];
}

static uint32_t count(const bench_suite *suite)
{
    (void)suite;
    return SHAPES * BATCHES * LAYOUTS;
}

static void name_of(const bench_suite *suite, uint32_t number, char name[BENCH_NAME_SIZE])
{
    const shape *s = shape_of(number);
    (void)suite;
    snprintf(name, BENCH_NAME_SIZE, "%s %s %d@%d %dx%d/%d n%d %s", s->network,
             s->kind == TENON_POOL_MAX ? "max" : "avg", (int)s->channels, (int)s->size,
             (int)s->window, (int)s->window, (int)s->stride,
             (int)batches[number / LAYOUTS % BATCHES], layouts[number % LAYOUTS]);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const pass *p = data;
    const tenon_memory *m = p->operands.memory[turn % p->operands.copies];
    const tenon_memory memories[] = {m[X], m[Y], {0}};
    return BENCH_WELL(tenon_plan_run(stream, p->plan, memories, 3, NULL));
}

/* Returns a view of images in the order N, C, H, W. */
static tenon_tensor in_order(const pass *p, tenon_tensor view)
{
    return p->channels_last ? tenon_tensor_transpose(tenon_tensor_transpose(view, 1, 3), 2, 3)
                            : view;
}

/* Returns a view of one image in the order of its memory: with contiguous channels they are the
 * last of three spatial dimensions. */
static tenon_tensor image_of(const pass *p, tenon_tensor view, int64_t number)
{
    tenon_tensor image = tenon_tensor_slice(view, 0, number, 1);
    if (!p->channels_last)
        return image;
    image.rank = 5;
    for (uint32_t d = 4; d >= 2; d--) {
        image.shape[d] = view.shape[d - 1];
        image.stride[d] = view.stride[d - 1];
    }
    image.shape[1] = image.stride[1] = 1;
    return image;
}

/* A part is an image. */
static void cut(const void *data, int64_t number, bench_part *part)
{
    const pass *p = data;
    const bench_operand *o = p->operands.operand;
    part->first = number * (tenon_tensor_elements(&o[Y].view) / o[Y].view.shape[0]);
    part->views[X] = image_of(p, o[X].host, number);
    part->views[Y] = image_of(p, o[Y].view, number);
}

static bool verify(void *data, tenon_stream *stream, double *error_over_bound, char why[256])
{
    const pass *p = data;
    const bench_parts parts = {&tn_operation_pool,
                               &p->params,
                               p->plan->name,
                               &p->operands,
                               Y,
                               p->operands.operand[Y].view.shape[0],
                               1e6,
                               cut,
                               p};
    return bench_verify(stream, &parts, error_over_bound, why);
}

static void destroy(bench_case *bench)
{
    pass *p = bench->tenon.data;
    tenon_plan_release(p->plan);
    bench_operands_destroy(&p->operands);
    free(p);
}

static void add_images(pass *p, tenon_dtype dtype, int64_t n, int64_t c, int64_t size,
                       bool is_result)
{
    const int64_t rows[] = {n, c, size, size}, channels[] = {n, size, size, c};
    bench_operand_add(&p->operands, dtype, 4, p->channels_last ? channels : rows, is_result);
}

static void set_parameters(pass *p, const shape *s, const char *solver)
{
    p->params = (tenon_pool_params)TENON_POOL_PARAMS_INIT;
    p->params.solver = solver;
    p->params.kind = s->kind;
    for (int d = 0; d < 2; d++) {
        p->params.window[d] = s->window;
        p->params.geometry.stride[d] = s->stride;
        p->params.geometry.pad_begin[d] = p->params.geometry.pad_end[d] = s->padding;
    }
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const shape *s = shape_of(number);
    const int64_t n = batches[number / LAYOUTS % BATCHES];
    (void)suite;
    pass *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->channels_last = number % LAYOUTS != 0;
    bench->tenon = (bench_way){"tenon", call, false, p, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    set_parameters(p, s, session->options->solver);
    add_images(p, dtype, n, s->channels, s->size, false);
    add_images(p, dtype, n, s->channels,
               tenon_conv_output_size(&p->params.geometry, 0, s->size, s->window), true);
    const bench_operand *o = p->operands.operand;
    const tenon_tensor x = in_order(p, o[X].view), y = in_order(p, o[Y].view);
    const tenon_tensor *const views[] = {&x, &y, NULL};
    if (!bench_operands_create(session, &p->operands, false) ||
        !bench_plan(session, &tn_operation_pool, &p->params, views, bench, &p->plan))
        return false;
    bench->bytes = bench_operands_bytes(&p->operands);
    bench->footprint = bench->bytes * p->operands.copies;
    return true;
}

static const bench_kind functions = {count, name_of, bench_floating, make};

const bench_suite bench_suite_pool_cpu = {"pool-cpu", "pooling, forward, without indices",
                                          &functions, 0.3, 0};

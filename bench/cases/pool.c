/* Maximum and average pooling of networks, without indices, with the rows or the channels of the
 * images contiguous. */
#include "dispatch/plan.h"
#include "judge.h"
#include "shapes/shapes.h"

#include "ops/registry.h"

#include <stdlib.h>

enum { X, Y };

typedef struct pass {
    bench_operands operands;
    tenon_pool_params params;
    tenon_plan *plan;
    bool channels_last;
} pass;

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

static void add_images(pass *p, tenon_dtype dtype, int64_t n, int64_t c, int64_t h, int64_t w,
                       bool is_result)
{
    const int64_t rows[] = {n, c, h, w}, channels[] = {n, h, w, c};
    bench_operand_add(&p->operands, dtype, 4, p->channels_last ? channels : rows, is_result);
}

static void set_parameters(pass *p, const bench_pool_shape *s, const char *solver)
{
    p->params = (tenon_pool_params)TENON_POOL_PARAMS_INIT;
    p->params.solver = solver;
    p->params.kind = s->is_average ? TENON_POOL_AVERAGE : TENON_POOL_MAX;
    for (int d = 0; d < 2; d++) {
        p->params.window[d] = s->window;
        p->params.geometry.stride[d] = s->stride;
        p->params.geometry.pad_begin[d] = p->params.geometry.pad_end[d] = s->pad;
    }
}

static bool make(bench_session *session, const bench_suite *suite, uint32_t number,
                 tenon_dtype dtype, bench_case *bench)
{
    const bench_pool_shape *s = &suite->shapes->cases[number].pool;
    pass *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->channels_last = s->channels_last;
    bench->tenon = (bench_way){"tenon", call, false, p, NULL, NULL};
    bench->destroy = destroy;
    bench->verify = verify;
    set_parameters(p, s, session->options->solver);
    const tenon_conv_geometry *geometry = &p->params.geometry;
    add_images(p, dtype, s->n, s->c, s->h, s->w, false);
    add_images(p, dtype, s->n, s->c, tenon_conv_output_size(geometry, 0, s->h, s->window),
               tenon_conv_output_size(geometry, 1, s->w, s->window), true);
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

const bench_kind bench_pool_cases = {bench_case_count, bench_case_name, bench_floating, make};

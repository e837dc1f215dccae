/* The self-checks of convolution's and im2col's solvers: an awkward problem with the layout of the
 * one at hand. */
#include "check/case.h"
#include "check/host.h"
#include "ops/conv/cpu_direct.h"
#include "ops/conv/depthwise.h"
#include "ops/conv/implicit.h"
#include "ops/conv/tiled.h"
#include "ops/conv/winograd.h"
#include "ops/registry.h"

#include <stdlib.h>
#include <string.h>

typedef struct check {
    tenon_conv_params params;
    tn_twin twins[CONV_OPERANDS];
    tn_bounded *expected;
} check;

/* Images in three dimensions: an operation of fewer has kernels that are the same. */
static const int64_t image_size[3] = {4, 6, 35};
static const int64_t check_filter[3] = {2, 3, 2};

/* N C D H W with gaps between the channels and the images; `channels_last` is N D H W C. Where rows
 * do not `join`, there are gaps between them, too. */
static tenon_tensor image_view(tenon_dtype dtype, bool channels_last, bool join, int64_t n,
                               int64_t c, const int64_t size[3])
{
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype),
                         .dtype = dtype,
                         .rank = CONV_RANK,
                         .shape = {n, c, size[0], size[1], size[2]}};
    view.stride[4] = channels_last ? c + 2 : 1;
    view.stride[3] = size[2] * view.stride[4] + (join ? 0 : 3);
    view.stride[2] = size[1] * view.stride[3] + (join ? 0 : 1);
    view.stride[1] = channels_last ? 1 : size[0] * view.stride[2] + 1;
    view.stride[0] = (channels_last ? size[0] * view.stride[2] : c * view.stride[1]) + 5;
    return view;
}

/* Filters whose taps lie in the order of those at hand, at a stride of the same kind. */
static tenon_tensor filter_view(const conv_problem *like, int64_t k, int64_t c,
                                const int64_t size[3])
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    conv_tap_order order;
    if (!tn_conv_find_tap_order(like, &order))
        return image_view(dtype, false, false, k, c, size);
    tenon_tensor view = image_view(dtype, order.channel_last, true, k, c, size);
    int64_t taps = size[0] * size[1] * size[2], step = order.stride == 1 ? 1 : 2;
    bool filters_first = (like->w[0] == 1 || like->k == 1) && step != 1;
    if (filters_first)
        step = k;
    view.stride[4] = order.channel_last ? c * step : step;
    view.stride[3] = size[2] * view.stride[4];
    view.stride[2] = size[1] * view.stride[3];
    view.stride[1] = order.channel_last ? step : taps * step;
    view.stride[0] = filters_first ? 1 : c * taps * step + 3;
    return view;
}

/* `step` is the stride along the rows, which kernels take at 1, at 2 or one by one. */
static tenon_conv_params check_params(const conv_problem *like, bool pointwise, int64_t step)
{
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.epilogue = tn_check_epilogue(like->flags, like->activation);
    params.geometry.stride[1] = 2;
    params.geometry.stride[2] = step;
    if (pointwise)
        return params;
    params.geometry.dilation[1] = 2;
    params.geometry.pad_begin[0] = params.geometry.pad_begin[2] = 1;
    params.geometry.pad_begin[1] = params.geometry.pad_end[2] = 2;
    return params;
}

/* Sizes with more taps than a block of K has; filters of one element; or groups of one channel,
 * with several tiles of its image and blocks of channels. */
typedef struct check_sizes {
    int64_t groups, channels, filters;
    const int64_t *image, *filter;
} check_sizes;

static check_sizes sizes_of(const conv_problem *like, const tn_choice *choice)
{
    static const int64_t one[3] = {1, 1, 1}, tall[3] = {2, 71, 35},
                         squares[][3] = {{1, 2, 4}, {1, 3, 3}, {1, 5, 5}};
    const tn_solver *solver = choice->solver;
    const int64_t *square = squares[tn_depthwise_taps(&like->window) / 2];
    if (tn_is_solver(solver, &tn_conv_depthwise) && tn_depthwise_along_channels(like, 2))
        return (check_sizes){71, 71, 71, image_size, square};
    if (tn_is_solver(solver, &tn_conv_depthwise))
        return (check_sizes){3, 3, 6, tall, square};
    if (tn_conv_is_tiled(solver))
        return (check_sizes){2, 2 * tn_conv_check_depth(like->c),
                             2 * ((int64_t)choice->values[TILED_MB] + 1), image_size, check_filter};
    return (check_sizes){2, 70, 14, image_size,
                         tn_is_solver(solver, &tn_conv_pointwise) ? one : check_filter};
}

static void make_views(const conv_problem *like, const tn_solver *solver, const check_sizes *sizes,
                       const tenon_conv_params *params, tenon_tensor views[CONV_OPERANDS])
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    bool channels_last = like->y[1] == 1 && like->y[4] != 1;
    bool x_last =
        tn_conv_is_tiled(solver) ? tn_conv_gathers_along_k(like, CONV_RESULT) : channels_last;
    const int64_t *filter = sizes->filter;
    int64_t filters = sizes->filters, channels = sizes->channels, out[3];
    for (uint32_t d = 0; d < 3; d++)
        out[d] = tenon_conv_output_size(&params->geometry, d, sizes->image[d], filter[d]);
    int64_t y_step, res_step;
    bool join = tn_conv_pixels_join(like, &y_step, &res_step);
    views[CONV_X] = image_view(dtype, x_last, join, 2, channels, sizes->image);
    views[CONV_W] = filter_view(like, filters, channels / sizes->groups, filter);
    views[CONV_C] = image_view(dtype, channels_last, join, 2, filters, out);
    views[CONV_BIAS] = (tenon_tensor){.dtype = TENON_DTYPE_INVALID}; /* absent */
    if ((like->flags & CONV_HAS_BIAS) != 0)
        views[CONV_BIAS] = tenon_tensor_view(dtype, 1, &filters);
    views[CONV_Y] = image_view(dtype, channels_last, join, 2, filters, out);
}

static const char name[] = "conv self-check";

static tenon_status make_problem(const tenon_conv_params *params,
                                 const tenon_tensor views[CONV_OPERANDS], conv_problem *problem)
{
    const tenon_tensor *bias = &views[CONV_BIAS];
    return tn_conv_canonicalise(name, params, &views[CONV_X], &views[CONV_W], &views[CONV_C],
                                bias->dtype != TENON_DTYPE_INVALID ? bias : NULL, &views[CONV_Y],
                                problem);
}

static tenon_status run(tenon_stream *stream, const tn_choice *choice,
                        const tenon_tensor views[CONV_OPERANDS], check *c)
{
    conv_problem problem;
    double scalars[TN_MAX_SCALARS] = {0};
    TN_TRY(make_problem(&c->params, views, &problem));
    problem.head.workspace_limit = stream->context->workspace_limit;
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    return tn_twin_run(stream, name, choice, &problem.head, scalars, c->twins, CONV_OPERANDS);
}

/* The views for conv/cpu_direct, and how little a work-group does: of problems of which each takes
 * less local memory than the one before, the first that fits. The last one fits wherever any
 * problem does. */
static tenon_status fit_direct(tenon_context *context, const conv_problem *like, tn_choice *choice,
                               const tenon_conv_params *params, check_sizes *sizes,
                               tenon_tensor views[CONV_OPERANDS])
{
    static const int64_t flat[3] = {1, 2, 2}, one[3] = {1, 1, 1};
    static const struct {
        int64_t channels; /* of a group */
        const int64_t *filter;
        int32_t runs, panels; /* of a work-group */
    } problems[] = {
        {35, check_filter, 4, 2}, {3, check_filter, 4, 1}, {3, flat, 1, 1}, {1, one, 1, 1}};
    sizes->filters = sizes->groups * tn_conv_cpu_direct_filters(context, like);
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        conv_problem problem;
        sizes->channels = sizes->groups * problems[i].channels;
        sizes->filter = problems[i].filter;
        make_views(like, choice->solver, sizes, params, views);
        TN_TRY(make_problem(params, views, &problem));
        if (tn_conv_cpu_direct_cut(context, &problem, problems[i].runs, problems[i].panels, choice))
            return TENON_OK;
    }
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: does not fit the local memory", name);
}

static tenon_status make_operands(tenon_stream *stream, const conv_problem *like, tn_choice *choice,
                                  check *c, tenon_tensor views[CONV_OPERANDS])
{
    check_sizes sizes = sizes_of(like, choice);
    uint64_t seed = 1;
    c->params.groups = sizes.groups;
    if (tn_is_solver(choice->solver, &tn_conv_cpu_direct))
        TN_TRY(fit_direct(stream->context, like, choice, &c->params, &sizes, views));
    else
        make_views(like, choice->solver, &sizes, &c->params, views);
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (views[i].dtype != TENON_DTYPE_INVALID)
            TN_TRY(tn_twin_create(stream, &views[i], &seed, &c->twins[i]));
    return TENON_OK;
}

static tenon_status check_run(tenon_stream *stream, const conv_problem *like,
                              const tn_choice *choice, int64_t step, check *c, bool *right,
                              char why[256])
{
    tenon_tensor views[CONV_OPERANDS];
    tn_choice tried = *choice;
    c->params = check_params(like, tn_is_solver(choice->solver, &tn_conv_pointwise), step);
    if (tn_is_solver(choice->solver, &tn_conv_depthwise) &&
        step <= 2) { /* as unrolled loops have it */
        c->params.geometry.stride[1] = step;
        c->params.geometry.dilation[1] = 1;
    }
    TN_TRY(make_operands(stream, like, &tried, c, views));
    const tenon_tensor *y = &c->twins[CONV_Y].host;
    c->expected = malloc((size_t)tenon_tensor_elements(y) * sizeof *c->expected);
    if (c->expected == NULL ||
        !tn_conv_reference(&c->params, &c->twins[CONV_X].host, &c->twins[CONV_W].host,
                           &c->twins[CONV_C].host, tn_twin_host(&c->twins[CONV_BIAS]), y,
                           c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
    TN_TRY(run(stream, &tried, views, c));
    *right = tn_host_within(y, c->expected, why);
    if (!*right)
        tn_twins_blame(stream, &tn_operation_conv, &c->params, c->twins, CONV_OPERANDS, &tried);
    return TENON_OK;
}

static tenon_status check_step(tenon_stream *stream, const conv_problem *like,
                               const tn_choice *choice, int64_t step, bool *right, char why[256])
{
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", name);
    tenon_status status = check_run(stream, like, choice, step, c, right, why);
    for (int i = 0; i < CONV_OPERANDS; i++)
        tn_twin_destroy(&c->twins[i]);
    free(c->expected);
    free(c);
    return status;
}

tenon_status tn_conv_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    const conv_problem *like = (const conv_problem *)problem;
    if (tn_winograd_tile(choice->solver) != 0)
        return tn_winograd_self_check(stream, problem, choice, right, why);
    int64_t steps = tn_is_solver(choice->solver, &tn_conv_depthwise) ? 3 : 2;
    *right = true;
    for (int64_t step = 1; step <= steps && *right; step++)
        TN_TRY(check_step(stream, like, choice, step, right, why));
    return TENON_OK;
}

static tenon_status compare_im2col(tenon_stream *stream, const tenon_im2col_params *params,
                                   const tn_choice *choice, tn_twin twins[IM2COL_OPERANDS],
                                   bool *right, char why[256])
{
    static const char operation[] = "im2col self-check";
    const tenon_tensor *x = &twins[IM2COL_X].host, *col = &twins[IM2COL_COL].host;
    im2col_problem problem;
    TN_TRY(tn_im2col_canonicalise(operation, params, x, col, &problem));
    tn_bounded *expected = malloc((size_t)tenon_tensor_elements(col) * sizeof *expected);
    tenon_status status =
        expected != NULL && tn_im2col_reference(params, x, col, expected)
            ? tn_twin_run(stream, operation, choice, &problem.head, NULL, twins, IM2COL_OPERANDS)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
    if (status == TENON_OK)
        *right = tn_host_within(col, expected, why);
    if (status == TENON_OK && !*right)
        tn_twins_blame(stream, &tn_operation_im2col, params, twins, IM2COL_OPERANDS, choice);
    free(expected);
    return status;
}

tenon_status tn_im2col_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    const im2col_problem *like = (const im2col_problem *)problem;
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_im2col_params params = TENON_IM2COL_PARAMS_INIT;
    tn_twin twins[IM2COL_OPERANDS] = {0};
    uint64_t seed = 1;
    memcpy(params.filter, check_filter, sizeof check_filter);
    params.geometry.stride[1] = 2;
    params.geometry.dilation[2] = 2;
    params.geometry.pad_begin[0] = params.geometry.pad_begin[1] = params.geometry.pad_end[2] = 1;
    int64_t taps = 1, pixels = 1;
    for (uint32_t d = 0; d < 3; d++) {
        taps *= check_filter[d];
        pixels *= tenon_conv_output_size(&params.geometry, d, image_size[d], check_filter[d]);
    }
    const int64_t shape[] = {2, 5 * taps, pixels};
    tenon_tensor x_view = image_view(dtype, like->x[1] == 1, false, 2, 5, image_size);
    tenon_tensor col_view = tenon_tensor_view(dtype, 3, shape);
    if (like->col[1] == 1) /* along the taps */
        col_view.stride[1] = 1, col_view.stride[2] = shape[1];
    tenon_status status = tn_twin_create(stream, &x_view, &seed, &twins[IM2COL_X]);
    if (status == TENON_OK)
        status = tn_twin_create(stream, &col_view, &seed, &twins[IM2COL_COL]);
    if (status == TENON_OK)
        status = compare_im2col(stream, &params, choice, twins, right, why);
    for (int i = 0; i < IM2COL_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
    return status;
}

tn_call tn_conv_call(const char *operation, const tenon_tensor *x, const tenon_tensor *w,
                     const tenon_tensor *c, const tenon_tensor *bias, const tenon_tensor *y)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT},
                                  {"w", w, TN_INPUT},
                                  {"c", c, TN_INPUT_OR_SAME},
                                  {"bias", bias, TN_INPUT},
                                  {"y", y, TN_OUTPUT}},
                     .operand_count = CONV_OPERANDS};
}

tenon_status tn_conv_check_call(tenon_context *context, const tn_call *call,
                                const tenon_epilogue *epilogue)
{
    const tn_argument *o = call->operands;
    const tenon_dtype dtype = o[CONV_X].view != NULL ? o[CONV_X].view->dtype : TENON_DTYPE_INVALID;
    TN_TRY(tn_tensor_check(call->operation, "x", o[CONV_X].view));
    TN_TRY(tn_tensor_check(call->operation, "w", o[CONV_W].view));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_epilogue_check(call->operation, epilogue, o[CONV_C].view));
    TN_TRY(tn_float_check(call->operation, "x", context, dtype));
    for (int i = CONV_W; i < CONV_OPERANDS; i++)
        TN_TRY(tn_same_dtype_check(call->operation, o[i].name, o[i].view, "x", dtype));
    return TENON_OK;
}

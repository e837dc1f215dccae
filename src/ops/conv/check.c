/* The self-checks of convolution's and im2col's solvers: an awkward problem with the layout of the
 * one at hand. */
#include "ops/common/host.h"
#include "ops/conv/internal.h"

#include <stdlib.h>
#include <string.h>

typedef struct check {
    tenon_conv_params params;
    tn_twin twins[CONV_OPERANDS];
    tn_bounded *expected;
} check;

/* N C H W with gaps between the rows, the channels and the images; `channels_last` is NHWC. */
static tenon_tensor image_view(tenon_dtype dtype, bool channels_last, int64_t n, int64_t c,
                               int64_t h, int64_t w)
{
    tenon_tensor view = {
        .offset = 3 * tenon_dtype_size(dtype), .dtype = dtype, .rank = 4, .shape = {n, c, h, w}};
    view.stride[3] = channels_last ? c + 2 : 1;
    view.stride[2] = w * view.stride[3] + 3;
    view.stride[1] = channels_last ? 1 : h * view.stride[2] + 1;
    view.stride[0] = (channels_last ? h * view.stride[2] : c * view.stride[1]) + 5;
    return view;
}

static tenon_conv_params check_params(const conv_problem *like, bool pointwise)
{
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.groups = 2;
    params.epilogue.alpha = 0.75;
    params.epilogue.beta = -0.5;
    params.epilogue.activation.kind = like->activation;
    params.epilogue.activation.alpha = 0.25;
    params.geometry.stride[1] = 2;
    if (pointwise)
        return params;
    params.geometry.dilation[0] = 2;
    params.geometry.pad_begin[0] = params.geometry.pad_end[1] = 2;
    params.geometry.pad_begin[1] = 1;
    return params;
}

static tenon_status make_operands(tenon_stream *stream, const conv_problem *like, bool pointwise,
                                  check *c)
{
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    bool channels_last = like->y[1] == 1 && like->y[3] != 1;
    int64_t r = pointwise ? 1 : 3, s = pointwise ? 1 : 2, h = 13, w = 35, filters = 14,
            channels = 10;
    const tenon_conv_geometry *g = &c->params.geometry;
    int64_t p = tenon_conv_output_size(g, 0, h, r), q = tenon_conv_output_size(g, 1, w, s);
    uint64_t seed = 1;
    tenon_tensor bias = tenon_tensor_view(dtype, 1, &filters);
    const tenon_tensor views[CONV_OPERANDS] = {
        [CONV_X] = image_view(dtype, channels_last, 3, channels, h, w),
        [CONV_W] = image_view(dtype, false, filters, channels / 2, r, s),
        [CONV_C] = image_view(dtype, channels_last, 3, filters, p, q),
        [CONV_BIAS] = bias,
        [CONV_Y] = image_view(dtype, channels_last, 3, filters, p, q),
    };
    for (int i = 0; i < CONV_OPERANDS; i++)
        TN_TRY(tn_twin_create(stream, &views[i], &seed, &c->twins[i]));
    return TENON_OK;
}

static tenon_status run(tenon_stream *stream, const tn_choice *choice, check *c)
{
    static const char operation[] = "conv self-check";
    const tn_twin *twins = c->twins;
    conv_problem problem;
    double scalars[TN_MAX_SCALARS] = {0};
    TN_TRY(tn_conv_canonicalise(operation, &c->params, &twins[CONV_X].device, &twins[CONV_W].device,
                                &twins[CONV_C].device, &twins[CONV_BIAS].device,
                                &twins[CONV_Y].device, &problem));
    problem.head.workspace_limit = stream->context->workspace_limit;
    tn_epilogue_scalars(&c->params.epilogue, scalars);
    return tn_twin_run(stream, operation, choice, &problem.head, scalars, c->twins, CONV_OPERANDS);
}

static tenon_status check_run(tenon_stream *stream, const conv_problem *like,
                              const tn_choice *choice, check *c, bool *right, char why[256])
{
    bool pointwise = choice->solver == &tn_conv_pointwise;
    c->params = check_params(like, pointwise);
    TN_TRY(make_operands(stream, like, pointwise, c));
    const tenon_tensor *y = &c->twins[CONV_Y].host;
    c->expected = malloc((size_t)tenon_tensor_elements(y) * sizeof *c->expected);
    if (c->expected == NULL ||
        !tn_conv_reference(&c->params, &c->twins[CONV_X].host, &c->twins[CONV_W].host,
                           &c->twins[CONV_C].host, &c->twins[CONV_BIAS].host, y, c->expected))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "conv self-check: no memory");
    TN_TRY(run(stream, choice, c));
    *right = tn_host_within(y, c->expected, why);
    return TENON_OK;
}

tenon_status tn_conv_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256])
{
    check *c = calloc(1, sizeof *c);
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "conv self-check: no memory");
    tenon_status status = check_run(stream, (const conv_problem *)problem, choice, c, right, why);
    for (int i = 0; i < CONV_OPERANDS; i++)
        tn_twin_destroy(&c->twins[i]);
    free(c->expected);
    free(c);
    return status;
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
    params.filter[0] = 3;
    params.filter[1] = 2;
    params.geometry.stride[0] = 2;
    params.geometry.dilation[1] = 2;
    params.geometry.pad_begin[0] = params.geometry.pad_end[1] = 1;
    int64_t p = tenon_conv_output_size(&params.geometry, 0, 13, 3);
    int64_t q = tenon_conv_output_size(&params.geometry, 1, 35, 2);
    const int64_t shape[] = {2, 5 * 6, p * q};
    tenon_tensor x_view = image_view(dtype, like->x[1] == 1, 2, 5, 13, 35);
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

/* The self-checks of convolution's gradients, of the transposed convolution and of col2im: awkward
 * problems with the layout of the one at hand. */
#include "check/case.h"
#include "check/host.h"
#include "ops/conv/depthwise.h"
#include "ops/conv/gradient.h"
#include "ops/conv/tiled.h"
#include "ops/registry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHANNELS 10
#define FILTERS  14

/* An image of two dimensions, wide enough for vectors and a tail. */
static const int64_t image_size[2] = {11, 37}, filter_size[2] = {3, 2}, one[2] = {1, 1};

static tenon_conv_geometry check_geometry(bool pointwise)
{
    tenon_conv_geometry g = TENON_CONV_GEOMETRY_INIT;
    if (pointwise)
        return g;
    g.stride[1] = 2;
    g.dilation[0] = 2;
    g.pad_begin[0] = g.pad_end[1] = 2;
    g.pad_begin[1] = 1;
    return g;
}

/* What y is, for the images above. */
static void output_size(const tenon_conv_geometry *g, bool pointwise, int64_t out[2])
{
    for (uint32_t d = 0; d < 2; d++)
        out[d] = tenon_conv_output_size(g, d, image_size[d], (pointwise ? one : filter_size)[d]);
}

/* The convolution whose gradient is checked. */
typedef struct check_shape {
    int64_t groups, channels, filters, out[2];
    const int64_t *image, *filter;
    tenon_conv_geometry geometry;
    bool dense; /* the filters lie without gaps, and nothing is added to what the output holds */
} check_shape;

static check_shape usual_shape(bool pointwise)
{
    check_shape s = {2,
                     CHANNELS,
                     FILTERS,
                     {0, 0},
                     image_size,
                     pointwise ? one : filter_size,
                     check_geometry(pointwise),
                     false};
    output_size(&s.geometry, pointwise, s.out);
    return s;
}

/* Groups of one channel, and several tiles of the image or blocks of channels: at step 1 and 2 as
 * unrolled loops have it, and at others. */
static check_shape depthwise_shape(const conv_problem *like, int64_t step)
{
    static const int64_t squares[][2] = {{2, 4}, {3, 3}, {5, 5}}, tall[2] = {133, 37};
    bool along_channels = tn_depthwise_along_channels(like, 2);
    int64_t channels = along_channels ? 35 : 3;
    check_shape s = {channels,
                     channels,
                     along_channels ? channels : 2 * channels,
                     {0, 0},
                     along_channels ? image_size : tall,
                     squares[tn_depthwise_taps(&like->window) / 2],
                     TENON_CONV_GEOMETRY_INIT,
                     false};
    s.geometry.stride[0] = step == 3 ? 2 : step;
    s.geometry.stride[1] = step;
    s.geometry.dilation[0] = s.geometry.dilation[1] = step == 3 ? 2 : 1;
    s.geometry.pad_begin[0] = s.geometry.pad_end[1] = 2;
    s.geometry.pad_begin[1] = 1;
    for (uint32_t d = 0; d < 2; d++)
        s.out[d] = tenon_conv_output_size(&s.geometry, d, s.image[d], s.filter[d]);
    return s;
}

/* For kernels that pack: two blocks of what they sum over, blocks of channels, tiles and their
 * rest, with filters that lie apart and filters that are copied whole. */
static check_shape packed_shape(bool sums_filters, bool dense)
{
    check_shape s = usual_shape(false);
    s.channels = s.groups * (sums_filters ? 5 : 35);
    s.filters = s.groups * (sums_filters ? 265 : 29);
    s.dense = dense;
    return s;
}

/* A block of rows and one, columns past a block, and a depth that is loaded as the one at hand is.
 */
static check_shape tiled_shape(const conv_problem *like, const tn_choice *choice, bool of_filter)
{
    const int64_t rows = choice->values[TILED_MB] + 1, taps = filter_size[0] * filter_size[1];
    check_shape s = usual_shape(false);
    s.filters = s.groups * (of_filter ? rows : tn_conv_check_depth(like->k));
    s.channels = s.groups * (of_filter ? choice->values[TILED_NB] / taps + 2 : rows);
    return s;
}

/* The filters of a check. */
static tenon_tensor filter_view(tenon_dtype dtype, const check_shape *s)
{
    const int64_t shape[] = {s->filters, s->channels / s->groups, s->filter[0], s->filter[1]};
    return s->dense ? tenon_tensor_view(dtype, 4, shape)
                    : tn_image_view(dtype, false, shape[0], shape[1], s->filter);
}

static bool channels_last(const int64_t stride[CONV_RANK])
{
    return stride[1] == 1 && stride[4] != 1;
}

/* The tensors of a check, the output last, and what is expected of it. */
typedef struct check {
    tn_twin twins[CONV_OPERANDS];
    uint32_t count;
    tn_bounded *expected;
} check;

#define NO_OPERAND UINT32_MAX
static tenon_status create(tenon_stream *stream, const tenon_tensor *views, uint32_t count,
                           uint32_t left_out, check *c)
{
    uint64_t seed = 1;
    memset(c, 0, sizeof *c);
    c->count = count;
    for (uint32_t i = 0; i < count; i++)
        if (i != left_out)
            TN_TRY(tn_twin_create(stream, &views[i], &seed, &c->twins[i]));
    c->expected = malloc((size_t)tenon_tensor_elements(&views[count - 1]) * sizeof *c->expected);
    return c->expected != NULL ? TENON_OK
                               : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "self-check: no memory");
}

static void destroy(check *c)
{
    for (uint32_t i = 0; i < c->count; i++)
        tn_twin_destroy(&c->twins[i]);
    free(c->expected);
}

/* Runs the choice and compares. */
static tenon_status compare(tenon_stream *stream, const tn_operation *operation, const void *params,
                            const tn_choice *choice, tn_problem *problem,
                            const tenon_epilogue *epilogue, check *c, bool *right, char why[256])
{
    double scalars[TN_MAX_SCALARS] = {0};
    problem->workspace_limit = stream->context->workspace_limit;
    tn_conv_scalars(epilogue, scalars);
    TN_TRY(tn_twin_run(stream, operation->name, choice, problem, scalars, c->twins, c->count));
    *right = tn_host_within(&c->twins[c->count - 1].host, c->expected, why);
    if (!*right)
        tn_twins_blame(stream, operation, params, c->twins, c->count, choice);
    return TENON_OK;
}

static tenon_status no_reference(const char *operation)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", operation);
}

/* As the transposed convolution has it: with all of the epilogue. */
static tenon_status check_reverse(tenon_stream *stream, const conv_problem *like,
                                  const tn_choice *choice, const check_shape *s, check *c,
                                  bool *right, char why[256])
{
    static const char operation[] = "conv_transpose self-check";
    const bool last = channels_last(like->x),
               x_last = tn_conv_is_tiled(choice->solver) ? channels_last(like->y) : last;
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_conv_transpose_params params = TENON_CONV_TRANSPOSE_PARAMS_INIT;
    conv_problem problem;
    params.groups = s->groups;
    params.geometry = s->geometry;
    params.epilogue = tn_check_epilogue(like->flags, like->activation);
    if (s->dense)
        params.epilogue.beta = 0;
    for (uint32_t d = 0; d < 2; d++)
        params.output_padding[d] = s->image[d] - tenon_conv_transpose_output_size(
                                                     &s->geometry, d, s->out[d], s->filter[d], 0);
    const tenon_tensor views[CONV_OPERANDS] = {
        [CONV_X] = tn_image_view(dtype, x_last, 2, s->filters, s->out),
        [CONV_W] = filter_view(dtype, s),
        [CONV_C] = tn_image_view(dtype, last, 2, s->channels, s->image),
        [CONV_BIAS] = tenon_tensor_view(dtype, 1, &s->channels),
        [CONV_Y] = tn_image_view(dtype, last, 2, s->channels, s->image)};
    TN_TRY(create(stream, views, CONV_OPERANDS,
                  (like->flags & CONV_HAS_BIAS) != 0 ? NO_OPERAND : CONV_BIAS, c));
    const tenon_tensor *x = &c->twins[CONV_X].host, *w = &c->twins[CONV_W].host,
                       *res = &c->twins[CONV_C].host, *bias = tn_twin_host(&c->twins[CONV_BIAS]),
                       *y = &c->twins[CONV_Y].host;
    TN_TRY(tn_conv_transpose_canonicalise(operation, &params, x, w, res, bias, y, &problem));
    if (!tn_conv_transpose_reference(&params, x, w, res, bias, y, c->expected))
        return no_reference(operation);
    return compare(stream, &tn_operation_conv_transpose, &params, choice, &problem.head,
                   &params.epilogue, c, right, why);
}

static tenon_status check_filter(tenon_stream *stream, const conv_problem *like,
                                 const tn_choice *choice, const check_shape *s, check *c,
                                 bool *right, char why[256])
{
    static const char operation[] = "conv_backward_filter self-check";
    bool pointwise = tn_is_solver(choice->solver, &tn_conv_backward_filter_pointwise),
         last = channels_last(like->x);
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
    tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    conv_problem problem;
    params.groups = s->groups;
    params.geometry = s->geometry;
    params.beta = epilogue.beta = s->dense ? 0 : tn_check_epilogue(like->flags, 0).beta;
    const tenon_tensor w = filter_view(dtype, s);
    tenon_tensor made[3] = {tn_image_view(dtype, last, 2, s->channels, s->image),
                            tn_image_view(dtype, last, 2, s->filters, s->out), w};
    if (pointwise) { /* whose pixels must have one stride, and for 16 bits its images the same */
        const int64_t x_shape[] = {1, CHANNELS, image_size[0], image_size[1]},
                      y_shape[] = {1, FILTERS, s->out[0], s->out[1]};
        made[0] = tenon_tensor_view(dtype, 4, x_shape);
        made[1] = tenon_tensor_view(dtype, 4, y_shape);
    }
    TN_TRY(create(stream, made, 3, NO_OPERAND, c));
    const tenon_tensor *const views[] = {&c->twins[0].host, &c->twins[1].host, &c->twins[2].host};
    TN_TRY(tn_conv_gradient_canonicalise(operation, &tn_conv_gradient_of_filter, &params, views,
                                         &problem));
    if (!tn_conv_backward_filter_reference(&params, views[0], views[1], views[2], c->expected))
        return no_reference(operation);
    return compare(stream, &tn_operation_conv_backward_filter, &params, choice, &problem.head,
                   &epilogue, c, right, why);
}

typedef tenon_status (*check_one)(tenon_stream *stream, const conv_problem *like,
                                  const tn_choice *choice, const check_shape *s, check *c,
                                  bool *right, char why[256]);

static check_shape shape_of(const tn_choice *choice, const conv_problem *like, bool of_filter,
                            int64_t number)
{
    const tn_solver *solver = choice->solver;
    if (tn_conv_is_tiled(solver))
        return tiled_shape(like, choice, of_filter);
    if (tn_is_solver(solver, &tn_conv_backward_data_depthwise) ||
        tn_is_solver(solver, &tn_conv_backward_filter_depthwise))
        return depthwise_shape(like, 1 + number);
    if (tn_is_solver(solver, &tn_conv_backward_data_implicit_packed) ||
        tn_is_solver(solver, &tn_conv_backward_filter_implicit_packed)) /* of one name */
        return packed_shape(!of_filter, number > 0);
    return usual_shape(tn_is_solver(solver, &tn_conv_backward_data_pointwise) ||
                       tn_is_solver(solver, &tn_conv_backward_filter_pointwise));
}

static int64_t shapes_of(const tn_solver *solver)
{
    if (tn_is_solver(solver, &tn_conv_backward_data_depthwise) ||
        tn_is_solver(solver, &tn_conv_backward_filter_depthwise))
        return 3;
    return tn_is_solver(solver, &tn_conv_backward_data_implicit_packed) ||
                   tn_is_solver(solver, &tn_conv_backward_filter_implicit_packed)
               ? 2
               : 1;
}

static tenon_status check_shapes(check_one check_it, tenon_stream *stream,
                                 const tn_problem *problem, const tn_choice *choice, bool *right,
                                 char why[256])
{
    const conv_problem *like = (const conv_problem *)problem;
    tenon_status status = TENON_OK;
    *right = true;
    for (int64_t i = 0; i < shapes_of(choice->solver) && status == TENON_OK && *right; i++) {
        const check_shape shape = shape_of(choice, like, check_it == check_filter, i);
        check c = {.count = 0};
        status = check_it(stream, like, choice, &shape, &c, right, why);
        destroy(&c);
    }
    return status;
}

tenon_status tn_conv_reverse_self_check(tenon_stream *stream, const tn_problem *problem,
                                        const tn_choice *choice, bool *right, char why[256])
{
    return check_shapes(check_reverse, stream, problem, choice, right, why);
}

tenon_status tn_conv_backward_filter_self_check(tenon_stream *stream, const tn_problem *problem,
                                                const tn_choice *choice, bool *right, char why[256])
{
    return check_shapes(check_filter, stream, problem, choice, right, why);
}

/* Enough lines for several parts. */
static tenon_status check_bias(tenon_stream *stream, const conv_bias_problem *like, bool last,
                               const tn_choice *choice, check *c, bool *right, char why[256])
{
    static const char operation[] = "conv_backward_bias self-check";
    static const int64_t size[2] = {61, 37}, filters = 3;
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
    tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    conv_bias_problem problem;
    params.beta = epilogue.beta = like->adds != 0 ? -0.5 : 0;
    const tenon_tensor views[] = {tn_image_view(dtype, last, 2, filters, size),
                                  tenon_tensor_view(dtype, 1, &filters)};
    TN_TRY(create(stream, views, 2, NO_OPERAND, c));
    const tenon_tensor *dy = &c->twins[0].host, *db = &c->twins[1].host;
    TN_TRY(tn_conv_bias_canonicalise(operation, &params, dy, db, &problem));
    if (!tn_conv_backward_bias_reference(&params, dy, db, c->expected))
        return no_reference(operation);
    return compare(stream, &tn_operation_conv_backward_bias, &params, choice, &problem.head,
                   &epilogue, c, right, why);
}

tenon_status tn_conv_backward_bias_self_check(tenon_stream *stream, const tn_problem *problem,
                                              const tn_choice *choice, bool *right, char why[256])
{
    tenon_status status = TENON_OK;
    *right = true;
    /* One variant has both kernels. */
    for (int last = 0; last < 2 && status == TENON_OK && *right; last++) {
        check c = {.count = 0};
        status = check_bias(stream, (const conv_bias_problem *)problem, last != 0, choice, &c,
                            right, why);
        destroy(&c);
    }
    return status;
}

/* What the epilogue of a convolution makes of the sums that are expected, which are rounded once
 * more than need be. */
static void expect_epilogue(const tenon_epilogue *e, const col2im_problem *p, const check *c)
{
    const tenon_tensor *x = &c->twins[COL2IM_X].host;
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    const int64_t channel = x->shape[2] * x->shape[3];
    double *res = tn_host_read(&c->twins[COL2IM_RES].host, x->rank, x->shape);
    double *bias = tn_host_read(&c->twins[COL2IM_BIAS].host, 1, &x->shape[1]);
    for (int64_t i = 0; res != NULL && bias != NULL && i < tenon_tensor_elements(x); i++) {
        const bool adds = (p->flags & CONV_HAS_C) != 0, has_bias = (p->flags & CONV_HAS_BIAS) != 0;
        const double terms[] = {e->alpha * c->expected[i].value, adds ? e->beta * res[i] : 0,
                                has_bias ? bias[i / channel % x->shape[1]] : 0};
        const double magnitude = fabs(terms[0]) + fabs(terms[1]) + fabs(terms[2]);
        /* Two products and two sums. */
        const double bound = fabs(e->alpha) * c->expected[i].bound +
                             tn_gamma(4, tn_roundoff(dtype)) * magnitude +
                             4 * tn_least_normal(dtype);
        const tn_bounded sum = {terms[0] + terms[1] + terms[2], bound};
        c->expected[i] = tn_stored(dtype, tn_activation_reference(&e->activation, dtype, sum));
    }
    free(res);
    free(bias);
}

/* As a convolution has it: with an epilogue, and its columns in the workspace in another type. */
static tenon_status check_col2im(tenon_stream *stream, const col2im_problem *like,
                                 const tn_choice *choice, check *c, bool *right, char why[256])
{
    static const char operation[] = "col2im self-check";
    tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_im2col_params params = TENON_IM2COL_PARAMS_INIT;
    const tenon_epilogue epilogue = tn_check_epilogue(like->flags, like->activation);
    col2im_problem problem;
    int64_t out[2];
    memcpy(params.filter, filter_size, sizeof filter_size);
    params.geometry = check_geometry(false);
    output_size(&params.geometry, false, out);
    const int64_t shape[] = {2, CHANNELS * filter_size[0] * filter_size[1], out[0] * out[1]},
                  channels[] = {CHANNELS};
    tenon_dtype col_dtype = like->col_acc ? tn_conv_sum_type(like->dtype) : dtype;
    const tenon_tensor image =
        tn_image_view(dtype, channels_last(like->x), 2, CHANNELS, image_size);
    tenon_tensor views[COL2IM_OPERANDS] = {[COL2IM_COL] = tenon_tensor_view(col_dtype, 3, shape),
                                           [COL2IM_RES] = image,
                                           [COL2IM_BIAS] = tenon_tensor_view(dtype, 1, channels),
                                           [COL2IM_X] = image};
    if (like->col[1] == 1) /* along the taps */
        views[COL2IM_COL].stride[1] = 1, views[COL2IM_COL].stride[2] = shape[1];
    TN_TRY(create(stream, views, COL2IM_OPERANDS, NO_OPERAND, c));
    const tenon_tensor *col = &c->twins[COL2IM_COL].host, *x = &c->twins[COL2IM_X].host;
    TN_TRY(tn_col2im_canonicalise(operation, &params, col, x, &problem));
    if (!tn_col2im_reference(&params, col, x, c->expected))
        return no_reference(operation);
    for (int i = 0; i < COL2IM_OPERANDS; i++)
        problem.operand[i] = (uint8_t)i;
    tn_conv_copy_strides(problem.res, x);
    problem.bias = 1;
    problem.activation = like->activation;
    problem.flags = like->flags;
    problem.first_scalar = 0;
    problem.col_acc = like->col_acc;
    expect_epilogue(&epilogue, &problem, c);
    return compare(stream, &tn_operation_col2im, &params, choice, &problem.head, &epilogue, c,
                   right, why);
}

tenon_status tn_col2im_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    check c = {.count = 0};
    tenon_status status =
        check_col2im(stream, (const col2im_problem *)problem, choice, &c, right, why);
    destroy(&c);
    return status;
}

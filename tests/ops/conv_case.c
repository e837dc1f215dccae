#include "conv_case.h"

const conv_case simple_conv = {.n = 2,
                               .c = 4,
                               .h = 9,
                               .w = 11,
                               .k = 6,
                               .r = 3,
                               .s = 3,
                               .groups = 1,
                               .geometry = TENON_CONV_GEOMETRY_INIT,
                               .alpha = 1};

const char *describe_conv(const void *user)
{
    static char text[512];
    const conv_data *data = user;
    const conv_case *p = &data->problem;
    const tenon_conv_geometry *g = &p->geometry;
    snprintf(text, sizeof text,
             "%s x %lldx%lldx%lldx%lld w %lldx%lldx%lldx%lld groups %lld stride %lld %lld dilation "
             "%lld %lld pad %lld %lld %lld %lld, layouts x %d w %d y %d, offset %lld, residual %d, "
             "bias %d, alpha %g beta %g activation %u",
             tenon_dtype_string(data->dtype), (long long)p->n, (long long)p->c, (long long)p->h,
             (long long)p->w, (long long)p->k, (long long)(p->c / p->groups), (long long)p->r,
             (long long)p->s, (long long)p->groups, (long long)g->stride[0],
             (long long)g->stride[1], (long long)g->dilation[0], (long long)g->dilation[1],
             (long long)g->pad_begin[0], (long long)g->pad_end[0], (long long)g->pad_begin[1],
             (long long)g->pad_end[1], (int)p->x, (int)p->filter, (int)p->y, (long long)p->offset,
             (int)p->residual, p->bias, p->alpha, p->beta, p->activation.kind);
    return text;
}

/* Strides of a shape N C H W that lies as `layout` says; ODD has W outermost and gaps throughout. */
static void image_strides(image_layout layout, const int64_t *shape, int64_t *stride)
{
    static const uint32_t orders[IMAGE_LAYOUTS][4] = {{3, 2, 1, 0}, {1, 3, 2, 0}, {1, 0, 2, 3}};
    int64_t step = layout == ODD ? 2 : 1;
    for (int i = 0; i < 4; i++) {
        uint32_t d = orders[layout][i];
        stride[d] = step;
        step = step * (shape[d] > 0 ? shape[d] : 1) + (layout == ODD ? 3 : 0);
    }
}

static void create_image(conv_data *data, int operand, image_layout layout, int64_t n, int64_t c,
                         int64_t h, int64_t w)
{
    const int64_t shape[] = {n, c, h, w};
    int64_t stride[4];
    image_strides(layout, shape, stride);
    test_tensor_create(&data->operands[operand], data->dtype, 4, shape, stride,
                       data->problem.offset);
}

static tenon_conv_params conv_params(const conv_case *p, const char *solver)
{
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.solver = solver;
    params.groups = p->groups;
    params.geometry = p->geometry;
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

static const tenon_tensor *view(const conv_data *data, int operand, bool host)
{
    if (operand == CONV_C && data->problem.residual == IN_PLACE)
        operand = CONV_Y;
    if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

static void create(conv_data *data)
{
    const conv_case *p = &data->problem;
    int64_t rows = tenon_conv_output_size(&p->geometry, 0, p->h, p->r);
    int64_t columns = tenon_conv_output_size(&p->geometry, 1, p->w, p->s);
    const int64_t filters[] = {p->k}, channels[] = {p->k, 1, 1};
    const int64_t filters_stride[] = {2}, channels_stride[] = {1, 1, 1};
    create_image(data, CONV_X, p->x, p->n, p->c, p->h, p->w);
    create_image(data, CONV_W, p->filter, p->k, p->c / p->groups, p->r, p->s);
    create_image(data, CONV_Y, p->y, p->n, p->k, rows, columns);
    if (p->bias)
        test_tensor_create(&data->operands[CONV_BIAS], data->dtype, 1, filters, filters_stride, 1);
    if (p->residual == FULL_RESIDUAL)
        create_image(data, CONV_C, NHWC, p->n, p->k, rows, columns);
    else if (p->residual == CHANNEL_RESIDUAL)
        test_tensor_create(&data->operands[CONV_C], data->dtype, 3, channels, channels_stride, 1);
}

void make_conv(conv_data *data, const conv_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random)
{
    *data = (conv_data){.problem = *p, .dtype = dtype, .judge = judge};
    create(data);
    if (p->alpha != 0) {
        test_fill(&data->operands[CONV_X], judge, random);
        test_fill(&data->operands[CONV_W], judge, random);
    }
    if (p->bias)
        test_fill(&data->operands[CONV_BIAS], judge, random);
    if (p->beta != 0)
        test_fill(&data->operands[p->residual == IN_PLACE ? CONV_Y : CONV_C], judge, random);
}

void compute_conv_reference(conv_data *data)
{
    tenon_conv_params params = conv_params(&data->problem, NULL);
    const tenon_tensor *y = view(data, CONV_Y, true);
    data->expected = malloc(((size_t)tenon_tensor_elements(y) + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    tn_conv_reference(&params, view(data, CONV_X, true), view(data, CONV_W, true),
                      view(data, CONV_C, true), view(data, CONV_BIAS, true), y, data->expected);
}

void destroy_conv(conv_data *data)
{
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static tenon_status call(const void *user, const char *solver)
{
    const conv_data *data = user;
    tenon_conv_params params = conv_params(&data->problem, solver);
    return tenon_conv_forward(test_stream, &params, view(data, CONV_X, false),
                              view(data, CONV_W, false), view(data, CONV_C, false),
                              view(data, CONV_BIAS, false), view(data, CONV_Y, false), NULL);
}

test_subject conv_subject(const conv_data *data)
{
    return (test_subject){&tn_conv_family, call,          describe_conv,  data,
                          data->operands,  CONV_OPERANDS, data->expected, data->judge};
}

void check_conv_typed(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    bool exact = !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        conv_data data;
        make_conv(&data, p, dtype, (test_judge)judge, random);
        compute_conv_reference(&data);
        const test_subject subject = conv_subject(&data);
        test_run_all(&subject);
        destroy_conv(&data);
    }
}

void check_conv(const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_conv_typed(p, *type, random);
}

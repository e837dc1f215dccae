/*
 * tenon_conv_forward against its reference, and the reference against the definition: every solver
 * by name and the automatic choice, f32 and f64, reals within the bound and integers exactly.
 */
#include "support.h"

#include "ops/conv/internal.h"

#include <math.h>

typedef enum image_layout { NCHW, NHWC, ODD, IMAGE_LAYOUTS } image_layout;
typedef enum residual { NO_RESIDUAL, FULL_RESIDUAL, CHANNEL_RESIDUAL, IN_PLACE } residual;

typedef struct conv_case {
    int64_t n, c, h, w; /* the image */
    int64_t k, r, s;    /* the filters */
    int64_t groups;
    tenon_conv_geometry geometry;
    image_layout x, y, filter;
    int64_t offset;
    residual residual;
    bool bias;
    double alpha, beta;
    tenon_activation activation;
} conv_case;

static const conv_case simple = {.n = 2,
                                 .c = 4,
                                 .h = 9,
                                 .w = 11,
                                 .k = 6,
                                 .r = 3,
                                 .s = 3,
                                 .groups = 1,
                                 .geometry = TENON_CONV_GEOMETRY_INIT,
                                 .alpha = 1};

typedef struct conv_data {
    conv_case problem;
    tenon_dtype dtype;
    test_judge judge;
    test_tensor operands[CONV_OPERANDS];
    tn_bounded *expected;
} conv_data;

static const char *describe(const void *user)
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

static tenon_conv_params params_of(const conv_case *p, const char *solver)
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

/* What must not be read is left poisoned. */
static void make(conv_data *data, const conv_case *p, tenon_dtype dtype, test_judge judge,
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

static void compute_reference(conv_data *data)
{
    tenon_conv_params params = params_of(&data->problem, NULL);
    const tenon_tensor *y = view(data, CONV_Y, true);
    data->expected = malloc(((size_t)tenon_tensor_elements(y) + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    tn_conv_reference(&params, view(data, CONV_X, true), view(data, CONV_W, true),
                      view(data, CONV_C, true), view(data, CONV_BIAS, true), y, data->expected);
}

static void destroy(conv_data *data)
{
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static tenon_status call(const void *user, const char *solver)
{
    const conv_data *data = user;
    tenon_conv_params params = params_of(&data->problem, solver);
    return tenon_conv_forward(test_stream, &params, view(data, CONV_X, false),
                              view(data, CONV_W, false), view(data, CONV_C, false),
                              view(data, CONV_BIAS, false), view(data, CONV_Y, false), NULL);
}

static test_subject subject_of(const conv_data *data)
{
    return (test_subject){&tn_conv_family, call,          describe,       data,
                          data->operands,  CONV_OPERANDS, data->expected, data->judge};
}

static void check_typed(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    bool exact = !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        conv_data data;
        make(&data, p, dtype, (test_judge)judge, random);
        compute_reference(&data);
        const test_subject subject = subject_of(&data);
        test_run_all(&subject);
        destroy(&data);
    }
}

static void check(const conv_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_typed(p, *type, random);
}

/* The sum of the header's formula, by plain loops over logical indices. */
static double by_definition(const conv_data *data, int64_t n, int64_t k, int64_t p, int64_t q)
{
    const conv_case *c = &data->problem;
    const tenon_conv_geometry *g = &c->geometry;
    int64_t channels = c->c / c->groups, group = k / (c->k / c->groups);
    double sum = 0;
    for (int64_t i = 0; i < channels; i++)
        for (int64_t r = 0; r < c->r; r++)
            for (int64_t s = 0; s < c->s; s++) {
                int64_t h = p * g->stride[0] - g->pad_begin[0] + r * g->dilation[0];
                int64_t w = q * g->stride[1] - g->pad_begin[1] + s * g->dilation[1];
                if (h < 0 || h >= c->h || w < 0 || w >= c->w)
                    continue;
                int64_t x = ((n * c->c + group * channels + i) * c->h + h) * c->w + w;
                sum +=
                    test_get(&data->operands[CONV_X], x) *
                    test_get(&data->operands[CONV_W], ((k * channels + i) * c->r + r) * c->s + s);
            }
    return sum;
}

static conv_case random_case(test_random *random)
{
    conv_case p = simple;
    p.groups = test_one_in(random, 2) ? 1 : test_between(random, 2, 4);
    p.n = test_between(random, 1, 3);
    p.c = p.groups * test_between(random, 1, 5);
    p.k = p.groups * test_between(random, 1, 9);
    p.h = test_between(random, 1, 14);
    p.w = test_between(random, 1, 14);
    p.r = test_one_in(random, 3) ? 1 : test_between(random, 1, 5);
    p.s = test_one_in(random, 3) ? 1 : test_between(random, 1, 5);
    for (int d = 0; d < 2; d++) {
        p.geometry.stride[d] = test_one_in(random, 2) ? 1 : test_between(random, 2, 3);
        p.geometry.dilation[d] = test_one_in(random, 2) ? 1 : test_between(random, 2, 3);
        p.geometry.pad_begin[d] = test_between(random, 0, 3);
        p.geometry.pad_end[d] = test_between(random, 0, 3);
    }
    p.x = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.y = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.filter = (image_layout)test_between(random, 0, IMAGE_LAYOUTS - 1);
    p.offset = test_between(random, 0, 5);
    p.bias = test_one_in(random, 2);
    p.residual = (residual)test_between(random, NO_RESIDUAL, IN_PLACE);
    p.beta = p.residual == NO_RESIDUAL ? 0 : 0.5;
    p.activation.kind = test_one_in(random, 2) ? TENON_ACTIVATION_RELU : 0;
    return p;
}

static void the_reference_is_the_definition(void **state)
{
    test_random random = test_random_for(201);
    (void)state;
    for (int n = 0; n < 60; n++) {
        conv_case p = random_case(&random);
        conv_data data;
        p.activation.kind = 0;
        p.residual = NO_RESIDUAL;
        p.beta = 0;
        p.bias = false;
        make(&data, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        compute_reference(&data);
        const int64_t *y = data.operands[CONV_Y].view.shape;
        for (int64_t i = 0; i < y[0] * y[1] * y[2] * y[3]; i++)
            if (data.expected[i].value != by_definition(&data, i / (y[1] * y[2] * y[3]),
                                                        i / (y[2] * y[3]) % y[1], i / y[3] % y[2],
                                                        i % y[3]))
                fail_msg("element %lld of %s", (long long)i, describe(&data));
        destroy(&data);
    }
}

static void output_sizes(void **state)
{
    tenon_conv_geometry g = TENON_CONV_GEOMETRY_INIT;
    (void)state;
    assert_int_equal(tenon_conv_output_size(&g, 0, 5, 3), 3);
    assert_int_equal(tenon_conv_output_size(&g, 0, 3, 3), 1);
    assert_int_equal(tenon_conv_output_size(&g, 0, 2, 3), 0);
    assert_int_equal(tenon_conv_output_size(&g, 2, 5, 1), 5);
    g.stride[1] = 2;
    g.dilation[1] = 3;
    g.pad_begin[1] = 1;
    g.pad_end[1] = 2;
    assert_int_equal(tenon_conv_output_size(&g, 1, 10, 3), 4);
    assert_int_equal(tenon_conv_output_size(&g, 1, 0, 3), 0);
    assert_int_equal(tenon_conv_output_size(&g, 1, 4, 3), 1);
    assert_int_equal(tenon_conv_output_size(NULL, 0, 5, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 3, 5, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 0, -1, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 0, 5, 0), -1);
    assert_int_equal(tenon_conv_output_size(&g, 1, INT64_MAX, 3), -1);
    assert_int_equal(tenon_conv_output_size(&g, 1, 5, INT64_MAX), -1);
    g.stride[0] = 0;
    assert_int_equal(tenon_conv_output_size(&g, 0, 5, 3), -1);
}

static void every_layout(void **state)
{
    test_random random = test_random_for(202);
    (void)state;
    for (int i = 0; i < 27; i++) {
        conv_case p = simple;
        p.x = (image_layout)(i % 3);
        p.y = (image_layout)(i / 3 % 3);
        p.filter = (image_layout)(i / 9);
        p.offset = i % 4;
        p.geometry.pad_begin[0] = p.geometry.pad_end[1] = 1;
        check(&p, &random);
        p.r = p.s = 1; /* which is a matrix product where there is no padding */
        p.geometry = (tenon_conv_geometry)TENON_CONV_GEOMETRY_INIT;
        check(&p, &random);
    }
}

static void strides_dilations_and_padding(void **state)
{
    test_random random = test_random_for(203);
    (void)state;
    for (int i = 0; i < 16; i++) {
        conv_case p = simple;
        p.geometry.stride[0] = 1 + i % 2;
        p.geometry.stride[1] = 1 + i / 2 % 3;
        p.geometry.dilation[0] = 1 + i / 4 % 2;
        p.geometry.dilation[1] = 1 + i / 8;
        p.geometry.pad_begin[0] = i % 3;
        p.geometry.pad_end[0] = (i + 1) % 4;
        p.geometry.pad_begin[1] = i / 3 % 3;
        p.geometry.pad_end[1] = i % 2;
        p.r = 2 + i % 2;
        check(&p, &random);
    }
}

static void groups(void **state)
{
    static const int64_t cases[][3] = {{2, 6, 4}, {3, 3, 3}, {4, 8, 4}, {5, 5, 10}, {1, 1, 1}};
    test_random random = test_random_for(204);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p = simple;
            p.groups = cases[i][0];
            p.c = cases[i][1];
            p.k = cases[i][2];
            p.x = p.y = (image_layout)layout;
            p.geometry.pad_begin[0] = p.geometry.pad_begin[1] = 1;
            p.bias = true;
            check(&p, &random);
            p.r = p.s = 1;
            check(&p, &random);
        }
}

static void sizes(void **state)
{
    static const int64_t cases[][7] = {{1, 1, 1, 1, 1, 1, 1},   {1, 1, 5, 1, 1, 5, 1},
                                       {1, 3, 1, 7, 2, 1, 7},   {3, 1, 8, 8, 65, 3, 3},
                                       {1, 33, 8, 8, 13, 3, 3}, {1, 2, 33, 31, 3, 5, 5},
                                       {1, 129, 3, 3, 7, 3, 3}, {1, 16, 17, 19, 64, 1, 1}};
    test_random random = test_random_for(205);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv_case p = simple;
        const int64_t *v = cases[i];
        p.n = v[0];
        p.c = v[1];
        p.h = v[2];
        p.w = v[3];
        p.k = v[4];
        p.r = v[5];
        p.s = v[6];
        check(&p, &random);
    }
}

/* No images, no filters, no channels, no pixels, and a filter that does not fit. */
static void empty(void **state)
{
    test_random random = test_random_for(206);
    (void)state;
    for (int i = 0; i < 5; i++) {
        conv_case p = simple;
        *(i == 0 ? &p.n : i == 1 ? &p.k : i == 2 ? &p.c : i == 3 ? &p.h : &p.r) = i == 4 ? 10 : 0;
        p.bias = i == 2;
        check(&p, &random);
    }
    conv_case padded = simple;
    padded.h = 0; /* all that the filter sees is padding */
    padded.geometry.pad_begin[0] = 2;
    padded.geometry.pad_end[0] = 2;
    padded.bias = true;
    check(&padded, &random);
}

static void epilogues(void **state)
{
    static const tenon_activation activations[] = {
        {TENON_ACTIVATION_IDENTITY, 0, 0, 0},      {TENON_ACTIVATION_RELU, 0, 0, 0},
        {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0}, {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0},
        {TENON_ACTIVATION_SIGMOID, 0, 0, 0},       {TENON_ACTIVATION_TANH, 0, 0, 0}};
    test_random random = test_random_for(207);
    (void)state;
    for (int i = 0; i < 24; i++) {
        conv_case p = simple;
        p.activation = activations[i % 6];
        p.residual = (residual)(i / 6);
        p.beta = p.residual != NO_RESIDUAL && i % 5 != 0 ? -2 : 0;
        p.alpha = i % 7 == 3 ? 0 : 0.5;
        p.bias = i % 2 == 0;
        p.y = i % 3 == 0 ? NHWC : NCHW;
        check(&p, &random);
    }
}

static void nan_and_infinity_propagate(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(208);
    (void)state;
    for (int i = 0; i < 6; i++) {
        conv_case p = simple;
        conv_data data;
        p.geometry.pad_begin[0] = p.geometry.pad_end[1] = i / 3;
        make(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        test_tensor *x = &data.operands[CONV_X];
        test_set(x, test_between(&random, 0, tenon_tensor_elements(&x->view) - 1), specials[i % 3]);
        compute_reference(&data);
        const test_subject subject = subject_of(&data);
        test_run_all(&subject);
        destroy(&data);
    }
}

/* No workspace at all, and little: the result is the same problem's, whichever way it is done. */
static void small_workspaces(void **state)
{
    static const uint64_t limits[] = {0, 1, 128, 4096, 20000};
    test_random random = test_random_for(209);
    tenon_stream *usual = test_stream;
    (void)state;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
        tenon_context *context;
        params.workspace_limit = limits[i];
        tenon_device_info info;
        assert_ok(tenon_context_device(test_context, &info));
        assert_ok(
            tenon_context_import(tenon_context_cl(test_context), info.device, &params, &context));
        assert_ok(tenon_stream_create(context, NULL, &test_stream));
        conv_case p = simple;
        p.bias = true;
        p.geometry.pad_begin[1] = 1;
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            conv_data data;
            make(&data, &p, TENON_DTYPE_F32, (test_judge)judge, &random);
            compute_reference(&data);
            const test_subject subject = subject_of(&data);
            for (int operand = 0; operand < CONV_Y; operand++)
                if (data.operands[operand].image != NULL)
                    test_upload(&data.operands[operand]);
            test_run(&subject, NULL);
            destroy(&data);
        }
        tenon_stream_destroy(test_stream);
        tenon_context_release(context);
        test_stream = usual;
    }
}

/* Beyond the direct kernel, over several tiles. */
static void larger_problems(void **state)
{
    test_random random = test_random_for(210);
    conv_case p = simple;
    (void)state;
    p.c = 16;
    p.h = p.w = 40;
    p.k = 33;
    p.geometry.pad_begin[0] = p.geometry.pad_end[0] = 1;
    p.bias = true;
    p.activation.kind = TENON_ACTIVATION_RELU;
    check_typed(&p, TENON_DTYPE_F32, &random);
    p.x = p.y = NHWC;
    check_typed(&p, TENON_DTYPE_F32, &random);
}

static void random_problems(void **state)
{
    test_random random = test_random_for(211);
    (void)state;
    for (int n = 0; n < 80; n++) {
        conv_case p = random_case(&random);
        check(&p, &random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_sizes),
        cmocka_unit_test(the_reference_is_the_definition),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(strides_dilations_and_padding),
        cmocka_unit_test(groups),
        cmocka_unit_test(sizes),
        cmocka_unit_test(empty),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(small_workspaces),
        cmocka_unit_test(larger_problems),
        cmocka_unit_test(random_problems),
    };
    return TEST_MAIN(tests);
}

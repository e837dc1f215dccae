/* tenon_conv_transpose_forward against its reference; test_conv_backward ties that to the
 * convolution's, and tries its gradients. */
#include "gradient_case.h"

#include <math.h>

static void output_sizes(void **state)
{
    tenon_conv_geometry g = TENON_CONV_GEOMETRY_INIT;
    (void)state;
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 3, 3, 0), 5);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 0, 3, 0), 0);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 3, 3, 1), -1); /* stride is 1 */
    g.dilation[0] = 3;
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 3, 2, 2), 8);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 3, 2, 3), -1);
    g.stride[1] = 3;
    g.dilation[1] = 2;
    g.pad_begin[1] = 1;
    g.pad_end[1] = 2;
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 4, 3, 2), 13);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 4, 3, 3), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 4, 3, -1), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 1, 1, 0), 0); /* cut off whole */
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, INT64_MAX / 2, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 5, INT64_MAX / 2, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(NULL, 0, 5, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 3, 5, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, -1, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 5, 0, 0), -1);
    g.pad_end[1] = INT64_MAX; /* all is cut off, and nothing overflows */
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 5, 3, 0), -1);
    for (int64_t padding = 0; padding < 3; padding++) { /* the convolution undoes it */
        g.pad_end[1] = 2;
        int64_t size = tenon_conv_transpose_output_size(&g, 1, 7, 3, padding);
        assert_int_equal(tenon_conv_output_size(&g, 1, size, 3), 7);
    }
}

/* By hand: two elements at stride 2 lay a filter of 3 on an image from which one is cut off. */
static void known_values(void **state)
{
    static const float x[] = {3, 5}, w[] = {1, -1, 2}, bias[] = {10};
    static const float y[] = {7, 21, 5, 20, 10};
    const int64_t x_shape[] = {1, 1, 2}, w_shape[] = {1, 1, 3}, y_shape[] = {1, 1, 5}, one[] = {1};
    tenon_conv_transpose_params params = tenon_conv_transpose_params_default();
    tenon_tensor tx, tw, ty, tb;
    float got[5];
    (void)state;
    params.geometry.stride[0] = 2;
    params.geometry.pad_begin[0] = 1;
    params.output_padding[0] = 1;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, x_shape, &tx));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, w_shape, &tw));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, y_shape, &ty));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, one, &tb));
    assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tx, NULL));
    assert_ok(tenon_tensor_upload(test_stream, w, sizeof w, &tw, NULL));
    assert_ok(tenon_tensor_upload(test_stream, bias, sizeof bias, &tb, NULL));
    assert_ok(tenon_conv_transpose_forward(test_stream, &params, &tx, &tw, NULL, &tb, &ty, NULL));
    assert_ok(tenon_tensor_download(test_stream, &ty, got, sizeof y, NULL));
    assert_memory_equal(got, y, sizeof y);
    tenon_memory_destroy(&tx.memory);
    tenon_memory_destroy(&tw.memory);
    tenon_memory_destroy(&ty.memory);
    tenon_memory_destroy(&tb.memory);
}

static void every_layout(void **state)
{
    test_random random = test_random_for(1401);
    (void)state;
    for (int i = 0; i < 27; i++) {
        conv_case p = simple_conv;
        p.x = (image_layout)(i % 3);
        p.y = (image_layout)(i / 3 % 3);
        p.w = (image_layout)(i / 9);
        p.offset = i % 4;
        p.geometry.stride[0] = 2;
        p.geometry.pad_begin[0] = p.geometry.pad_end[1] = 1;
        gradient_check_typed(TRANSPOSED, &p, test_float_types()[i % 3], &random);
        p.filter[0] = p.filter[1] = 1; /* which is a matrix product without stride and padding */
        p.geometry = no_geometry;
        gradient_check_typed(TRANSPOSED, &p, test_float_types()[i % 3], &random);
    }
}

static void epilogues(void **state)
{
    static const tenon_activation activations[] = {{TENON_ACTIVATION_IDENTITY, 0, 0, 0},
                                                   {TENON_ACTIVATION_RELU, 0, 0, 0},
                                                   {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0},
                                                   {TENON_ACTIVATION_SIGMOID, 0, 0, 0}};
    test_random random = test_random_for(1402);
    (void)state;
    for (int i = 0; i < 32; i++) {
        conv_case p = simple_conv;
        p.activation = activations[i % 4];
        p.residual = (conv_residual)(i / 4 % 4);
        p.beta = p.residual != NO_RESIDUAL && i % 5 != 0 ? -2 : 0;
        p.alpha = i % 7 == 3 ? 0 : 0.5;
        p.bias = i % 2 == 0;
        p.geometry.stride[1] = 2;
        p.x = i % 3 == 0 ? NHWC : NCHW;
        if (i >= 16)
            p.filter[0] = p.filter[1] = p.geometry.stride[1] = 1;
        gradient_check_typed(TRANSPOSED, &p, test_float_types()[i % 2], &random);
    }
}

static void empty(void **state)
{
    test_random random = test_random_for(1403);
    (void)state;
    for (int i = 0; i < 3; i++) {
        conv_case p = simple_conv;
        *(i == 0 ? &p.n : i == 1 ? &p.k : &p.c) = 0;
        p.bias = i == 1;
        gradient_check(TRANSPOSED, &p, &random);
    }
}

/* No elements, or none that is not cut off: y has none either. */
static void nothing_left(void **state)
{
    const int64_t w_shape[] = {2, 3, 3};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const int64_t x_shape[] = {1, 2, i}, y_shape[] = {1, 3, 0};
        tenon_conv_transpose_params params = TENON_CONV_TRANSPOSE_PARAMS_INIT;
        params.geometry.pad_begin[0] = params.geometry.pad_end[0] = 2;
        tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 3, x_shape),
                     w = tenon_tensor_view(TENON_DTYPE_F32, 3, w_shape),
                     y = tenon_tensor_view(TENON_DTYPE_F32, 3, y_shape);
        tenon_plan *plan;
        assert_ok(tenon_conv_transpose_forward_plan(test_context, &params, &x, &w, NULL, NULL, &y,
                                                    &plan));
        tenon_plan_release(plan);
    }
}

static void nan_and_infinity_propagate(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(1404);
    (void)state;
    for (int i = 0; i < 24; i++) {
        conv_case p = simple_conv;
        gradient_data data;
        p.geometry.pad_begin[0] = i / 3 % 2;
        p.geometry.stride[1] = 1 + i / 6 % 2;
        p.x = p.y = i < 12 ? NCHW : NHWC;
        gradient_make(&data, TRANSPOSED, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        test_tensor *input = &data.operands[i % 2];
        test_set(input, test_between(&random, 0, tenon_tensor_elements(&input->view) - 1),
                 specials[i % 3]);
        gradient_run(&data);
        gradient_destroy(&data);
    }
}

static void random_problems(void **state)
{
    test_random random = test_random_for(1405);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(25);) {
            conv_case p = random_conv(&random);
            gradient_data data;
            if (!gradient_takes(TRANSPOSED, &p))
                continue;
            gradient_make(&data, TRANSPOSED, &p, *type, TEST_BOUND, &random);
            gradient_expect(&data);
            const test_subject subject = gradient_subject(&data);
            for (uint32_t i = 0; i + 1 < data.count; i++)
                if (data.operands[i].image != NULL)
                    test_upload(&data.operands[i]);
            test_run(&subject, NULL);
            gradient_destroy(&data);
            if (n++ % 3 == 0)
                gradient_check_typed(TRANSPOSED, &p, *type, &random);
        }
}

/* Gives a problem output padding from its stride on, up to its dilation; false where it has no room
 * for any. */
static bool pad_beyond(conv_case *p, test_random *random)
{
    bool padded = false;
    for (uint32_t d = 0; d < p->spatial; d++) {
        const tenon_conv_geometry *g = &p->geometry;
        const int64_t out = tenon_conv_output_size(g, d, p->size[d], p->filter[d]);
        const int64_t reach = (p->filter[d] - 1) * g->dilation[d] + 1;
        const int64_t left = (p->size[d] + g->pad_begin[d] + g->pad_end[d] - reach) % g->stride[d];
        const int64_t room = (g->dilation[d] - 1 - left) / g->stride[d];
        if (room > 0 && out > 1)
            p->beyond[d] = test_between(random, 1, room < out ? room : out - 1);
        padded |= p->beyond[d] > 0;
    }
    return padded;
}

/* Output padding up to the dilation: no tap reaches all of it. Every solver of the three calls. */
static void padding_beyond_the_stride(void **state)
{
    static const gradient_direction directions[] = {TRANSPOSED, TRANSPOSED_OF_IMAGE,
                                                    TRANSPOSED_OF_FILTER};
    test_random random = test_random_for(1407);
    (void)state;
    for (int n = 0; n < test_problems(12);) {
        conv_case p = random_conv(&random);
        for (uint32_t d = 0; d < p.spatial && n % 4 == 0; d++) { /* pointwise */
            p.filter[d] = 1;
            p.geometry.pad_begin[d] = 0;
        }
        if (n % 4 == 1) /* each channel on its own */
            p.c = p.k = p.groups = 5;
        if (n % 2 == 0)
            p.geometry.pad_end[0] = 0;
        if (!gradient_takes(TRANSPOSED, &p) || !pad_beyond(&p, &random))
            continue;
        p.residual = n % 2 == 0 ? NO_RESIDUAL : p.residual;
        p.beta = p.residual == NO_RESIDUAL ? 0 : p.beta;
        gradient_check_typed(directions[n % 3], &p, TENON_DTYPE_F32, &random);
        n++;
    }
}

static tenon_tensor tensor_of(int64_t size, const float *values)
{
    const int64_t shape[] = {1, 1, size};
    tenon_tensor tensor;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, shape, &tensor));
    assert_ok(
        tenon_tensor_upload(test_stream, values, (size_t)size * sizeof *values, &tensor, NULL));
    return tensor;
}

static void assert_values(const tenon_tensor *tensor, const float *values)
{
    float got[7];
    const size_t bytes = (size_t)tensor->shape[2] * sizeof *got;
    assert_ok(tenon_tensor_download(test_stream, tensor, got, bytes, NULL));
    assert_memory_equal(got, values, bytes);
}

/* By hand: two elements lay two taps that are three apart; no tap meets the last two of y. */
static void known_values_beyond_the_stride(void **state)
{
    static const float x[] = {3, 5}, w[] = {2, -1}, y[] = {6, 10, 0, -3, -5, 0, 0};
    static const float dy[] = {1, 2, 3, 4, 5, 60, 70}, dx[] = {-2, -1}, dw[] = {13, 37};
    tenon_conv_transpose_params params = tenon_conv_transpose_params_default();
    tenon_conv_backward_params backward = tenon_conv_backward_params_default();
    const tenon_tensor tx = tensor_of(2, x), tw = tensor_of(2, w), ty = tensor_of(7, dy),
                       to = tensor_of(2, x);
    tenon_tensor image = ty;
    (void)state;
    params.geometry.dilation[0] = backward.geometry.dilation[0] = 3;
    params.output_padding[0] = 2;
    assert_ok(tenon_conv_transpose_backward_data(test_stream, &backward, &ty, &tw, &to, NULL));
    assert_values(&to, dx);
    assert_ok(tenon_conv_transpose_backward_filter(test_stream, &backward, &tx, &ty, &to, NULL));
    assert_values(&to, dw);
    assert_ok(tenon_conv_transpose_forward(test_stream, &params, &tx, &tw, NULL, NULL, &ty, NULL));
    assert_values(&ty, y);
    params.output_padding[0] = 3;
    assert_refused(
        tenon_conv_transpose_forward(test_stream, &params, &tx, &tw, NULL, NULL, &ty, NULL),
        TENON_ERROR_INVALID_ARGUMENT, "tenon_conv_transpose_forward",
        "output_padding[0] is 3, must be from 0 to 2");
    image.shape[2] = 4; /* of a single x: the padding would be 3 */
    assert_int_equal(
        tenon_conv_transpose_backward_data(test_stream, &backward, &ty, &tw, &image, NULL),
        TENON_ERROR_INVALID_ARGUMENT);
    tenon_memory memories[] = {tx.memory, tw.memory, ty.memory, to.memory};
    for (int i = 0; i < 4; i++)
        tenon_memory_destroy(&memories[i]);
}

static void plans(void **state)
{
    test_random random = test_random_for(1406);
    conv_case p = simple_conv;
    gradient_data data;
    tenon_plan *plan;
    char why[256];
    (void)state;
    gradient_make(&data, TRANSPOSED_OF_IMAGE, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
    gradient_expect(&data);
    for (uint32_t i = 0; i < data.count; i++)
        test_upload(&data.operands[i]);
    tenon_tensor dy = data.operands[0].view, w = data.operands[1].view, dx = data.operands[2].view;
    const tenon_memory memories[] = {dy.memory, w.memory, dx.memory};
    const tenon_memory twice[] = {dy.memory, w.memory, w.memory};
    dy.memory = w.memory = dx.memory = (tenon_memory){0};
    assert_ok(tenon_conv_transpose_backward_data_plan(test_context, NULL, &dy, &w, &dx, &plan));
    assert_int_equal(tenon_plan_operands(plan), 3);
    assert_refused(tenon_plan_run(test_stream, plan, twice, 3, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_conv_transpose_backward_data_plan", "dx");
    assert_ok(tenon_plan_run(test_stream, plan, memories, 3, NULL));
    assert_true(test_result(&data.operands[2], data.expected, TEST_BOUND, why));
    tenon_plan_release(plan);
    gradient_destroy(&data);
}

/* Sizes that do not go together are refused by the name of what is wrong. */
static void refusals(void **state)
{
    const int64_t x_shape[] = {2, 4, 3, 3}, w_shape[] = {4, 5, 2, 2}, y_shape[] = {2, 5, 6, 6},
                  wide_shape[] = {2, 15, 6, 6};
    tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 4, x_shape),
                 w = tenon_tensor_view(TENON_DTYPE_F32, 4, w_shape),
                 y = tenon_tensor_view(TENON_DTYPE_F32, 4, y_shape);
    tenon_conv_transpose_params params = TENON_CONV_TRANSPOSE_PARAMS_INIT;
    static const char name[] = "tenon_conv_transpose_forward_plan";
    tenon_plan *plan;
    (void)state;
#define REFUSED(argument)                                                                          \
    assert_refused(                                                                                \
        tenon_conv_transpose_forward_plan(test_context, &params, &x, &w, NULL, NULL, &y, &plan),   \
        TENON_ERROR_INVALID_ARGUMENT, name, argument)
    REFUSED("y: shape is 2x5x6x6, must be 2x5x4x4");
    params.geometry.stride[0] = params.geometry.stride[1] = 2;
    params.output_padding[1] = 2;
    REFUSED("output_padding[1] is 2");
    params.output_padding[1] = -1;
    REFUSED("output_padding[1] is -1");
    params.output_padding[1] = 0;
    params.groups = 3;
    y = tenon_tensor_view(TENON_DTYPE_F32, 4, wide_shape);
    REFUSED("w: 4 filters of 5 channels do not fit 15 channels of y in 3 groups");
    params.groups = 0;
    REFUSED("groups is 0");
    params.groups = 1;
    y = tenon_tensor_view(TENON_DTYPE_F32, 4, y_shape);
    params.geometry.dilation[0] = 0;
    REFUSED("dilation[0] is 0");
    params.geometry.dilation[0] = 1;
    x.shape[1] = 3;
    REFUSED("x: shape is 2x3x3x3, must be 2x4x3x3");
    x.shape[1] = 4;
    assert_ok(
        tenon_conv_transpose_forward_plan(test_context, &params, &x, &w, NULL, NULL, &y, &plan));
    tenon_plan_release(plan);
#undef REFUSED
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_sizes),
        cmocka_unit_test(known_values),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(epilogues),
        cmocka_unit_test(empty),
        cmocka_unit_test(nothing_left),
        cmocka_unit_test(plans),
        cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(refusals),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(known_values_beyond_the_stride),
        cmocka_unit_test(padding_beyond_the_stride),
    };
    return TEST_MAIN(tests);
}

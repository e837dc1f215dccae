/*
 * The gradients of convolutions against their references, and those against the definition: the
 * adjoint identities, which hold exactly on integers, and finite differences. The transposed
 * convolution's gradients are tried along with them. test_conv_backward_shapes has the shapes.
 */
#include "gradient_case.h"

#include <math.h>

static const gradient_direction gradients[] = {OF_IMAGE, OF_FILTER, OF_BIAS, TRANSPOSED_OF_IMAGE,
                                               TRANSPOSED_OF_FILTER};
#define GRADIENTS (sizeof gradients / sizeof *gradients)

/* By hand: a filter of 3 at stride 2 over 5 pixels, padded by one on the left. */
static void known_values(void **state)
{
    static const float x[] = {1, 2, 3, 4, 5}, w[] = {1, -1, 2}, dy[] = {3, 5};
    static const float dx[] = {-3, 6 + 5, -5, 10, 0}, dw[] = {5 * 2, 3 * 1 + 5 * 3, 3 * 2 + 5 * 4},
                       db[] = {8};
    const int64_t x_shape[] = {1, 1, 5}, w_shape[] = {1, 1, 3}, y_shape[] = {1, 1, 2}, one[] = {1};
    tenon_conv_backward_params params = tenon_conv_backward_params_default();
    tenon_tensor tx, tw, ty, tb;
    float got[5];
    (void)state;
    params.geometry.stride[0] = 2;
    params.geometry.pad_begin[0] = 1;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, x_shape, &tx));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, w_shape, &tw));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 3, y_shape, &ty));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, one, &tb));
    assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tx, NULL));
    assert_ok(tenon_tensor_upload(test_stream, dy, sizeof dy, &ty, NULL));
    assert_ok(tenon_conv_backward_filter(test_stream, &params, &tx, &ty, &tw, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tw, got, sizeof dw, NULL));
    assert_memory_equal(got, dw, sizeof dw);
    assert_ok(tenon_tensor_upload(test_stream, w, sizeof w, &tw, NULL));
    assert_ok(tenon_conv_backward_data(test_stream, &params, &ty, &tw, &tx, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tx, got, sizeof dx, NULL));
    assert_memory_equal(got, dx, sizeof dx);
    assert_ok(tenon_conv_backward_bias(test_stream, NULL, &ty, &tb, NULL));
    assert_ok(tenon_tensor_download(test_stream, &tb, got, sizeof db, NULL));
    assert_memory_equal(got, db, sizeof db);
    tenon_memory_destroy(&tx.memory);
    tenon_memory_destroy(&tw.memory);
    tenon_memory_destroy(&ty.memory);
    tenon_memory_destroy(&tb.memory);
}

static double dot(const tn_bounded *a, const test_tensor *b)
{
    double sum = 0;
    for (int64_t i = 0; i < tenon_tensor_elements(&b->view); i++)
        sum += a[i].value * test_get(b, i);
    return sum;
}

/* With integers ⟨conv(x, w), dy⟩ = ⟨x, dx⟩ = ⟨w, dw⟩ in every bit, which ties the references of the
 * gradients to that of the convolution. */
static void adjoint(void **state)
{
    test_random random = test_random_for(1201);
    (void)state;
    for (int n = 0; n < 60; n++) {
        conv_case p = random_conv(&random);
        gradient_data image, filter;
        conv_data forward;
        p.activation.kind = 0;
        p.residual = NO_RESIDUAL;
        p.beta = 0;
        p.bias = false;
        make_conv(&forward, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        compute_conv_reference(&forward);
        gradient_make(&image, OF_IMAGE, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        gradient_make(&filter, OF_FILTER, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        for (int64_t i = 0; i < tenon_tensor_elements(&image.operands[1].view); i++)
            test_set(&image.operands[1], i, test_get(&forward.operands[CONV_W], i));
        for (int64_t i = 0; i < tenon_tensor_elements(&filter.operands[0].view); i++)
            test_set(&filter.operands[0], i, test_get(&forward.operands[CONV_X], i));
        for (int64_t i = 0; i < tenon_tensor_elements(&filter.operands[1].view); i++)
            test_set(&filter.operands[1], i, test_get(&image.operands[0], i));
        gradient_expect(&image);
        gradient_expect(&filter);
        double by_y = dot(forward.expected, &image.operands[0]);
        double by_x = dot(image.expected, &forward.operands[CONV_X]);
        double by_w = dot(filter.expected, &forward.operands[CONV_W]);
        if (by_y != by_x || by_y != by_w)
            fail_msg("%g by y, %g by x, %g by w: %s", by_y, by_x, by_w, describe_conv(&forward));
        destroy_conv(&forward);
        gradient_destroy(&image);
        gradient_destroy(&filter);
    }
}

/* The sum of y · dy by the convolution's reference. */
static double objective(conv_data *forward, const test_tensor *dy)
{
    free(forward->expected);
    compute_conv_reference(forward);
    return dot(forward->expected, dy);
}

static void compare_differences(conv_data *forward, int tensor, const test_tensor *dy,
                                const double *gradient)
{
    test_tensor *moved = &forward->operands[tensor];
    for (int64_t i = 0; i < tenon_tensor_elements(&moved->view); i++) {
        double value = test_get(moved, i), step = 0x1p-6;
        test_set(moved, i, value + step);
        double above = objective(forward, dy);
        test_set(moved, i, value - step);
        double below = objective(forward, dy);
        test_set(moved, i, value);
        if (fabs((above - below) / (2 * step) - gradient[i]) > 1e-4)
            fail_msg("tensor %d: element %lld is %g, the differences say %g", tensor, (long long)i,
                     gradient[i], (above - below) / (2 * step));
    }
}

/* The device's gradients, as far as f32 lets differences tell. */
static void finite_differences(void **state)
{
    test_random random = test_random_for(1202);
    conv_case p = simple_conv;
    conv_data forward;
    test_tensor x, w;
    (void)state;
    p.n = 1;
    p.size[0] = 5;
    p.size[1] = 6;
    p.groups = 2;
    p.geometry.stride[0] = p.geometry.dilation[1] = 2;
    p.geometry.pad_begin[0] = p.geometry.pad_end[1] = 1;
    make_conv(&forward, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
    compute_conv_reference(&forward);
    test_tensor *dy = &forward.operands[CONV_Y];
    test_fill_reals(dy, &random);
    create_conv_tensor(&x, TENON_DTYPE_F32, NCHW, 2, p.n, p.c, p.size, 0);
    create_conv_tensor(&w, TENON_DTYPE_F32, NCHW, 2, p.k, p.c / p.groups, p.filter, 0);
    for (int i = 0; i < CONV_OPERANDS; i++)
        if (forward.operands[i].image != NULL)
            test_upload(&forward.operands[i]);
    tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
    params.groups = p.groups;
    params.geometry = p.geometry;
    assert_ok(tenon_conv_backward_data(test_stream, &params, &dy->view,
                                       &forward.operands[CONV_W].view, &x.view, NULL));
    assert_ok(tenon_conv_backward_filter(test_stream, &params, &forward.operands[CONV_X].view,
                                         &dy->view, &w.view, NULL));
    double *dx = test_download(&x), *dw = test_download(&w);
    compare_differences(&forward, CONV_X, dy, dx);
    compare_differences(&forward, CONV_W, dy, dw);
    free(dx);
    free(dw);
    test_tensor_destroy(&x);
    test_tensor_destroy(&w);
    destroy_conv(&forward);
}

/* Only what is there is summed into dx; the padding counts in dw and in dx of the transposed. */
static void nan_and_infinity_propagate(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(1207);
    (void)state;
    for (int i = 0; i < 24; i++)
        for (size_t g = 0; g < GRADIENTS; g++) {
            conv_case p = simple_conv;
            gradient_data data;
            p.geometry.pad_begin[0] = p.geometry.pad_end[1] = i / 3 % 2;
            p.geometry.stride[1] = 1 + i / 6 % 2;
            p.x = p.y = i < 12 ? NCHW : NHWC;
            gradient_make(&data, gradients[g], &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            test_tensor *input = &data.operands[i % 2 < (int)data.count - 1 ? i % 2 : 0];
            test_set(input, test_between(&random, 0, tenon_tensor_elements(&input->view) - 1),
                     specials[i % 3]);
            gradient_run(&data);
            gradient_destroy(&data);
        }
}

/* A stream whose context has such a limit takes the test stream's place. */
static void with_limit(uint64_t limit, void (*check)(tenon_dtype, test_random *), tenon_dtype dtype,
                       test_random *random)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_stream *usual = test_stream;
    tenon_context *context;
    tenon_device_info info;
    params.workspace_limit = limit;
    assert_ok(tenon_context_device(test_context, &info));
    assert_ok(tenon_context_import(tenon_context_cl(test_context), info.device, &params, &context));
    assert_ok(tenon_stream_create(context, NULL, &test_stream));
    check(dtype, random);
    tenon_stream_destroy(test_stream);
    tenon_context_release(context);
    test_stream = usual;
}

/* With the solver that works in blocks where its least one fits. */
static void check_blocks(tenon_dtype dtype, test_random *random)
{
    static const char *const solvers[] = {"conv_backward_data/col2im_gemm",
                                          "conv_backward_filter/im2col_gemm",
                                          "conv_backward_bias/parts"};
    for (int i = 0; i < 12; i++) {
        conv_case p = simple_conv;
        gradient_data data;
        p.groups = 1 + i / 3 % 2;
        p.x = p.y = i < 6 ? NCHW : NHWC;
        p.w = p.x;
        p.beta = i % 2;
        p.geometry.pad_begin[1] = 1;
        gradient_make(&data, (gradient_direction)(i % 3), &p, dtype, TEST_EXACT, random);
        gradient_expect(&data);
        const test_subject subject = gradient_subject(&data);
        for (uint32_t operand = 0; operand + 1 < data.count; operand++)
            test_upload(&data.operands[operand]);
        test_run(&subject, NULL);
        tenon_status status = subject.call(&data, solvers[i % 3]);
        if (status == TENON_OK)
            test_run(&subject, solvers[i % 3]);
        else
            assert_true(status == TENON_ERROR_WORKSPACE_TOO_SMALL ||
                        status == TENON_ERROR_UNSUPPORTED);
        gradient_destroy(&data);
    }
}

/* No workspace at all, and little: the result is the same problem's, whichever way it is done. */
static void small_workspaces(void **state)
{
    static const struct {
        uint64_t limit;
        tenon_dtype dtype;
    } cases[] = {{0, TENON_DTYPE_F32},    {3000, TENON_DTYPE_F32},   {12000, TENON_DTYPE_F32},
                 {9000, TENON_DTYPE_F16}, {24000, TENON_DTYPE_BF16}, {40000, TENON_DTYPE_F16}};
    test_random random = test_random_for(1208);
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        with_limit(cases[i].limit, check_blocks, cases[i].dtype, &random);
}

/* Inputs that repeat. */
static void broadcast_inputs(void **state)
{
    test_random random = test_random_for(1209);
    (void)state;
    for (uint32_t d = 0; d < 4; d++)
        for (size_t g = 0; g < GRADIENTS; g++) {
            conv_case p = simple_conv;
            gradient_data data;
            p.geometry.pad_begin[0] = 1;
            gradient_make(&data, gradients[g], &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            for (uint32_t i = 0; i + 1 < data.count; i++)
                data.operands[i].view.stride[d] = data.operands[i].host.stride[d] = 0;
            gradient_run(&data);
            gradient_destroy(&data);
        }
}

/* What the tests of every operation leave out: an output of one dimension. */
static void refused_biases(void **state)
{
    static const char name[] = "tenon_conv_backward_bias";
    const int64_t y_shape[] = {2, 4, 3, 3}, b_shape[] = {4}, short_shape[] = {3};
    tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    tenon_tensor dy, db, view;
    tenon_plan *plan;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 4, y_shape, &dy));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, b_shape, &db));
#define REFUSED(status, y, b, argument)                                                            \
    assert_refused(tenon_conv_backward_bias(test_stream, &params, y, b, NULL), status, name,       \
                   argument)
    REFUSED(invalid, NULL, &db, "dy");
    REFUSED(invalid, &dy, NULL, "db");
    REFUSED(invalid, &dy, &dy, "db: shape is 2x4x3x3, must be 4");
    REFUSED(invalid, &db, &db, "dy: rank is 1");
    view = tenon_tensor_view(TENON_DTYPE_F32, 1, short_shape);
    view.memory = db.memory;
    REFUSED(invalid, &dy, &view, "db: shape is 3, must be 4");
    view = db;
    view.stride[0] = 0;
    REFUSED(invalid, &dy, &view, "db");
    view = db;
    view.memory = dy.memory;
    REFUSED(invalid, &dy, &view, "dy");
    view = db;
    view.dtype = TENON_DTYPE_F16;
    REFUSED(TENON_ERROR_UNSUPPORTED, &dy, &view, "db");
    params.flags = 1;
    REFUSED(invalid, &dy, &db, "flags");
    params.flags = 0;
    params.struct_size = 1;
    REFUSED(invalid, &dy, &db, "struct_size");
#undef REFUSED
    assert_refused(tenon_conv_backward_bias_plan(test_context, NULL, &dy, NULL, &plan), invalid,
                   "tenon_conv_backward_bias_plan", "db");
    assert_null(plan);
    tenon_memory_destroy(&dy.memory);
    tenon_memory_destroy(&db.memory);
}

static void random_problems(void **state)
{
    test_random random = test_random_for(1211);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(25); n++)
            for (size_t g = 0; g < GRADIENTS; g++) {
                conv_case p = random_conv(&random);
                gradient_data data;
                p.beta = n % 3 == 0 ? 0.5 : 0;
                gradient_make(&data, gradients[g], &p, *type, TEST_BOUND, &random);
                gradient_expect(&data);
                const test_subject subject = gradient_subject(&data);
                for (uint32_t i = 0; i + 1 < data.count; i++)
                    test_upload(&data.operands[i]);
                test_run(&subject, NULL);
                gradient_destroy(&data);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),       cmocka_unit_test(adjoint),
        cmocka_unit_test(finite_differences), cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(small_workspaces),   cmocka_unit_test(broadcast_inputs),
        cmocka_unit_test(refused_biases),     cmocka_unit_test(random_problems),
    };
    return TEST_MAIN(tests);
}

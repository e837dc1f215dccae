/*
 * Depthwise convolutions, forward, backwards and transposed: the depthwise solvers with and without
 * vectors, over windows, steps, tiles, layouts and types. The other solvers meet such problems in
 * the tests of their own operations.
 */
#include "gradient_case.h"

#include <math.h>

/* The directions that have a depthwise solver; DIRECTIONS stands for forward. */
static const gradient_direction directions[] = {DIRECTIONS, OF_IMAGE, OF_FILTER, TRANSPOSED};
#define COUNT (sizeof directions / sizeof *directions)

static void upload(const test_subject *subject)
{
    for (uint32_t i = 0; i + 1 < subject->operand_count; i++)
        if (subject->operands[i].image != NULL)
            test_upload(&subject->operands[i]);
}

/* Each of `suffixes` is what follows the solver's name, parameters; all must serve. */
static void try_solvers(const test_subject *subject, const char *const *suffixes)
{
    char name[TN_SOLVER_NAME_SIZE];
    upload(subject);
    for (; *suffixes != NULL; suffixes++) {
        snprintf(name, sizeof name, "%s/depthwise%s", subject->family->name, *suffixes);
        if (!test_run(subject, name))
            fail_msg("%s does not serve %s: %s", name, subject->describe(subject->data),
                     tenon_last_error());
    }
}

static void try_forward(const conv_case *p, tenon_dtype dtype, test_judge judge,
                        const char *const *suffixes, test_random *random)
{
    conv_data data;
    make_conv(&data, p, dtype, judge, random);
    compute_conv_reference(&data);
    const test_subject subject = conv_subject(&data);
    try_solvers(&subject, suffixes);
    destroy_conv(&data);
}

static void try_gradient(gradient_direction direction, const conv_case *p, tenon_dtype dtype,
                         test_judge judge, const char *const *suffixes, test_random *random)
{
    gradient_data data;
    gradient_make(&data, direction, p, dtype, judge, random);
    gradient_expect(&data);
    const test_subject subject = gradient_subject(&data);
    try_solvers(&subject, suffixes);
    gradient_destroy(&data);
}

/* Reals and integers, in every direction. */
static void try_all(const conv_case *p, tenon_dtype dtype, const char *const *suffixes,
                    test_random *random)
{
    for (size_t i = 0; i < COUNT; i++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            if (directions[i] == DIRECTIONS)
                try_forward(p, dtype, (test_judge)judge, suffixes, random);
            else if (gradient_takes(directions[i], p))
                try_gradient(directions[i], p, dtype, (test_judge)judge, suffixes, random);
        }
}

/* With the device's own parameters, and as GPUs do it. */
static const char *const usual[] = {"", NULL}, *const both[] = {"", ":vw1", NULL};

static conv_case depthwise(int64_t channels, int64_t multiplier, int64_t height, int64_t width)
{
    conv_case p = simple_conv;
    p.groups = p.c = channels;
    p.k = channels * multiplier;
    p.size[0] = height;
    p.size[1] = width;
    return p;
}

static void pad(conv_case *p, int64_t top, int64_t bottom, int64_t left, int64_t right)
{
    p->geometry.pad_begin[0] = top;
    p->geometry.pad_end[0] = bottom;
    p->geometry.pad_begin[1] = left;
    p->geometry.pad_end[1] = right;
}

/* Windows whose loops are unrolled, and others, at steps that are taken together, and others. */
static void windows_and_steps(void **state)
{
    static const int64_t windows[][2] = {{3, 3}, {5, 5}, {2, 4}, {1, 7}, {6, 1}, {1, 1}};
    static const int64_t steps[][4] = {{1, 1, 1, 1}, {2, 2, 1, 1}, {1, 2, 1, 2},
                                       {3, 3, 1, 1}, {2, 1, 3, 1}, {2, 3, 1, 2}};
    test_random random = test_random_for(1301);
    (void)state;
    for (int i = 0; i < 36; i++) {
        conv_case p = depthwise(3, 1 + i % 2, 16 + i % 5, 15 + i);
        memcpy(p.filter, windows[i % 6], sizeof windows[0]);
        memcpy(p.geometry.stride, steps[i / 6], 2 * sizeof(int64_t));
        memcpy(p.geometry.dilation, steps[i / 6] + 2, 2 * sizeof(int64_t));
        pad(&p, i % 3, i % 4, i / 2 % 3, i / 3 % 4);
        p.x = p.y = i % 4 == 3 ? NHWC : NCHW;
        p.k = p.x == NHWC ? p.c : p.k;
        p.bias = i % 2 == 0;
        p.activation.kind = i % 3 == 0 ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_IDENTITY;
        try_all(&p, TENON_DTYPE_F32, both, &random);
    }
}

/* Channels around a vector, one after the other and side by side. */
static void channels(void **state)
{
    static const int64_t counts[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33};
    test_random random = test_random_for(1302);
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p = depthwise(counts[i], 1, 6, 7);
            pad(&p, 1, 1, 1, 1);
            p.geometry.stride[0] = p.geometry.stride[1] = 1 + (int64_t)i % 2;
            p.x = p.y = (image_layout)layout;
            p.w = (image_layout)(i % IMAGE_LAYOUTS);
            p.bias = true;
            p.residual = FULL_RESIDUAL;
            p.beta = 0.5;
            try_all(&p, TENON_DTYPE_F32, usual, &random);
        }
}

static void multipliers(void **state)
{
    static const int64_t counts[] = {2, 3, 16}; /* the last leaves room for few rows */
    test_random random = test_random_for(1303);
    (void)state;
    for (int i = 0; i < 12; i++) {
        conv_case p = depthwise(1 + i % 5, counts[i % 3], 8, 20);
        pad(&p, 1, 0, 1, 2);
        p.geometry.stride[0] = p.geometry.stride[1] = 1 + i / 3 % 2;
        p.filter[0] = p.filter[1] = i < 6 ? 3 : 5;
        p.x = (image_layout)(i % IMAGE_LAYOUTS);
        p.y = (image_layout)(i / 4);
        try_all(&p, TENON_DTYPE_F32, both, &random);
    }
}

/* Rows shorter than a vector, and each of its edges; padding beyond the window's half, and beyond
 * the image. */
static void borders(void **state)
{
    static const int64_t widths[] = {1, 2, 3, 7, 14, 15, 16, 17, 18, 30, 31, 32, 33, 34, 35};
    test_random random = test_random_for(1304);
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int64_t step = 1; step <= 2; step++) {
            conv_case p = depthwise(2, 1, 1 + (int64_t)i % 9, widths[i]);
            int64_t most = 2 + (int64_t)i % 4;
            pad(&p, most, most - 1, i % 2 == 0 ? 1 : most, i % 3 == 0 ? 1 : most);
            p.geometry.stride[0] = p.geometry.stride[1] = step;
            try_all(&p, TENON_DTYPE_F32, usual, &random);
        }
}

/* Rows of half a vector and around it, of which two channels share one: an odd number of channels,
 * filters that share an image channel, and each number of rows left over. In the middle of images,
 * whose neighbours are read and must not be seen, and at the ends, beyond which nothing is. */
static void rows_beside_each_other(void **state)
{
    static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 16, 17, 18};
    test_random random = test_random_for(1313);
    (void)state;
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int64_t step = 1; step <= 2; step++) {
            conv_case p =
                depthwise(3 + (int64_t)i % 4, 1 + (int64_t)i % 2, 4 + (int64_t)i, widths[i]);
            p.filter[0] = p.filter[1] = i % 5 == 4 ? 5 : 3;
            pad(&p, 2 - (int64_t)i % 2, (int64_t)i % 3, 2, 2);
            p.n = 3;
            p.geometry.stride[0] = p.geometry.stride[1] = step;
            p.bias = i % 2 == 0;
            p.residual = FULL_RESIDUAL;
            p.beta = 0.5;
            try_all(&p, i % 4 == 3 ? TENON_DTYPE_F64 : TENON_DTYPE_F32, usual, &random);
        }
}

/* More rows than a tile in local memory has, and more columns. */
static void tiles(void **state)
{
    static const int64_t sizes[][2] = {{70, 40}, {29, 112}, {130, 16}, {3, 2100}, {9, 700}};
    test_random random = test_random_for(1305);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t step = 1; step <= 3; step++) {
            conv_case p = depthwise(2, step == 2 ? 2 : 1, sizes[i][0], sizes[i][1]);
            pad(&p, 1, 1, 1, 1);
            p.n = 1;
            p.filter[0] = p.filter[1] = i % 2 == 0 ? 3 : 5;
            p.geometry.stride[0] = p.geometry.stride[1] = step;
            p.bias = true;
            try_all(&p, TENON_DTYPE_F32, usual, &random);
        }
}

static void types(void **state)
{
    test_random random = test_random_for(1306);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = 0; i < 8; i++) {
            conv_case p = depthwise(17, 1, 7, 19 + i);
            pad(&p, 1, 1, 1, 1);
            p.filter[1] = i / 4 == 0 ? 3 : 2;
            p.geometry.stride[0] = p.geometry.stride[1] = 1 + i / 2 % 2;
            p.x = p.y = i % 2 == 0 ? NCHW : NHWC;
            p.bias = true;
            try_all(&p, *type, usual, &random);
        }
}

/* Rows and images of other dimensions: a window of one element along d, or of one dimension. */
static void dimensions(void **state)
{
    test_random random = test_random_for(1307);
    (void)state;
    for (int i = 0; i < 8; i++) {
        conv_case p = depthwise(3, 1, 4, 9);
        p.spatial = i % 2 == 0 ? 1 : 3;
        p.size[0] = i % 2 == 0 ? 37 : 4;
        p.size[2] = 18;
        p.filter[0] = i % 2 == 0 ? 3 : 1;
        p.filter[1] = p.filter[2] = 3;
        p.geometry.stride[0] = 1 + i / 2 % 2;
        p.geometry.pad_begin[0] = i / 4;
        p.geometry.pad_end[p.spatial - 1] = 1;
        p.x = p.y = i / 4 == 0 ? NCHW : NHWC;
        try_all(&p, TENON_DTYPE_F32, both, &random);
    }
}

/* An infinite or NaN element of any input, with padding, which is zeros that count forward and in
 * the gradient of the filters, and is nothing in that of the image. */
static void nan_and_infinity_propagate(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(1308);
    (void)state;
    for (int i = 0; i < 48; i++) {
        conv_case p = depthwise(2 + i % 16, 1, 5, 6 + i);
        int64_t step = 1 + i / 4 % 2;
        p.n = 1;
        pad(&p, 1, 2, 1, 2);
        p.geometry.stride[0] = p.geometry.stride[1] = step;
        p.x = p.y = i % 2 == 0 ? NCHW : NHWC;
        for (size_t d = 0; d < COUNT; d++) {
            conv_data forward;
            gradient_data gradient;
            bool is_forward = directions[d] == DIRECTIONS;
            if (is_forward)
                make_conv(&forward, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            else
                gradient_make(&gradient, directions[d], &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            test_tensor *input = &(is_forward ? forward.operands : gradient.operands)[i / 2 % 2];
            test_set(input, test_between(&random, 0, tenon_tensor_elements(&input->view) - 1),
                     specials[i % 3]);
            if (is_forward)
                compute_conv_reference(&forward);
            else
                gradient_expect(&gradient);
            const test_subject subject =
                is_forward ? conv_subject(&forward) : gradient_subject(&gradient);
            try_solvers(&subject, both);
            if (is_forward)
                destroy_conv(&forward);
            else
                gradient_destroy(&gradient);
        }
    }
}

/* The gradient of the filters in more parts than there are pieces of work, too. */
static void parts(void **state)
{
    static const char *const suffixes[] = {":parts2", ":parts3", ":parts256", ":vw1,parts5", NULL};
    test_random random = test_random_for(1309);
    (void)state;
    for (int i = 0; i < 8; i++) {
        conv_case p = depthwise(2 + 9 * (i % 3), 1 + i / 4, 31, 60);
        p.n = 3;
        pad(&p, 1, 1, 1, 1);
        p.beta = i % 2;
        p.x = p.y = i / 2 % 2 == 0 ? NCHW : NHWC;
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++)
            try_gradient(OF_FILTER, &p, i == 5 ? TENON_DTYPE_F16 : TENON_DTYPE_F32,
                         (test_judge)judge, suffixes, &random);
    }
}

/* Without a workspace there is one part, and more are refused. */
static void no_workspace(void **state)
{
    tenon_context_params params = TENON_CONTEXT_PARAMS_INIT;
    tenon_stream *used = test_stream;
    tenon_context *context;
    tenon_device_info info;
    gradient_data data;
    test_random random = test_random_for(1310);
    conv_case p = depthwise(1, 1, 40, 40);
    (void)state;
    params.workspace_limit = 0;
    assert_ok(tenon_context_device(test_context, &info));
    assert_ok(tenon_context_import(tenon_context_cl(test_context), info.device, &params, &context));
    assert_ok(tenon_stream_create(context, NULL, &test_stream));
    gradient_make(&data, OF_FILTER, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    gradient_expect(&data);
    const test_subject subject = gradient_subject(&data);
    try_solvers(&subject, both);
    assert_int_equal(subject.call(&data, "conv_backward_filter/depthwise:parts2"),
                     TENON_ERROR_WORKSPACE_TOO_SMALL);
    gradient_destroy(&data);
    tenon_stream_destroy(test_stream);
    tenon_context_release(context);
    test_stream = used;
}

/* What the solvers do not serve, they refuse. */
static void refused(void **state)
{
    test_random random = test_random_for(1311);
    (void)state;
    for (int i = 0; i < 3; i++) {
        conv_case p = depthwise(4, 1, 6, 6);
        conv_data data;
        if (i == 0)
            p.groups = 2; /* of two channels each */
        if (i == 1) {
            p.spatial = 3;
            p.size[2] = p.filter[2] = 3;
        }
        if (i == 2)
            p.alpha = 0;
        make_conv(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        compute_conv_reference(&data);
        const test_subject subject = conv_subject(&data);
        upload(&subject);
        assert_false(test_run(&subject, "conv/depthwise"));
        destroy_conv(&data);
    }
}

/* What is chosen for such a problem is the depthwise solver, and every other one agrees. */
static void every_solver(void **state)
{
    test_random random = test_random_for(1312);
    (void)state;
    for (int i = 0; i < 4; i++) {
        conv_case p = depthwise(24, 1, 28, 28);
        pad(&p, 1, 1, 1, 1);
        p.n = 1;
        p.geometry.stride[0] = p.geometry.stride[1] = 1 + i % 2;
        p.x = p.y = i < 2 ? NCHW : NHWC;
        check_conv_typed(&p, TENON_DTYPE_F32, &random);
        gradient_check_typed(OF_IMAGE, &p, TENON_DTYPE_F32, &random);
        gradient_check_typed(OF_FILTER, &p, TENON_DTYPE_F32, &random);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(windows_and_steps),
        cmocka_unit_test(channels),
        cmocka_unit_test(multipliers),
        cmocka_unit_test(borders),
        cmocka_unit_test(rows_beside_each_other),
        cmocka_unit_test(tiles),
        cmocka_unit_test(types),
        cmocka_unit_test(dimensions),
        cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(parts),
        cmocka_unit_test(no_workspace),
        cmocka_unit_test(refused),
        cmocka_unit_test(every_solver),
    };
    return TEST_MAIN(tests);
}

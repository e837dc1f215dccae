/*
 * Tests depthwise convolutions, forward, backward and transposed: the depthwise solvers with and
 * without vectors, over windows, strides, tiles, layouts and types. The tests of the operations
 * cover such problems on other solvers.
 */
#include "conv_case.h"

#include <math.h>

/* Directions that have a depthwise solver. */
static const conv_direction directions[] = {FORWARD, OF_IMAGE, OF_FILTER, TRANSPOSED};
#define COUNT (sizeof directions / sizeof *directions)

/* With the device's own parameters, and with those of GPUs. */
static const char *const usual[] = {"depthwise", NULL}, *const both[] = {"depthwise",
                                                                         "depthwise:vw1", NULL};

/* Checks reals and integers in every direction. */
static void try_all(const conv_case *p, tenon_dtype dtype, const char *const *solvers,
                    test_random *random)
{
    for (size_t i = 0; i < COUNT; i++)
        if (conv_takes(directions[i], p))
            conv_check_by(directions[i], p, dtype, solvers, random);
}

static conv_case depthwise(int64_t channels, int64_t multiplier, int64_t height, int64_t width)
{
    return conv_like(.groups = channels, .c = channels, .k = channels * multiplier,
                     .size[0] = height, .size[1] = width);
}

/* Windows with and without unrolled loops, and strides with and without combined processing. */
TEST(windows_and_steps)
{
    static const int64_t windows[][2] = {{3, 3}, {5, 5}, {2, 4}, {1, 7}, {6, 1}, {1, 1}};
    static const int64_t steps[][4] = {{1, 1, 1, 1}, {2, 2, 1, 1}, {1, 2, 1, 2},
                                       {3, 3, 1, 1}, {2, 1, 3, 1}, {2, 3, 1, 2}};
    test_random random = test_random_for(1301);
    for (int i = 0; i < 36; i++) {
        conv_case p = depthwise(3, 1 + i % 2, 16 + i % 5, 15 + i);
        memcpy(p.filter, windows[i % 6], sizeof windows[0]);
        memcpy(p.geometry.stride, steps[i / 6], 2 * sizeof(int64_t));
        memcpy(p.geometry.dilation, steps[i / 6] + 2, 2 * sizeof(int64_t));
        conv_pad(&p, i % 3, i % 4, i / 2 % 3, i / 3 % 4);
        p.x = p.y = i % 4 == 3 ? NHWC : NCHW;
        p.k = p.x == NHWC ? p.c : p.k;
        p.bias = i % 2 == 0;
        p.activation.kind = i % 3 == 0 ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_IDENTITY;
        try_all(&p, TENON_DTYPE_F32, both, &random);
    }
}

/* Channel counts around a vector, in NCHW and in NHWC. */
TEST(channels)
{
    static const int64_t counts[] = {1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33};
    test_random random = test_random_for(1302);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p = depthwise(counts[i], 1, 6, 7);
            conv_pad(&p, 1, 1, 1, 1);
            p.geometry.stride[0] = p.geometry.stride[1] = 1 + (int64_t)i % 2;
            p.x = p.y = (image_layout)layout;
            p.w = (image_layout)(i % IMAGE_LAYOUTS);
            p.bias = true;
            p.residual = FULL_RESIDUAL;
            p.beta = 0.5;
            try_all(&p, TENON_DTYPE_F32, usual, &random);
        }
}

TEST(multipliers)
{
    static const int64_t counts[] = {2, 3, 16}; /* the last leaves room for few rows */
    test_random random = test_random_for(1303);
    for (int i = 0; i < 12; i++) {
        conv_case p = depthwise(1 + i % 5, counts[i % 3], 8, 20);
        conv_pad(&p, 1, 0, 1, 2);
        p.geometry.stride[0] = p.geometry.stride[1] = 1 + i / 3 % 2;
        p.filter[0] = p.filter[1] = i < 6 ? 3 : 5;
        p.x = (image_layout)(i % IMAGE_LAYOUTS);
        p.y = (image_layout)(i / 4);
        try_all(&p, TENON_DTYPE_F32, both, &random);
    }
}

/* Rows shorter than a vector and around each of its edges; padding beyond half the window, and
 * beyond the image. */
TEST(borders)
{
    static const int64_t widths[] = {1, 2, 3, 7, 14, 15, 16, 17, 18, 30, 31, 32, 33, 34, 35};
    test_random random = test_random_for(1304);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int64_t step = 1; step <= 2; step++) {
            conv_case p = depthwise(2, 1, 1 + (int64_t)i % 9, widths[i]);
            int64_t most = 2 + (int64_t)i % 4;
            conv_pad(&p, most, most - 1, i % 2 == 0 ? 1 : most, i % 3 == 0 ? 1 : most);
            p.geometry.stride[0] = p.geometry.stride[1] = step;
            try_all(&p, TENON_DTYPE_F32, usual, &random);
        }
}

/* Rows of about half a vector, where two channels share one vector: with an odd number of channels,
 * filters that share an image channel, and every remainder of rows. Some are inside an image, whose
 * neighboring rows are loaded but must not affect results, and some at its ends. */
TEST(rows_beside_each_other)
{
    static const int64_t widths[] = {1, 2, 3, 4, 5, 7, 8, 9, 14, 15, 16, 17, 18};
    test_random random = test_random_for(1313);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int64_t step = 1; step <= 2; step++) {
            conv_case p =
                depthwise(3 + (int64_t)i % 4, 1 + (int64_t)i % 2, 4 + (int64_t)i, widths[i]);
            p.filter[0] = p.filter[1] = i % 5 == 4 ? 5 : 3;
            conv_pad(&p, 2 - (int64_t)i % 2, (int64_t)i % 3, 2, 2);
            p.n = 3;
            p.geometry.stride[0] = p.geometry.stride[1] = step;
            p.bias = i % 2 == 0;
            p.residual = FULL_RESIDUAL;
            p.beta = 0.5;
            try_all(&p, i % 4 == 3 ? TENON_DTYPE_F64 : TENON_DTYPE_F32, usual, &random);
        }
}

/* More rows, and more columns, than a tile in local memory has. */
TEST(tiles)
{
    static const int64_t sizes[][2] = {{70, 40}, {29, 112}, {130, 16}, {3, 2100}, {9, 700}};
    test_random random = test_random_for(1305);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int64_t step = 1; step <= 3; step++) {
            conv_case p = depthwise(2, step == 2 ? 2 : 1, sizes[i][0], sizes[i][1]);
            conv_pad(&p, 1, 1, 1, 1);
            p.n = 1;
            p.filter[0] = p.filter[1] = i % 2 == 0 ? 3 : 5;
            p.geometry.stride[0] = p.geometry.stride[1] = step;
            p.bias = true;
            try_all(&p, TENON_DTYPE_F32, usual, &random);
        }
}

TEST(types)
{
    test_random random = test_random_for(1306);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = 0; i < 8; i++) {
            conv_case p = depthwise(17, 1, 7, 19 + i);
            conv_pad(&p, 1, 1, 1, 1);
            p.filter[1] = i / 4 == 0 ? 3 : 2;
            p.geometry.stride[0] = p.geometry.stride[1] = 1 + i / 2 % 2;
            p.x = p.y = i % 2 == 0 ? NCHW : NHWC;
            p.bias = true;
            try_all(&p, *type, usual, &random);
        }
}

/* One and three spatial dimensions, with a window of one element along d. */
TEST(dimensions)
{
    test_random random = test_random_for(1307);
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

/* An infinite or NaN element in any input, with padding. The padding's zeros count forward and in
 * the filters' gradient, but not in the image's gradient. */
TEST(nan_and_infinity_propagate)
{
    test_random random = test_random_for(1308);
    for (int i = 0; i < 48; i++) {
        conv_case p = depthwise(2 + i % 16, 1, 5, 6 + i);
        p.n = 1;
        conv_pad(&p, 1, 2, 1, 2);
        p.geometry.stride[0] = p.geometry.stride[1] = 1 + i / 4 % 2;
        p.x = p.y = i % 2 == 0 ? NCHW : NHWC;
        for (size_t d = 0; d < COUNT; d++) {
            test_fixture f;
            conv_make(&f, directions[d], &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            conv_spoil(&f, (uint32_t)i / 2 % 2, i, &random);
            test_finish_by(&f, both);
        }
    }
}

/* A NaN in each tap, with vectors of every length: in the image's gradient it meets neither the
 * padding's zeros nor those inserted by the stride. A NaN in each output: the padding's zeros count
 * in the filters' gradient. */
TEST(nan_in_every_place)
{
    static const char *const backwards[] = {"depthwise:vw1", "depthwise:vw2",  "depthwise:vw4",
                                            "depthwise:vw8", "depthwise:vw16", NULL};
    static const char *const by_items[] = {"direct", NULL};
    test_random random = test_random_for(1314);
    conv_case p = depthwise(8, 1, 5, 12);
    p.n = 1;
    conv_pad(&p, 1, 2, 1, 2);
    p.geometry.stride[0] = p.geometry.stride[1] = 2;
    for (int64_t i = 0; i < 9; i++) {
        test_fixture f;
        conv_make(&f, OF_IMAGE, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        for (int64_t k = 0; k < 8; k++)
            test_set(&f.operands[1], 9 * k + i, i % 2 == 0 ? NAN : INFINITY);
        test_finish_by(&f, backwards);
    }
    for (int64_t i = 0; i < 4; i++) {
        test_fixture f;
        conv_make(&f, OF_FILTER, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        test_set(test_operand(&f, 1), i, i % 2 == 0 ? NAN : INFINITY);
        test_finish_by(&f, by_items);
    }
}

/* The gradient of the filters in several parts, including more parts than pieces of work. */
TEST(parts)
{
    static const char *const solvers[] = {"depthwise:parts2", "depthwise:parts3",
                                          "depthwise:parts256", "depthwise:vw1,parts5", NULL};
    test_random random = test_random_for(1309);
    for (int i = 0; i < 8; i++) {
        conv_case p = depthwise(2 + 9 * (i % 3), 1 + i / 4, 31, 60);
        p.n = 3;
        conv_pad(&p, 1, 1, 1, 1);
        p.beta = i % 2;
        p.x = p.y = i / 2 % 2 == 0 ? NCHW : NHWC;
        conv_check_by(OF_FILTER, &p, i == 5 ? TENON_DTYPE_F16 : TENON_DTYPE_F32, solvers, &random);
    }
}

/* Without a workspace there is one part, and more are refused. */
TEST(no_workspace)
{
    test_random random = test_random_for(1310);
    const conv_case p = depthwise(1, 1, 40, 40);
    test_fixture f;
    test_limit_workspace(0);
    conv_check_by(OF_FILTER, &p, TENON_DTYPE_F32, both, &random);
    conv_begin(&f, OF_FILTER, &p, TENON_DTYPE_F32);
    snprintf(f.c.solver, sizeof f.c.solver, "conv_backward_filter/depthwise:parts2");
    test_refuse_fixture(&f, TENON_ERROR_WORKSPACE_TOO_SMALL, "");
    test_usual_stream();
}

/* The solvers refuse groups of two channels, windows of three dimensions, and empty sums. */
TEST(refused)
{
    static const test_refusal refusals[] = {
        {"conv/depthwise x=T:2x4x6x6 w=T:4x2x3x3 y=T:2x4x4x4 groups=2", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
        {"conv/depthwise x=T:2x4x6x6x3 w=T:4x1x3x3x3 y=T:2x4x4x4x1 groups=4", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
        {"conv/depthwise x=T:2x4x6x6 w=T:4x1x3x3 y=T:2x4x4x4 groups=4 alpha=0", "cannot serve",
         TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}

/* The depthwise solver is chosen, and all other solvers agree with it. */
TEST(every_solver)
{
    test_random random = test_random_for(1312);
    for (int i = 0; i < 4; i++) {
        conv_case p = depthwise(24, 1, 28, 28);
        conv_pad(&p, 1, 1, 1, 1);
        p.n = 1;
        p.geometry.stride[0] = p.geometry.stride[1] = 1 + i % 2;
        p.x = p.y = i < 2 ? NCHW : NHWC;
        for (int d = FORWARD; d <= OF_FILTER; d++)
            conv_check_typed((conv_direction)d, &p, TENON_DTYPE_F32, &random);
    }
}

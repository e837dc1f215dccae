/* Tests tenon_conv_transpose_forward against its reference. test_conv_backward.c compares that
 * reference with the convolution's, and tests gradients and NaN. */
#include "conv_case.h"

TEST(output_sizes)
{
    tenon_conv_geometry g = TENON_CONV_GEOMETRY_INIT;
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 3, 3, 0), 5);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 0, 3, 0), 0);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 0, 3, 3, 1),
                     -1); /* must be below the stride, which is 1 */
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
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 1, 1, 0),
                     0); /* nothing is left after cropping */
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, INT64_MAX / 2, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 5, INT64_MAX / 2, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(NULL, 0, 5, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 3, 5, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, -1, 3, 0), -1);
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 5, 0, 0), -1);
    g.pad_end[1] = INT64_MAX; /* crops everything without an overflow */
    assert_int_equal(tenon_conv_transpose_output_size(&g, 1, 5, 3, 0), -1);
    for (int64_t padding = 0; padding < 3; padding++) { /* the inverse of the convolution's size */
        g.pad_end[1] = 2;
        int64_t size = tenon_conv_transpose_output_size(&g, 1, 7, 3, padding);
        assert_int_equal(tenon_conv_output_size(&g, 1, size, 3), 7);
    }
}

/* Computed by hand: two elements with stride 2, a filter of 3, and one element of y cropped. */
TEST(known_values)
{
    static const float x[] = {3, 5}, w[] = {1, -1, 2}, bias[] = {10};
    static const float y[] = {7, 21, 5, 20, 10};
    TEST_KNOWN("conv_transpose x=T:1x1x2 w=T:1x1x3 bias=T:1 y=T:1x1x5 stride=2 pad_begin=1 "
               "output_padding=1",
               x, w, NULL, bias, y);
}

TEST(every_layout)
{
    test_random random = test_random_for(1401);
    for (int i = 0; i < 27; i++) {
        conv_case p =
            conv_like(.x = (image_layout)(i % 3), .y = (image_layout)(i / 3 % 3),
                      .w = (image_layout)(i / 9), .offset = i % 4, .geometry.stride[0] = 2,
                      .geometry.pad_begin[0] = 1, .geometry.pad_end[1] = 1);
        conv_check_typed(TRANSPOSED, &p, test_float_type((uint32_t)i), &random);
        p.filter[0] = p.filter[1] = 1; /* a matrix product if there is no stride and padding */
        p.geometry = no_geometry;
        conv_check_typed(TRANSPOSED, &p, test_float_type((uint32_t)i), &random);
    }
}

TEST(epilogues)
{
    static const tenon_activation activations[] = {{TENON_ACTIVATION_IDENTITY, 0, 0, 0},
                                                   {TENON_ACTIVATION_RELU, 0, 0, 0},
                                                   {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0},
                                                   {TENON_ACTIVATION_SIGMOID, 0, 0, 0}};
    test_random random = test_random_for(1402);
    for (int i = 0; i < 32; i++) {
        conv_case p =
            conv_like(.activation = activations[i % 4], .residual = (conv_residual)(i / 4 % 4));
        p.beta = p.residual != NO_RESIDUAL && i % 5 != 0 ? -2 : 0;
        p.alpha = i % 7 == 3 ? 0 : 0.5;
        p.bias = i % 2 == 0;
        p.geometry.stride[1] = 2;
        p.x = i % 3 == 0 ? NHWC : NCHW;
        if (i >= 16)
            p.filter[0] = p.filter[1] = p.geometry.stride[1] = 1;
        conv_check_typed(TRANSPOSED, &p, test_float_type((uint32_t)i), &random);
    }
}

TEST(empty)
{
    test_random random = test_random_for(1403);
    for (int i = 0; i < 3; i++) {
        conv_case p = simple_conv;
        *(i == 0 ? &p.n : i == 1 ? &p.k : &p.c) = 0;
        p.bias = i == 1;
        conv_check(TRANSPOSED, &p, &random);
    }
}

/* y is empty if x is empty or if all of it is cropped. */
TEST(nothing_left)
{
    static const char *const lines[] = {
        "conv_transpose x=T:1x2x0 w=T:2x3x3 y=T:1x3x0 pad_begin=2 pad_end=2",
        "conv_transpose x=T:1x2x1 w=T:2x3x3 y=T:1x3x0 pad_begin=2 pad_end=2"};
    test_random random = test_random_for(1408);
    for (int i = 0; i < 2; i++) {
        test_fixture f;
        test_begin_line(&f, lines[i], TENON_DTYPE_F32);
        test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(1405);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(25);) {
            conv_case p = random_conv(&random);
            if (!conv_takes(TRANSPOSED, &p))
                continue;
            conv_run_once(TRANSPOSED, &p, *type, &random);
            if (n++ % 3 == 0)
                conv_check_typed(TRANSPOSED, &p, *type, &random);
        }
}

/* Adds output padding of at least the stride, up to the dilation. Returns false if no dimension
 * allows any. */
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

/* Output padding up to the dilation, to elements that no tap reaches, in all three directions. */
TEST(padding_beyond_the_stride)
{
    static const conv_direction directions[] = {TRANSPOSED, TRANSPOSED_OF_IMAGE,
                                                TRANSPOSED_OF_FILTER};
    test_random random = test_random_for(1407);
    for (int n = 0; n < test_problems(12);) {
        conv_case p = random_conv(&random);
        for (uint32_t d = 0; d < p.spatial && n % 4 == 0; d++) { /* pointwise */
            p.filter[d] = 1;
            p.geometry.pad_begin[d] = 0;
        }
        if (n % 4 == 1) /* depthwise */
            p.c = p.k = p.groups = 5;
        if (n % 2 == 0)
            p.geometry.pad_end[0] = 0;
        if (!conv_takes(TRANSPOSED, &p) || !pad_beyond(&p, &random))
            continue;
        p.residual = n % 2 == 0 ? NO_RESIDUAL : p.residual;
        p.beta = p.residual == NO_RESIDUAL ? 0 : p.beta;
        conv_check_typed(directions[n % 3], &p, TENON_DTYPE_F32, &random);
        n++;
    }
}

/* Computed by hand: two elements and two taps with dilation 3; no tap reaches the last two elements
 * of y. */
TEST(known_values_beyond_the_stride)
{
    static const float x[] = {3, 5}, w[] = {2, -1}, y[] = {6, 10, 0, -3, -5, 0, 0};
    static const float dy[] = {1, 2, 3, 4, 5, 60, 70}, dx[] = {-2, -1}, dw[] = {13, 37};
    TEST_KNOWN("conv tenon_conv_transpose_backward_data dy=T:1x1x7 w=T:1x1x2 dx=T:1x1x2 "
               "dilation=3",
               dy, w, dx);
    TEST_KNOWN("conv_backward_filter tenon_conv_transpose_backward_filter x=T:1x1x2 dy=T:1x1x7 "
               "dw=T:1x1x2 dilation=3",
               x, dy, dw);
    TEST_KNOWN("conv_transpose x=T:1x1x2 w=T:1x1x2 y=T:1x1x7 dilation=3 output_padding=2", x, w,
               NULL, NULL, y);
}

TEST(plans)
{
    test_random random = test_random_for(1406);
    tenon_memory memories[TN_MAX_OPERANDS];
    tenon_plan *plan;
    test_fixture f;
    conv_make(&f, TRANSPOSED_OF_IMAGE, &simple_conv, TENON_DTYPE_F32, TEST_BOUND, &random);
    assert_int_equal(test_plan(&f, &plan, memories), 3);
    const tenon_memory twice[] = {memories[0], memories[1], memories[1]};
    assert_refused(tenon_plan_run(test_stream, plan, twice, 3, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_conv_transpose_backward_data_plan", "dx");
    test_run_plan(&f, plan, memories, 3);
    tenon_plan_release(plan);
    test_release(&f);
}

/* Sizes that do not match are refused with the name of the wrong one. */
TEST(refusals)
{
    static const test_refusal wrong[] = {
        {"conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x5x6x6",
         "y: shape is 2x5x6x6, must be 2x5x4x4"},
        {"conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x5x6x6 stride=2,2 output_padding=0,2",
         "output_padding[1] is 2"},
        {"conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x5x6x6 stride=2,2 output_padding=0,-1",
         "output_padding[1] is -1"},
        {"conv_transpose x=T:1x1x2 w=T:1x1x2 y=T:1x1x7 dilation=3 output_padding=3",
         "output_padding[0] is 3, must be from 0 to 2"},
        {"conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x15x6x6 stride=2,2 groups=3",
         "w: 4 filters of 5 channels do not fit 15 channels of y in 3 groups"},
        {"conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x5x6x6 stride=2,2 groups=0", "groups is 0"},
        {"conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x5x6x6 stride=2,2 dilation=0",
         "dilation[0] is 0"},
        {"conv x=T:1x4x8x8 w=T:4x4x3x3 y=T:1x4x8x8 stride=0,0,0",
         "stride[0] is 0, must be at least 1; .geometry = {…} sets the members"},
        {"conv x=T:1x4x8x8 w=T:4x4x3x3 y=T:1x4x8x8 dilation=0,2,0",
         "dilation[0] is 0, must be at least 1"},
        {"conv_transpose x=T:2x3x3x3 w=T:4x5x2x2 y=T:2x5x6x6 stride=2,2",
         "x: shape is 2x3x3x3, must be 2x4x3x3"},
        {"conv_transpose x=T:2x3x5x4 w=T:4x7x2x2 y=T:2x7x6x10 stride=2,2",
         "; if x is stored as N H W C, make its view with tenon_tensor_nhwc"},
        {"conv_transpose x=T:2x3x5x4 w=T:4x2x2x7 y=T:2x6x10x7 stride=2,2",
         "; if x, w and y are stored as N H W C, make their views with tenon_tensor_nhwc"},
        /* A single x would require an output padding of 3. */
        {"conv tenon_conv_transpose_backward_data dy=T:1x1x4 w=T:1x1x2 dx=T:1x1x2 "
         "dilation=3",
         "dx"},
    };
    test_random random = test_random_for(1409);
    test_fixture f;
    TEST_REFUSE(wrong);
    test_begin_line(&f, "conv_transpose x=T:2x4x3x3 w=T:4x5x2x2 y=T:2x5x6x6 stride=2,2",
                    TENON_DTYPE_F32);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
}

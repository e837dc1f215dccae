/*
 * Tests conv/cpu_direct around the edges of its runs and tiles of pixels, vectors and panels of
 * filters, passes over channels and boxes in each dimension, and with every stride and layout.
 */
#include "conv_case.h"

#include "runtime/context/context.h"

static void check_default(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    static const char *const solvers[] = {"cpu_direct", NULL};
    conv_check_by(FORWARD, p, dtype, solvers, random);
}

/* Widths around multiples of runs of 4 and 7 pixels, and around tiles of two and three runs. */
TEST(widths)
{
    static const int64_t width[] = {1, 3, 4, 5, 6, 7, 8, 12, 13, 14, 15, 28, 29, 56, 57};
    test_random random = test_random_for(221);
    for (size_t i = 0; i < sizeof width / sizeof *width; i++) {
        conv_case p = conv_like(.size[0] = 3, .size[1] = width[i], .geometry.pad_begin[1] = 1,
                                .geometry.pad_end[1] = 1, .bias = i % 2 == 0);
        check_default(&p, TENON_DTYPE_F32, &random);
    }
}

/* Filter counts around vectors of 4 to 16 filters, panels of two vectors, and several work-groups.
 */
TEST(filter_counts)
{
    static const int64_t filters[] = {1, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    test_random random = test_random_for(222);
    for (size_t i = 0; i < sizeof filters / sizeof *filters; i++) {
        conv_case p = conv_like(.k = filters[i],
                                .w = i % 3 == 0   ? NHWC
                                     : i % 3 == 1 ? NCHW
                                                  : HWCN,
                                .y = i % 2 == 0 ? NCHW : NHWC);
        check_default(&p, i % 4 == 0 ? TENON_DTYPE_F64 : TENON_DTYPE_F32, &random);
    }
}

/* Channels that fill one pass or need a second one, with the taps in either order. */
TEST(passes)
{
    static const int64_t channels[] = {27, 28, 29, 56, 57, 85};
    test_random random = test_random_for(223);
    for (size_t i = 0; i < sizeof channels / sizeof *channels; i++) {
        conv_case p = conv_like(.c = channels[i], .w = i % 2 == 0 ? NCHW : NHWC,
                                .x = i % 3 == 0 ? NHWC : NCHW, .geometry.pad_begin[0] = 1,
                                .geometry.pad_end[1] = 1);
        check_default(&p, TENON_DTYPE_F32, &random);
        p.filter[0] = p.filter[1] = 1;
        p.c = 9 * channels[i];
        p.geometry = no_geometry;
        check_default(&p, TENON_DTYPE_F32, &random);
    }
}

/* Strides and dilations whose taps share one phase, share several, or have one each. */
TEST(phases)
{
    test_random random = test_random_for(224);
    for (int i = 0; i < 24; i++) {
        conv_case p =
            conv_like(.size[0] = 17, .size[1] = 33, .filter[1] = 1 + i % 5,
                      .geometry.stride[0] = 1 + i / 2 % 3, .geometry.stride[1] = 1 + i % 4,
                      .geometry.dilation[0] = 1 + i % 2, .geometry.dilation[1] = 1 + i / 3 % 4,
                      .geometry.pad_begin[0] = i % 3, .geometry.pad_begin[1] = i % 5,
                      .geometry.pad_end[1] = i / 4);
        check_default(&p, TENON_DTYPE_F32, &random);
    }
}

/* Small work-groups, whose boxes are cut in every dimension and across images. */
TEST(boxes)
{
    /* For vectors of 32 and of 64 bytes, whose registers the longest runs fill. The last three
     * require more local memory than OpenCL's minimum. */
    static const char *const all[][7] = {
        {"cpu_direct:run3,px3,nf32", "cpu_direct:run3,px60,nf32", "cpu_direct:run2,px5,nf64",
         "cpu_direct:run3,px200,nf64", "cpu_direct:run3,px1000,nf32", "cpu_direct:run2,px150,nf32"},
        {"cpu_direct:run7,px7,nf32", "cpu_direct:run7,px60,nf32", "cpu_direct:run4,px5,nf64",
         "cpu_direct:run7,px200,nf64", "cpu_direct:run7,px1000,nf32",
         "cpu_direct:run4,px150,nf32"}};
    const tenon_device_info *device = &test_context->device.info;
    const char *solvers[7];
    memcpy(solvers, all[device->vector_width_f32 >= 16], sizeof solvers);
    if (device->local_memory < 256 << 10)
        solvers[3] = NULL;
    test_random random = test_random_for(225);
    for (int i = 0; i < 6; i++) {
        conv_case p = conv_like(.spatial = 2 + i % 2, .n = 5);
        p.size[2] = p.spatial == 3 ? 8 : 1;
        p.filter[2] = p.spatial == 3 ? 2 : 1;
        p.k = 70;
        p.groups = i % 3 == 2 ? 2 : 1;
        p.y = i % 4 == 3 ? NHWC : i % 4 == 2 ? ODD : NCHW;
        p.residual = (conv_residual)(i % 4);
        p.beta = p.residual != NO_RESIDUAL ? -2 : 0;
        p.geometry.pad_begin[0] = 1;
        conv_check_by(FORWARD, &p, TENON_DTYPE_F32, solvers, &random);
        p.filter[0] = p.filter[1] = p.filter[2] = 1;
        p.geometry = no_geometry;
        conv_check_by(FORWARD, &p, TENON_DTYPE_F32, solvers, &random);
    }
}

/* Reduced first layers of networks, in every type. */
TEST(few_channels)
{
    static const int64_t cases[][3] = {{7, 2, 3}, {11, 4, 2}, {3, 2, 1}, {5, 1, 2}};
    test_random random = test_random_for(226);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        conv_case p = conv_like(.n = 1, .c = 3, .k = 33, .size[0] = 37, .size[1] = 37);
        for (int d = 0; d < 2; d++) {
            p.filter[d] = cases[i][0];
            p.geometry.stride[d] = cases[i][1];
            p.geometry.pad_begin[d] = p.geometry.pad_end[d] = cases[i][2];
        }
        p.bias = true;
        check_default(&p, TENON_DTYPE_F32, &random);
        check_default(&p, TENON_DTYPE_F16, &random);
        check_default(&p, TENON_DTYPE_BF16, &random);
        check_default(&p, TENON_DTYPE_F64, &random);
    }
}

/* A matrix product with a long K that is split, with and without workspace. */
TEST(pointwise_products)
{
    test_random random = test_random_for(227);
    conv_case p = conv_like(.n = 1, .c = 2048, .k = 24, .size[0] = 5, .size[1] = 5, .filter[0] = 1,
                            .filter[1] = 1, .bias = true);
    conv_check_typed(FORWARD, &p, TENON_DTYPE_F32, &random);
    conv_check_typed(FORWARD, &p, TENON_DTYPE_BF16, &random);
}

/* If a problem fits local memory, so must the problem of its self-check. With these sizes no
 * problem, only the smallest, or most of them fit. */
TEST(little_local_memory)
{
    static const char *const lines[] = {
        "conv/cpu_direct x=f32:2x1x5x9 w=f32:3x1x1x1 y=f32:2x3x5x9",
        "conv/cpu_direct x=f32:3x1x8x8 w=f32:16x1x3x3 y=f32:3x16x8x8 pad_begin=1,1 pad_end=1,1",
        "conv/cpu_direct x=f64:1x3x9x9 w=f64:5x3x3x3 y=f64:1x5x4x4 stride=2,2", NULL};
    assert_int_equal(test_with_local_memory(12 << 10, lines), 0);
    assert_true(test_with_local_memory(13 << 10, lines) > 0);
    assert_true(test_with_local_memory(14 << 10, lines) > 1);
}

/* OpenCL's minimum of local memory suffices for the convolutions of networks: several passes over
 * channels in either order, and filters with many taps. */
TEST(least_local_memory)
{
    static const char *const lines[] = {
        "conv/cpu_direct x=f32:1x57x9x9 w=f32:5x57x3x3 y=f32:1x5x7x7",
        "conv/cpu_direct x=f16:1x57x9x9/4617,1,513,57 w=f16:5x57x3x3/513,1,171,57 y=f16:1x5x7x7",
        "conv/cpu_direct x=f32:1x3x37x37 w=f32:33x3x11x11 y=f32:1x33x7x7 stride=4,4",
        "conv/cpu_direct x=f32:1x20x9x9/1620,1,180,20 w=f32:5x20x7x7/980,1,140,20 y=f32:1x5x3x3",
        NULL};
    assert_int_equal(test_with_local_memory(32 << 10, lines), 4);
}

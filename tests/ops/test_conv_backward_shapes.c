/* Tests the gradients of convolutions and transposed convolutions over shapes and layouts: every
 * solver against the references. */
#include "conv_case.h"
#include "emulation.h"

static void check_all(const conv_case *p, test_random *random)
{
    for (size_t i = 0; i < GRADIENTS; i++)
        conv_check(conv_gradients[i], p, random);
}

static void check_all_typed(const conv_case *p, tenon_dtype dtype, test_random *random)
{
    for (size_t i = 0; i < GRADIENTS; i++)
        conv_check_typed(conv_gradients[i], p, dtype, random);
}

TEST(every_layout)
{
    test_random random = test_random_for(1203);
    for (int i = 0; i < 27; i++) {
        conv_case p =
            conv_like(.spatial = 1 + (uint32_t)i % 3, .x = (image_layout)(i % 3),
                      .y = (image_layout)(i / 3 % 3), .w = (image_layout)(i / 9), .size[2] = 3,
                      .filter[2] = 2, .offset = i % 4, .beta = i % 2, .geometry.pad_begin[0] = 1);
        p.geometry.pad_end[p.spatial - 1] = 1;
        check_all_typed(&p, test_float_type((uint32_t)i), &random);
        for (int d = 0; d < 3; d++) /* a matrix product if there is no padding */
            p.filter[d] = 1;
        p.geometry = no_geometry;
        check_all_typed(&p, test_float_type((uint32_t)i), &random);
    }
}

TEST(groups)
{
    static const int64_t cases[][3] = {{2, 6, 4}, {3, 3, 3}, {4, 8, 4}, {5, 5, 10}, {1, 1, 1}};
    test_random random = test_random_for(1204);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p = conv_like(.groups = cases[i][0], .c = cases[i][1], .k = cases[i][2],
                                    .x = (image_layout)layout, .y = (image_layout)layout,
                                    .geometry.pad_begin[0] = 1, .geometry.pad_begin[1] = 1);
            check_all_typed(&p, test_float_type((uint32_t)i), &random);
            p.filter[0] = p.filter[1] = 1;
            p.geometry = no_geometry;
            check_all_typed(&p, TENON_DTYPE_F32, &random);
        }
}

/* Sizes around vectors and tiles. */
TEST(sizes)
{
    static const int64_t cases[][7] = {
        {1, 1, 1, 1, 1, 1, 1},   {1, 1, 5, 1, 1, 5, 1},     {1, 3, 1, 7, 2, 1, 7},
        {3, 1, 8, 8, 65, 3, 3},  {1, 33, 8, 8, 13, 3, 3},   {1, 2, 33, 31, 3, 5, 5},
        {1, 65, 3, 3, 7, 3, 3},  {1, 16, 17, 19, 64, 1, 1}, {2, 7, 3, 15, 5, 2, 2},
        {2, 17, 2, 16, 3, 1, 3}, {1, 15, 2, 17, 3, 2, 2},   {5, 2, 3, 32, 2, 1, 4}};
    test_random random = test_random_for(1205);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layout = NCHW; layout <= NHWC; layout++) {
            conv_case p = conv_of_sizes(cases[i]);
            p.x = p.y = (image_layout)layout;
            p.geometry.pad_begin[1] = p.filter[1] > 1;
            check_all_typed(&p, i % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_BF16, &random);
        }
}

/* No images, filters, channels or pixels, and a filter that does not fit. */
TEST(empty)
{
    test_random random = test_random_for(1206);
    for (int i = 0; i < 5; i++)
        for (int beta = 0; beta < 2; beta++) {
            conv_case p = simple_conv;
            int64_t *const sizes[] = {&p.n, &p.k, &p.c, &p.size[0], &p.filter[0]};
            *sizes[i] = i == 4 ? 10 : 0;
            p.beta = beta;
            check_all_typed(&p, test_float_type((uint32_t)i), &random);
        }
    conv_case padded = simple_conv;
    padded.size[0] = 0; /* the filter sees only padding */
    padded.geometry.pad_begin[0] = padded.geometry.pad_end[0] = 2;
    check_all(&padded, &random);
}

/* Several tiles, several images in a block, and parts of a bias. */
TEST(larger_problems)
{
    test_random random = test_random_for(1210);
    for (int i = 0; i < 4; i++) {
        conv_case p = conv_like(.n = 3, .c = 17, .k = 33, .size[0] = 30, .size[1] = 30,
                                .x = i / 2 == 0 ? NCHW : NHWC, .y = i / 2 == 0 ? NCHW : NHWC,
                                .geometry.pad_begin[0] = 1, .geometry.pad_end[0] = 1,
                                .geometry.stride[0] = 1 + i % 2, .geometry.stride[1] = 1 + i % 2);
        check_all_typed(&p, TENON_DTYPE_F32, &random);
    }
}

TEST(every_solver_on_random_problems)
{
    test_random random = test_random_for(1212);
    for (int n = 0; n < 24; n++) {
        conv_case p = random_conv(&random);
        p.beta = n % 2 == 0 ? 0.5 : 0;
        check_all_typed(&p, test_float_type((uint32_t)n), &random);
    }
}

TEST(every_unit_has_served)
{
    static const int types[] = {MATRIX_F16, MATRIX_BF16, 0};
    assert_emulated("conv_backward_data", types);
    assert_emulated("conv_backward_filter", types);
}

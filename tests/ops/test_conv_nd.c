/* Tests tenon_conv_forward in one and three dimensions, with filters as large as the image, around
 * the edges of tiles and blocks, and on random problems: every solver in every type. */
#include "conv_case.h"

TEST(one_dimension)
{
    static const int64_t cases[][5] = {
        {1, 1, 1, 1, 1}, {2, 3, 65, 7, 3}, {1, 5, 200, 13, 31}, {3, 8, 17, 8, 1}, {1, 2, 9, 3, 9}};
    test_random random = test_random_for(212);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layout = NCHW; layout < IMAGE_LAYOUTS; layout++) {
            const int64_t *v = cases[i];
            conv_case p =
                conv_like(.spatial = 1, .n = v[0], .c = v[1], .size[0] = v[2], .k = v[3],
                          .filter[0] = v[4], .x = (image_layout)layout, .y = (image_layout)layout,
                          .geometry.stride[0] = 1 + layout, .geometry.pad_end[0] = (int64_t)i % 3,
                          .bias = i % 2 == 0, .residual = CHANNEL_RESIDUAL, .beta = 2);
            conv_check(FORWARD, &p, &random);
        }
}

TEST(three_dimensions)
{
    test_random random = test_random_for(213);
    for (int i = 0; i < 12; i++) {
        conv_case p = conv_like(.spatial = 3, .groups = 1 + i % 2);
        for (int d = 0; d < 3; d++) {
            p.size[d] = 4 + d + i % 3;
            p.filter[d] = 1 + (i + d) % 3;
            p.geometry.stride[d] = 1 + (i >> d) % 2;
            p.geometry.dilation[d] = 1 + (i + d) % 4 / 3;
            p.geometry.pad_begin[d] = (i + d) % 3;
            p.geometry.pad_end[d] = (i / 2 + d) % 2;
        }
        p.x = (image_layout)(i % 3);
        p.y = (image_layout)(i / 2 % 3);
        p.w = (image_layout)(i / 4);
        p.residual = FULL_RESIDUAL;
        p.beta = 1;
        conv_check(FORWARD, &p, &random);
    }
}

/* Filters as large as the image, and larger than the image without its padding. */
TEST(large_filters)
{
    test_random random = test_random_for(214);
    for (int i = 0; i < 6; i++) {
        conv_case p =
            conv_like(.size[0] = 13, .size[1] = 17, .filter[0] = i % 2 == 0 ? 13 : 15,
                      .filter[1] = i % 3 == 0 ? 17 : 19, .geometry.pad_begin[0] = 2,
                      .geometry.pad_end[1] = 3, .x = i < 3 ? NCHW : NHWC, .y = i < 3 ? NCHW : NHWC);
        conv_check(FORWARD, &p, &random);
    }
}

/* Pixels, filters and taps around the vectors, panels and blocks of the packed solvers. Rows are
 * contiguous, end within a vector, or are shorter than a vector. */
TEST(edges)
{
    static const int64_t widths[] = {1, 7, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129};
    static const int64_t filters[] = {1, 2, 5, 6, 7, 13}, channels[] = {1, 2, 42, 43, 128, 129};
    test_random random = test_random_for(215);
    for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
        for (int joined = 0; joined < 2; joined++) {
            conv_case p = conv_like(.n = 1, .c = channels[i % 6], .k = filters[i % 6], .size[0] = 3,
                                    .size[1] = widths[i], .geometry.stride[1] = i % 3 == 2 ? 2 : 1,
                                    .geometry.pad_begin[0] = 1, .geometry.pad_begin[1] = 1 + joined,
                                    .geometry.pad_end[1] = 1);
            conv_check_typed(FORWARD, &p, TENON_DTYPE_F32, &random);
        }
}

TEST(random_problems)
{
    test_random random = test_random_for(211);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            conv_case p = random_conv(&random);
            conv_check_typed(FORWARD, &p, *type, &random);
        }
}

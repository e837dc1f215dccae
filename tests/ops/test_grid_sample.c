/* Tests tenon_grid_sample: all modes and paddings, any strides, places outside the image, known
 * values, special values, invalid input. */
#include "fixture.h"

#include "ops/grid_sample/internal.h"
#include "ops/registry.h"

#include <math.h>

TEST(random_problems)
{
    test_random random = test_random_for(3301);
    for (uint32_t n = 0; n < 24 + (uint32_t)test_problems(60); n++) {
        const uint32_t mode = n % 3, dims = mode != TENON_GRID_SAMPLE_CUBIC && n % 4 == 3 ? 3 : 2;
        const int64_t images = test_between(&random, 1, 3), channels = test_between(&random, 1, 19);
        const int64_t most = dims == 2 ? 14 : 6;
        const int64_t x[] = {images, channels, test_between(&random, 1, most),
                             test_between(&random, 1, most), test_between(&random, 1, most)};
        const int64_t grid[] = {images, test_between(&random, 0, 6), test_between(&random, 1, 6),
                                dims == 2 ? 2 : test_between(&random, 1, 4), 3};
        const int64_t y[] = {images, channels, grid[1], grid[2], grid[3]};
        const tenon_dtype dtype = test_float_type(n / 2);
        const bool is_half = dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_BF16;
        test_fixture f;
        test_begin(&f, &tn_operation_grid_sample);
        tenon_grid_sample_params *params = test_params(&f, tenon_grid_sample_params);
        params->mode = mode;
        params->padding = n / 3 % 3;
        params->flags = test_one_in(&random, 2) ? TENON_GRID_SAMPLE_ALIGN_CORNERS : 0;
        f.c.views[GRID_X] = test_random_view(&random, dtype, dims + 2, x);
        f.c.views[GRID_PLACES] = test_random_view(
            &random, is_half && test_one_in(&random, 2) ? TENON_DTYPE_F32 : dtype, dims + 2, grid);
        f.c.views[GRID_Y] = test_random_view(&random, dtype, dims + 2, y);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* By hand, for an image of 2 x 2 elements: its center and edges, in every padding. -2.2 is at
 * element -1.7, and with aligned corners at -0.6. */
TEST(known_values)
{
    static const float x[] = {1, 2, 3, 5}, center[] = {0, 0}, corner[] = {1, 1},
                       outside[] = {-2.2F, -0.5F};
    static const float mean[] = {2.75F}, last[] = {5}, quarter[] = {1.25F}, zero[] = {0},
                       first[] = {1}, second[] = {2};
#define CALL "grid_sample x=f32:1x1x2x2 grid=f32:1x1x1x2 y=f32:1x1x1x1"
    TEST_KNOWN(CALL, x, center, mean);
    TEST_KNOWN(CALL " padding=border", x, corner, last);
    TEST_KNOWN(CALL " flags=1", x, corner, last);
    TEST_KNOWN(CALL, x, corner, quarter);
    TEST_KNOWN(CALL, x, outside, zero);
    TEST_KNOWN(CALL " padding=border", x, outside, first);
    TEST_KNOWN(CALL " padding=reflection mode=nearest", x, outside, second);
    TEST_KNOWN(CALL " flags=1 mode=nearest padding=border", x, outside, first);
#undef CALL
    static const float volume[] = {1, 2, 3, 5, 7, 11, 13, 17}, middle[] = {0, 0, 0},
                       edge[] = {0.5F, -1, 1};
    static const float average[] = {7.375F}, along_w[] = {10};
    TEST_KNOWN("grid_sample x=f32:1x1x2x2x2 grid=f32:1x1x1x1x3 y=f32:1x1x1x1x1", volume, middle,
               average);
    TEST_KNOWN("grid_sample x=f32:1x1x2x2x2 grid=f32:1x1x1x1x3 y=f32:1x1x1x1x1 flags=1", volume,
               edge, along_w);
}

/* Places and elements that are not finite. */
TEST(special_values)
{
    static const double places[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 3e4, -7, 1};
    test_random random = test_random_for(3302);
    for (uint32_t n = 0; n < 27; n++) {
        test_fixture f;
        test_begin_line(&f, "grid_sample x=T:2x2x5x7 grid=T:2x3x4x2 y=T:2x2x3x4",
                        test_float_type(n));
        tenon_grid_sample_params *params = test_params(&f, tenon_grid_sample_params);
        params->mode = n % 3;
        params->padding = n / 3 % 3;
        params->flags = n / 9 % 2;
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; i < 48; i++)
            if (test_one_in(&random, 3))
                test_set(test_operand(&f, GRID_PLACES), i, places[test_between(&random, 0, 5)]);
        if (n % 4 == 0)
            test_set(test_operand(&f, GRID_X), test_between(&random, 0, 139), (double)NAN);
        test_finish(&f, TEST_ALL);
    }
}

TEST(bad_input)
{
#define CALL "grid_sample x=f32:1x2x3x3 grid=f32:1x4x5x2 y=f32:1x2x4x5"
    static const test_refusal refusals[] = {
        {CALL " mode=3", "mode is 3", TENON_OK},
        {CALL " padding=3", "padding is 3", TENON_OK},
        {"grid_sample x=f32:1x2x3 grid=f32:1x4x5x2 y=f32:1x2x4x5", "x: rank is 3", TENON_OK},
        {"grid_sample x=f32:1x2x3x3x3 grid=f32:1x4x5x2 y=f32:1x2x4x5", "grid: shape is 1x4x5x2",
         TENON_OK},
        {"grid_sample x=f32:1x2x3x3x3 grid=f32:1x4x5x6x3 y=f32:1x2x4x5x6 mode=cubic",
         "x: rank is 5; the mode cubic", TENON_ERROR_UNSUPPORTED},
        {"grid_sample x=f32:1x2x3x3 grid=f32:1x4x5x3 y=f32:1x2x4x5", "grid: shape is 1x4x5x3",
         TENON_OK},
        {"grid_sample x=f32:1x2x3x3 grid=f32:2x4x5x2 y=f32:1x2x4x5", "grid: shape is 2x4x5x2",
         TENON_OK},
        {"grid_sample x=f32:1x2x3x3 grid=f32:1x4x5x2 y=f32:1x2x5x5", "y: shape is 1x2x5x5",
         TENON_OK},
        {"grid_sample x=f32:1x2x0x3 grid=f32:1x4x5x2 y=f32:1x2x4x5", "x: size of dimension 2 is 0",
         TENON_OK},
        {"grid_sample x=f32:1x2x3x3 grid=f16:1x4x5x2 y=f32:1x2x4x5", "grid is f16",
         TENON_ERROR_UNSUPPORTED},
        {"grid_sample x=i32:1x2x3x3 grid=f32:1x4x5x2 y=i32:1x2x4x5", "x: type",
         TENON_ERROR_UNSUPPORTED}};
#undef CALL
    TEST_REFUSE(refusals);
}

/* Tests tenon_roi_align and its gradient: both modes, given and computed numbers of samples, any
 * strides, regions outside the image, indices out of range, known values, invalid input. */
#include "fixture.h"

#include "ops/registry.h"
#include "ops/roi_align/internal.h"

#include <math.h>

/* Begins a random call; `image` and `bins` are the operands with the shapes of x and of y, and
 * `regions_at` is the first one of the regions. */
static void begin_random(test_fixture *f, const tn_operation *operation, uint32_t image,
                         uint32_t bins, uint32_t regions_at, tenon_dtype dtype, test_random *random)
{
    const int64_t images = test_between(random, 1, 3), channels = test_between(random, 1, 19),
                  regions = test_between(random, 0, 6);
    const int64_t x[] = {images, channels, test_between(random, 1, 20),
                         test_between(random, 1, 20)};
    const int64_t y[] = {regions, channels, test_between(random, 1, 5), test_between(random, 1, 5)};
    const int64_t rois[] = {regions, 4};
    test_begin(f, operation);
    tenon_roi_align_params *params = test_params(f, tenon_roi_align_params);
    params->flags = test_one_in(random, 2) ? TENON_ROI_ALIGN_UNSHIFTED : 0;
    params->sampling_ratio = (uint32_t)test_between(random, 0, 3);
    params->spatial_scale = test_one_in(random, 2) ? 1 : test_real(random, 0.05, 2);
    f->c.views[image] = test_random_view(random, dtype, 4, x);
    f->c.views[bins] = test_random_view(random, dtype, 4, y);
    f->c.views[regions_at] = test_random_view(random, dtype, 2, rois);
    f->c.views[regions_at + 1] = test_random_view(random, TENON_DTYPE_I32, 1, rois);
}

TEST(random_problems)
{
    test_random random = test_random_for(3201);
    for (uint32_t n = 0; n < 2 * (uint32_t)test_problems(40); n++) {
        test_fixture f;
        begin_random(&f, &tn_operation_roi_align, ROI_X, ROI_Y, ROI_ROIS, test_float_type(n / 2),
                     &random);
        test_params(&f, tenon_roi_align_params)->mode = n % 2;
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* By hand: four pixels, averaged over the whole image and by bins; without the shift a region of
 * one pixel whose samples are a quarter and three quarters from its corner; an image that does not
 * exist.
 */
TEST(known_values)
{
    static const float x[] = {0, 1, 2, 3}, all[] = {0, 0, 2, 2}, average[] = {1.5F};
    static const float bins[] = {0, 1, 2, 3}, pixel[] = {0, 0, 1, 1}, middle[] = {1.5F};
    static const float greatest[] = {1.6875F};
    static const int32_t zero[] = {0};
    const float *index = (const float *)(const void *)zero;
    TEST_KNOWN("roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x1x1 sampling_ratio=2",
               x, all, index, average);
    TEST_KNOWN("roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x2x2", x, all, index,
               bins);
    TEST_KNOWN(
        "roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x1x1 flags=1 sampling_ratio=2",
        x, pixel, index, middle);
    TEST_KNOWN("roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x1x1 flags=1 "
               "sampling_ratio=2 mode=max",
               x, pixel, index, greatest);
}

/* The gradient of a maximum that several candidates have belongs to the first one: of the elements
 * around a sample, of samples, and of several NaN. */
TEST(first_maximum)
{
    enum { WIDTH = 5 };
    static const float ones[] = {1, 1, 1, 1}, pixel[] = {0, 0, 1, 1}, four[] = {4},
                       first[] = {1, 0, 0, 0}, region[] = {0, 0, 4, 4};
    static const int32_t zero[] = {0};
    const float *index = (const float *)(const void *)zero;
    const float equal[] = {2, NAN};
    TEST_KNOWN("roi_align_backward x=f32:1x1x2x2 dy=f32:1x1x1x1 rois=f32:1x4 indices=i32:1 "
               "dx=f32:1x1x2x2 flags=1 sampling_ratio=1 mode=max",
               ones, four, pixel, index, first);
    for (int i = 0; i < 2; i++) { /* samples are at rows and columns 1 and 3 */
        float x[WIDTH * WIDTH] = {0}, dx[WIDTH * WIDTH] = {0};
        x[1 * WIDTH + 3] = x[3 * WIDTH + 1] = equal[i];
        dx[1 * WIDTH + 3] = four[0];
        TEST_KNOWN("roi_align_backward x=f32:1x1x5x5 dy=f32:1x1x1x1 rois=f32:1x4 indices=i32:1 "
                   "dx=f32:1x1x5x5 flags=1 sampling_ratio=2 mode=max",
                   x, four, region, index, dx);
    }
}

/* Regions that are huge, not finite, or empty, and elements that are not finite. */
TEST(special_values)
{
    static const double corners[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0, -5, 3e4};
    test_random random = test_random_for(3202);
    for (uint32_t n = 0; n < 24; n++) {
        test_fixture f;
        test_begin_line(&f,
                        n % 2 == 0
                            ? "roi_align x=T:2x2x5x7 rois=T:6x4 indices=i32:6 y=T:6x2x2x3"
                            : "roi_align x=T:2x2x5x7 rois=T:6x4 indices=i32:6 y=T:6x2x2x3 mode=max "
                              "flags=1 sampling_ratio=2",
                        test_float_type(n / 2));
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; i < 24; i++)
            if (test_one_in(&random, 3))
                test_set(test_operand(&f, ROI_ROIS), i, corners[test_between(&random, 0, 5)]);
        if (n % 3 == 0)
            test_set(test_operand(&f, ROI_X), test_between(&random, 0, 139), (double)NAN);
        test_finish(&f, TEST_ALL);
    }
}

TEST(random_gradients)
{
    test_random random = test_random_for(3203);
    for (uint32_t n = 0; n < 2 * (uint32_t)test_problems(30); n++) {
        test_fixture f;
        begin_random(&f, &tn_operation_roi_align_backward, ROI_DX, ROI_DY, ROI_BACKWARD_ROIS,
                     test_float_type(n / 2), &random);
        test_params(&f, tenon_roi_align_params)->mode = n % 2;
        if (n % 2 == 1 || test_one_in(&random, 4)) {
            const tenon_tensor *dx = &f.c.views[ROI_DX];
            f.c.views[ROI_BACKWARD_X] = test_random_view(&random, dx->dtype, dx->rank, dx->shape);
        }
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* Gradients with contiguous channels, in dx and dy or in only one of them, repeated and missing
 * images, and more samples than a table of scatter holds. */
TEST(layouts_of_gradients)
{
    static const char *const lines[] = {
        "roi_align_backward dy=T:7x37x3x2/222,1,74,37 rois=T:7x4 indices=i32:7 "
        "dx=T:3x37x9x11/3663,1,407,37 sampling_ratio=2",
        "roi_align_backward dy=T:7x19x3x2/114,1,38,19 rois=T:7x4 indices=i32:7 dx=T:3x19x9x11",
        "roi_align_backward dy=T:7x19x3x2 rois=T:7x4 indices=i32:7 dx=T:3x19x9x11/1881,1,209,19",
        "roi_align_backward x=T:3x19x9x11 dy=T:7x19x3x2/114,1,38,19 rois=T:7x4 indices=i32:7 "
        "dx=T:3x19x9x11/1881,1,209,19 mode=max",
        "roi_align_backward dy=T:2x3x3x3 rois=T:2x4 indices=i32:2 dx=T:1x3x5x7 sampling_ratio=400"};
    test_random random = test_random_for(3206);
    for (uint32_t n = 0; n < 2 * sizeof lines / sizeof *lines; n++) {
        test_fixture f;
        test_begin_line(&f, lines[n / 2], n % 2 == 0 ? TENON_DTYPE_F32 : TENON_DTYPE_F64);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

TEST(gradients_are_slopes)
{
    static const char *const calls[][2] = {
        {"roi_align x=f64:2x2x5x6 rois=f64:4x4 indices=i32:4 y=f64:4x2x2x3",
         "roi_align_backward dy=f64:4x2x2x3 rois=f64:4x4 indices=i32:4 dx=f64:2x2x5x6"},
        {"roi_align x=f64:1x1x4x3 rois=f64:2x4 indices=i32:2 y=f64:2x1x1x2 flags=1 "
         "sampling_ratio=3 spatial_scale=0.7",
         "roi_align_backward dy=f64:2x1x1x2 rois=f64:2x4 indices=i32:2 dx=f64:1x1x4x3 flags=1 "
         "sampling_ratio=3 spatial_scale=0.7"},
        {"roi_align x=f64:1x2x5x6 rois=f64:4x4 indices=i32:4 y=f64:4x2x2x3 mode=max",
         "roi_align_backward x=f64:1x2x5x6 dy=f64:4x2x2x3 rois=f64:4x4 indices=i32:4 "
         "dx=f64:1x2x5x6 mode=max"}};
    test_random random = test_random_for(3204);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        test_fixture y, dx;
        test_begin_line(&y, calls[i][0], TENON_DTYPE_F64);
        test_begin_line(&dx, calls[i][1], TENON_DTYPE_F64);
        test_fill_gradients(&y, &dx, &random);
        for (int64_t r = 0; r < test_operand(&y, ROI_INDICES)->view.shape[0]; r++)
            test_set(test_operand(&y, ROI_INDICES), r, 0);
        test_check_gradients(&y, &dx, 1e-6, 1e-5);
    }
}

/* Regions that are huge, not finite or empty, and gradients that are not finite. */
TEST(special_gradients)
{
    static const double corners[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0, -5, 3e4};
    test_random random = test_random_for(3205);
    for (uint32_t n = 0; n < 24; n++) {
        test_fixture f;
        test_begin_line(&f,
                        n % 2 == 0 ? "roi_align_backward dy=T:6x2x2x3 rois=T:6x4 indices=i32:6 "
                                     "dx=T:2x2x5x7"
                                   : "roi_align_backward x=T:2x2x5x7 dy=T:6x2x2x3 rois=T:6x4 "
                                     "indices=i32:6 dx=T:2x2x5x7 mode=max",
                        test_float_type(n / 2));
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; i < 24; i++)
            if (test_one_in(&random, 3))
                test_set(test_operand(&f, ROI_BACKWARD_ROIS), i,
                         corners[test_between(&random, 0, 5)]);
        if (n % 4 == 1)
            test_set(test_operand(&f, ROI_BACKWARD_X), test_between(&random, 0, 139), (double)NAN);
        if (n % 3 == 0)
            test_set(test_operand(&f, ROI_DY), test_between(&random, 0, 71), (double)NAN);
        test_finish(&f, TEST_ALL);
    }
}

TEST(bad_input)
{
#define CALL "roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x1x1"
    static const test_refusal refusals[] = {
        {CALL " mode=2", "mode is 2", TENON_OK},
        {CALL " sampling_ratio=1025", "sampling_ratio is 1025", TENON_OK},
        {CALL " spatial_scale=nan", "spatial_scale is nan", TENON_OK},
        {"roi_align x=f32:1x1x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x1x1", "x: rank is 3",
         TENON_OK},
        {"roi_align x=f32:1x1x2x2 rois=f32:1x5 indices=i32:1 y=f32:1x1x1x1", "rois: shape is 1x5",
         TENON_OK},
        {"roi_align x=f32:1x1x2x2 rois=f32:2x4 indices=i32:1 y=f32:1x1x1x1", "rois: shape is 2x4",
         TENON_OK},
        {"roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1x1 y=f32:1x1x1x1", "indices: rank is 2",
         TENON_OK},
        {"roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i32:1 y=f32:1x2x1x1", "y: shape is 1x2x1x1",
         TENON_OK},
        {"roi_align x=f32:1x1x0x2 rois=f32:1x4 indices=i32:1 y=f32:1x1x1x1",
         "x: size of dimension 2 is 0", TENON_OK},
        {"roi_align x=f32:1x1x2x2 rois=f16:1x4 indices=i32:1 y=f32:1x1x1x1", "rois",
         TENON_ERROR_UNSUPPORTED},
        {"roi_align x=f32:1x1x2x2 rois=f32:1x4 indices=i8:1 y=f32:1x1x1x1", "indices: type is i8",
         TENON_ERROR_UNSUPPORTED},
        {"roi_align_backward dy=f32:1x1x1x1 rois=f32:1x4 indices=i32:1 dx=f32:1x1x2x2 mode=max",
         "x is NULL", TENON_OK},
        {"roi_align_backward x=f32:1x1x2x3 dy=f32:1x1x1x1 rois=f32:1x4 indices=i32:1 "
         "dx=f32:1x1x2x2",
         "x: shape is 1x1x2x3", TENON_OK},
        {"roi_align_backward x=f16:1x1x2x2 dy=f32:1x1x1x1 rois=f32:1x4 indices=i32:1 "
         "dx=f32:1x1x2x2",
         "x is f16", TENON_ERROR_UNSUPPORTED},
        {"roi_align_backward dy=f32:1x2x1x1 rois=f32:1x4 indices=i32:1 dx=f32:1x1x2x2",
         "dy: shape is 1x2x1x1", TENON_OK},
        {"roi_align_backward dy=f32:1x1x1x1 rois=f32:1x4 indices=i32:1 dx=f32:1x1x0x2",
         "dx: size of dimension 2 is 0", TENON_OK}};
#undef CALL
    TEST_REFUSE(refusals);
}

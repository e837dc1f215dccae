/* Tests tenon_grid_sample_backward: all modes, paddings and outputs, any strides, special values,
 * the definition of a gradient, invalid input. */
#include "fixture.h"

#include "ops/grid_sample/internal.h"
#include "ops/registry.h"

#include <math.h>

/* Sets the parameters and views of a random call. */
static void draw_call(test_fixture *f, uint32_t n, test_random *random)
{
    const uint32_t mode = n % 3, dims = mode != TENON_GRID_SAMPLE_CUBIC && n % 4 == 3 ? 3 : 2;
    const int64_t images = test_between(random, 1, 3), channels = test_between(random, 0, 19),
                  most = dims == 2 ? 12 : 5;
    const int64_t x[] = {images, channels, test_between(random, 1, most),
                         test_between(random, 1, most), test_between(random, 1, most)};
    const int64_t grid[] = {images, test_between(random, 0, 6), test_between(random, 1, 6),
                            dims == 2 ? 2 : test_between(random, 1, 4), 3};
    const int64_t y[] = {images, channels, grid[1], grid[2], grid[3]};
    const tenon_dtype dtype = test_float_type(n / 2);
    const bool is_half = dtype == TENON_DTYPE_F16 || dtype == TENON_DTYPE_BF16,
               has_dgrid = n % 5 != 1;
    const tenon_dtype places = is_half && test_one_in(random, 2) ? TENON_DTYPE_F32 : dtype;
    tenon_grid_sample_params *params = test_params(f, tenon_grid_sample_params);
    params->mode = mode;
    params->padding = n / 3 % 3;
    params->flags = test_one_in(random, 2) ? TENON_GRID_SAMPLE_ALIGN_CORNERS : 0;
    if (has_dgrid || test_one_in(random, 2))
        f->c.views[GRID_BACKWARD_X] = test_random_view(random, dtype, dims + 2, x);
    f->c.views[GRID_BACKWARD_PLACES] = test_random_view(random, places, dims + 2, grid);
    f->c.views[GRID_DY] = test_random_view(random, dtype, dims + 2, y);
    if (n % 5 != 0)
        f->c.views[GRID_DX] = test_random_view(random, dtype, dims + 2, x);
    if (has_dgrid)
        f->c.views[GRID_DPLACES] = test_random_view(random, places, dims + 2, grid);
}

TEST(random_problems)
{
    test_random random = test_random_for(3311);
    for (uint32_t n = 0; n < 60 + (uint32_t)test_problems(60); n++) {
        test_fixture f;
        test_begin(&f, &tn_operation_grid_sample_backward);
        draw_call(&f, n, &random);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* Places and elements that are not finite. */
TEST(special_values)
{
    static const double places[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 3e4, -7, 1};
    test_random random = test_random_for(3312);
    for (uint32_t n = 0; n < 27; n++) {
        test_fixture f;
        test_begin_line(&f,
                        "grid_sample_backward x=T:2x2x5x7 grid=T:2x3x4x2 dy=T:2x2x3x4 dx=T:2x2x5x7 "
                        "dgrid=T:2x3x4x2",
                        test_float_type(n));
        tenon_grid_sample_params *params = test_params(&f, tenon_grid_sample_params);
        params->mode = n % 3;
        params->padding = n / 3 % 3;
        params->flags = n / 9 % 2;
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (int64_t i = 0; i < 48; i++)
            if (test_one_in(&random, 3))
                test_set(test_operand(&f, GRID_BACKWARD_PLACES), i,
                         places[test_between(&random, 0, 5)]);
        if (n % 4 == 0)
            test_set(test_operand(&f, GRID_DY), test_between(&random, 0, 47), (double)NAN);
        if (n % 4 == 1)
            test_set(test_operand(&f, GRID_BACKWARD_X), test_between(&random, 0, 139),
                     (double)INFINITY);
        test_finish(&f, TEST_ALL);
    }
}

enum { IMAGE = 2 * 3 * 5 * 7, PLACES = 2 * 4 * 3, COORDINATES = 2 * PLACES, OUTPUT = 3 * PLACES };

/* The tensors of a call in f64, and their values. */
typedef struct values {
    tenon_tensor x, grid, y, dx, dgrid;
    double x_values[IMAGE], grid_values[COORDINATES], dy_values[OUTPUT];
} values;

static tenon_tensor make(uint32_t rank, const int64_t *shape)
{
    tenon_tensor made;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F64, rank, shape, &made));
    return made;
}

static void upload(const tenon_tensor *tensor, const double *from)
{
    const size_t bytes = (size_t)tenon_tensor_elements(tensor) * sizeof *from;
    assert_ok(tenon_tensor_upload(test_stream, from, bytes, tensor, NULL));
}

static void download(const tenon_tensor *tensor, double *to)
{
    const size_t bytes = (size_t)tenon_tensor_elements(tensor) * sizeof *to;
    assert_ok(tenon_tensor_download(test_stream, tensor, to, bytes, NULL));
}

/* Returns the sum of y * dy for these images and places. */
static double weighted_sum(values *v, const tenon_grid_sample_params *params, const double *x,
                           const double *grid)
{
    double y[OUTPUT], sum = 0;
    upload(&v->x, x);
    upload(&v->grid, grid);
    assert_ok(tenon_grid_sample(test_stream, params, &v->x, &v->grid, &v->y, NULL));
    download(&v->y, y);
    for (int i = 0; i < OUTPUT; i++)
        sum += y[i] * v->dy_values[i];
    return sum;
}

/* Compares the slope of weighted_sum along a random direction of x, in which it is linear, and
 * along each coordinate, away from corners, with the gradient. */
static void compare_slopes(values *v, const tenon_grid_sample_params *params, const double *dx,
                           const double *dgrid, test_random *random)
{
    const double step = 1e-6;
    double moved[IMAGE], expected = 0;
    for (int i = 0; i < IMAGE; i++) {
        moved[i] = test_real(random, -1, 1);
        expected += dx[i] * moved[i];
    }
    const double found = weighted_sum(v, params, moved, v->grid_values);
    assert_true(fabs(found - expected) <= 1e-9 * (1 + fabs(expected)));
    for (int i = 0; i < COORDINATES; i++) {
        double places[COORDINATES];
        memcpy(places, v->grid_values, sizeof places);
        places[i] += step;
        const double after = weighted_sum(v, params, v->x_values, places);
        places[i] -= 2 * step;
        const double before = weighted_sum(v, params, v->x_values, places);
        const double slope = (after - before) / (2 * step);
        if (!(fabs(slope - dgrid[i]) <= 1e-4 * (1 + fabs(slope))))
            fail_msg("mode %u, padding %u, flags %u: dgrid[%d] is %g, expected %g", params->mode,
                     params->padding, params->flags, i, dgrid[i], slope);
    }
}

/* Returns a coordinate whose place is not near a corner of an interpolation or of a padding; these
 * are at multiples of half an element. */
static double coordinate(int64_t size, bool is_aligned, test_random *random)
{
    const double at =
        0.5 * (double)test_between(random, -3, 2 * size + 1) + test_real(random, 0.05, 0.45);
    return is_aligned ? 2 * at / (double)(size - 1) - 1 : (2 * at + 1) / (double)size - 1;
}

TEST(gradients_are_slopes)
{
    static const int64_t image[] = {2, 3, 5, 7}, places[] = {2, 4, 3, 2}, output[] = {2, 3, 4, 3};
    test_random random = test_random_for(3313);
    if (!test_has(TENON_CAPABILITY_F64))
        skip();
    values v = {make(4, image), make(4, places), make(4, output), make(4, image), make(4, places)};
    for (uint32_t n = 0; n < 18; n++) {
        double dx[IMAGE], dgrid[COORDINATES];
        const tenon_grid_sample_params params =
            tenon_grid_sample_params(.mode = n % 3, .padding = n / 3 % 3, .flags = n / 9);
        for (int i = 0; i < IMAGE; i++)
            v.x_values[i] = test_real(&random, -1, 1);
        for (int i = 0; i < COORDINATES; i++)
            v.grid_values[i] = coordinate(image[3 - i % 2], params.flags != 0, &random);
        for (int i = 0; i < OUTPUT; i++)
            v.dy_values[i] = test_real(&random, -1, 1);
        upload(&v.x, v.x_values);
        upload(&v.grid, v.grid_values);
        upload(&v.y, v.dy_values);
        assert_ok(tenon_grid_sample_backward(test_stream, &params, &v.x, &v.grid, &v.y, &v.dx,
                                             &v.dgrid, NULL));
        download(&v.dx, dx);
        download(&v.dgrid, dgrid);
        compare_slopes(&v, &params, dx, dgrid, &random);
    }
    test_destroy(&v.x, &v.grid, &v.y, &v.dx, &v.dgrid);
}

TEST(bad_input)
{
#define CALL  "grid_sample_backward x=f32:1x2x3x3 grid=f32:1x4x5x2 dy=f32:1x2x4x5 "
#define OTHER "grid_sample_backward grid=f32:1x4x5x2 dy=f32:1x2x4x5 "
    static const test_refusal refusals[] = {
        {CALL "dx=f32:1x2x3x3 mode=3", "mode is 3", TENON_OK},
        {CALL, "dx and dgrid are NULL", TENON_OK},
        {OTHER "dgrid=f32:1x4x5x2", "x is NULL", TENON_OK},
        {CALL "dx=f32:1x2x3x4", "dx: shape is 1x2x3x4", TENON_OK},
        {CALL "dgrid=f32:1x4x5x3", "dgrid: shape is 1x4x5x3", TENON_OK},
        {CALL "dx=f64:1x2x3x3", "dx is f64", TENON_ERROR_UNSUPPORTED},
        {CALL "dgrid=f64:1x4x5x2", "dgrid is f64", TENON_ERROR_UNSUPPORTED},
        {OTHER "dx=f32:1x2x3", "dx: rank is 3", TENON_OK},
        {OTHER "dx=f32:1x2x3x0", "dx: size of dimension 3 is 0", TENON_OK},
        {OTHER "dx=f32:1x3x3x3", "dy: shape is 1x2x4x5", TENON_OK}};
#undef CALL
#undef OTHER
    TEST_REFUSE(refusals);
}

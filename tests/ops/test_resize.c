/* Tests tenon_resize_forward and tenon_resize_backward: every mode, coordinate mode and flag, one
 * to three dimensions, any strides; known values of ONNX; nearest elements of random ratios of
 * sizes; infinities and NaN; gradients by finite differences; invalid input. */
#include "fixture.h"

#include "ops/registry.h"
#include "ops/resize/internal.h"

#include <math.h>

typedef enum resize_layout { NCHW, NHWC, GAPS, LAYOUTS } resize_layout;

typedef struct resize_case {
    uint32_t rank;
    int64_t x[RESIZE_RANK], y[RESIZE_RANK]; /* shapes */
    tenon_resize_params params;
    resize_layout x_layout, y_layout;
} resize_case;

static tenon_tensor view_of(tenon_dtype dtype, resize_layout layout, uint32_t rank,
                            const int64_t *shape, int64_t offset)
{
    tenon_tensor view = test_view(dtype, layout == GAPS ? TEST_STRIDED : TEST_ROW, layout == GAPS,
                                  rank, shape, offset);
    if (layout != NHWC)
        return view;
    int64_t step = shape[1];
    view.stride[1] = 1;
    for (uint32_t d = rank; d-- > 2; step *= shape[d])
        view.stride[d] = step;
    view.stride[0] = step;
    return view;
}

static void begin(test_fixture *f, const resize_case *p, tenon_dtype dtype)
{
    test_begin(f, &tn_operation_resize);
    *test_params(f, tenon_resize_params) = p->params;
    f->c.views[RESIZE_X] = view_of(dtype, p->x_layout, p->rank, p->x, 3);
    f->c.views[RESIZE_Y] = view_of(dtype, p->y_layout, p->rank, p->y, 2);
}

static void begin_backward(test_fixture *f, const resize_case *p, tenon_dtype dtype)
{
    test_begin(f, &tn_operation_resize_backward);
    *test_params(f, tenon_resize_params) = p->params;
    f->c.views[RESIZE_BACKWARD_DY] = view_of(dtype, p->y_layout, p->rank, p->y, 1);
    f->c.views[RESIZE_BACKWARD_DX] = view_of(dtype, p->x_layout, p->rank, p->x, 2);
}

/* Checks both directions. */
static void check(const resize_case *p, tenon_dtype dtype, test_random *random)
{
    test_fixture f;
    begin(&f, p, dtype);
    test_run_fixture(&f, TEST_BOUND, TEST_ALL, random);
    begin_backward(&f, p, dtype);
    test_run_fixture(&f, TEST_BOUND, TEST_ALL, random);
}

/* Draws the map of one dimension. A scale that is given does not fit the sizes exactly. */
static void draw_dimension(resize_case *p, uint32_t d, int64_t most, test_random *random)
{
    p->x[2 + d] = test_between(random, 1, most);
    p->y[2 + d] = test_one_in(random, 5) ? p->x[2 + d] : test_between(random, 1, most);
    if (test_one_in(random, 3)) {
        p->params.scales[d] = test_real(random, 0.05, 3);
        p->y[2 + d] = (int64_t)(p->params.scales[d] * (double)p->x[2 + d]);
        if (p->y[2 + d] == 0)
            p->y[2 + d] = 1;
    }
    if (test_one_in(random, 2)) {
        p->params.region_begin[d] = test_real(random, -0.3, 0.6);
        p->params.region_end[d] = test_real(random, -0.2, 1.3);
    }
}

static void random_problem(test_random *random, uint32_t number)
{
    resize_case p = {.rank = (uint32_t)test_between(random, 3, 5),
                     .params = TENON_RESIZE_PARAMS_INIT};
    p.x[0] = p.y[0] = test_between(random, 1, 2);
    p.x[1] = p.y[1] = test_between(random, 1, 19);
    p.params.mode = number % 3;
    p.params.coordinates = (uint32_t)test_between(random, 0, TENON_RESIZE_TF_CROP_AND_RESIZE);
    p.params.rounding = (uint32_t)test_between(random, 0, TENON_RESIZE_CEIL);
    p.params.flags = (uint32_t)test_between(random, 0, 3);
    if (p.params.mode == TENON_RESIZE_NEAREST)
        p.params.flags &= ~TENON_RESIZE_ANTIALIAS;
    p.params.cubic_a = test_one_in(random, 2) ? -0.75 : test_real(random, -1, 0);
    p.params.extrapolation = test_real(random, -2, 2);
    for (uint32_t d = 0; d + 2 < p.rank; d++)
        draw_dimension(&p, d, p.rank == 3 ? 90 : p.rank == 4 ? 21 : 7, random);
    p.x_layout = (resize_layout)test_between(random, 0, LAYOUTS - 1);
    p.y_layout =
        test_one_in(random, 3) ? (resize_layout)test_between(random, 0, LAYOUTS - 1) : p.x_layout;
    check(&p, test_float_type(number), random);
    if (test_has(TENON_CAPABILITY_F64))
        check(&p, TENON_DTYPE_F64, random);
}

TEST(random_problems)
{
    test_random random = test_random_for(3001);
    for (int i = 0; i < 3 * test_problems(40); i++)
        random_problem(&random, (uint32_t)i);
}

/* The examples of ONNX's operator Resize whose results are exact in f32. */
TEST(known_values)
{
    static const float four[] = {1, 2, 3, 4}, eight[] = {1, 2, 3, 4, 5, 6, 7, 8};
    static const float linear[] = {1,    1.25F, 1.75F, 2,    1.5F, 1.75F, 2.25F, 2.5F,
                                   2.5F, 2.75F, 3.25F, 3.5F, 3,    3.25F, 3.75F, 4};
    static const float nearest[] = {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2,
                                    3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4};
    static const float reduced[] = {1, 3};
    static const float asymmetric[] = {1, 1.5F, 2, 2, 2, 2.5F, 3, 3, 3, 3.5F, 4, 4, 3, 3.5F, 4, 4};
    TEST_KNOWN("resize x=f32:1x1x2x2 y=f32:1x1x4x4 mode=linear scales=2,2", four, linear);
    TEST_KNOWN("resize x=f32:1x1x2x2 y=f32:1x1x4x6 scales=2,3", four, nearest);
    TEST_KNOWN("resize x=f32:1x1x2x4 y=f32:1x1x1x2 scales=0.6,0.6", eight, reduced);
    TEST_KNOWN("resize x=f32:1x1x2x2 y=f32:1x1x4x4 mode=linear coordinates=asymmetric", four,
               asymmetric);
}

/* Every ratio of two small sizes, in every rounding: middles between elements occur in many of
 * them. */
TEST(nearest_elements)
{
    test_random random = test_random_for(3002);
    for (int n = 0; n < 2 * test_problems(60); n++) {
        resize_case p = {.rank = 3, .params = TENON_RESIZE_PARAMS_INIT};
        p.x[0] = p.y[0] = p.x[1] = p.y[1] = 1;
        p.x[2] = test_between(&random, 1, 60);
        p.y[2] = test_between(&random, 1, 60);
        p.params.rounding = (uint32_t)n % 4;
        p.params.coordinates = (uint32_t)test_between(&random, 0, TENON_RESIZE_TF_HALF_PIXEL);
        test_fixture f;
        begin(&f, &p, TENON_DTYPE_F32);
        test_run_fixture(&f, TEST_EXACT, TEST_ALL, &random);
    }
}

/* Thirds are not exact in binary, but the third element is found. */
TEST(thirds)
{
    static const float x[] = {0, 1, 2, 3};
    static const float y[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3};
    static const float tenths[] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    TEST_KNOWN("resize x=f32:1x1x4 y=f32:1x1x12 coordinates=asymmetric rounding=floor", x, y);
    TEST_KNOWN("resize x=f32:1x1x4 y=f32:1x1x12 coordinates=asymmetric rounding=floor scales=3", x,
               y);
    TEST_KNOWN("resize x=f32:1x1x2 y=f32:1x1x20 coordinates=asymmetric rounding=floor scales=10", x,
               tenths);
}

/* Rows that are longer than a chunk, filters that are longer than a private array, and channels
 * that do not fill the last vector, or are shared by work-items. */
TEST(large)
{
    static const int64_t sizes[][3] = {{1, 301, 700}, {2, 3000, 64}, {1, 5000, 3}, {1, 40, 4001},
                                       {67, 41, 19},  {130, 300, 5}, {3, 65, 130}, {8, 1, 33},
                                       {3, 33, 301},  {5, 40, 190}};
    test_random random = test_random_for(3003);
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        const int64_t *size = sizes[i / 2];
        resize_case p = {.rank = 4, .params = TENON_RESIZE_PARAMS_INIT};
        p.x[0] = p.y[0] = 1;
        p.x[1] = p.y[1] = size[0];
        p.x[2] = 4;
        p.y[2] = 7;
        p.x[3] = size[1];
        p.y[3] = size[2];
        p.params.mode = 1 + i / 2 % 2;
        p.params.flags = i % 3 == 0 ? 0 : TENON_RESIZE_ANTIALIAS;
        p.x_layout = p.y_layout = i % 2 == 0 ? NCHW : NHWC;
        check(&p, test_float_type((uint32_t)i), &random);
    }
}

/* Infinities and NaN: those with weight 0 have no effect. */
TEST(special_values)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0, -0.0, 1};
    test_random random = test_random_for(3004);
    for (uint32_t n = 0; n < 24; n++) {
        resize_case p = {
            .rank = 4, .x = {1, 9, 6, 13}, .y = {1, 9, 11, 25}, .params = TENON_RESIZE_PARAMS_INIT};
        p.params.mode = n % 3;
        p.params.flags = n % 3 == 0 ? 0 : n / 3 % 4;
        p.params.coordinates = n % 2 == 0 ? TENON_RESIZE_ALIGN_CORNERS : n / 2 % 7;
        if (n % 5 == 0)
            p.y[3] = 5;
        p.x_layout = p.y_layout = (resize_layout)(n / 4 % LAYOUTS);
        test_fixture f;
        begin(&f, &p, test_float_type(n));
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        test_tensor *x = test_operand(&f, RESIZE_X);
        for (int64_t e = 0; e < tenon_tensor_elements(&x->view); e++)
            if (test_one_in(&random, 6))
                test_set(x, e, values[test_between(&random, 0, 5)]);
        test_finish(&f, TEST_ALL);
    }
}

/* Broadcast inputs, empty images, and no workspace. */
TEST(odd_operands)
{
    test_random random = test_random_for(3005);
    for (int n = 0; n < 4; n++) {
        resize_case p = {
            .rank = 4, .x = {2, 3, 5, 8}, .y = {2, 3, 9, 7}, .params = TENON_RESIZE_PARAMS_INIT};
        test_fixture f;
        p.params.mode = TENON_RESIZE_LINEAR;
        begin(&f, &p, TENON_DTYPE_F32);
        f.c.views[RESIZE_X].stride[n] = 0;
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
        p.y[n] = 0;
        if (n < 2)
            p.x[n] = 0;
        check(&p, TENON_DTYPE_F32, &random);
        p.x[n] = 0;
        check(&p, TENON_DTYPE_F32, &random);
    }
    test_limit_workspace(0);
    resize_case p = {
        .rank = 4, .x = {2, 3, 5, 8}, .y = {2, 3, 9, 7}, .params = TENON_RESIZE_PARAMS_INIT};
    test_fixture f;
    begin(&f, &p, TENON_DTYPE_F32);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
    begin_backward(&f, &p, TENON_DTYPE_F32);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
    test_usual_stream();
}

/* A resize is linear, so steps need not be small. */
TEST(finite_differences)
{
    test_random random = test_random_for(3006);
    for (uint32_t n = 0; n < 21; n++) {
        resize_case p = {.rank = 4,
                         .x = {1, 2, 4, 5},
                         .y = {1, 2, n % 2 == 0 ? 3 : 7, 6},
                         .params = TENON_RESIZE_PARAMS_INIT};
        test_fixture y, dx;
        p.params.mode = n % 3;
        p.params.flags = n % 3 == 0 ? 0 : n % 4;
        p.params.coordinates = n % 7;
        p.params.region_begin[0] = -0.1;
        p.params.region_end[1] = 0.8;
        begin(&y, &p, TENON_DTYPE_F64);
        begin_backward(&dx, &p, TENON_DTYPE_F64);
        test_fill_gradients(&y, &dx, &random);
        test_check_gradients(&y, &dx, 1e-9, 1e-9);
    }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {"resize x=f32:1x1x4 y=f32:1x1x8 mode=3", "mode is 3", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 coordinates=7", "coordinates is 7", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 rounding=4", "rounding is 4", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 flags=1", "TENON_RESIZE_ANTIALIAS", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 cubic_a=inf", "cubic_a", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 scales=-2", "scales[0] is -2", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 scales=nan", "scales[0] is nan", TENON_OK},
        {"resize x=f32:1x1x4x4 y=f32:1x1x8x8 scales=2,2.5",
         "scales[1] is 2.5: times size 4 of x it is 10, which differs by 1 or more from size 8 "
         "of y",
         TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8 region_begin=inf", "region_begin[0] is inf", TENON_OK},
        {"resize x=f32:1x1x0 y=f32:1x1x8", "x: size of dimension 2 is 0", TENON_OK},
        {"resize x=f32:1x4 y=f32:1x8", "x: rank is 2", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x2x8", "y: shape is 1x2x8", TENON_OK},
        {"resize x=f32:1x1x4 y=f32:1x1x8x1", "y: shape is 1x1x8x1", TENON_OK},
        {"resize x=f32:1x1x4 y=f16:1x1x8", "y", TENON_ERROR_UNSUPPORTED},
        {"resize x=i8:1x1x4 y=i8:1x1x8", "x: type", TENON_ERROR_UNSUPPORTED},
        {"resize x=f32:1x1x4/0,0,0 y=f32:1x1x300000000/0,0,0", "y", TENON_OK}};
    TEST_REFUSE(refusals);
}

/* Tests tenon_lrn_forward and tenon_lrn_backward: sizes, exponents, any strides, known values,
 * gradients by finite differences, invalid input. */
#include "fixture.h"

#include "ops/lrn/internal.h"
#include "ops/registry.h"

#include <math.h>

static tenon_lrn_params random_params(test_random *random)
{
    static const double exponents[] = {0, 0.5, 0.75, 1, 0.6, 2};
    return tenon_lrn_params(.size = test_between(random, 1, test_one_in(random, 4) ? 40 : 6),
                            .alpha = test_real(random, 0, 2),
                            .beta = exponents[test_between(random, 0, 5)],
                            .k = test_real(random, 0.5, 2));
}

/* Exchanges the strides of the dimensions so that the channels are the last one. */
static void put_channels_last(tenon_tensor *view)
{
    int64_t step = view->shape[1];
    view->stride[1] = 1;
    for (uint32_t d = view->rank; d-- > 0;)
        if (d != 1) {
            view->stride[d] = step;
            step *= view->shape[d];
        }
}

static void begin(test_fixture *f, const tn_operation *operation, const tenon_lrn_params *params,
                  tenon_dtype dtype, uint32_t rank, const int64_t *shape, int layout)
{
    test_begin(f, operation);
    *test_params(f, tenon_lrn_params) = *params;
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        f->c.views[i] = test_view(dtype, layout == 2 ? TEST_STRIDED : TEST_ROW, layout == 2, rank,
                                  shape, i + 1);
        if (layout == 1)
            put_channels_last(&f->c.views[i]);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(3101);
    for (int n = 0; n < 4 * test_problems(40); n++) {
        int64_t shape[TENON_MAX_RANK];
        const uint32_t rank = (uint32_t)test_between(&random, 2, 5);
        const tenon_lrn_params params = random_params(&random);
        for (uint32_t d = 0; d < rank; d++)
            shape[d] = test_between(&random, 1, d == 1 ? 40 : d == rank - 1 ? 70 : 4);
        test_fixture f;
        begin(&f, n % 2 == 0 ? &tn_operation_lrn : &tn_operation_lrn_backward, &params,
              test_float_type((uint32_t)n / 2), rank, shape, n / 8 % 3);
        if (test_one_in(&random, 8))
            f.c.views[0].stride[test_between(&random, 0, rank - 1)] = 0;
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* By hand: k = 1, alpha / size = 1, beta = 0.5 and 1. */
TEST(known_values)
{
    static const float x[] = {0, 3, 0, 0}, root[] = {0, 0.94868332F, 0, 0}, one[] = {0, 0.3F, 0, 0};
    TEST_KNOWN("lrn x=f32:1x4 y=f32:1x4 size=3 alpha=3 beta=1", x, one);
    test_fixture f;
    test_begin_line(&f, "lrn x=f32:1x4 y=f32:1x4 size=3 alpha=3 beta=0.5", TENON_DTYPE_F32);
    test_make(&f);
    for (int i = 0; i < 4; i++)
        test_set(test_operand(&f, LRN_X), i, x[i]);
    test_expect(&f);
    for (int i = 0; i < 4; i++)
        assert_true(fabs(f.expected[i].value - root[i]) < 1e-7);
    test_finish(&f, TEST_ALL);
}

/* Infinities and NaN, and a base of 0. */
TEST(special_values)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0, -0.0, 1};
    static const int64_t shape[] = {2, 9, 3, 5};
    test_random random = test_random_for(3102);
    for (int n = 0; n < 16; n++) {
        tenon_lrn_params params = random_params(&random);
        params.k = n % 4 == 3 ? 0 : 1;
        test_fixture f;
        begin(&f, n % 2 == 0 ? &tn_operation_lrn : &tn_operation_lrn_backward, &params,
              test_float_type((uint32_t)n), 4, shape, n / 2 % 3);
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        for (uint32_t i = 0; i < 1 + (uint32_t)n % 2; i++)
            for (int64_t e = 0; e < 2 * 9 * 15; e++)
                if (test_one_in(&random, 9))
                    test_set(test_operand(&f, i), e, values[test_between(&random, 0, 5)]);
        test_finish(&f, TEST_ALL);
    }
}

TEST(finite_differences)
{
    static const int64_t shape[] = {2, 7, 2, 3};
    test_random random = test_random_for(3103);
    for (int n = 0; n < 6; n++) {
        test_fixture y, dx;
        tenon_lrn_params params = random_params(&random);
        params.size = n + 1;
        begin(&y, &tn_operation_lrn, &params, TENON_DTYPE_F64, 4, shape, 0);
        begin(&dx, &tn_operation_lrn_backward, &params, TENON_DTYPE_F64, 4, shape, 0);
        test_fill_gradients(&y, &dx, &random);
        test_check_gradients(&y, &dx, 1e-6, 1e-6);
    }
}

TEST(odd_shapes)
{
    static const int64_t shapes[][3] = {{0, 3, 4}, {2, 0, 4}, {2, 3, 0}, {1, 1, 1}, {1, 300, 2}};
    test_random random = test_random_for(3104);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (int n = 0; n < 4; n++) {
            test_fixture f;
            tenon_lrn_params params = tenon_lrn_params(.size = i == 4 ? 600 : 3);
            begin(&f, n / 2 == 0 ? &tn_operation_lrn : &tn_operation_lrn_backward, &params,
                  TENON_DTYPE_F32, 3, shapes[i], n % 2);
            test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
        }
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {"lrn x=f32:1x4 y=f32:1x4 size=0", "size is 0", TENON_OK},
        {"lrn x=f32:1x4 y=f32:1x4 size=65537", "size is 65537", TENON_OK},
        {"lrn x=f32:1x4 y=f32:1x4 alpha=-1", "alpha is -1", TENON_OK},
        {"lrn x=f32:1x4 y=f32:1x4 beta=nan", "beta is nan", TENON_OK},
        {"lrn x=f32:1x4 y=f32:1x4 beta=101", "beta is 101", TENON_OK},
        {"lrn x=f32:1x4 y=f32:1x4 k=inf", "k is inf", TENON_OK},
        {"lrn x=f32:4 y=f32:4", "x: rank is 1", TENON_OK},
        {"lrn x=f32:1x4 y=f32:1x5", "y: shape is 1x5", TENON_OK},
        {"lrn x=i8:1x4 y=i8:1x4", "x: type", TENON_ERROR_UNSUPPORTED},
        {"lrn_backward x=f32:1x4 dy=f16:1x4 dx=f32:1x4", "dy", TENON_ERROR_UNSUPPORTED},
        {"lrn_backward x=f32:1x4 dy=f32:1x4x1 dx=f32:1x4", "dy: shape is 1x4x1", TENON_OK}};
    TEST_REFUSE(refusals);
}

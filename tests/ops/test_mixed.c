/* Tests products and convolutions of mixed types: random problems with every combination, layouts
 * and epilogues, known values, small workspaces, and invalid input. */
#include "fixture.h"
#include "runtime.h"

#include "base/dtype.h"
#include "ops/conv/mixed.h"
#include "ops/gemm/mixed.h"
#include "ops/registry.h"

#define PAIRS 8
/* The types of both factors, at least one of which has 16 bits. */
static const tenon_dtype pairs[PAIRS][2] = {
    {TENON_DTYPE_F16, TENON_DTYPE_F16},  {TENON_DTYPE_F32, TENON_DTYPE_F16},
    {TENON_DTYPE_BF16, TENON_DTYPE_F32}, {TENON_DTYPE_BF16, TENON_DTYPE_BF16},
    {TENON_DTYPE_F16, TENON_DTYPE_F32},  {TENON_DTYPE_F32, TENON_DTYPE_BF16},
    {TENON_DTYPE_F16, TENON_DTYPE_BF16}, {TENON_DTYPE_BF16, TENON_DTYPE_F16}};

static void begin_product(test_fixture *f, uint32_t number, test_random *random)
{
    const uint32_t batched = number % 3 == 0 ? 1 : 0;
    const int64_t batch = test_between(random, 1, 3), m = test_between(random, 1, 40),
                  n = test_between(random, 1, 70), k = test_between(random, 0, 200);
    const int64_t a[] = {batch, m, k}, b[] = {batch, k, n}, d[] = {batch, m, n};
    const uint32_t skip = 1 - batched;
    const tenon_dtype *types = pairs[number % PAIRS];
    test_begin(f, &tn_operation_gemm_mixed);
    tenon_gemm_params *params = test_params(f, tenon_gemm_params);
    params->epilogue.alpha = test_one_in(random, 6) ? 0 : test_real(random, -2, 2);
    params->epilogue.activation.kind =
        test_one_in(random, 2) ? TENON_ACTIVATION_RELU : TENON_ACTIVATION_IDENTITY;
    f->c.views[GEMM_A] = test_random_view(random, types[0], 2 + batched, a + skip);
    const bool repeats = batched == 0 || test_one_in(random, 2);
    f->c.views[GEMM_B] = test_random_view(random, types[1], repeats ? 2 : 3, repeats ? b + 1 : b);
    f->c.views[GEMM_D] = test_random_view(random, TENON_DTYPE_F32, 2 + batched, d + skip);
    if (test_one_in(random, 2))
        f->c.views[GEMM_BIAS] = test_random_view(random, TENON_DTYPE_F32, 1, &d[2]);
    if (test_one_in(random, 3))
        f->c.views[GEMM_C] = test_random_view(random, TENON_DTYPE_F32, 2, d + 1);
    else
        params->epilogue.beta = 1;
}

TEST(random_products)
{
    test_random random = test_random_for(3401);
    for (uint32_t n = 0; n < PAIRS + 2 * (uint32_t)test_problems(40); n++) {
        test_fixture f;
        begin_product(&f, n, &random);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

TEST(random_convolutions)
{
    test_random random = test_random_for(3402);
    for (uint32_t i = 0; i < PAIRS + (uint32_t)test_problems(30); i++) {
        const int64_t n = test_between(&random, 1, 2), groups = test_between(&random, 1, 2),
                      c = test_between(&random, 1, 6), k = test_between(&random, 1, 7);
        int64_t x[] = {n, groups * c, test_between(&random, 3, 12), test_between(&random, 3, 12)},
                w[] = {groups * k, c, test_between(&random, 1, 3), test_between(&random, 1, 3)},
                y[] = {n, groups * k, 0, 0};
        test_fixture f;
        test_begin(&f, &tn_operation_conv_mixed);
        tenon_conv_params *params = test_params(&f, tenon_conv_params);
        params->groups = groups;
        params->geometry.pad_begin[0] = test_between(&random, 0, 1);
        params->geometry.stride[1] = test_between(&random, 1, 2);
        for (uint32_t d = 0; d < 2; d++)
            y[2 + d] = tenon_conv_output_size(&params->geometry, d, x[2 + d], w[2 + d]);
        f.c.views[CONV_X] = test_random_view(&random, pairs[i % PAIRS][0], 4, x);
        f.c.views[CONV_W] = test_random_view(&random, pairs[i % PAIRS][1], 4, w);
        f.c.views[CONV_Y] = test_random_view(&random, TENON_DTYPE_F32, 4, y);
        if (test_one_in(&random, 2))
            f.c.views[CONV_BIAS] = test_random_view(&random, TENON_DTYPE_F32, 1, w);
        test_run_fixture(&f, TEST_BOUND, TEST_ALL, &random);
    }
}

/* A sum of 2049 ones: f16, which has 11 bits, would round it to 2048. */
TEST(results_are_not_rounded_to_16_bits)
{
    test_random random = test_random_for(3403);
    test_fixture f;
    test_begin_line(&f, "gemm_mixed a=f16:1x2049 b=f16:2049x1 d=f32:1x1", TENON_DTYPE_F32);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, &random);
    for (int64_t i = 0; i < 2049; i++) {
        test_set(test_operand(&f, GEMM_A), i, 1);
        test_set(test_operand(&f, GEMM_B), i, 1);
    }
    test_expect(&f);
    assert_true(f.expected[0].value == 2049);
    assert_true(f.expected[0].bound < 1);
    test_finish(&f, TEST_ALL);
}

TEST(bad_input)
{
    static const test_refusal refusals[] = {
        {"gemm_mixed a=f16:2x3 b=f32:3x2 c=f16:2x2 d=f32:2x2", "c is f16", TENON_ERROR_UNSUPPORTED},
        {"gemm_mixed a=f16:2x3 b=f32:4x2 d=f32:2x2", "K is 3 in a and 4 in b", TENON_OK},
        {"gemm a=f16:2x3 b=f32:3x2 d=f16:2x2", "b is f32", TENON_ERROR_UNSUPPORTED},
        {"gemm a=f64:2x3 b=f32:3x2 d=f32:2x2", "b is f32", TENON_ERROR_UNSUPPORTED},
        {"conv_mixed x=f16:1x2x3x3 w=bf16:2x2x1x1 bias=bf16:2 y=f32:1x2x3x3", "bias is bf16",
         TENON_ERROR_UNSUPPORTED},
        {"conv_mixed x=f16:1x2x3x3 w=bf16:2x3x1x1 y=f32:1x2x3x3", "w: ", TENON_OK}};
    TEST_REFUSE(refusals);
}

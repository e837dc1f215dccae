/*
 * Tests the values of tenon_gemm: activations, scalars of zero, NaN and infinity, large and random
 * problems, the same bits in any batch and at each run of a plan, and mutants that the comparison
 * must detect.
 */
#include "gemm_case.h"

#include "base/dtype.h"

#include <math.h>

TEST(every_activation)
{
    test_random random = test_random_for(109);
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++) {
        gemm_case p = gemm_like(.activation = gemm_activations[i], .bias_form = FORM_COLUMNS);
        check_gemm(&p, &random);
        p.m = 1;
        check_gemm(&p, &random);
        p.m = 13;
        p.n = 1;
        p.bias_form = FORM_ROWS;
        check_gemm(&p, &random);
    }
}

/* make_gemm() leaves NaN in operands that must not be read. */
TEST(zero_scalars_do_not_read)
{
    test_random random = test_random_for(110);
    for (int i = 0; i < 8; i++) {
        gemm_case p = gemm_like(.alpha = (i & 1) != 0 ? 0 : 1, .beta = (i & 2) != 0 ? 0 : 1,
                                .c_form = i % 3 == 0 ? FORM_SAME : FORM_FULL,
                                .n = (i & 4) != 0 ? 1 : 37, .bias_form = FORM_SCALAR);
        check_gemm(&p, &random);
    }
}

static void check_special(const gemm_case *p, tenon_dtype dtype, const double *specials,
                          test_random *random)
{
    test_fixture f;
    make_gemm(&f, p, dtype, TEST_BOUND, random);
    for (int operand = GEMM_A; operand <= GEMM_BIAS; operand++)
        for (int i = 0; i < 3 && f.operands[operand].image != NULL; i++) {
            int64_t count = tenon_tensor_elements(&f.operands[operand].view);
            test_set(&f.operands[operand], test_between(random, 0, count - 1), specials[i]);
        }
    test_finish(&f, TEST_ALL);
}

TEST(nan_and_infinity_propagate)
{
    static const double specials[][3] = {{NAN, NAN, 0},
                                         {INFINITY, 1, 1},
                                         {-INFINITY, 0, 0},
                                         {INFINITY, -INFINITY, NAN},
                                         {0, -0.0, 0}};
    test_random random = test_random_for(111);
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (size_t act = 0; act <= GEMM_ACTIVATIONS; act++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                gemm_case p = simple_gemm;
                if (act > 0)
                    p.activation = gemm_activations[act - 1];
                p.n = act % 2 == 0 ? 37 : 1;
                p.bias_form = i == 3 ? FORM_FULL : FORM_NONE;
                p.c_form = i == 3 ? FORM_FULL : FORM_NONE;
                p.beta = i == 3 ? 1 : 0;
                check_special(&p, *type, specials[i], &random);
            }
}

/* A 16-bit type: bits of its mantissa, and the lowest exponent whose numbers can be halved twice
 * without a subnormal f32. */
typedef struct half_format {
    tenon_dtype dtype;
    int mantissa, lowest;
} half_format;

static double number_of(const half_format *format, int64_t exponent, int64_t mantissa)
{
    const uint16_t bits = (uint16_t)((exponent << format->mantissa) + mantissa);
    return tn_dtype_load(format->dtype, &bits);
}

/* Makes c all numbers of 31 exponents, three times, and a * b half a unit in their last place, or a
 * little less or more. */
static void fill_ties(test_fixture *f, const half_format *format, const gemm_case *p)
{
    const int64_t mantissas = (int64_t)1 << format->mantissa;
    for (int64_t m = 0; m < p->m; m++) {
        const int64_t exponent = format->lowest + m;
        test_set(&f->operands[GEMM_A], m,
                 number_of(format, exponent, 1) - number_of(format, exponent, 0));
        for (int64_t n = 0; n < p->n; n++)
            test_set(&f->operands[GEMM_C], m * p->n + n,
                     number_of(format, exponent, n % mantissas));
    }
    for (int64_t n = 0; n < p->n; n++) {
        const int64_t third = n / mantissas;
        test_set(&f->operands[GEMM_B], n, 0.5 + (double)(third - 1) / 128);
    }
}

/* Results of 16-bit types are rounded to the nearest number, ties to even, beyond the largest one
 * to infinity. */
TEST(ties_round_to_even)
{
    static const half_format formats[] = {{TENON_DTYPE_F16, 10, 0}, {TENON_DTYPE_BF16, 7, 224}};
    static const char *const solvers[] = {NULL, "gemm/cpu_packed", "gemm/cpu_direct", "gemm/plain"};
    test_random random = test_random_for(118);
    for (int i = 0; i < 6; i++) {
        const half_format *format = &formats[i % 2];
        const double sign = i < 4 ? 1 : -1;
        const gemm_case p = gemm_like(.m = 31, .n = (int64_t)3 << format->mantissa, .k = 1,
                                      .alpha = sign, .beta = sign, .c_form = FORM_FULL,
                                      .d = i / 2 == 1 ? TEST_COL : TEST_ROW, .offset = i / 2);
        test_fixture f;
        make_gemm(&f, &p, format->dtype, TEST_EXACT, &random);
        fill_ties(&f, format, &p);
        test_expect(&f);
        for (size_t s = 0; s < sizeof solvers / sizeof *solvers; s++)
            (void)test_solver(&f, solvers[s]);
        test_release(&f);
    }
}

/* Sizes beyond those of the plain kernel, with several tiles, blocks and work-groups. */
TEST(larger_problems)
{
    static const int64_t sizes[][3] = {{200, 300, 500}, {97, 515, 1000}, {515, 97, 391}};
    test_random random = test_random_for(112);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gemm_case p = gemm_like(.m = sizes[i][0], .n = sizes[i][1], .k = sizes[i][2],
                                .a = (test_layout)i, .b = (test_layout)(TEST_STRIDED - i),
                                .bias_form = FORM_COLUMNS, .activation = gemm_activations[0]);
        check_gemm(&p, &random);
    }
}

TEST(random_problems)
{
    test_random random = test_random_for(113);
    bool f64 = test_has(TENON_CAPABILITY_F64);
    for (int n = 0; n < test_problems(200); n++) {
        gemm_case p = random_gemm(&random);
        check_gemm_typed(&p, n % 3 != 0 || !f64 ? TENON_DTYPE_F32 : TENON_DTYPE_F64, &random);
    }
}

/* Checks that row `row` of batch entry `entry` has the same bits as a problem of its own. */
static void compare_row(const test_fixture *whole, int64_t entry, int64_t row)
{
    const tenon_tensor *d = &whole->operands[GEMM_D].view;
    const int64_t m = d->shape[1], shape[] = {1, 1, d->shape[2]};
    const size_t bytes = (size_t)d->shape[2] * tenon_dtype_size(d->dtype);
    test_tensor single;
    const tenon_tensor dense = tenon_tensor_view(d->dtype, 3, shape);
    test_tensor_create(&single, d->dtype, 3, shape, dense.stride, 0);
    test_upload(&single);
    tenon_tensor a = tenon_tensor_slice(whole->operands[GEMM_A].view, 0, entry, 1);
    a = tenon_tensor_slice(a, 1, row, 1);
    assert_ok(tenon_gemm(test_stream, (const void *)whole->c.params.bytes, &a,
                         &whole->operands[GEMM_B].view, NULL, NULL, &single.view, NULL));
    unsigned char *alone = test_download_bits(&single);
    unsigned char *all = test_download_bits(&whole->operands[GEMM_D]);
    if (memcmp(alone, all + (size_t)(entry * m + row) * bytes, bytes) != 0)
        fail_msg("row %lld of entry %lld has other bits alone: %s", (long long)row,
                 (long long)entry, test_repeat(false));
    free(alone);
    free(all);
    test_tensor_destroy(&single);
}

TEST(rows_do_not_depend_on_the_batch)
{
    test_random random = test_random_for(114);
    for (int i = 0; i < 8; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            test_fixture f;
            gemm_case p = gemm_like(.m = 100, .n = i % 2 == 0 ? 70 : 1, .k = 800, .batch_rank = 1,
                                    .batch[0] = (i & 4) != 0 ? 2 : 1, .b_once = 1,
                                    .b = (i & 2) != 0 ? TEST_COL : TEST_ROW,
                                    .flags = TENON_GEMM_BATCH_INVARIANT);
            make_gemm(&f, &p, *type, TEST_BOUND, &random);
            test_check(&f, TEST_ALL);
            test_solver(&f, NULL);
            for (int64_t entry = 0; entry < p.batch[0] && !test_left_out(); entry++)
                for (int64_t row = 0; row < p.m; row += 33)
                    compare_row(&f, entry, row);
            test_release(&f);
        }
}

TEST(plans_run_again_and_again)
{
    test_random random = test_random_for(115);
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    tenon_plan *plan;
    char line[256];
    gemm_case p = gemm_like(.c_form = FORM_FULL, .beta = 1);
    make_gemm(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    assert_int_equal(test_plan(&f, &plan, memories), GEMM_OPERANDS);
    assert_int_equal(tenon_plan_operands(plan), GEMM_OPERANDS);
    size_t length = tenon_plan_describe(plan, line, sizeof line);
    assert_int_equal(length, strlen(line));
    assert_int_equal(strncmp(line, "gemm/", 5), 0);
    for (int i = 0; i < 3; i++)
        test_run_plan(&f, plan, memories, GEMM_OPERANDS);
    tenon_plan_release(plan);
    test_release(&f);
}

/* Returns true if the correctly rounded result of the mutated problem passes as the original's. */
static bool mutant_passes(const test_fixture *f, const tenon_tensor *a, const tenon_tensor *b)
{
    const tenon_tensor *d = &f->operands[GEMM_D].host;
    const tenon_tensor *const views[] = {a, b, NULL, NULL, d};
    int64_t count = tenon_tensor_elements(d);
    tn_bounded *mutated = malloc((size_t)count * sizeof *mutated);
    double *got = malloc((size_t)count * sizeof *got);
    char why[256];
    if (mutated == NULL || got == NULL)
        abort();
    tn_gemm_reference(f->c.params.bytes, views, mutated);
    for (int64_t i = 0; i < count; i++)
        got[i] = d->dtype == TENON_DTYPE_F32 ? (double)(float)mutated[i].value : mutated[i].value;
    bool passes = test_compare(got, f->expected, count, d->dtype, f->judge, why);
    free(mutated);
    free(got);
    return passes;
}

static void round_elements(test_tensor *tensor, tenon_dtype to)
{
    unsigned char element[8];
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++) {
        tn_dtype_store(to, element, test_get(tensor, i));
        test_set(tensor, i, tn_dtype_load(to, element));
    }
}

/* A kernel that omits the last step of K must be detected: integers detect it at any depth. */
TEST(mutant_without_the_last_step)
{
    static const int64_t depths[] = {1, 41, 385, 5000};
    test_random random = test_random_for(116);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        const gemm_case p = gemm_of(&simple_gemm, 13, 37, depths[i]);
        test_fixture f;
        make_gemm(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        test_fill_value(&f.operands[GEMM_A], 1);
        test_expect(&f);
        const tenon_tensor *a = &f.operands[GEMM_A].host, *b = &f.operands[GEMM_B].host;
        assert_true(mutant_passes(&f, a, b));
        tenon_tensor short_a = tenon_tensor_slice(*a, 1, 0, p.k - 1);
        tenon_tensor short_b = tenon_tensor_slice(*b, 0, 0, p.k - 1);
        assert_false(mutant_passes(&f, &short_a, &short_b));
        test_release(&f);
    }
}

/* A kernel that rounds its inputs to a lower precision must be detected by the bound. */
TEST(mutant_of_lower_precision)
{
    static const tenon_dtype lower[][2] = {{TENON_DTYPE_F32, TENON_DTYPE_BF16},
                                           {TENON_DTYPE_F32, TENON_DTYPE_F16},
                                           {TENON_DTYPE_F64, TENON_DTYPE_F32}};
    static const int64_t depths[] = {1, 41, 500};
    test_random random = test_random_for(117);
    for (int i = 0; i < 9; i++) {
        const gemm_case p = gemm_of(&simple_gemm, 13, 37, depths[i / 3]);
        test_fixture f;
        make_gemm(&f, &p, lower[i % 3][0], TEST_BOUND, &random);
        test_expect(&f);
        const tenon_tensor *a = &f.operands[GEMM_A].host, *b = &f.operands[GEMM_B].host;
        assert_true(mutant_passes(&f, a, b));
        round_elements(&f.operands[GEMM_A], lower[i % 3][1]);
        round_elements(&f.operands[GEMM_B], lower[i % 3][1]);
        assert_false(mutant_passes(&f, a, b));
        test_release(&f);
    }
}

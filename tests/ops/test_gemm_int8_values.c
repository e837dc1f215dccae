/*
 * tenon_gemm for i8 and u8 by what is in its operands: extremes and sums that wrap, rounding and
 * saturation, activations, scalars of zero, scales that are no numbers, and random problems.
 */
#include "gemm_case.h"

#include <math.h>

static void try_case(const gemm_case *p, test_judge judge, test_random *random,
                     void (*set)(test_fixture *f))
{
    test_fixture f;
    make_gemm(&f, p, p->d_type, judge, random);
    set(&f);
    test_finish(&f, TEST_ALL);
}

/* One end of a type's range in all of an operand that is there. */
static void fill_extreme(test_fixture *f, uint32_t operand, bool high)
{
    test_tensor *tensor = test_operand(f, operand);
    if (tensor != NULL)
        test_fill_value(tensor, tensor->view.dtype == TENON_DTYPE_I8 ? (high ? 127 : -128)
                                : high                               ? 255
                                                                     : 0);
}

/* Factors at one end of their range, zero points at the other. */
static void set_extremes(test_fixture *f, bool high)
{
    for (uint32_t i = GEMM_A; i <= GEMM_B; i++) {
        fill_extreme(f, i, high);
        fill_extreme(f, INT8_VECTOR(INT8_ZERO_A) + i, !high);
    }
}

static void set_low(test_fixture *f)
{
    set_extremes(f, false);
}

static void set_high(test_fixture *f)
{
    set_extremes(f, true);
    test_fill_value(&f->operands[GEMM_BIAS], INT32_MAX);
}

/* Up to the depth that cannot wrap, and beyond it. */
TEST(extremes)
{
    static const int64_t depths[] = {256, 384, 515, 1024, 33025, 40000};
    test_random random = test_random_for(1211);
    for (int types = 0; types < 4; types++)
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
            gemm_case p = gemm_of(&simple_int8, 2, 3, depths[i]);
            p.a_type = types % 2 == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
            p.b_type = types / 2 == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
            p.d_type = TENON_DTYPE_I32;
            p.vectors = i % 2 == 0 ? ALL_VECTORS : 0;
            if (p.k > 2000 && types != 3) /* u8 by u8 wraps first */
                continue;
            try_case(&p, TEST_EXACT, &random, set_low);
            p.bias_form = FORM_SCALAR;
            try_case(&p, TEST_EXACT, &random, set_high);
        }
}

/* The suite must catch a kernel that loses the last step of K. */
TEST(mutant_without_the_last_step)
{
    static const int64_t depths[] = {1, 41, 385, 5000};
    test_random random = test_random_for(1222);
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        gemm_case p = gemm_of(&simple_int8, 13, 37, depths[i]);
        test_fixture f;
        char why[256];
        p.d_type = TENON_DTYPE_I32;
        p.vectors = 0;
        make_gemm(&f, &p, p.d_type, TEST_EXACT, &random);
        test_fill_value(&f.operands[GEMM_A], 1);
        test_fill_value(&f.operands[GEMM_B], 1);
        test_expect(&f);
        int64_t count = tenon_tensor_elements(&f.operands[GEMM_D].view);
        double *mutated = malloc((size_t)count * sizeof *mutated);
        assert_non_null(mutated);
        for (int64_t j = 0; j < count; j++)
            mutated[j] = (double)(p.k - (j == count - 1));
        assert_false(test_compare(mutated, f.expected, count, p.d_type, TEST_EXACT, why));
        mutated[count - 1] += 1;
        assert_true(test_compare(mutated, f.expected, count, p.d_type, TEST_EXACT, why));
        free(mutated);
        test_release(&f);
    }
}

/* The scale of d is 1 and its zero point 3; all else is zero but the bias, the values to store. */
static const double stored[][3] = {
    /* value, i8, u8 */
    {0.5, 3, 3},       {1.5, 5, 5},          {2.5, 5, 5},          {-0.5, 3, 3},
    {-1.5, 1, 1},      {-2.5, 1, 1},         {123.5, 127, 127},    {124.5, 127, 127},
    {125.5, 127, 129}, {-3.5, -1, 0},        {-130.5, -127, 0},    {-131.5, -128, 0},
    {251.5, 127, 255}, {252.5, 127, 255},    {254, 127, 255},      {1e30, 127, 255},
    {-1e30, -128, 0},  {INFINITY, 127, 255}, {-INFINITY, -128, 0}, {NAN, 3, 3},
};
#define STORED ((int64_t)(sizeof stored / sizeof *stored))

static void set_stored(test_fixture *f)
{
    test_fill_value(&f->operands[GEMM_A], 0);
    test_fill_value(&f->operands[GEMM_B], 0);
    test_fill_value(&f->operands[INT8_VECTOR(INT8_SCALE_D)], 1);
    test_fill_value(&f->operands[INT8_VECTOR(INT8_ZERO_D)], 3);
    for (int64_t i = 0; i < STORED; i++)
        test_set(&f->operands[GEMM_BIAS], i, stored[i][0]);
}

TEST(bytes_are_rounded_and_saturated)
{
    test_random random = test_random_for(1212);
    for (int sign = 0; sign < 2; sign++) {
        gemm_case p = simple_int8;
        test_fixture f;
        p.n = STORED;
        p.bias_form = FORM_COLUMNS;
        p.d_type = sign == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
        p.vectors = 1U << INT8_SCALE_D | 1U << INT8_ZERO_D;
        make_gemm(&f, &p, p.d_type, TEST_EXACT, &random);
        set_stored(&f);
        test_check(&f, TEST_ALL);
        for (int64_t i = 0; i < STORED; i++)
            assert_true(f.expected[i].value == stored[i][1 + sign]);
        test_release(&f);
    }
}

TEST(every_activation)
{
    test_random random = test_random_for(1213);
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++)
        for (const tenon_dtype *d = int8_results; *d != TENON_DTYPE_INVALID; d++) {
            gemm_case p = simple_int8;
            p.activation = gemm_activations[i];
            p.d_type = *d;
            if (*d == TENON_DTYPE_I32 && p.activation.kind != TENON_ACTIVATION_RELU &&
                p.activation.kind != TENON_ACTIVATION_CLIPPED_RELU)
                continue;
            p.alpha = *d == TENON_DTYPE_I32 ? 1 : 0.25;
            p.many = ALL_VECTORS;
            check_gemm(&p, &random);
        }
}

/* make_gemm() leaves rubbish in what must not be read: NaN in scales. */
TEST(zero_scalars_do_not_read)
{
    test_random random = test_random_for(1214);
    for (int i = 0; i < 8; i++) {
        gemm_case p = simple_int8;
        p.alpha = (i & 1) != 0 ? 0 : 1;
        p.beta = (i & 2) != 0 ? 0 : 1;
        p.c_form = i % 3 == 0 ? FORM_SAME : FORM_FULL;
        p.n = (i & 4) != 0 ? 1 : 37;
        p.bias_form = FORM_SCALAR;
        p.bias_i32 = i % 2 == 0;
        p.many = ALL_VECTORS;
        check_gemm(&p, &random);
    }
}

static double special; /* what set_scales puts into one entry of each scale */

static void set_scales(test_fixture *f)
{
    for (uint32_t i = INT8_SCALE_A; i <= INT8_SCALE_D; i++)
        if (f->operands[INT8_VECTOR(i)].image != NULL)
            test_set(&f->operands[INT8_VECTOR(i)], 5 + i, special);
}

TEST(scales_that_are_no_numbers)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0};
    test_random random = test_random_for(1215);
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (const tenon_dtype *d = int8_results + 1; *d != TENON_DTYPE_INVALID; d++) {
            gemm_case p = simple_int8;
            p.d_type = *d;
            p.many = ALL_VECTORS;
            special = specials[i];
            try_case(&p, TEST_BOUND, &random, set_scales);
        }
}

/* Beyond what the plain kernel is chosen for, and over several blocks and work-groups. */
TEST(larger_problems)
{
    static const int64_t sizes[][3] = {{200, 300, 500}, {97, 515, 1000}, {515, 97, 391}};
    test_random random = test_random_for(1216);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gemm_case p = gemm_of(&simple_int8, sizes[i][0], sizes[i][1], sizes[i][2]);
        p.a = (test_layout)i;
        p.b = (test_layout)(TEST_STRIDED - i);
        p.bias_form = FORM_COLUMNS;
        p.alpha = i == 2 ? 1 : 0.01; /* i32 has no other */
        p.d_type = int8_results[(i + 4) % INT8_RESULTS];
        p.bias_i32 = true;
        p.many = ALL_VECTORS;
        check_gemm(&p, &random);
    }
}

static gemm_case random_case(tenon_dtype d, test_random *random)
{
    bool whole = d == TENON_DTYPE_I32, bytes = d == TENON_DTYPE_I8 || d == TENON_DTYPE_U8;
    gemm_case p = random_gemm(random);
    p.d_type = d;
    p.b = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    if (bytes && p.c_form == FORM_SAME)
        p.c_form = FORM_NONE;
    p.alpha = whole ? 1 : p.alpha;
    p.beta = p.c_form == FORM_NONE ? 0 : whole ? 1 : p.beta;
    if (whole && p.activation.kind == TENON_ACTIVATION_LEAKY_RELU)
        p.activation = gemm_activations[0];
    if (p.d == TEST_ROW || p.d == TEST_PITCH)
        p.flags = test_one_in(random, 4) ? TENON_GEMM_BATCH_INVARIANT : 0;
    p.a_type = test_one_in(random, 2) ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
    p.b_type = test_one_in(random, 2) ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
    p.bias_i32 = test_one_in(random, 2);
    p.vectors = (uint32_t)test_between(random, 0, ALL_VECTORS);
    p.many = (uint32_t)test_between(random, 0, ALL_VECTORS);
    return p;
}

TEST(random_problems)
{
    test_random random = test_random_for(1217);
    for (int i = 0; i < test_problems(20); i++)
        for (const tenon_dtype *d = int8_results; *d != TENON_DTYPE_INVALID; d++) {
            const gemm_case p = random_case(*d, &random);
            test_fixture f;
            make_gemm(&f, &p, *d, i % 2 == 0 ? TEST_BOUND : TEST_EXACT, &random);
            test_finish(&f, TEST_ONCE);
        }
}

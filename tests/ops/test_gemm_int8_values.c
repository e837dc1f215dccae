/*
 * tenon_gemm for i8 and u8 by what is in its operands: extremes and sums that wrap, rounding and
 * saturation, activations, scalars of zero, scales that are no numbers, and random problems.
 */
#include "int8_case.h"

#include <math.h>

static void try_case(const int8_case *p, test_judge judge, test_random *random,
                     void (*set)(int8_data *data))
{
    int8_data data;
    make_int8(&data, p, judge, random);
    set(&data);
    try_int8(&data);
    destroy_int8(&data);
}

static double extreme(tenon_dtype dtype, bool high)
{
    return dtype == TENON_DTYPE_I8 ? (high ? 127 : -128) : high ? 255 : 0;
}

/* Factors at one end of their range, zero points at the other. */
static void set_low(int8_data *data)
{
    test_tensor *operands = data->gemm.operands;
    test_fill_value(&operands[GEMM_A], extreme(data->problem.a, false));
    test_fill_value(&operands[GEMM_B], extreme(data->problem.b, false));
    for (int i = INT8_ZERO_A; i <= INT8_ZERO_B; i++)
        if (data->vectors[i].image != NULL)
            test_fill_value(&data->vectors[i], extreme(data->vectors[i].view.dtype, true));
}

static void set_high(int8_data *data)
{
    test_tensor *operands = data->gemm.operands;
    test_fill_value(&operands[GEMM_A], extreme(data->problem.a, true));
    test_fill_value(&operands[GEMM_B], extreme(data->problem.b, true));
    for (int i = INT8_ZERO_A; i <= INT8_ZERO_B; i++)
        if (data->vectors[i].image != NULL)
            test_fill_value(&data->vectors[i], extreme(data->vectors[i].view.dtype, false));
    if (operands[GEMM_BIAS].image != NULL)
        test_fill_value(&operands[GEMM_BIAS], INT32_MAX);
}

/* Up to the depth that cannot wrap, and beyond it. */
static void extremes(void **state)
{
    static const int64_t depths[] = {256, 384, 515, 1024, 33025, 40000};
    test_random random = test_random_for(1211);
    (void)state;
    for (int types = 0; types < 4; types++)
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
            int8_case p = simple_int8;
            p.a = types % 2 == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
            p.b = types / 2 == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
            p.d = TENON_DTYPE_I32;
            p.gemm.m = 2;
            p.gemm.n = 3;
            p.gemm.k = depths[i];
            p.vectors = i % 2 == 0 ? ALL_VECTORS : 0;
            if (p.gemm.k > 2000 && types != 3) /* u8 by u8 wraps first */
                continue;
            try_case(&p, TEST_EXACT, &random, set_low);
            p.gemm.bias_form = FORM_SCALAR;
            try_case(&p, TEST_EXACT, &random, set_high);
        }
}

/* The suite must catch a kernel that loses the last step of K. */
static void mutant_without_the_last_step(void **state)
{
    static const int64_t depths[] = {1, 41, 385, 5000};
    test_random random = test_random_for(1222);
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        int8_case p = simple_int8;
        int8_data data;
        char why[256];
        p.d = TENON_DTYPE_I32;
        p.gemm.k = depths[i];
        p.vectors = 0;
        make_int8(&data, &p, TEST_EXACT, &random);
        test_fill_value(&data.gemm.operands[GEMM_A], 1);
        test_fill_value(&data.gemm.operands[GEMM_B], 1);
        compute_int8_reference(&data);
        int64_t count = tenon_tensor_elements(&data.gemm.operands[GEMM_D].view);
        double *mutated = malloc((size_t)count * sizeof *mutated);
        assert_non_null(mutated);
        for (int64_t j = 0; j < count; j++)
            mutated[j] = (double)(p.gemm.k - (j == count - 1));
        assert_false(test_compare(mutated, data.expected, count, p.d, TEST_EXACT, why));
        mutated[count - 1] += 1;
        assert_true(test_compare(mutated, data.expected, count, p.d, TEST_EXACT, why));
        free(mutated);
        destroy_int8(&data);
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

static void set_stored(int8_data *data)
{
    test_tensor *operands = data->gemm.operands;
    test_fill_value(&operands[GEMM_A], 0);
    test_fill_value(&operands[GEMM_B], 0);
    test_fill_value(&data->vectors[INT8_SCALE_D], 1);
    test_fill_value(&data->vectors[INT8_ZERO_D], 3);
    for (int64_t i = 0; i < STORED; i++)
        test_set(&operands[GEMM_BIAS], i, stored[i][0]);
}

static void bytes_are_rounded_and_saturated(void **state)
{
    test_random random = test_random_for(1212);
    (void)state;
    for (int sign = 0; sign < 2; sign++) {
        int8_case p = simple_int8;
        int8_data data;
        p.gemm.n = STORED;
        p.gemm.bias_form = FORM_COLUMNS;
        p.d = sign == 0 ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
        p.vectors = 1U << INT8_SCALE_D | 1U << INT8_ZERO_D;
        make_int8(&data, &p, TEST_EXACT, &random);
        set_stored(&data);
        try_int8(&data);
        for (int64_t i = 0; i < STORED; i++)
            assert_true(data.expected[i].value == stored[i][1 + sign]);
        destroy_int8(&data);
    }
}

static void every_activation(void **state)
{
    test_random random = test_random_for(1213);
    (void)state;
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++)
        for (const tenon_dtype *d = int8_results; *d != TENON_DTYPE_INVALID; d++) {
            int8_case p = simple_int8;
            p.gemm.activation = gemm_activations[i];
            p.d = *d;
            if (*d == TENON_DTYPE_I32 && p.gemm.activation.kind != TENON_ACTIVATION_RELU &&
                p.gemm.activation.kind != TENON_ACTIVATION_CLIPPED_RELU)
                continue;
            p.gemm.alpha = *d == TENON_DTYPE_I32 ? 1 : 0.25;
            p.many = ALL_VECTORS;
            check_int8(&p, &random);
        }
}

/* make_int8() leaves rubbish in what must not be read: NaN in scales. */
static void zero_scalars_do_not_read(void **state)
{
    test_random random = test_random_for(1214);
    (void)state;
    for (int i = 0; i < 8; i++) {
        int8_case p = simple_int8;
        p.gemm.alpha = (i & 1) != 0 ? 0 : 1;
        p.gemm.beta = (i & 2) != 0 ? 0 : 1;
        p.gemm.c_form = i % 3 == 0 ? FORM_SAME : FORM_FULL;
        p.gemm.n = (i & 4) != 0 ? 1 : 37;
        p.gemm.bias_form = FORM_SCALAR;
        p.bias_i32 = i % 2 == 0;
        p.many = ALL_VECTORS;
        check_int8(&p, &random);
    }
}

static double special; /* what set_scales puts into one entry of each scale */

static void set_scales(int8_data *data)
{
    for (int i = INT8_SCALE_A; i <= INT8_SCALE_D; i++)
        if (data->vectors[i].image != NULL)
            test_set(&data->vectors[i], 5 + i, special);
}

static void scales_that_are_no_numbers(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY, 0};
    test_random random = test_random_for(1215);
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (const tenon_dtype *d = int8_results + 1; *d != TENON_DTYPE_INVALID; d++) {
            int8_case p = simple_int8;
            p.d = *d;
            p.many = ALL_VECTORS;
            special = specials[i];
            try_case(&p, TEST_BOUND, &random, set_scales);
        }
}

/* Beyond what the plain kernel is chosen for, and over several blocks and work-groups. */
static void larger_problems(void **state)
{
    static const int64_t sizes[][3] = {{200, 300, 500}, {97, 515, 1000}, {515, 97, 391}};
    test_random random = test_random_for(1216);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int8_case p = simple_int8;
        p.gemm.m = sizes[i][0];
        p.gemm.n = sizes[i][1];
        p.gemm.k = sizes[i][2];
        p.gemm.a = (test_layout)i;
        p.gemm.b = (test_layout)(TEST_STRIDED - i);
        p.gemm.bias_form = FORM_COLUMNS;
        p.gemm.alpha = i == 2 ? 1 : 0.01; /* i32 has no other */
        p.d = int8_results[(i + 4) % 6];
        p.bias_i32 = true;
        p.many = ALL_VECTORS;
        check_int8(&p, &random);
    }
}

static int64_t random_size(test_random *random)
{
    return test_one_in(random, 4) ? 1 : test_between(random, 1, test_one_in(random, 4) ? 150 : 40);
}

static void random_layouts(gemm_case *p, test_random *random)
{
    p->batch_rank = test_one_in(random, 2) ? 0 : (uint32_t)test_between(random, 1, MAX_BATCH_RANK);
    for (uint32_t i = 0; i < p->batch_rank; i++)
        p->batch[i] = test_between(random, 1, 3);
    p->a_once = (uint32_t)test_between(random, 0, 7);
    p->b_once = (uint32_t)test_between(random, 0, 7);
    p->a_flat = test_one_in(random, 4);
    p->b_flat = test_one_in(random, 4);
    p->a = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p->b = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p->c = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p->d = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p->gap = test_one_in(random, 2);
    p->offset = test_between(random, 0, 9);
}

static int8_case random_case(tenon_dtype d, test_random *random)
{
    static const double scalars[] = {1, 1, 0.5, -2, 0};
    bool whole = d == TENON_DTYPE_I32, bytes = d == TENON_DTYPE_I8 || d == TENON_DTYPE_U8;
    int8_case p = {.d = d};
    gemm_case *g = &p.gemm;
    g->m = random_size(random);
    g->n = random_size(random);
    g->k = test_one_in(random, 5) ? test_between(random, 200, 900) : test_between(random, 0, 60);
    random_layouts(g, random);
    g->c_form = (gemm_form)test_between(random, 0, bytes ? FORM_SCALAR : FORM_SAME);
    g->bias_form = (gemm_form)test_between(random, 0, FORM_SCALAR);
    g->alpha = whole ? 1 : scalars[test_between(random, 0, 4)];
    g->beta = g->c_form == FORM_NONE ? 0 : whole ? 1 : scalars[test_between(random, 0, 4)];
    if (test_one_in(random, 2))
        g->activation = gemm_activations[whole || test_one_in(random, 2) ? 0 : 2];
    if (g->d == TEST_ROW || g->d == TEST_PITCH)
        g->flags = test_one_in(random, 4) ? TENON_GEMM_BATCH_INVARIANT : 0;
    p.a = test_one_in(random, 2) ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
    p.b = test_one_in(random, 2) ? TENON_DTYPE_I8 : TENON_DTYPE_U8;
    p.bias_i32 = test_one_in(random, 2);
    p.vectors = (uint32_t)test_between(random, 0, ALL_VECTORS);
    p.many = (uint32_t)test_between(random, 0, ALL_VECTORS);
    int64_t products = g->m * g->n * g->k;
    for (uint32_t i = 0; i < g->batch_rank; i++)
        products *= g->batch[i];
    if (products > 400000) /* the reference is slow */
        g->k = g->k * 400000 / products;
    return p;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(1217);
    (void)state;
    for (int i = 0; i < test_problems(20); i++)
        for (const tenon_dtype *d = int8_results; *d != TENON_DTYPE_INVALID; d++) {
            int8_case p = random_case(*d, &random);
            int8_data data;
            make_int8(&data, &p, i % 2 == 0 ? TEST_BOUND : TEST_EXACT, &random);
            compute_int8_reference(&data);
            upload_int8(&data);
            const test_subject subject = int8_subject(&data);
            test_run(&subject, NULL);
            destroy_int8(&data);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(extremes),
        cmocka_unit_test(mutant_without_the_last_step),
        cmocka_unit_test(bytes_are_rounded_and_saturated),
        cmocka_unit_test(every_activation),
        cmocka_unit_test(zero_scalars_do_not_read),
        cmocka_unit_test(scales_that_are_no_numbers),
        cmocka_unit_test(larger_problems),
        cmocka_unit_test(random_problems),
    };
    return TEST_MAIN(tests);
}

/*
 * tenon_gemm_ragged against its reference: groups of every size, offsets that are no partition,
 * layouts, forms of c and the bias, special values, and calls that are refused.
 */
#include "gemm_case.h"

#include "ops/gemm/ragged.h"
#include "ops/registry.h"

#include <math.h>

/* How the offsets divide the rows. */
typedef enum division {
    EVENLY,
    AT_RANDOM, /* all rows, some groups empty */
    WITHIN,    /* rows before and after all groups */
    ALL_EMPTY,
    RUBBISH, /* any numbers at all */
    DIVISIONS
} division;

typedef struct ragged_case {
    int64_t rows, k, n, groups;
    division division;
    test_layout a, b, c, d;
    bool gap; /* between the matrices of b */
    int64_t offset;
    gemm_form c_form, bias_form; /* the bias: FORM_FULL is groups by columns */
    double alpha, beta;
    tenon_activation activation;
} ragged_case;

static const ragged_case simple_ragged = {.rows = 29, .k = 41, .n = 37, .groups = 4, .alpha = 1};

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t any_offset(const ragged_case *p, test_random *random)
{
    static const int64_t odd[] = {INT32_MIN, -1, 0, INT32_MAX};
    return test_one_in(random, 3) ? odd[test_between(random, 0, 3)]
                                  : test_between(random, -3, p->rows + 3);
}

static void fill_offsets(test_fixture *f, const ragged_case *p, test_random *random)
{
    int64_t *offsets = calloc((size_t)p->groups + 1, sizeof *offsets);
    assert_non_null(offsets);
    for (int64_t g = 0; g <= p->groups; g++)
        offsets[g] = p->division == EVENLY    ? p->rows * g / p->groups
                     : p->division == RUBBISH ? any_offset(p, random)
                     : p->division == ALL_EMPTY
                         ? p->rows / 2
                         : test_between(random, p->division == WITHIN && p->rows > 1, p->rows - 1);
    if (p->division == AT_RANDOM) {
        offsets[0] = 0;
        offsets[p->groups] = p->rows;
    }
    if (p->division == AT_RANDOM || p->division == WITHIN)
        qsort(offsets, (size_t)p->groups + 1, sizeof *offsets, compare_offsets);
    for (int64_t g = 0; g <= p->groups; g++)
        test_set(&f->operands[RAGGED_OFFSETS], g, (double)offsets[g]);
    free(offsets);
}

static void begin(test_fixture *f, const ragged_case *p, tenon_dtype dtype)
{
    const int64_t a[] = {p->rows, p->k}, b[] = {p->groups, p->k, p->n}, d[] = {p->rows, p->n};
    const int64_t offsets[] = {p->groups + 1};
    test_begin(f, &tn_operation_gemm_ragged);
    tenon_epilogue *epilogue = &test_params(f, tenon_gemm_ragged_params)->epilogue;
    epilogue->alpha = p->alpha;
    epilogue->beta = p->beta;
    epilogue->activation = p->activation;
    f->c.views[RAGGED_A] = test_view(dtype, p->a, false, 2, a, p->offset);
    f->c.views[RAGGED_B] = test_view(dtype, p->b, p->gap, 3, b, p->offset);
    f->c.views[RAGGED_D] = test_view(dtype, p->d, false, 2, d, p->offset);
    f->c.views[RAGGED_C] = gemm_term(dtype, p->c_form, p->c, p->rows, p->n, p->offset);
    f->c.views[RAGGED_BIAS] =
        gemm_term(dtype, p->bias_form, TEST_PITCH, p->groups, p->n, p->offset);
    f->c.views[RAGGED_OFFSETS] = test_view(TENON_DTYPE_I32, TEST_ROW, false, 1, offsets, p->offset);
    f->c.views[RAGGED_OFFSETS].stride[0] = p->offset % 2 + 1;
    if (p->c_form == FORM_SAME)
        f->c.same[RAGGED_C] = 1 + RAGGED_D;
}

/* Filled for the judge. What must not be read is left poisoned. */
static void make(test_fixture *f, const ragged_case *p, tenon_dtype dtype, test_judge judge,
                 test_random *random)
{
    begin(f, p, dtype);
    test_make(f);
    f->judge = judge;
    fill_offsets(f, p, random);
    if (p->alpha != 0) {
        test_fill(&f->operands[RAGGED_A], judge, random);
        test_fill(&f->operands[RAGGED_B], judge, random);
    }
    /* Rows of no group keep what is there; poison would hide that it was replaced by another NaN.
     */
    if (p->c_form == FORM_SAME || p->division > AT_RANDOM)
        test_fill(&f->operands[RAGGED_D], judge, random);
    if (p->c_form != FORM_SAME && p->c_form != FORM_NONE && p->beta != 0)
        test_fill(&f->operands[RAGGED_C], judge, random);
    if (p->bias_form != FORM_NONE)
        test_fill(&f->operands[RAGGED_BIAS], judge, random);
}

/* Tries every solver on random reals and, where the result can be exact, on integers: in one type,
 * or in every type of test_float_types(). */
static void check_ragged_typed(const ragged_case *p, tenon_dtype dtype, test_random *random)
{
    const bool exact = !tn_activation_is_build(p->activation.kind);
    for (int judge = TEST_BOUND; judge <= (exact ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        make(&f, p, dtype, (test_judge)judge, random);
        test_finish(&f, TEST_ALL);
    }
}

static void check_ragged(const ragged_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_ragged_typed(p, *type, random);
}

static void empty_products(void **state)
{
    test_random random = test_random_for(801);
    (void)state;
    for (int i = 0; i < 4; i++) {
        ragged_case p = simple_ragged;
        *(i == 0 ? &p.rows : i == 1 ? &p.n : i == 2 ? &p.groups : &p.k) = 0;
        p.division = RUBBISH;
        p.bias_form = FORM_FULL;
        check_ragged(&p, &random);
    }
}

static void every_division(void **state)
{
    static const int64_t groups[] = {1, 2, 7, 40};
    test_random random = test_random_for(802);
    (void)state;
    for (int i = 0; i < DIVISIONS; i++)
        for (int g = 0; g < 4; g++) {
            ragged_case p = simple_ragged;
            p.division = (division)i;
            p.groups = groups[g];
            p.bias_form = FORM_FULL;
            check_ragged(&p, &random);
        }
}

/* One below, at and one above each tile edge: rows 6, 32, 64, columns 32, 64, depth 384. */
static void sizes_around_tile_edges(void **state)
{
    static const int64_t rows[] = {1, 5, 6, 7, 12, 31, 32, 33, 63, 64, 65, 129};
    static const int64_t columns[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    static const int64_t depths[] = {1, 2, 15, 16, 17, 383, 384, 385, 769};
    test_random random = test_random_for(803);
    ragged_case p;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        p = simple_ragged;
        p.rows = rows[i] + (int64_t)i % 3;
        p.groups = (int64_t)i % 3 + 1;
        check_ragged(&p, &random);
        p = simple_ragged;
        p.n = columns[i];
        p.division = AT_RANDOM;
        check_ragged(&p, &random);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        p = simple_ragged;
        p.k = depths[i];
        check_ragged(&p, &random);
    }
}

static void every_layout(void **state)
{
    test_random random = test_random_for(804);
    (void)state;
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++) {
            ragged_case p = simple_ragged;
            p.a = (test_layout)a;
            p.b = (test_layout)b;
            p.d = (test_layout)((a + b) % TEST_LAYOUTS);
            p.gap = (a + b) % 2 != 0;
            p.offset = a + b;
            p.division = WITHIN;
            if (a == b) /* each pair is a build of its own */
                check_ragged(&p, &random);
            else
                check_ragged_typed(&p, TENON_DTYPE_F32, &random);
        }
}

static void every_form_of_c_and_bias(void **state)
{
    test_random random = test_random_for(805);
    (void)state;
    for (int c = 0; c < FORMS; c++)
        for (int bias = 0; bias < FORM_SAME; bias++) {
            ragged_case p = simple_ragged;
            p.c_form = (gemm_form)c;
            p.c = (test_layout)(bias % TEST_LAYOUTS);
            p.bias_form = (gemm_form)bias;
            p.beta = c == FORM_NONE ? 0 : -0.5;
            p.alpha = 2;
            p.division = (division)((c + bias) % DIVISIONS);
            p.d = (c + bias) % 3 == 0 ? TEST_COL : TEST_PITCH;
            check_ragged(&p, &random);
        }
}

static void activations_and_zero_scalars(void **state)
{
    test_random random = test_random_for(806);
    (void)state;
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++) {
        ragged_case p = simple_ragged;
        p.activation = gemm_activations[i];
        p.bias_form = FORM_COLUMNS;
        p.alpha = i == 1 ? 0 : 1;
        p.c_form = i == 2 ? FORM_FULL : FORM_NONE;
        p.division = AT_RANDOM;
        if (tn_activation_is_build(p.activation.kind)) /* for which each type is one more */
            check_ragged_typed(&p, TENON_DTYPE_F32, &random);
        else
            check_ragged(&p, &random);
    }
}

static void nan_and_infinity_propagate(void **state)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(807);
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int operand = RAGGED_A; operand <= RAGGED_BIAS; operand++) {
            test_fixture f;
            ragged_case p = simple_ragged;
            if (operand == RAGGED_OFFSETS)
                continue;
            p.c_form = p.bias_form = FORM_FULL;
            p.beta = 1;
            make(&f, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            int64_t count = tenon_tensor_elements(&f.operands[operand].view);
            test_set(&f.operands[operand], test_between(&random, 0, count - 1), specials[i]);
            test_finish(&f, TEST_ALL);
        }
}

static void larger_problems(void **state)
{
    test_random random = test_random_for(808);
    ragged_case p = simple_ragged;
    (void)state;
    p.rows = 203;
    p.n = 150;
    p.k = 500;
    p.division = AT_RANDOM;
    check_ragged_typed(&p, TENON_DTYPE_F32, &random);
    p.division = RUBBISH;
    check_ragged_typed(&p, TENON_DTYPE_BF16, &random);
}

static void random_problems(void **state)
{
    test_random random = test_random_for(809);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = test_problems(20); i > 0; i--) {
            test_fixture f;
            ragged_case p = {.rows = test_between(&random, 1, 90),
                             .k = test_between(&random, 0, 90),
                             .n = test_between(&random, 1, 90),
                             .groups = test_between(&random, 1, 12),
                             .division = (division)test_between(&random, 0, DIVISIONS - 1),
                             .a = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1),
                             .c = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1),
                             .d = (test_layout)test_between(&random, 0, TEST_LAYOUTS - 1),
                             .gap = test_one_in(&random, 2),
                             .offset = test_between(&random, 0, 9),
                             .c_form = (gemm_form)test_between(&random, 0, FORMS - 1),
                             .bias_form = (gemm_form)test_between(&random, 0, FORM_SCALAR),
                             .alpha = test_real(&random, -2, 2)};
            p.b = p.a; /* every pair has been tried */
            p.beta = p.c_form == FORM_NONE ? 0 : 0.5;
            p.activation = gemm_activations[test_between(&random, 0, 2)];
            make(&f, &p, *type, TEST_BOUND, &random);
            test_finish(&f, TEST_ONCE);
        }
}

/* A plan's offsets are those that the memory holds when it runs. */
static void plans_read_new_offsets(void **state)
{
    test_random random = test_random_for(810);
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    ragged_case p = simple_ragged;
    tenon_plan *plan;
    (void)state;
    p.division = WITHIN;
    make(&f, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    assert_int_equal(test_plan(&f, &plan, memories), RAGGED_OPERANDS);
    for (int i = 0; i < 3; i++) {
        for (int64_t g = 0; g <= p.groups; g++)
            test_set(&f.operands[RAGGED_OFFSETS], g, (double)(g * (i + 3)));
        test_upload(&f.operands[RAGGED_OFFSETS]);
        test_run_plan(&f, plan, memories, RAGGED_OPERANDS);
    }
    tenon_plan_release(plan);
    test_release(&f);
}

#define CALL(a, b, offsets) "gemm_ragged a=f32:29x" a " b=" b " offsets=" offsets " d=f32:29x37 "

static void bad_shapes_and_types(void **state)
{
    static const test_refusal refusals[] = {
        {CALL("40", "f32:4x41x37", "i32:5"), TENON_ERROR_INVALID_ARGUMENT, "sizes"},
        {CALL("41", "f32:4x41", "i32:5"), TENON_ERROR_INVALID_ARGUMENT, "b"},
        {CALL("41", "f32:4x41x37", "i32:4"), TENON_ERROR_INVALID_ARGUMENT, "offsets"},
        {CALL("41", "f32:4x41x37", "i32:5") "bias=f32:3x37", TENON_ERROR_INVALID_ARGUMENT, "bias"},
        {CALL("41", "f32:4x41x37", "i32:5") "beta=1", TENON_ERROR_INVALID_ARGUMENT, "c"},
        {CALL("41", "f32:4x41x37", "f32:5"), TENON_ERROR_UNSUPPORTED, "offsets"},
        {CALL("41", "i32:4x41x37", "i32:5"), TENON_ERROR_UNSUPPORTED, "b"},
    };
    (void)state;
    TEST_REFUSE(refusals);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_products),
        cmocka_unit_test(every_division),
        cmocka_unit_test(sizes_around_tile_edges),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(every_form_of_c_and_bias),
        cmocka_unit_test(activations_and_zero_scalars),
        cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(larger_problems),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(plans_read_new_offsets),
        cmocka_unit_test(bad_shapes_and_types),
    };
    return TEST_MAIN(tests);
}

/*
 * Tests tenon_gemm_ragged against its reference: groups of every size, offsets that are no
 * partition, layouts, forms of c and the bias, special values, and refused calls.
 */
#include "gemm_case.h"

#include "ops/gemm/ragged.h"
#include "ops/registry.h"

#include <math.h>

/* Division of the rows by the offsets. */
typedef enum division {
    EVENLY,
    AT_RANDOM, /* all rows, some groups empty */
    WITHIN,    /* rows before and after all groups */
    ALL_EMPTY,
    RUBBISH, /* arbitrary numbers */
    DIVISIONS
} division;

/* Returns a case with rows in place of M and groups in place of a batch. Its bias of FORM_FULL has
 * shape groups x columns. */
static gemm_case ragged_of(int64_t rows, int64_t n, int64_t k, int64_t groups)
{
    gemm_case p = gemm_like(.m = rows, .n = n, .k = k, .batch[0] = groups);
    return p;
}

static gemm_case usual(void)
{
    return ragged_of(29, 37, 41, 4);
}

static int compare_offsets(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static int64_t any_offset(const gemm_case *p, test_random *random)
{
    static const int64_t odd[] = {INT32_MIN, -1, 0, INT32_MAX};
    return test_one_in(random, 3) ? odd[test_between(random, 0, 3)]
                                  : test_between(random, -3, p->m + 3);
}

static void fill_offsets(test_fixture *f, const gemm_case *p, division how, test_random *random)
{
    int64_t *offsets = calloc((size_t)p->batch[0] + 1, sizeof *offsets);
    assert_non_null(offsets);
    for (int64_t g = 0; g <= p->batch[0]; g++)
        offsets[g] = how == EVENLY      ? p->m * g / p->batch[0]
                     : how == RUBBISH   ? any_offset(p, random)
                     : how == ALL_EMPTY ? p->m / 2
                                        : test_between(random, how == WITHIN && p->m > 1, p->m - 1);
    if (how == AT_RANDOM) {
        offsets[0] = 0;
        offsets[p->batch[0]] = p->m;
    }
    if (how == AT_RANDOM || how == WITHIN)
        qsort(offsets, (size_t)p->batch[0] + 1, sizeof *offsets, compare_offsets);
    for (int64_t g = 0; g <= p->batch[0]; g++)
        test_set(&f->operands[RAGGED_OFFSETS], g, (double)offsets[g]);
    free(offsets);
}

static void begin(test_fixture *f, const gemm_case *p, tenon_dtype dtype)
{
    const int64_t a[] = {p->m, p->k}, b[] = {p->batch[0], p->k, p->n}, d[] = {p->m, p->n};
    const int64_t offsets[] = {p->batch[0] + 1};
    test_begin(f, &tn_operation_gemm_ragged);
    tenon_epilogue *epilogue = &test_params(f, tenon_gemm_ragged_params)->epilogue;
    epilogue->alpha = p->alpha;
    epilogue->beta = p->beta;
    epilogue->activation = p->activation;
    f->c.views[RAGGED_A] = test_view(dtype, p->a, false, 2, a, p->offset);
    f->c.views[RAGGED_B] = test_view(dtype, p->b, p->gap, 3, b, p->offset);
    f->c.views[RAGGED_D] = test_view(dtype, p->d, false, 2, d, p->offset);
    f->c.views[RAGGED_C] = gemm_term(dtype, p->c_form, p->c, p->m, p->n, p->offset);
    f->c.views[RAGGED_BIAS] =
        gemm_term(dtype, p->bias_form, TEST_PITCH, p->batch[0], p->n, p->offset);
    f->c.views[RAGGED_OFFSETS] = test_view(TENON_DTYPE_I32, TEST_ROW, false, 1, offsets, p->offset);
    f->c.views[RAGGED_OFFSETS].stride[0] = p->offset % 2 + 1;
    if (p->c_form == FORM_SAME)
        f->c.same[RAGGED_C] = 1 + RAGGED_D;
}

/* Begins a call and fills its operands as the judge requires; operands that must not be read remain
 * poisoned. */
static void make(test_fixture *f, const gemm_case *p, division how, tenon_dtype dtype,
                 test_judge judge, test_random *random)
{
    begin(f, p, dtype);
    test_make(f);
    f->judge = judge;
    fill_offsets(f, p, how, random);
    if (p->alpha != 0) {
        test_fill(&f->operands[RAGGED_A], judge, random);
        test_fill(&f->operands[RAGGED_B], judge, random);
    }
    /* Rows in no group keep their values. Poison would not show it if another NaN replaced them. */
    if (p->c_form == FORM_SAME || how > AT_RANDOM)
        test_fill(&f->operands[RAGGED_D], judge, random);
    if (p->c_form != FORM_SAME && p->c_form != FORM_NONE && p->beta != 0)
        test_fill(&f->operands[RAGGED_C], judge, random);
    if (p->bias_form != FORM_NONE)
        test_fill(&f->operands[RAGGED_BIAS], judge, random);
}

/* Run every solver on random reals and, if the result can be exact, on integers: in one type, or in
 * every type of test_float_types(). */
static void check_ragged_typed(const gemm_case *p, division how, tenon_dtype dtype,
                               test_random *random)
{
    for (int judge = TEST_BOUND; judge <= (gemm_is_exact(p) ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        make(&f, p, how, dtype, (test_judge)judge, random);
        test_finish(&f, TEST_ALL);
    }
}

static void check_ragged(const gemm_case *p, division how, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_ragged_typed(p, how, *type, random);
}

TEST(empty_products)
{
    test_random random = test_random_for(801);
    for (int i = 0; i < 4; i++) {
        gemm_case p = usual();
        *(i == 0 ? &p.m : i == 1 ? &p.n : i == 2 ? &p.batch[0] : &p.k) = 0;
        p.bias_form = FORM_FULL;
        check_ragged(&p, RUBBISH, &random);
    }
}

TEST(every_division)
{
    static const int64_t groups[] = {1, 2, 7, 40};
    test_random random = test_random_for(802);
    for (int i = 0; i < DIVISIONS; i++)
        for (int g = 0; g < 4; g++) {
            gemm_case p = ragged_of(29, 37, 41, groups[g]);
            p.bias_form = FORM_FULL;
            check_ragged(&p, (division)i, &random);
        }
}

/* Sizes around all tile edges: rows 6, 32, 64, columns 32, 64, depth 384. */
TEST(sizes_around_tile_edges)
{
    static const int64_t rows[] = {1, 5, 6, 7, 12, 31, 32, 33, 63, 64, 65, 129};
    static const int64_t columns[] = {1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    static const int64_t depths[] = {1, 2, 15, 16, 17, 383, 384, 385, 769};
    test_random random = test_random_for(803);
    gemm_case p;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        p = ragged_of(rows[i] + (int64_t)i % 3, 37, 41, (int64_t)i % 3 + 1);
        check_ragged(&p, EVENLY, &random);
        p = ragged_of(29, columns[i], 41, 4);
        check_ragged(&p, AT_RANDOM, &random);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        p = ragged_of(29, 37, depths[i], 4);
        check_ragged(&p, EVENLY, &random);
    }
}

TEST(every_layout)
{
    test_random random = test_random_for(804);
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++) {
            gemm_case p = usual();
            p.a = (test_layout)a;
            p.b = (test_layout)b;
            p.d = (test_layout)((a + b) % TEST_LAYOUTS);
            p.gap = (a + b) % 2 != 0;
            p.offset = a + b;
            if (a == b) /* each pair requires a build */
                check_ragged(&p, WITHIN, &random);
            else
                check_ragged_typed(&p, WITHIN, TENON_DTYPE_F32, &random);
        }
}

TEST(every_form_of_c_and_bias)
{
    test_random random = test_random_for(805);
    for (int c = 0; c < FORMS; c++)
        for (int bias = 0; bias < FORM_SAME; bias++) {
            const gemm_case like = usual(), p = gemm_of_forms(&like, (gemm_form)c, (gemm_form)bias);
            check_ragged(&p, (division)((c + bias) % DIVISIONS), &random);
        }
}

TEST(activations_and_zero_scalars)
{
    test_random random = test_random_for(806);
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++) {
        gemm_case p = usual();
        p.activation = gemm_activations[i];
        p.bias_form = FORM_COLUMNS;
        p.alpha = i == 1 ? 0 : 1;
        p.c_form = i == 2 ? FORM_FULL : FORM_NONE;
        if (gemm_is_exact(&p))
            check_ragged(&p, AT_RANDOM, &random);
        else /* requires a build in every type */
            check_ragged_typed(&p, AT_RANDOM, TENON_DTYPE_F32, &random);
    }
}

TEST(nan_and_infinity_propagate)
{
    static const double specials[] = {NAN, INFINITY, -INFINITY};
    test_random random = test_random_for(807);
    for (int i = 0; i < 3; i++)
        for (int operand = RAGGED_A; operand <= RAGGED_BIAS; operand++) {
            test_fixture f;
            gemm_case p = usual();
            if (operand == RAGGED_OFFSETS)
                continue;
            p.c_form = p.bias_form = FORM_FULL;
            p.beta = 1;
            make(&f, &p, EVENLY, TENON_DTYPE_F32, TEST_BOUND, &random);
            int64_t count = tenon_tensor_elements(&f.operands[operand].view);
            test_set(&f.operands[operand], test_between(&random, 0, count - 1), specials[i]);
            test_finish(&f, TEST_ALL);
        }
}

TEST(larger_problems)
{
    test_random random = test_random_for(808);
    const gemm_case p = ragged_of(203, 150, 500, 4);
    check_ragged_typed(&p, AT_RANDOM, TENON_DTYPE_F32, &random);
    check_ragged_typed(&p, RUBBISH, TENON_DTYPE_BF16, &random);
}

TEST(random_problems)
{
    test_random random = test_random_for(809);
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int i = test_problems(20); i > 0; i--) {
            test_fixture f;
            gemm_case p = random_gemm(&random);
            p.b = p.a; /* to limit the number of builds */
            p.batch[0] = test_between(&random, 1, 12);
            p.alpha = test_real(&random, -2, 2);
            make(&f, &p, (division)test_between(&random, 0, DIVISIONS - 1), *type, TEST_BOUND,
                 &random);
            test_finish(&f, TEST_ONCE);
        }
}

/* A plan reads the offsets when it runs. */
TEST(plans_read_new_offsets)
{
    test_random random = test_random_for(810);
    tenon_memory memories[TN_MAX_OPERANDS];
    test_fixture f;
    const gemm_case p = usual();
    tenon_plan *plan;
    make(&f, &p, WITHIN, TENON_DTYPE_F32, TEST_EXACT, &random);
    assert_int_equal(test_plan(&f, &plan, memories), RAGGED_OPERANDS);
    for (int i = 0; i < 3; i++) {
        for (int64_t g = 0; g <= p.batch[0]; g++)
            test_set(&f.operands[RAGGED_OFFSETS], g, (double)(g * (i + 3)));
        test_upload(&f.operands[RAGGED_OFFSETS]);
        test_run_plan(&f, plan, memories, RAGGED_OPERANDS);
    }
    tenon_plan_release(plan);
    test_release(&f);
}

#define CALL(a, b, offsets) "gemm_ragged a=f32:29x" a " b=" b " offsets=" offsets " d=f32:29x37 "

TEST(bad_shapes_and_types)
{
    static const test_refusal refusals[] = {
        {CALL("40", "f32:4x41x37", "i32:5"), "sizes"},
        {CALL("41", "f32:4x41", "i32:5"), "b"},
        {CALL("41", "f32:4x41x37", "i32:4"), "offsets"},
        {CALL("41", "f32:4x41x37", "i32:5") "bias=f32:3x37", "bias"},
        {CALL("41", "f32:4x41x37", "i32:5") "beta=2", "c"},
        {CALL("41", "f32:4x41x37", "f32:5"), "offsets", TENON_ERROR_UNSUPPORTED},
        {CALL("41", "i32:4x41x37", "i32:5"), "b", TENON_ERROR_UNSUPPORTED},
    };
    TEST_REFUSE(refusals);
}

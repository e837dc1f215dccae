/*
 * tenon_gemm_ragged against its reference: groups of every size, offsets that are no partition,
 * layouts, forms of c and the bias, special values, and calls that are refused.
 */
#include "ragged_case.h"

#include <math.h>

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
            ragged_data data;
            ragged_case p = simple_ragged;
            if (operand == RAGGED_OFFSETS)
                continue;
            p.c_form = p.bias_form = FORM_FULL;
            p.beta = 1;
            make_ragged(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            int64_t count = tenon_tensor_elements(&data.operands[operand].view);
            test_set(&data.operands[operand], test_between(&random, 0, count - 1), specials[i]);
            compute_ragged_reference(&data);
            const test_subject subject = ragged_subject(&data);
            test_run_all(&subject);
            destroy_ragged(&data);
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
            ragged_data data;
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
            make_ragged(&data, &p, *type, TEST_BOUND, &random);
            compute_ragged_reference(&data);
            const test_subject subject = ragged_subject(&data);
            for (int operand = 0; operand < RAGGED_D; operand++)
                if (data.operands[operand].image != NULL)
                    test_upload(&data.operands[operand]);
            test_run(&subject, NULL);
            destroy_ragged(&data);
        }
}

/* A plan's offsets are those that the memory holds when it runs. */
static void plans_read_new_offsets(void **state)
{
    test_random random = test_random_for(810);
    tenon_memory memories[RAGGED_OPERANDS] = {0};
    ragged_data data;
    ragged_case p = simple_ragged;
    tenon_plan *plan;
    char why[256];
    (void)state;
    p.division = WITHIN;
    make_ragged(&data, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    const tenon_gemm_ragged_params params = ragged_params(&p, NULL);
    for (int i = 0; i < RAGGED_OPERANDS; i++)
        if (data.operands[i].image != NULL) {
            test_upload(&data.operands[i]);
            memories[i] = data.operands[i].view.memory;
        }
    assert_ok(tenon_gemm_ragged_plan(test_context, &params, ragged_view(&data, RAGGED_A, false),
                                     ragged_view(&data, RAGGED_B, false),
                                     ragged_view(&data, RAGGED_OFFSETS, false), NULL, NULL,
                                     ragged_view(&data, RAGGED_D, false), &plan));
    assert_int_equal(tenon_plan_operands(plan), RAGGED_OPERANDS);
    for (int i = 0; i < 3; i++) {
        for (int64_t g = 0; g <= p.groups; g++)
            test_set(&data.operands[RAGGED_OFFSETS], g, (double)(g * (i + 3)));
        test_upload(&data.operands[RAGGED_OFFSETS]);
        test_upload(&data.operands[RAGGED_D]);
        compute_ragged_reference(&data);
        assert_ok(tenon_plan_run(test_stream, plan, memories, RAGGED_OPERANDS, NULL));
        if (!test_result(&data.operands[RAGGED_D], data.expected, TEST_EXACT, why))
            fail_msg("%s\n  run %d of a plan: %s", why, i, describe_ragged(&data));
    }
    tenon_plan_release(plan);
    destroy_ragged(&data);
}

static void refuse(ragged_data *data, tenon_status status, const char *argument)
{
    assert_refused(call_ragged(data, NULL), status, "tenon_gemm_ragged", argument);
}

static void bad_shapes_and_types(void **state)
{
    test_random random = test_random_for(811);
    (void)state;
    for (int i = 0; i < 7; i++) {
        ragged_data data;
        ragged_case p = simple_ragged;
        p.bias_form = FORM_FULL;
        make_ragged(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
        for (int x = 0; x < RAGGED_OPERANDS; x++)
            if (data.operands[x].image != NULL)
                test_upload(&data.operands[x]);
        tenon_tensor *a = &data.operands[RAGGED_A].view, *b = &data.operands[RAGGED_B].view,
                     *offsets = &data.operands[RAGGED_OFFSETS].view,
                     *bias = &data.operands[RAGGED_BIAS].view;
        tenon_status status = TENON_ERROR_INVALID_ARGUMENT;
        if (i == 0)
            a->shape[1]--;
        else if (i == 1)
            b->rank = 2;
        else if (i == 2)
            offsets->shape[0]--;
        else if (i == 3)
            bias->shape[0]--;
        else if (i == 4)
            data.problem.beta = 1; /* without c */
        else
            status = TENON_ERROR_UNSUPPORTED;
        if (i == 5)
            offsets->dtype = TENON_DTYPE_F32;
        else if (i == 6)
            b->dtype = TENON_DTYPE_I32;
        static const char *const arguments[] = {"sizes", "b",       "offsets", "bias",
                                                "c",     "offsets", "b"};
        refuse(&data, status, arguments[i]);
        assert_untouched(&data.operands[RAGGED_D]);
        destroy_ragged(&data);
    }
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

/*
 * tenon_gemm_ragged against its reference: groups of every size, offsets that are no partition,
 * layouts, forms of c and the bias, special values, and calls that are refused.
 */
#include "gemm_case.h"

#include "ops/gemm/ragged.h"

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

static const ragged_case simple = {.rows = 29, .k = 41, .n = 37, .groups = 4, .alpha = 1};

typedef struct ragged_data {
    ragged_case problem;
    test_judge judge;
    tenon_dtype dtype;
    test_tensor operands[RAGGED_OPERANDS];
    tn_bounded *expected;
} ragged_data;

static void create(ragged_data *data, int operand, test_layout layout, bool gap, uint32_t rank,
                   const int64_t *shape)
{
    int64_t stride[TENON_MAX_RANK];
    test_strides(layout, gap, rank, shape, stride);
    test_tensor_create(&data->operands[operand], data->dtype, rank, shape, stride,
                       data->problem.offset);
}

/* c over rows and columns, the bias over groups and columns. */
static void create_form(ragged_data *data, int operand, gemm_form form, test_layout layout,
                        int64_t rows)
{
    const int64_t n = data->problem.n;
    const int64_t full[] = {rows, n}, columns[] = {n}, column[] = {rows, 1};
    if (form == FORM_FULL)
        create(data, operand, layout, false, 2, full);
    else if (form == FORM_COLUMNS)
        create(data, operand, TEST_ROW, false, 1, columns);
    else if (form == FORM_ROWS)
        create(data, operand, layout, false, 2, column);
    else if (form == FORM_SCALAR)
        create(data, operand, TEST_ROW, false, 0, NULL);
}

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

static void fill_offsets(ragged_data *data, test_random *random)
{
    const ragged_case *p = &data->problem;
    const int64_t shape[] = {p->groups + 1}, stride[] = {p->offset % 2 + 1};
    int64_t *offsets = calloc((size_t)p->groups + 1, sizeof *offsets);
    test_tensor *tensor = &data->operands[RAGGED_OFFSETS];
    assert_non_null(offsets);
    test_tensor_create(tensor, TENON_DTYPE_I32, 1, shape, stride, p->offset);
    for (int64_t g = 0; g <= p->groups; g++)
        offsets[g] = p->division == EVENLY    ? p->rows * g / p->groups
                     : p->division == RUBBISH ? any_offset(p, random)
                     : p->division == ALL_EMPTY
                         ? p->rows / 2
                         : test_between(random, p->division == WITHIN, p->rows - 1);
    if (p->division == AT_RANDOM) {
        offsets[0] = 0;
        offsets[p->groups] = p->rows;
    }
    if (p->division == AT_RANDOM || p->division == WITHIN)
        qsort(offsets, (size_t)p->groups + 1, sizeof *offsets, compare_offsets);
    for (int64_t g = 0; g <= p->groups; g++)
        test_set(tensor, g, (double)offsets[g]);
    free(offsets);
}

static void make(ragged_data *data, const ragged_case *p, tenon_dtype dtype, test_judge judge,
                 test_random *random)
{
    const int64_t a[] = {p->rows, p->k}, b[] = {p->groups, p->k, p->n}, d[] = {p->rows, p->n};
    *data = (ragged_data){.problem = *p, .dtype = dtype, .judge = judge};
    create(data, RAGGED_A, p->a, false, 2, a);
    create(data, RAGGED_B, p->b, p->gap, 3, b);
    create(data, RAGGED_D, p->d, false, 2, d);
    create_form(data, RAGGED_C, p->c_form, p->c, p->rows);
    create_form(data, RAGGED_BIAS, p->bias_form, TEST_PITCH, p->groups);
    fill_offsets(data, random);
    if (p->alpha != 0) {
        test_fill(&data->operands[RAGGED_A], judge, random);
        test_fill(&data->operands[RAGGED_B], judge, random);
    }
    /* Rows of no group keep what is there; poison would hide that it was replaced by another NaN. */
    if (p->c_form == FORM_SAME || p->division > AT_RANDOM)
        test_fill(&data->operands[RAGGED_D], judge, random);
    if (p->c_form != FORM_SAME && p->c_form != FORM_NONE && p->beta != 0)
        test_fill(&data->operands[RAGGED_C], judge, random);
    if (p->bias_form != FORM_NONE)
        test_fill(&data->operands[RAGGED_BIAS], judge, random);
}

static void destroy(ragged_data *data)
{
    for (int i = 0; i < RAGGED_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static tenon_gemm_ragged_params params_of(const ragged_case *p, const char *solver)
{
    tenon_gemm_ragged_params params = TENON_GEMM_RAGGED_PARAMS_INIT;
    params.solver = solver;
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

static const tenon_tensor *view(const ragged_data *data, int operand, bool host)
{
    if (operand == RAGGED_C && data->problem.c_form == FORM_SAME)
        operand = RAGGED_D;
    else if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

static void compute_reference(ragged_data *data)
{
    const tenon_gemm_ragged_params params = params_of(&data->problem, NULL);
    const tenon_tensor *views[RAGGED_OPERANDS];
    size_t count = (size_t)tenon_tensor_elements(&data->operands[RAGGED_D].view);
    for (int i = 0; i < RAGGED_OPERANDS; i++)
        views[i] = view(data, i, true);
    data->expected = malloc((count + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    assert_true(tn_gemm_ragged_reference(&params, views, data->expected));
}

static tenon_status call(const void *user, const char *solver)
{
    const ragged_data *data = user;
    const tenon_gemm_ragged_params params = params_of(&data->problem, solver);
    return tenon_gemm_ragged(test_stream, &params, view(data, RAGGED_A, false),
                             view(data, RAGGED_B, false), view(data, RAGGED_OFFSETS, false),
                             view(data, RAGGED_C, false), view(data, RAGGED_BIAS, false),
                             view(data, RAGGED_D, false), NULL);
}

static const char *describe(const void *user)
{
    static char text[512];
    const ragged_data *data = user;
    const ragged_case *p = &data->problem;
    snprintf(text, sizeof text,
             "%s rows %lld k %lld n %lld groups %lld division %d, a %s, b %s%s, c %s form %d, bias "
             "form %d, d %s, offset %lld, alpha %g beta %g activation %u",
             tenon_dtype_string(data->dtype), (long long)p->rows, (long long)p->k, (long long)p->n,
             (long long)p->groups, (int)p->division, test_layout_string(p->a),
             test_layout_string(p->b), p->gap ? " with gaps" : "", test_layout_string(p->c),
             (int)p->c_form, (int)p->bias_form, test_layout_string(p->d), (long long)p->offset,
             p->alpha, p->beta, p->activation.kind);
    return text;
}

static test_subject subject_of(const ragged_data *data)
{
    return (test_subject){&tn_gemm_ragged_family, call,           describe,    data, data->operands,
                          RAGGED_OPERANDS,        data->expected, data->judge, 0};
}

static void check(const ragged_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
            ragged_data data;
            if (judge == TEST_EXACT && tn_activation_is_build(p->activation.kind))
                continue;
            make(&data, p, *type, (test_judge)judge, random);
            compute_reference(&data);
            const test_subject subject = subject_of(&data);
            test_run_all(&subject);
            destroy(&data);
        }
}

static void empty_products(void **state)
{
    test_random random = test_random_for(801);
    (void)state;
    for (int i = 0; i < 4; i++) {
        ragged_case p = simple;
        *(i == 0 ? &p.rows : i == 1 ? &p.n : i == 2 ? &p.groups : &p.k) = 0;
        p.division = RUBBISH;
        p.bias_form = FORM_FULL;
        check(&p, &random);
    }
}

static void every_division(void **state)
{
    static const int64_t groups[] = {1, 2, 7, 40};
    test_random random = test_random_for(802);
    (void)state;
    for (int i = 0; i < DIVISIONS; i++)
        for (int g = 0; g < 4; g++) {
            ragged_case p = simple;
            p.division = (division)i;
            p.groups = groups[g];
            p.bias_form = FORM_FULL;
            check(&p, &random);
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
        p = simple;
        p.rows = rows[i] + (int64_t)i % 3;
        p.groups = (int64_t)i % 3 + 1;
        check(&p, &random);
        p = simple;
        p.n = columns[i];
        p.division = AT_RANDOM;
        check(&p, &random);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        p = simple;
        p.k = depths[i];
        check(&p, &random);
    }
}

static void every_layout(void **state)
{
    test_random random = test_random_for(804);
    (void)state;
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++) {
            ragged_case p = simple;
            p.a = (test_layout)a;
            p.b = (test_layout)b;
            p.d = (test_layout)((a + b) % TEST_LAYOUTS);
            p.gap = (a + b) % 2 != 0;
            p.offset = a + b;
            p.division = WITHIN;
            check(&p, &random);
        }
}

static void every_form_of_c_and_bias(void **state)
{
    test_random random = test_random_for(805);
    (void)state;
    for (int c = 0; c < FORMS; c++)
        for (int bias = 0; bias < FORM_SAME; bias++) {
            ragged_case p = simple;
            p.c_form = (gemm_form)c;
            p.c = (test_layout)(bias % TEST_LAYOUTS);
            p.bias_form = (gemm_form)bias;
            p.beta = c == FORM_NONE ? 0 : -0.5;
            p.alpha = 2;
            p.division = (division)((c + bias) % DIVISIONS);
            p.d = (c + bias) % 3 == 0 ? TEST_COL : TEST_PITCH;
            check(&p, &random);
        }
}

static void activations_and_zero_scalars(void **state)
{
    test_random random = test_random_for(806);
    (void)state;
    for (size_t i = 0; i < GEMM_ACTIVATIONS; i++) {
        ragged_case p = simple;
        p.activation = gemm_activations[i];
        p.bias_form = FORM_COLUMNS;
        p.alpha = i == 1 ? 0 : 1;
        p.c_form = i == 2 ? FORM_FULL : FORM_NONE;
        p.division = AT_RANDOM;
        check(&p, &random);
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
            ragged_case p = simple;
            if (operand == RAGGED_OFFSETS)
                continue;
            p.c_form = p.bias_form = FORM_FULL;
            p.beta = 1;
            make(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
            int64_t count = tenon_tensor_elements(&data.operands[operand].view);
            test_set(&data.operands[operand], test_between(&random, 0, count - 1), specials[i]);
            compute_reference(&data);
            const test_subject subject = subject_of(&data);
            test_run_all(&subject);
            destroy(&data);
        }
}

static void larger_problems(void **state)
{
    test_random random = test_random_for(808);
    ragged_case p = simple;
    (void)state;
    p.rows = 203;
    p.n = 150;
    p.k = 500;
    p.division = AT_RANDOM;
    check(&p, &random);
    p.division = RUBBISH;
    check(&p, &random);
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
            p.b = (test_layout)((p.a + 1) % TEST_LAYOUTS); /* every pair has been tried */
            p.beta = p.c_form == FORM_NONE ? 0 : 0.5;
            p.activation = gemm_activations[test_between(&random, 0, 2)];
            make(&data, &p, *type, TEST_BOUND, &random);
            compute_reference(&data);
            const test_subject subject = subject_of(&data);
            for (int operand = 0; operand < RAGGED_D; operand++)
                if (data.operands[operand].image != NULL)
                    test_upload(&data.operands[operand]);
            test_run(&subject, NULL);
            destroy(&data);
        }
}

/* A plan's offsets are those that the memory holds when it runs. */
static void plans_read_new_offsets(void **state)
{
    test_random random = test_random_for(810);
    tenon_memory memories[RAGGED_OPERANDS] = {0};
    ragged_data data;
    ragged_case p = simple;
    tenon_plan *plan;
    char why[256];
    (void)state;
    p.division = WITHIN;
    make(&data, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    const tenon_gemm_ragged_params params = params_of(&p, NULL);
    for (int i = 0; i < RAGGED_OPERANDS; i++)
        if (data.operands[i].image != NULL) {
            test_upload(&data.operands[i]);
            memories[i] = data.operands[i].view.memory;
        }
    assert_ok(tenon_gemm_ragged_plan(
        test_context, &params, view(&data, RAGGED_A, false), view(&data, RAGGED_B, false),
        view(&data, RAGGED_OFFSETS, false), NULL, NULL, view(&data, RAGGED_D, false), &plan));
    assert_int_equal(tenon_plan_operands(plan), RAGGED_OPERANDS);
    for (int i = 0; i < 3; i++) {
        for (int64_t g = 0; g <= p.groups; g++)
            test_set(&data.operands[RAGGED_OFFSETS], g, (double)(g * (i + 3)));
        test_upload(&data.operands[RAGGED_OFFSETS]);
        test_upload(&data.operands[RAGGED_D]);
        free(data.expected);
        compute_reference(&data);
        assert_ok(tenon_plan_run(test_stream, plan, memories, RAGGED_OPERANDS, NULL));
        if (!test_result(&data.operands[RAGGED_D], data.expected, TEST_EXACT, why))
            fail_msg("%s\n  run %d of a plan: %s", why, i, describe(&data));
    }
    tenon_plan_release(plan);
    destroy(&data);
}

static void refuse(ragged_data *data, tenon_status status, const char *argument)
{
    assert_refused(call(data, NULL), status, "tenon_gemm_ragged", argument);
}

static void bad_shapes_and_types(void **state)
{
    test_random random = test_random_for(811);
    (void)state;
    for (int i = 0; i < 7; i++) {
        ragged_data data;
        ragged_case p = simple;
        p.bias_form = FORM_FULL;
        make(&data, &p, TENON_DTYPE_F32, TEST_BOUND, &random);
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
        destroy(&data);
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

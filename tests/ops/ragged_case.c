#include "ragged_case.h"
#include "ops/registry.h"

const ragged_case simple_ragged = {.rows = 29, .k = 41, .n = 37, .groups = 4, .alpha = 1};

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
                         : test_between(random, p->division == WITHIN && p->rows > 1, p->rows - 1);
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

void make_ragged(ragged_data *data, const ragged_case *p, tenon_dtype dtype, test_judge judge,
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
    /* Rows of no group keep what is there; poison would hide that it was replaced by another NaN.
     */
    if (p->c_form == FORM_SAME || p->division > AT_RANDOM)
        test_fill(&data->operands[RAGGED_D], judge, random);
    if (p->c_form != FORM_SAME && p->c_form != FORM_NONE && p->beta != 0)
        test_fill(&data->operands[RAGGED_C], judge, random);
    if (p->bias_form != FORM_NONE)
        test_fill(&data->operands[RAGGED_BIAS], judge, random);
}

void destroy_ragged(ragged_data *data)
{
    for (int i = 0; i < RAGGED_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

tenon_gemm_ragged_params ragged_params(const ragged_case *p, const char *solver)
{
    tenon_gemm_ragged_params params = TENON_GEMM_RAGGED_PARAMS_INIT;
    params.solver = solver;
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

const tenon_tensor *ragged_view(const ragged_data *data, int operand, bool host)
{
    if (operand == RAGGED_C && data->problem.c_form == FORM_SAME)
        operand = RAGGED_D;
    else if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

void compute_ragged_reference(ragged_data *data)
{
    const tenon_gemm_ragged_params params = ragged_params(&data->problem, NULL);
    const tenon_tensor *views[RAGGED_OPERANDS];
    size_t count = (size_t)tenon_tensor_elements(&data->operands[RAGGED_D].view);
    for (int i = 0; i < RAGGED_OPERANDS; i++)
        views[i] = ragged_view(data, i, true);
    data->expected = realloc(data->expected, (count + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    assert_true(tn_gemm_ragged_reference(&params, views, data->expected));
}

tenon_status call_ragged(const void *user, const char *solver)
{
    const ragged_data *data = user;
    const tenon_gemm_ragged_params params = ragged_params(&data->problem, solver);
    return test_call(&tn_operation_gemm_ragged, &params, ragged_view(data, RAGGED_A, false),
                     ragged_view(data, RAGGED_B, false), ragged_view(data, RAGGED_OFFSETS, false),
                     ragged_view(data, RAGGED_C, false), ragged_view(data, RAGGED_BIAS, false),
                     ragged_view(data, RAGGED_D, false));
}

const char *describe_ragged(const void *user)
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

test_subject ragged_subject(const ragged_data *data)
{
    return (test_subject){
        &tn_gemm_ragged_family, call_ragged,    describe_ragged, data, data->operands,
        RAGGED_OPERANDS,        data->expected, data->judge,     0};
}

void check_ragged_typed(const ragged_case *p, tenon_dtype dtype, test_random *random)
{
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        ragged_data data;
        if (judge == TEST_EXACT && tn_activation_is_build(p->activation.kind))
            continue;
        make_ragged(&data, p, dtype, (test_judge)judge, random);
        compute_ragged_reference(&data);
        const test_subject subject = ragged_subject(&data);
        test_run_all(&subject);
        destroy_ragged(&data);
    }
}

void check_ragged(const ragged_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_ragged_typed(p, *type, random);
}

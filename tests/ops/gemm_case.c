#include "gemm_case.h"

#include "emulation.h"
#include "ops/registry.h"

const gemm_case simple_gemm = {.m = 13, .n = 37, .k = 41, .alpha = 1};

const tenon_activation gemm_activations[GEMM_ACTIVATIONS] = {
    {TENON_ACTIVATION_RELU, 0, 0, 0},         {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {TENON_ACTIVATION_SIGMOID, 0, 0, 0},
    {TENON_ACTIVATION_TANH, 0, 0, 0},
};

const char *describe_gemm(const void *user)
{
    static char text[1024];
    const gemm_data *data = user;
    const gemm_case *p = &data->problem;
    char batch[160];
    snprintf(text, sizeof text,
             "%s m %lld n %lld k %lld batch %s (once: a %u b %u, flat: a %d b %d) %s, a %s, b %s, "
             "c %s form %d, bias form %d, d %s%s, offset %lld, alpha %g beta %g activation %u (%g) "
             "flags %u",
             tenon_dtype_string(data->dtype), (long long)p->m, (long long)p->n, (long long)p->k,
             tn_shape_text(p->batch_rank, p->batch, batch), p->a_once, p->b_once, p->a_flat,
             p->b_flat, p->gap ? "with gaps" : "dense", test_layout_string(p->a),
             test_layout_string(p->b), test_layout_string(p->c), (int)p->c_form, (int)p->bias_form,
             test_layout_string(p->d), p->c_form == FORM_SAME ? " (c is d)" : "",
             (long long)p->offset, p->alpha, p->beta, p->activation.kind, p->activation.alpha,
             p->flags);
    return text;
}

/* A matrix of the batch; dimensions in `once` have size 1. */
static void create(gemm_data *data, int operand, int64_t rows, int64_t cols, test_layout layout,
                   uint32_t once, bool flat)
{
    const gemm_case *p = &data->problem;
    uint32_t lead = flat ? 0 : p->batch_rank;
    int64_t shape[TENON_MAX_RANK], stride[TENON_MAX_RANK];
    for (uint32_t i = 0; i < lead; i++)
        shape[i] = (once >> i & 1) != 0 ? 1 : p->batch[i];
    shape[lead] = rows;
    shape[lead + 1] = cols;
    test_strides(layout, p->gap, lead + 2, shape, stride);
    test_tensor_create(&data->operands[operand], data->types[operand], lead + 2, shape, stride,
                       p->offset);
}

static void create_form(gemm_data *data, int operand, gemm_form covers, test_layout layout,
                        uint32_t once)
{
    const gemm_case *p = &data->problem;
    const int64_t columns[] = {p->n}, rows[] = {p->m, 1};
    const int64_t columns_stride[] = {2}, rows_stride[] = {3, 1};
    if (covers == FORM_FULL)
        create(data, operand, p->m, p->n, layout, once, false);
    else if (covers == FORM_COLUMNS)
        test_tensor_create(&data->operands[operand], data->types[operand], 1, columns,
                           columns_stride, 1);
    else if (covers == FORM_ROWS)
        test_tensor_create(&data->operands[operand], data->types[operand], 2, rows, rows_stride, 2);
    else if (covers == FORM_SCALAR)
        test_tensor_create(&data->operands[operand], data->types[operand], 0, NULL, NULL, 3);
}

tenon_gemm_params gemm_params(const gemm_case *p, const char *solver)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.flags = p->flags;
    params.solver = solver;
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

const tenon_tensor *gemm_view(const gemm_data *data, int operand, bool host)
{
    if (operand == GEMM_C && data->problem.c_form == FORM_SAME)
        operand = GEMM_D;
    else if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

void compute_gemm_reference(gemm_data *data)
{
    compute_gemm_reference_of(data, NULL);
}

void compute_gemm_reference_of(gemm_data *data, const char *solver)
{
    tenon_gemm_params params = gemm_params(&data->problem, solver);
    const tenon_tensor *views[GEMM_OPERANDS];
    for (int i = 0; i < GEMM_OPERANDS; i++)
        views[i] = gemm_view(data, i, true);
    const size_t count = (size_t)tenon_tensor_elements(views[GEMM_D]) + 1;
    data->expected = realloc(data->expected, count * sizeof *data->expected);
    assert_non_null(data->expected);
    tn_gemm_reference(&params, views, data->expected);
}

void create_gemm(gemm_data *data)
{
    const gemm_case *p = &data->problem;
    create(data, GEMM_A, p->m, p->k, p->a, p->a_once, p->a_flat);
    create(data, GEMM_B, p->k, p->n, p->b, p->b_once, p->b_flat);
    create(data, GEMM_D, p->m, p->n, p->d, 0, false);
    create_form(data, GEMM_C, p->c_form, p->c, p->c_once);
    create_form(data, GEMM_BIAS, p->bias_form, TEST_ROW, p->bias_once);
}

void make_gemm(gemm_data *data, const gemm_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random)
{
    *data = (gemm_data){.problem = *p, .dtype = dtype, .judge = judge};
    for (int i = 0; i < GEMM_OPERANDS; i++)
        data->types[i] = dtype;
    create_gemm(data);
    if (p->alpha != 0) {
        test_fill(&data->operands[GEMM_A], judge, random);
        test_fill(&data->operands[GEMM_B], judge, random);
    }
    if (p->beta != 0)
        test_fill(&data->operands[p->c_form == FORM_SAME ? GEMM_D : GEMM_C], judge, random);
    if (p->bias_form != FORM_NONE)
        test_fill(&data->operands[GEMM_BIAS], judge, random);
}

void destroy_gemm(gemm_data *data)
{
    for (int i = 0; i < GEMM_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static tenon_status call(const void *user, const char *solver)
{
    const gemm_data *data = user;
    tenon_gemm_params params = gemm_params(&data->problem, solver);
    return test_call(&tn_operation_gemm, &params, gemm_view(data, GEMM_A, false),
                     gemm_view(data, GEMM_B, false), gemm_view(data, GEMM_C, false),
                     gemm_view(data, GEMM_BIAS, false), gemm_view(data, GEMM_D, false));
}

/* In the type of the operands; f32 in TF32, too, as its flag allows. */
static void emulate_gemm(const test_subject *subject)
{
    const gemm_data *data = subject->data;
    const gemm_case *p = &data->problem;
    emulation e = {.type = emulated_type(data->dtype),
                   .no_type = "do not multiply this type",
                   .refusal = (p->flags & TENON_GEMM_BATCH_INVARIANT) != 0 ? "another order" : NULL,
                   .is_build = tn_activation_is_build(p->activation.kind)};
    emulate(subject, &e);
    if (e.type != MATRIX_F32 || !emulated_in_tf32(&tn_gemm_family))
        return;
    gemm_data rounded = *data;
    rounded.problem.flags |= TENON_GEMM_ALLOW_TF32;
    rounded.expected = NULL;
    compute_gemm_reference_of(&rounded, "gemm/mma");
    const test_subject allowed = gemm_subject(&rounded);
    e.type = MATRIX_TF32;
    emulate(&allowed, &e);
    free(rounded.expected);
}

test_subject gemm_subject(const gemm_data *data)
{
    return (test_subject){.family = &tn_gemm_family,
                          .call = call,
                          .describe = describe_gemm,
                          .data = data,
                          .operands = data->operands,
                          .operand_count = GEMM_OPERANDS,
                          .expected = data->expected,
                          .judge = data->judge,
                          .emulate = emulate_gemm};
}

static bool is_exact(const gemm_case *p)
{
    return !tn_activation_is_build(p->activation.kind);
}

static void check_type(const gemm_case *p, tenon_dtype dtype, void (*check)(const test_subject *),
                       test_random *random)
{
    for (int judge = TEST_BOUND; judge <= (is_exact(p) ? TEST_EXACT : TEST_BOUND); judge++) {
        gemm_data data;
        make_gemm(&data, p, dtype, (test_judge)judge, random);
        compute_gemm_reference(&data);
        const test_subject subject = gemm_subject(&data);
        check(&subject);
        destroy_gemm(&data);
    }
}

void check_gemm_typed(const gemm_case *p, tenon_dtype dtype, test_random *random)
{
    const tenon_dtype other = emulated_other(dtype);
    test_random own = *random;
    check_type(p, dtype, test_run_all, random);
    if (other != TENON_DTYPE_INVALID)
        check_type(p, other, test_emulate, &own);
}

void check_gemm(const gemm_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_type(p, *type, test_run_all, random);
}

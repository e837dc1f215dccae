#include "int8_case.h"

#include "emulation.h"
#include "ops/registry.h"

const int8_case simple_int8 = {.gemm = {.m = 13, .n = 37, .k = 41, .alpha = 1},
                               .a = TENON_DTYPE_U8,
                               .b = TENON_DTYPE_I8,
                               .d = TENON_DTYPE_F32,
                               .vectors = ALL_VECTORS};

const tenon_dtype int8_results[] = {TENON_DTYPE_I32,    TENON_DTYPE_F32, TENON_DTYPE_F16,
                                    TENON_DTYPE_BF16,   TENON_DTYPE_I8,  TENON_DTYPE_U8,
                                    TENON_DTYPE_INVALID};

static bool is_byte(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 || dtype == TENON_DTYPE_U8;
}

static const char *describe_int8(const void *user)
{
    static char text[1536];
    const int8_data *data = user;
    const int8_case *p = &data->problem;
    snprintf(text, sizeof text, "%s by %s, bias %s, scales and zero points %#x, of several %#x; %s",
             tenon_dtype_string(p->a), tenon_dtype_string(p->b),
             tenon_dtype_string(data->gemm.types[GEMM_BIAS]), p->vectors, p->many,
             describe_gemm(&data->gemm));
    return text;
}

static void fill_between(test_tensor *tensor, test_random *random, int64_t low, int64_t high)
{
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i, (double)test_between(random, low, high));
}

static void fill_bytes(test_tensor *tensor, test_judge judge, test_random *random)
{
    bool sign = tensor->view.dtype == TENON_DTYPE_I8;
    if (judge == TEST_EXACT)
        fill_between(tensor, random, sign ? -3 : 0, sign ? 3 : 6);
    else
        fill_between(tensor, random, sign ? -128 : 0, sign ? 127 : 255);
}

static void fill_scale(test_tensor *tensor, int number, test_judge judge, test_random *random)
{
    static const double powers[] = {0.5, 1, 2, -1};
    double most = number == INT8_SCALE_D ? 1 : 0.02;
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i,
                 judge == TEST_EXACT ? powers[test_between(random, 0, 3)]
                                     : test_real(random, most / 20, most));
}

/* c and the bias. */
static void fill_term(test_tensor *tensor, test_judge judge, test_random *random)
{
    if (tensor->view.dtype == TENON_DTYPE_I32)
        fill_between(tensor, random, -1000, 1000);
    else
        test_fill(tensor, judge, random);
}

static bool may_have(const int8_case *p, int number)
{
    if (number % 3 == 2 && !is_byte(p->d))
        return false;
    return number >= INT8_ZERO_A || p->d != TENON_DTYPE_I32;
}

static void make_vector(int8_data *data, int number, test_random *random)
{
    const int8_case *p = &data->problem;
    const tenon_dtype types[] = {p->a, p->b, p->d};
    tenon_dtype dtype = number < INT8_ZERO_A ? TENON_DTYPE_F32 : types[number % 3];
    bool many = (p->many >> number & 1U) != 0;
    const int64_t shape[] = {!many ? 1 : number % 3 == 0 ? p->gemm.m : p->gemm.n};
    const int64_t stride[] = {1 + number % 2};
    test_tensor *tensor = &data->vectors[number];
    /* One element is a scalar or a vector of one. */
    test_tensor_create(tensor, dtype, many || number % 2 == 0 ? 1 : 0, shape, stride, number);
    if (p->gemm.alpha == 0 && number % 3 != 2)
        return; /* not to be read */
    if (number < INT8_ZERO_A)
        fill_scale(tensor, number, data->gemm.judge, random);
    else
        fill_bytes(tensor, data->gemm.judge, random);
}

void make_int8(int8_data *data, const int8_case *p, test_judge judge, test_random *random)
{
    tenon_dtype real = is_byte(p->d) ? TENON_DTYPE_F32 : p->d;
    tenon_dtype bias = p->bias_i32 ? TENON_DTYPE_I32 : real;
    *data = (int8_data){.problem = *p,
                        .gemm = {.problem = p->gemm,
                                 .dtype = p->d,
                                 .types = {p->a, p->b, real, bias, p->d},
                                 .judge = judge}};
    test_tensor *operands = data->gemm.operands;
    create_gemm(&data->gemm);
    for (int i = 0; i < INT8_VECTORS; i++)
        if ((p->vectors >> i & 1U) != 0 && may_have(p, i))
            make_vector(data, i, random);
    if (p->gemm.alpha != 0) {
        fill_bytes(&operands[GEMM_A], judge, random);
        fill_bytes(&operands[GEMM_B], judge, random);
    }
    if (p->gemm.beta != 0)
        fill_term(&operands[p->gemm.c_form == FORM_SAME ? GEMM_D : GEMM_C], judge, random);
    if (p->gemm.bias_form != FORM_NONE)
        fill_term(&operands[GEMM_BIAS], judge, random);
    memcpy(data->operands, operands, GEMM_D * sizeof *operands);
    memcpy(data->operands + GEMM_D, data->vectors, sizeof data->vectors);
    data->operands[INT8_OPERANDS - 1] = operands[GEMM_D];
}

void destroy_int8(int8_data *data)
{
    for (int i = 0; i < INT8_VECTORS; i++)
        if (data->vectors[i].image != NULL)
            test_tensor_destroy(&data->vectors[i]);
    destroy_gemm(&data->gemm);
    free(data->expected);
}

static const tenon_tensor *vector_view(const int8_data *data, int number, bool host)
{
    const test_tensor *tensor = &data->vectors[number];
    return tensor->image == NULL ? NULL : host ? &tensor->host : &tensor->view;
}

void compute_int8_reference(int8_data *data)
{
    const tenon_tensor *views[INT8_OPERANDS];
    tenon_gemm_params params = gemm_params(&data->problem.gemm, NULL);
    for (int i = 0; i < GEMM_D; i++)
        views[i] = gemm_view(&data->gemm, i, true);
    for (int i = 0; i < INT8_VECTORS; i++)
        views[GEMM_D + i] = vector_view(data, i, true);
    views[INT8_D] = gemm_view(&data->gemm, GEMM_D, true);
    size_t count = (size_t)tenon_tensor_elements(views[INT8_D]) + 1;
    data->expected = realloc(data->expected, count * sizeof *data->expected);
    assert_non_null(data->expected);
    assert_true(tn_gemm_int8_reference(&params, views, data->expected));
}

tenon_gemm_params int8_params(const int8_data *data, const char *solver)
{
    tenon_gemm_params params = gemm_params(&data->problem.gemm, solver);
    for (int i = 0; i < 3; i++) {
        params.epilogue.scale[i] = vector_view(data, INT8_SCALE_A + i, false);
        params.epilogue.zero_point[i] = vector_view(data, INT8_ZERO_A + i, false);
    }
    return params;
}

/* The operation has d behind the scales and zero points. */
static tenon_status call(const void *user, const char *solver)
{
    const int8_data *data = user;
    const tenon_tensor *views[INT8_OPERANDS];
    tenon_gemm_params params = gemm_params(&data->problem.gemm, solver);
    for (int i = GEMM_A; i < GEMM_D; i++)
        views[i] = gemm_view(&data->gemm, i, false);
    for (int i = 0; i < INT8_VECTORS; i++)
        views[GEMM_D + i] = vector_view(data, i, false);
    views[INT8_OPERANDS - 1] = gemm_view(&data->gemm, GEMM_D, false);
    return test_call_views(&tn_operation_gemm_int8, &params, views);
}

static void emulate_int8(const test_subject *subject)
{
    const int8_data *data = subject->data;
    const emulation e = {.type = MATRIX_I8,
                         .no_type = "", /* all of them do */
                         .is_build = tn_activation_is_build(data->problem.gemm.activation.kind)};
    emulate(subject, &e);
}

test_subject int8_subject(const int8_data *data)
{
    return (test_subject){.family = &tn_gemm_int8_family,
                          .call = call,
                          .describe = describe_int8,
                          .data = data,
                          .operands = data->operands,
                          .operand_count = INT8_OPERANDS,
                          .expected = data->expected,
                          .judge = data->gemm.judge,
                          .emulate = emulate_int8};
}

void upload_int8(const int8_data *data)
{
    for (int i = 0; i < INT8_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_upload(&data->operands[i]);
}

void try_int8(int8_data *data)
{
    compute_int8_reference(data);
    const test_subject subject = int8_subject(data);
    test_run_all(&subject);
}

void check_int8(const int8_case *p, test_random *random)
{
    for (int judge = TEST_BOUND; judge <= TEST_EXACT; judge++) {
        int8_data data;
        if (judge == TEST_EXACT && tn_activation_is_build(p->gemm.activation.kind))
            continue;
        make_int8(&data, p, (test_judge)judge, random);
        try_int8(&data);
        destroy_int8(&data);
    }
}

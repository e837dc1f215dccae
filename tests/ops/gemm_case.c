#include "gemm_case.h"

#include "emulation.h"
#include "ops/packed/internal.h"
#include "ops/registry.h"

const gemm_case simple_gemm = {SIMPLE_GEMM};

const gemm_case simple_packed = {SIMPLE_GEMM, .pack = IN_PANELS};
const gemm_case simple_int8 = {.m = 13,
                               .n = 37,
                               .k = 41,
                               .batch = {2, 3, 2},
                               .alpha = 1,
                               .a_type = TENON_DTYPE_U8,
                               .b_type = TENON_DTYPE_I8,
                               .d_type = TENON_DTYPE_F32,
                               .vectors = ALL_VECTORS};

const tenon_dtype int8_results[] = {TENON_DTYPE_I32,    TENON_DTYPE_F32, TENON_DTYPE_F16,
                                    TENON_DTYPE_BF16,   TENON_DTYPE_I8,  TENON_DTYPE_U8,
                                    TENON_DTYPE_INVALID};

const tenon_activation gemm_activations[GEMM_ACTIVATIONS] = {
    {TENON_ACTIVATION_RELU, 0, 0, 0},         {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {TENON_ACTIVATION_SIGMOID, 0, 0, 0},
    {TENON_ACTIVATION_TANH, 0, 0, 0},
};

gemm_case gemm_of(const gemm_case *like, int64_t m, int64_t n, int64_t k)
{
    gemm_case p = *like;
    p.m = m;
    p.n = n;
    p.k = k;
    return p;
}

gemm_case gemm_of_forms(const gemm_case *like, gemm_form c, gemm_form bias)
{
    gemm_case p = *like;
    p.c_form = c;
    p.c = (test_layout)(bias % TEST_LAYOUTS);
    p.bias_form = bias;
    p.beta = c == FORM_NONE ? 0 : -0.5;
    p.alpha = 2;
    p.d = (c + bias) % 3 == 0 ? TEST_COL : TEST_PITCH;
    return p;
}

static int64_t random_size(test_random *random)
{
    return test_one_in(random, 4) ? 1 : test_between(random, 1, test_one_in(random, 4) ? 150 : 40);
}

gemm_case random_gemm(test_random *random)
{
    static const double scalars[] = {1, 1, 0.5, -2, 0};
    gemm_case p = {.m = random_size(random), .n = random_size(random)};
    p.k = test_one_in(random, 5) ? test_between(random, 200, 900) : test_between(random, 0, 60);
    p.batch_rank = test_one_in(random, 2) ? 0 : (uint32_t)test_between(random, 1, MAX_BATCH_RANK);
    for (uint32_t i = 0; i < p.batch_rank; i++)
        p.batch[i] = test_between(random, 1, 3);
    p.a_once = (uint32_t)test_between(random, 0, 7);
    p.b_once = (uint32_t)test_between(random, 0, 7);
    p.a_flat = test_one_in(random, 4);
    p.b_flat = test_one_in(random, 4);
    p.a = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.b = (test_layout)((p.a + 1) % TEST_LAYOUTS);
    p.c = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.d = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.gap = test_one_in(random, 2);
    p.offset = test_between(random, 0, 9);
    p.c_form = (gemm_form)test_between(random, 0, FORMS - 1);
    p.bias_form = (gemm_form)test_between(random, 0, FORM_SCALAR);
    p.alpha = scalars[test_between(random, 0, 4)];
    p.beta = p.c_form == FORM_NONE ? 0 : scalars[test_between(random, 0, 4)];
    if (test_one_in(random, 2))
        p.activation = gemm_activations[test_between(random, 0, 2)];
    int64_t products = p.m * p.n * p.k;
    for (uint32_t i = 0; i < p.batch_rank; i++)
        products *= p.batch[i];
    if (products > 400000) /* the reference is slow */
        p.k = p.k * 400000 / products;
    return p;
}

static bool is_byte(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 || dtype == TENON_DTYPE_U8;
}

/* Returns a matrix of the batch; the dimensions in `once` have size 1. */
static tenon_tensor matrix(const gemm_case *p, tenon_dtype dtype, int64_t rows, int64_t cols,
                           test_layout layout, uint32_t once, bool flat)
{
    const uint32_t lead = flat ? 0 : p->batch_rank;
    int64_t shape[TENON_MAX_RANK];
    for (uint32_t i = 0; i < lead; i++)
        shape[i] = (once >> i & 1) != 0 ? 1 : p->batch[i];
    shape[lead] = rows;
    shape[lead + 1] = cols;
    return test_view(dtype, layout, p->gap, lead + 2, shape, p->offset);
}

tenon_tensor gemm_term(tenon_dtype dtype, gemm_form form, test_layout layout, int64_t m, int64_t n,
                       int64_t offset)
{
    const int64_t full[] = {m, n}, rows[] = {m, 1};
    switch (form) {
    case FORM_FULL:
        return test_view(dtype, layout, false, 2, full, offset);
    case FORM_COLUMNS:
        return test_view(dtype, layout, false, 1, &n, offset);
    case FORM_ROWS:
        return test_view(dtype, layout, false, 2, rows, offset);
    case FORM_SCALAR:
        return test_view(dtype, TEST_ROW, false, 0, NULL, offset);
    default:
        return (tenon_tensor){.dtype = TENON_DTYPE_INVALID};
    }
}

/* Returns c or the bias. */
static tenon_tensor term(const gemm_case *p, tenon_dtype dtype, gemm_form form, test_layout layout,
                         uint32_t once)
{
    return form == FORM_FULL ? matrix(p, dtype, p->m, p->n, layout, once, false)
                             : gemm_term(dtype, form, TEST_STRIDED, p->m, p->n, (int64_t)form - 1);
}

tenon_gemm_params gemm_params_of(const void *params, const tenon_tensor *const *v)
{
    tenon_gemm_params all = *(const tenon_gemm_params *)params;
    for (int i = 0; i < 3 && is_byte(v[GEMM_A]->dtype); i++) {
        all.epilogue.scale[i] = v[INT8_VECTOR(INT8_SCALE_A + i)];
        all.epilogue.zero_point[i] = v[INT8_VECTOR(INT8_ZERO_A + i)];
    }
    return all;
}

static tenon_status call_packed(const void *params, const tenon_tensor *const *v,
                                const char *layout)
{
    const tenon_gemm_params all = gemm_params_of(params, v);
    tenon_packed *packed = pack_matrix(v[GEMM_B], layout);
    tenon_status status = tenon_gemm_packed(test_stream, &all, v[GEMM_A], packed, v[GEMM_C],
                                            v[GEMM_BIAS], v[GEMM_D], NULL);
    tenon_packed_release(packed); /* enqueued work continues */
    return status;
}

static tenon_status plan_packed(const void *params, const tenon_tensor *const *v,
                                const char *layout, tenon_plan **plan)
{
    const tenon_gemm_params all = gemm_params_of(params, v);
    tenon_packed *packed = pack_matrix(v[GEMM_B], layout);
    tenon_status status = tenon_gemm_packed_plan(test_stream->context, &all, v[GEMM_A], packed,
                                                 v[GEMM_C], v[GEMM_BIAS], v[GEMM_D], plan);
    tenon_packed_release(packed); /* the plan keeps a reference */
    return status;
}

static tenon_status call_in_panels(const void *params, const tenon_tensor *const *views)
{
    return call_packed(params, views, "panels");
}

static tenon_status call_in_rows(const void *params, const tenon_tensor *const *views)
{
    return call_packed(params, views, "rows");
}

static tenon_status plan_in_panels(const void *params, const tenon_tensor *const *views,
                                   tenon_plan **plan)
{
    return plan_packed(params, views, "panels", plan);
}

static tenon_status plan_in_rows(const void *params, const tenon_tensor *const *views,
                                 tenon_plan **plan)
{
    return plan_packed(params, views, "rows", plan);
}

/* Emulates units in the type of the operands, and in TF32 for f32 with the flag that allows it. */
static void emulate_gemm(const test_subject *subject)
{
    const test_fixture *f = subject->data;
    test_fixture rounded = *f;
    tenon_gemm_params *params = test_params(&rounded, tenon_gemm_params);
    emulation e = {.type = emulated_type(f->c.views[GEMM_A].dtype),
                   .no_type = "do not support this type",
                   .is_build = tn_activation_is_build(params->epilogue.activation.kind)};
    if ((params->flags & TENON_GEMM_BATCH_INVARIANT) != 0 && e.type != MATRIX_I8)
        e.refusal = "batch-invariant";
    emulate(subject, &e);
    if (e.type != MATRIX_F32 || !emulated_in_tf32(subject->family))
        return;
    params->flags |= TENON_GEMM_ALLOW_TF32;
    rounded.by_solver = true;
    e.type = MATRIX_TF32;
    const test_subject allowed = test_subject_of(&rounded);
    emulate(&allowed, &e);
}

static void begin_int8(test_fixture *f, const gemm_case *p)
{
    const tenon_dtype types[] = {p->a_type, p->b_type, p->d_type};
    const tenon_dtype real = is_byte(p->d_type) ? TENON_DTYPE_F32 : p->d_type;
    tenon_tensor *views = f->c.views;
    views[GEMM_C] = term(p, real, p->c_form, p->c, p->c_once);
    views[GEMM_BIAS] =
        term(p, p->bias_i32 ? TENON_DTYPE_I32 : real, p->bias_form, TEST_ROW, p->bias_once);
    for (uint32_t i = 0; i < INT8_VECTORS; i++) {
        const bool many = (p->many >> i & 1U) != 0, is_scale = i < INT8_ZERO_A;
        const int64_t size = !many ? 1 : i % 3 == 0 ? p->m : p->n;
        if ((p->vectors >> i & 1U) == 0 || (i % 3 == 2 && !is_byte(p->d_type)) ||
            (is_scale && p->d_type == TENON_DTYPE_I32))
            continue;
        /* One element is a scalar or a vector of one element. */
        views[INT8_VECTOR(i)] = test_view(is_scale ? TENON_DTYPE_F32 : types[i % 3],
                                          i % 2 == 0 ? TEST_ROW : TEST_STRIDED, false,
                                          many || i % 2 == 0 ? 1 : 0, &size, i);
    }
}

void begin_gemm(test_fixture *f, const gemm_case *p, tenon_dtype dtype)
{
    const bool bytes = p->a_type != TENON_DTYPE_INVALID;
    test_begin(f, bytes ? &tn_operation_gemm_int8 : &tn_operation_gemm);
    tenon_gemm_params *params = test_params(f, tenon_gemm_params);
    params->flags = p->flags;
    params->epilogue.alpha = p->alpha;
    params->epilogue.beta = p->beta;
    params->epilogue.activation = p->activation;
    tenon_tensor *views = f->c.views;
    views[GEMM_A] = matrix(p, bytes ? p->a_type : dtype, p->m, p->k, p->a, p->a_once, p->a_flat);
    views[GEMM_B] = matrix(p, bytes ? p->b_type : dtype, p->k, p->n, p->b, p->b_once, p->b_flat);
    views[GEMM_C] = term(p, dtype, p->c_form, p->c, p->c_once);
    views[GEMM_BIAS] = term(p, dtype, p->bias_form, TEST_ROW, p->bias_once);
    if (bytes)
        begin_int8(f, p);
    views[GEMM_D] = matrix(p, bytes ? p->d_type : dtype, p->m, p->n, p->d, 0, false);
    f->c.same[GEMM_C] = p->c_form == FORM_SAME ? GEMM_D + 1 : 0;
    f->emulate = emulate_gemm;
    if (p->pack == IN_PANELS)
        f->family = &tn_gemm_packed_family;
    if (p->pack != NOT_PACKED) {
        f->call = p->pack == IN_PANELS ? call_in_panels : call_in_rows;
        f->plan = p->pack == IN_PANELS ? plan_in_panels : plan_in_rows;
    }
}

static void fill_scale(test_tensor *tensor, bool of_d, test_judge judge, test_random *random)
{
    static const double powers[] = {0.5, 1, 2, -1};
    const double most = of_d ? 1 : 0.02;
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++)
        test_set(tensor, i,
                 judge == TEST_EXACT ? powers[test_between(random, 0, 3)]
                                     : test_real(random, most / 20, most));
}

void fill_int8_operand(test_tensor *tensor, uint32_t operand, test_judge judge, test_random *random)
{
    uint64_t seed = (uint64_t)test_between(random, 1, 1 << 30);
    const bool exact = judge == TEST_EXACT;
    if (tensor->view.dtype == TENON_DTYPE_I8)
        tn_case_integers(&tensor->host, exact ? -3 : -128, exact ? 3 : 127, &seed);
    else if (tensor->view.dtype == TENON_DTYPE_U8)
        tn_case_integers(&tensor->host, 0, exact ? 6 : 255, &seed);
    else if (tensor->view.dtype == TENON_DTYPE_I32)
        tn_case_integers(&tensor->host, -1000, 1000, &seed);
    else if (operand > GEMM_D)
        fill_scale(tensor, operand == INT8_VECTOR(INT8_SCALE_D), judge, random);
    else
        test_fill(tensor, judge, random);
}

/* Returns false for d and for operands multiplied by a factor of 0, which must not be read. */
static bool is_read(const gemm_case *p, uint32_t operand)
{
    if (operand == GEMM_C)
        return p->beta != 0;
    if (operand == GEMM_D)
        return false;
    if (operand == GEMM_BIAS || operand == INT8_VECTOR(INT8_SCALE_D) ||
        operand == INT8_VECTOR(INT8_ZERO_D))
        return true;
    return p->alpha != 0;
}

void make_gemm(test_fixture *f, const gemm_case *p, tenon_dtype dtype, test_judge judge,
               test_random *random)
{
    begin_gemm(f, p, dtype);
    test_make(f);
    f->judge = judge;
    for (uint32_t i = 0; i < f->c.operation->operand_count; i++)
        if (test_operand(f, i) != NULL && is_read(p, i))
            fill_int8_operand(test_operand(f, i), i, judge, random);
}

bool gemm_is_exact(const gemm_case *p)
{
    return !tn_activation_is_build(p->activation.kind);
}

static void check_type(const gemm_case *p, tenon_dtype dtype, test_extent extent,
                       test_random *random)
{
    for (int judge = TEST_BOUND; judge <= (gemm_is_exact(p) ? TEST_EXACT : TEST_BOUND); judge++) {
        test_fixture f;
        make_gemm(&f, p, dtype, (test_judge)judge, random);
        test_finish(&f, extent);
    }
}

void check_gemm_typed(const gemm_case *p, tenon_dtype dtype, test_random *random)
{
    const tenon_dtype other = p->pack != NOT_PACKED ? TENON_DTYPE_INVALID : emulated_other(dtype);
    test_random own = *random;
    check_type(p, dtype, TEST_ALL, random);
    if (other != TENON_DTYPE_INVALID)
        check_type(p, other, TEST_EMULATED, &own);
}

void check_gemm(const gemm_case *p, test_random *random)
{
    if (p->a_type != TENON_DTYPE_INVALID) {
        check_type(p, p->d_type, TEST_ALL, random);
        return;
    }
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_type(p, *type, TEST_ALL, random);
}

void check_gemm_sizes(const gemm_case *like, int64_t m, int64_t n, int64_t k, test_random *random)
{
    const gemm_case p = gemm_of(like, m, n, k);
    check_gemm(&p, random);
}

tenon_packed *pack_matrix(const tenon_tensor *b, const char *layout)
{
    tenon_pack_params params = TENON_PACK_PARAMS_INIT;
    tenon_packed *packed;
    params.layout = layout;
    assert_ok(tenon_gemm_pack(test_stream, &params, b, &packed, NULL));
    return packed;
}

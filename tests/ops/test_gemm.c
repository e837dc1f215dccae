/*
 * tenon_gemm against its reference: every solver by name and the automatic choice, f32 and f64,
 * random reals within the bound and small integers exactly.
 */
#include "support.h"

#include "base/dtype.h"
#include "ops/gemm/internal.h"

#include <math.h>

/* How c and the bias cover d. */
typedef enum form {
    NONE,
    FULL,    /* d's shape */
    COLUMNS, /* shape N */
    ROWS,    /* shape M 1 */
    SCALAR,  /* rank 0 */
    SAME,    /* d itself; c alone */
    FORMS
} form;

#define MAX_BATCH_RANK 3

typedef struct gemm_case {
    int64_t m, n, k;
    uint32_t batch_rank;
    int64_t batch[MAX_BATCH_RANK];
    uint32_t a_once, b_once; /* bit i: the matrix has size 1 in dimension i of the batch */
    bool a_flat, b_flat;     /* the matrix has rank 2 */
    test_layout a, b, c, d;
    bool gap; /* between the matrices of a batch */
    int64_t offset;
    form c_form, bias_form;
    double alpha, beta;
    tenon_activation activation;
    uint32_t flags;
} gemm_case;

static const gemm_case simple = {.m = 13, .n = 37, .k = 41, .alpha = 1};

typedef struct gemm_data {
    gemm_case problem;
    tenon_dtype dtype;
    test_judge judge;
    test_tensor operands[GEMM_OPERANDS];
    tn_bounded *expected;
} gemm_data;

static const char *describe(const void *user)
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
             test_layout_string(p->d), p->c_form == SAME ? " (c is d)" : "", (long long)p->offset,
             p->alpha, p->beta, p->activation.kind, p->activation.alpha, p->flags);
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
    test_tensor_create(&data->operands[operand], data->dtype, lead + 2, shape, stride, p->offset);
}

static void create_form(gemm_data *data, int operand, form covers, test_layout layout)
{
    const gemm_case *p = &data->problem;
    const int64_t columns[] = {p->n}, rows[] = {p->m, 1};
    const int64_t columns_stride[] = {2}, rows_stride[] = {3, 1};
    if (covers == FULL)
        create(data, operand, p->m, p->n, layout, 0, false);
    else if (covers == COLUMNS)
        test_tensor_create(&data->operands[operand], data->dtype, 1, columns, columns_stride, 1);
    else if (covers == ROWS)
        test_tensor_create(&data->operands[operand], data->dtype, 2, rows, rows_stride, 2);
    else if (covers == SCALAR)
        test_tensor_create(&data->operands[operand], data->dtype, 0, NULL, NULL, 3);
}

static tenon_gemm_params params_of(const gemm_case *p, const char *solver)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.flags = p->flags;
    params.solver = solver;
    params.epilogue.alpha = p->alpha;
    params.epilogue.beta = p->beta;
    params.epilogue.activation = p->activation;
    return params;
}

static const tenon_tensor *view(const gemm_data *data, int operand, bool host)
{
    if (operand == GEMM_C && data->problem.c_form == SAME)
        operand = GEMM_D;
    else if (data->operands[operand].image == NULL)
        return NULL;
    return host ? &data->operands[operand].host : &data->operands[operand].view;
}

static void compute_reference(gemm_data *data)
{
    tenon_gemm_params params = params_of(&data->problem, NULL);
    const tenon_tensor *d = view(data, GEMM_D, true);
    data->expected =
        realloc(data->expected, ((size_t)tenon_tensor_elements(d) + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    tn_gemm_reference(&params, view(data, GEMM_A, true), view(data, GEMM_B, true),
                      view(data, GEMM_C, true), view(data, GEMM_BIAS, true), d, data->expected);
}

/* What must not be read is left poisoned. */
static void make(gemm_data *data, const gemm_case *p, tenon_dtype dtype, test_judge judge,
                 test_random *random)
{
    *data = (gemm_data){.problem = *p, .dtype = dtype, .judge = judge};
    create(data, GEMM_A, p->m, p->k, p->a, p->a_once, p->a_flat);
    create(data, GEMM_B, p->k, p->n, p->b, p->b_once, p->b_flat);
    create(data, GEMM_D, p->m, p->n, p->d, 0, false);
    create_form(data, GEMM_C, p->c_form, p->c);
    create_form(data, GEMM_BIAS, p->bias_form, TEST_ROW);
    if (p->alpha != 0) {
        test_fill(&data->operands[GEMM_A], judge, random);
        test_fill(&data->operands[GEMM_B], judge, random);
    }
    if (p->beta != 0)
        test_fill(&data->operands[p->c_form == SAME ? GEMM_D : GEMM_C], judge, random);
    if (p->bias_form != NONE)
        test_fill(&data->operands[GEMM_BIAS], judge, random);
}

static void destroy(gemm_data *data)
{
    for (int i = 0; i < GEMM_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static tenon_status call(const void *user, const char *solver)
{
    const gemm_data *data = user;
    tenon_gemm_params params = params_of(&data->problem, solver);
    return tenon_gemm(test_stream, &params, view(data, GEMM_A, false), view(data, GEMM_B, false),
                      view(data, GEMM_C, false), view(data, GEMM_BIAS, false),
                      view(data, GEMM_D, false), NULL);
}

static test_subject subject_of(const gemm_data *data)
{
    return (test_subject){&tn_gemm_family, call,          describe,       data,
                          data->operands,  GEMM_OPERANDS, data->expected, data->judge};
}

static bool is_exact(const gemm_case *p)
{
    return !tn_activation_is_build(p->activation.kind);
}

static void check_typed(const gemm_case *p, tenon_dtype dtype, test_random *random)
{
    for (int judge = TEST_BOUND; judge <= (is_exact(p) ? TEST_EXACT : TEST_BOUND); judge++) {
        gemm_data data;
        make(&data, p, dtype, (test_judge)judge, random);
        compute_reference(&data);
        const test_subject subject = subject_of(&data);
        test_run_all(&subject);
        destroy(&data);
    }
}

static void check(const gemm_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        check_typed(p, *type, random);
}

static void empty_products(void **state)
{
    test_random random = test_random_for(101);
    gemm_case p = simple;
    (void)state;
    for (int i = 0; i < 3; i++) {
        p = simple;
        *(i == 0 ? &p.m : i == 1 ? &p.n : &p.batch[0]) = 0;
        p.batch_rank = i == 2 ? 2 : 0;
        p.batch[1] = 3;
        check(&p, &random);
        p.k = 0;
        check(&p, &random);
    }
}

/* K = 0 leaves the epilogue. */
static void no_depth(void **state)
{
    test_random random = test_random_for(102);
    gemm_case p = simple;
    (void)state;
    p.k = 0;
    check(&p, &random);
    p.bias_form = COLUMNS;
    p.c_form = FULL;
    p.beta = 2;
    p.batch_rank = 1;
    p.batch[0] = 3;
    check(&p, &random);
    p.n = 1;
    check(&p, &random);
}

/* One below, at and one above each tile edge there is: rows 6, 12, 14, columns 32, 64, depth 384.
 */
static void sizes_around_tile_edges(void **state)
{
    static const int64_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 11, 12, 14, 15, 27, 28, 29};
    static const int64_t columns[] = {1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    static const int64_t depths[] = {1, 2, 3, 8, 31, 32, 33, 383, 384, 385, 767, 769};
    test_random random = test_random_for(103);
    gemm_case p = simple;
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        p = simple;
        p.m = rows[i];
        p.n = i % 2 == 0 ? 65 : 33;
        check(&p, &random);
    }
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        p = simple;
        p.n = columns[i];
        check(&p, &random);
    }
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        p = simple;
        p.k = depths[i];
        check(&p, &random);
    }
    p = (gemm_case){.m = 1, .n = 1, .k = 1, .alpha = 1};
    check(&p, &random);
}

static void every_layout(void **state)
{
    test_random random = test_random_for(104);
    (void)state;
    for (int a = 0; a < TEST_LAYOUTS; a++)
        for (int b = 0; b < TEST_LAYOUTS; b++)
            for (int d = 0; d < TEST_LAYOUTS; d++) {
                gemm_case p = simple;
                p.a = (test_layout)a;
                p.b = (test_layout)b;
                p.d = (test_layout)d;
                p.offset = a + b;
                check(&p, &random);
            }
}

/* A product with a vector, from either side, long and short. */
static void vectors(void **state)
{
    static const int64_t lengths[][2] = {{1, 300},   {7, 5},   {8, 64},    {9, 2047},
                                         {33, 2049}, {701, 3}, {130, 129}, {2500, 17}};
    test_random random = test_random_for(105);
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int layout = 0; layout < TEST_LAYOUTS; layout++)
            for (int side = 0; side < 2; side++) {
                gemm_case p = simple;
                *(side == 0 ? &p.m : &p.n) = lengths[i][0];
                *(side == 0 ? &p.n : &p.m) = 1;
                *(side == 0 ? &p.a : &p.b) = (test_layout)layout;
                *(side == 0 ? &p.b : &p.a) = (test_layout)((layout + (int)i) % TEST_LAYOUTS);
                p.k = lengths[i][1];
                p.d = i % 2 == 0 ? TEST_ROW : TEST_STRIDED;
                p.bias_form = (form)(i % SAME);
                check(&p, &random);
            }
}

static void batches(void **state)
{
    test_random random = test_random_for(106);
    (void)state;
    for (uint32_t rank = 1; rank <= MAX_BATCH_RANK; rank++)
        for (uint32_t once = 0; once < (1U << rank); once++)
            for (int gap = 0; gap < 2; gap++) {
                gemm_case p = simple;
                p.m = 7;
                p.k = 9;
                p.batch_rank = rank;
                p.batch[0] = 2;
                p.batch[1] = 3;
                p.batch[2] = 2;
                p.a_once = once;
                p.b_once = ~once & ((1U << rank) - 1);
                p.gap = gap != 0;
                p.c_form = (once & 1) != 0 ? FULL : COLUMNS;
                p.beta = 0.5;
                p.bias_form = (once & 1) != 0 ? ROWS : FULL;
                check(&p, &random);
                p.b_once = 0;
                check(&p, &random);
            }
}

/* Which batches fold into M or N must not change what comes out. */
static void flat_factors(void **state)
{
    test_random random = test_random_for(107);
    (void)state;
    for (int i = 0; i < 16; i++) {
        gemm_case p = simple;
        p.batch_rank = 2;
        p.batch[0] = 3;
        p.batch[1] = 2;
        p.m = (i & 4) != 0 ? 1 : 5;
        p.n = (i & 8) != 0 ? 1 : 19;
        p.a_flat = (i & 1) != 0;
        p.b_flat = (i & 2) != 0;
        p.d = i % 3 == 0 ? TEST_COL : TEST_ROW;
        p.bias_form = FULL;
        check(&p, &random);
    }
}

static void every_form_of_c_and_bias(void **state)
{
    test_random random = test_random_for(108);
    (void)state;
    for (int c = 0; c < FORMS; c++)
        for (int bias = 0; bias < SAME; bias++) {
            gemm_case p = simple;
            p.c_form = (form)c;
            p.c = (test_layout)(bias % TEST_LAYOUTS);
            p.bias_form = (form)bias;
            p.beta = c == NONE ? 0 : -0.5;
            p.alpha = 2;
            p.batch_rank = (uint32_t)(c + bias) % 2;
            p.batch[0] = 2;
            p.d = (c + bias) % 3 == 0 ? TEST_COL : TEST_PITCH;
            check(&p, &random);
        }
}

static const tenon_activation activations[] = {
    {TENON_ACTIVATION_RELU, 0, 0, 0},         {TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {TENON_ACTIVATION_SIGMOID, 0, 0, 0},
    {TENON_ACTIVATION_TANH, 0, 0, 0},
};
#define ACTIVATIONS (sizeof activations / sizeof *activations)

static void every_activation(void **state)
{
    test_random random = test_random_for(109);
    (void)state;
    for (size_t i = 0; i < ACTIVATIONS; i++) {
        gemm_case p = simple;
        p.activation = activations[i];
        p.bias_form = COLUMNS;
        check(&p, &random);
        p.m = 1;
        check(&p, &random);
        p.m = 13;
        p.n = 1;
        p.bias_form = ROWS;
        check(&p, &random);
    }
}

/* make() leaves NaN in what must not be read. */
static void zero_scalars_do_not_read(void **state)
{
    test_random random = test_random_for(110);
    (void)state;
    for (int i = 0; i < 8; i++) {
        gemm_case p = simple;
        p.alpha = (i & 1) != 0 ? 0 : 1;
        p.beta = (i & 2) != 0 ? 0 : 1;
        p.c_form = i % 3 == 0 ? SAME : FULL;
        p.n = (i & 4) != 0 ? 1 : 37;
        p.bias_form = SCALAR;
        check(&p, &random);
    }
}

static void check_special(const gemm_case *p, tenon_dtype dtype, const double *specials,
                          test_random *random)
{
    gemm_data data;
    make(&data, p, dtype, TEST_BOUND, random);
    for (int operand = GEMM_A; operand <= GEMM_BIAS; operand++)
        for (int i = 0; i < 3 && data.operands[operand].image != NULL; i++) {
            int64_t count = tenon_tensor_elements(&data.operands[operand].view);
            test_set(&data.operands[operand], test_between(random, 0, count - 1), specials[i]);
        }
    compute_reference(&data);
    const test_subject subject = subject_of(&data);
    test_run_all(&subject);
    destroy(&data);
}

static void nan_and_infinity_propagate(void **state)
{
    static const double specials[][3] = {{NAN, NAN, 0},
                                         {INFINITY, 1, 1},
                                         {-INFINITY, 0, 0},
                                         {INFINITY, -INFINITY, NAN},
                                         {0, -0.0, 0}};
    test_random random = test_random_for(111);
    (void)state;
    for (size_t i = 0; i < sizeof specials / sizeof *specials; i++)
        for (size_t act = 0; act <= ACTIVATIONS; act++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                gemm_case p = simple;
                if (act > 0)
                    p.activation = activations[act - 1];
                p.n = act % 2 == 0 ? 37 : 1;
                p.bias_form = i == 3 ? FULL : NONE;
                p.c_form = i == 3 ? FULL : NONE;
                p.beta = i == 3 ? 1 : 0;
                check_special(&p, *type, specials[i], &random);
            }
}

/* Beyond what the plain kernel is chosen for, and over several tiles, blocks and work-groups. */
static void larger_problems(void **state)
{
    static const int64_t sizes[][3] = {{200, 300, 500}, {97, 515, 1000}, {515, 97, 391}};
    test_random random = test_random_for(112);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        gemm_case p = simple;
        p.m = sizes[i][0];
        p.n = sizes[i][1];
        p.k = sizes[i][2];
        p.a = (test_layout)i;
        p.b = (test_layout)(TEST_STRIDED - i);
        p.bias_form = COLUMNS;
        p.activation = activations[0];
        check(&p, &random);
    }
}

static int64_t random_size(test_random *random)
{
    return test_one_in(random, 4) ? 1 : test_between(random, 1, test_one_in(random, 4) ? 150 : 40);
}

static gemm_case random_case(test_random *random)
{
    static const double scalars[] = {1, 1, 0.5, -2, 0};
    gemm_case p = {.m = random_size(random), .n = random_size(random)};
    p.k = test_one_in(random, 5) ? test_between(random, 300, 900) : test_between(random, 0, 60);
    p.batch_rank = test_one_in(random, 2) ? 0 : (uint32_t)test_between(random, 1, MAX_BATCH_RANK);
    for (uint32_t i = 0; i < p.batch_rank; i++)
        p.batch[i] = test_between(random, 1, 3);
    p.a_once = (uint32_t)test_between(random, 0, 7);
    p.b_once = (uint32_t)test_between(random, 0, 7);
    p.a_flat = test_one_in(random, 4);
    p.b_flat = test_one_in(random, 4);
    p.a = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    /* Every pair has been tried; each is a build of its own for every tile there is. */
    p.b = (test_layout)((p.a + 1) % TEST_LAYOUTS);
    p.c = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.d = (test_layout)test_between(random, 0, TEST_LAYOUTS - 1);
    p.gap = test_one_in(random, 2);
    p.offset = test_between(random, 0, 9);
    p.c_form = (form)test_between(random, 0, FORMS - 1);
    p.bias_form = (form)test_between(random, 0, SCALAR);
    p.alpha = scalars[test_between(random, 0, 4)];
    p.beta = p.c_form == NONE ? 0 : scalars[test_between(random, 0, 4)];
    if (test_one_in(random, 2)) /* the two that need a build of their own have their tests */
        p.activation = activations[test_between(random, 0, 2)];
    /* The reference is slow; what is large has a test of its own. */
    int64_t products = p.m * p.n * p.k;
    for (uint32_t i = 0; i < p.batch_rank; i++)
        products *= p.batch[i];
    if (products > 400000)
        p.k = p.k * 400000 / products;
    return p;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(113);
    bool f64 = test_has(TENON_CAPABILITY_F64);
    (void)state;
    for (int n = 0; n < 200; n++) {
        gemm_case p = random_case(&random);
        check_typed(&p, n % 3 != 0 || !f64 ? TENON_DTYPE_F32 : TENON_DTYPE_F64, &random);
    }
}

/* Row `row` of entry `entry` of a's batch as a problem of its own. */
static void compare_row(const gemm_data *whole, int64_t entry, int64_t row)
{
    const gemm_case *p = &whole->problem;
    size_t bytes = (size_t)p->n * tenon_dtype_size(whole->dtype);
    tenon_gemm_params params = params_of(p, NULL);
    const int64_t shape[] = {1, p->n};
    int64_t stride[2];
    test_tensor single;
    test_strides(TEST_ROW, false, 2, shape, stride);
    test_tensor_create(&single, whole->dtype, 2, shape, stride, 0);
    test_upload(&single);
    tenon_tensor a = tenon_tensor_slice(whole->operands[GEMM_A].view, 0, entry, 1);
    a = tenon_tensor_slice(a, 1, row, 1);
    tenon_tensor b = tenon_tensor_slice(whole->operands[GEMM_B].view, 0, 0, 1);
    tenon_tensor *views[] = {&a, &b};
    for (int i = 0; i < 2; i++) { /* drop the batch, of which one entry is left */
        views[i]->rank = 2;
        memmove(views[i]->shape, views[i]->shape + 1, 2 * sizeof *a.shape);
        memmove(views[i]->stride, views[i]->stride + 1, 2 * sizeof *a.stride);
    }
    assert_ok(tenon_gemm(test_stream, &params, &a, &b, NULL, NULL, &single.view, NULL));
    unsigned char *alone = test_download_bits(&single);
    unsigned char *all = test_download_bits(&whole->operands[GEMM_D]);
    if (memcmp(alone, all + (size_t)(entry * p->m + row) * bytes, bytes) != 0)
        fail_msg("row %lld of entry %lld has other bits alone\n  %s", (long long)row,
                 (long long)entry, describe(whole));
    free(alone);
    free(all);
    test_tensor_destroy(&single);
}

static void rows_do_not_depend_on_the_batch(void **state)
{
    static const int64_t columns[] = {70, 1};
    test_random random = test_random_for(114);
    (void)state;
    for (int i = 0; i < 8; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            gemm_case p = {.m = 100, .n = columns[i % 2], .k = 800, .alpha = 1};
            gemm_data data;
            p.batch_rank = 1;
            p.batch[0] = (i & 4) != 0 ? 2 : 1;
            p.b_once = 1;
            p.b = (i & 2) != 0 ? TEST_COL : TEST_ROW;
            p.flags = TENON_GEMM_BATCH_INVARIANT;
            make(&data, &p, *type, TEST_BOUND, &random);
            compute_reference(&data);
            const test_subject subject = subject_of(&data);
            test_run_all(&subject);
            test_run(&subject, NULL);
            for (int64_t entry = 0; entry < p.batch[0]; entry++)
                for (int64_t row = 0; row < p.m; row += 33)
                    compare_row(&data, entry, row);
            destroy(&data);
        }
}

static void plans_run_again_and_again(void **state)
{
    test_random random = test_random_for(115);
    gemm_case p = simple;
    gemm_data data;
    tenon_plan *plan;
    char why[256], line[256];
    (void)state;
    p.c_form = FULL;
    p.beta = 1;
    make(&data, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
    compute_reference(&data);
    tenon_gemm_params params = params_of(&p, NULL);
    tenon_tensor views[GEMM_OPERANDS];
    tenon_memory memories[GEMM_OPERANDS] = {0};
    for (int i = 0; i < GEMM_OPERANDS; i++)
        if (data.operands[i].image != NULL) {
            test_upload(&data.operands[i]);
            views[i] = data.operands[i].view;
            memories[i] = views[i].memory;
            memset(&views[i].memory, 0, sizeof views[i].memory); /* a plan needs none */
        }
    assert_ok(tenon_gemm_plan(test_context, &params, &views[GEMM_A], &views[GEMM_B], &views[GEMM_C],
                              NULL, &views[GEMM_D], &plan));
    assert_int_equal(tenon_plan_operands(plan), GEMM_OPERANDS);
    size_t length = tenon_plan_describe(plan, line, sizeof line);
    assert_int_equal(length, strlen(line));
    assert_int_equal(strncmp(line, "gemm/", 5), 0);
    for (int i = 0; i < 3; i++) {
        test_upload(&data.operands[GEMM_D]);
        assert_ok(tenon_plan_run(test_stream, plan, memories, GEMM_OPERANDS, NULL));
        if (!test_result(&data.operands[GEMM_D], data.expected, TEST_EXACT, why))
            fail_msg("%s\n  run %d of a plan: %s", why, i, describe(&data));
    }
    tenon_plan_release(plan);
    destroy(&data);
}

/* What a device would give that computes the mutated problem as well as can be. */
static bool mutant_passes(const gemm_data *data, const tenon_tensor *a, const tenon_tensor *b)
{
    int64_t count = tenon_tensor_elements(&data->operands[GEMM_D].view);
    tenon_gemm_params params = params_of(&data->problem, NULL);
    tn_bounded *mutated = malloc((size_t)count * sizeof *mutated);
    double *got = malloc((size_t)count * sizeof *got);
    char why[256];
    assert_true(mutated != NULL && got != NULL);
    tn_gemm_reference(&params, a, b, NULL, NULL, &data->operands[GEMM_D].host, mutated);
    for (int64_t i = 0; i < count; i++)
        got[i] =
            data->dtype == TENON_DTYPE_F32 ? (double)(float)mutated[i].value : mutated[i].value;
    bool passes = test_compare(got, data->expected, count, data->dtype, data->judge, why);
    free(mutated);
    free(got);
    return passes;
}

static void round_elements(test_tensor *tensor, tenon_dtype to)
{
    unsigned char element[8];
    for (int64_t i = 0; i < tenon_tensor_elements(&tensor->view); i++) {
        tn_dtype_store(to, element, test_get(tensor, i));
        test_set(tensor, i, tn_dtype_load(to, element));
    }
}

/* The suite must catch a kernel that loses the last step of K: integers see it at any depth. */
static void mutant_without_the_last_step(void **state)
{
    static const int64_t depths[] = {1, 41, 385, 5000};
    test_random random = test_random_for(116);
    (void)state;
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        gemm_case p = simple;
        gemm_data data;
        p.k = depths[i];
        make(&data, &p, TENON_DTYPE_F32, TEST_EXACT, &random);
        test_fill_value(&data.operands[GEMM_A], 1);
        compute_reference(&data);
        const tenon_tensor *a = &data.operands[GEMM_A].host, *b = &data.operands[GEMM_B].host;
        assert_true(mutant_passes(&data, a, b));
        tenon_tensor short_a = tenon_tensor_slice(*a, 1, 0, p.k - 1);
        tenon_tensor short_b = tenon_tensor_slice(*b, 0, 0, p.k - 1);
        assert_false(mutant_passes(&data, &short_a, &short_b));
        destroy(&data);
    }
}

/* And one that rounds its inputs to a lower precision: the bound sees it. */
static void mutant_of_lower_precision(void **state)
{
    static const tenon_dtype lower[][2] = {{TENON_DTYPE_F32, TENON_DTYPE_BF16},
                                           {TENON_DTYPE_F32, TENON_DTYPE_F16},
                                           {TENON_DTYPE_F64, TENON_DTYPE_F32}};
    static const int64_t depths[] = {1, 41, 500};
    test_random random = test_random_for(117);
    (void)state;
    for (int i = 0; i < 9; i++) {
        gemm_case p = simple;
        gemm_data data;
        p.k = depths[i / 3];
        make(&data, &p, lower[i % 3][0], TEST_BOUND, &random);
        compute_reference(&data);
        const tenon_tensor *a = &data.operands[GEMM_A].host, *b = &data.operands[GEMM_B].host;
        assert_true(mutant_passes(&data, a, b));
        round_elements(&data.operands[GEMM_A], lower[i % 3][1]);
        round_elements(&data.operands[GEMM_B], lower[i % 3][1]);
        assert_false(mutant_passes(&data, a, b));
        destroy(&data);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mutant_without_the_last_step),
        cmocka_unit_test(mutant_of_lower_precision),
        cmocka_unit_test(empty_products),
        cmocka_unit_test(no_depth),
        cmocka_unit_test(sizes_around_tile_edges),
        cmocka_unit_test(every_layout),
        cmocka_unit_test(vectors),
        cmocka_unit_test(batches),
        cmocka_unit_test(flat_factors),
        cmocka_unit_test(every_form_of_c_and_bias),
        cmocka_unit_test(every_activation),
        cmocka_unit_test(zero_scalars_do_not_read),
        cmocka_unit_test(nan_and_infinity_propagate),
        cmocka_unit_test(larger_problems),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(rows_do_not_depend_on_the_batch),
        cmocka_unit_test(plans_run_again_and_again),
    };
    return TEST_MAIN(tests);
}

/* Tests that steps of a sequence merge into epilogues where they may, nowhere else, and with the
 * same bits in f32 and f64. */
#include "support.h"

#include "check/host.h"
#include "dispatch/plan.h"
#include "ops/common/epilogue.h"
#include "ops/conv/problem/problem.h"
#include "ops/gemm/internal.h"
#include "ops/packed/internal.h"

#include <math.h>

enum { ROWS = 37, INNER = 29, COLUMNS = 83, MOST = 8192 };

static const int64_t a_shape[] = {ROWS, INNER}, b_shape[] = {INNER, COLUMNS},
                     d_shape[] = {ROWS, COLUMNS}, bias_shape[] = {COLUMNS};

/* Returns a tensor of random reals of a type. */
static tenon_tensor random_of(test_random *random, tenon_dtype dtype, uint32_t rank,
                              const int64_t *shape)
{
    test_tensor values;
    int64_t stride[TENON_MAX_RANK];
    tenon_tensor made = tenon_tensor_view(dtype, rank, shape);
    memcpy(stride, made.stride, sizeof stride);
    test_tensor_create(&values, dtype, rank, shape, stride, 0);
    test_fill_reals(&values, random);
    test_upload(&values);
    assert_ok(tenon_tensor_create(test_context, dtype, rank, shape, &made));
    assert_ok(tenon_copy(test_stream, NULL, &values.view, &made, NULL));
    test_tensor_destroy(&values);
    return made;
}

/* A sequence that is being built, and the memory of its operands "x" and "y". */
typedef struct built {
    tenon_sequence *sequence;
    tenon_tensor x, y;
} built;

static built begin(tenon_dtype dtype, uint32_t rank, const int64_t *x, const int64_t *y)
{
    built b;
    assert_ok(tenon_sequence_create(test_context, &b.sequence));
    assert_ok(tenon_sequence_tensor(b.sequence, "x", dtype, rank, x, &b.x));
    assert_ok(tenon_sequence_tensor(b.sequence, "y", dtype, rank, y, &b.y));
    return b;
}

static tenon_tensor intermediate(const built *b, const tenon_tensor *like)
{
    tenon_tensor t;
    assert_ok(tenon_sequence_tensor(b->sequence, NULL, like->dtype, like->rank, like->shape, &t));
    memcpy(t.stride, like->stride, sizeof t.stride); /* a permutation of dense strides */
    return t;
}

static void add_plan(const built *b, const char *label, tenon_plan *plan,
                     const tenon_tensor *const *tensors, uint32_t count)
{
    assert_ok(tenon_sequence_add(b->sequence, label, plan, tensors, count, NULL, 0));
    tenon_plan_release(plan);
}

static void add_activation(const built *b, const char *label, tenon_activation activation,
                           const tenon_tensor *x, const tenon_tensor *y)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tenon_plan *plan;
    params.activation = activation;
    assert_ok(tenon_activation_forward_plan(test_context, &params, x, y, &plan));
    add_plan(b, label, plan, (const tenon_tensor *const[]){x, y}, 2);
}

static void add_sum(const built *b, const tenon_tensor *p, const tenon_tensor *q,
                    const tenon_tensor *d)
{
    tenon_plan *plan;
    assert_ok(tenon_elementwise_plan(test_context, NULL, p, q, d, &plan));
    add_plan(b, NULL, plan, (const tenon_tensor *const[]){p, q, d}, 3);
}

static void add_gemm(const built *b, const tenon_gemm_params *params, const tenon_tensor *w,
                     const tenon_tensor *bias, const tenon_tensor *d)
{
    tenon_plan *plan;
    assert_ok(tenon_gemm_plan(test_context, params, &b->x, w, NULL, bias, d, &plan));
    add_plan(b, NULL, plan, (const tenon_tensor *const[]){&b->x, w, NULL, bias, d}, 5);
}

/* Finishes and runs a sequence, which is then released. Checks the number of its steps. */
static void finish(built *b, uint32_t steps, const tenon_tensor *x, const tenon_tensor *y)
{
    const tenon_operand operands[] = {{"x", x->memory, x->offset}, {"y", y->memory, y->offset}};
    assert_ok(tenon_sequence_finish(b->sequence));
    assert_int_equal(tenon_sequence_steps(b->sequence), steps);
    assert_ok(tenon_sequence_run(test_stream, b->sequence, operands, 2, NULL, 0, NULL));
    tenon_sequence_release(b->sequence);
}

/* Returns the permitted difference, relative to the largest value. In 16 bits an intermediate is
 * not rounded. Functions such as exp may round differently for vectors and for single numbers:
 * PoCL's exp does so with AVX-512. */
static double tolerance(tenon_dtype dtype, tenon_activation_kind kind)
{
    static const bool same_bits[TN_ACTIVATION_KINDS] = {
        [TENON_ACTIVATION_IDENTITY] = true,     [TENON_ACTIVATION_RELU] = true,
        [TENON_ACTIVATION_LEAKY_RELU] = true,   [TENON_ACTIVATION_CLIPPED_RELU] = true,
        [TENON_ACTIVATION_HARD_SIGMOID] = true, [TENON_ACTIVATION_HARD_SWISH] = true,
        [TENON_ACTIVATION_HARD_TANH] = true,    [TENON_ACTIVATION_SOFTSIGN] = true,
        [TENON_ACTIVATION_ABS] = true,          [TENON_ACTIVATION_SQUARE] = true,
    };
    switch (dtype) {
    case TENON_DTYPE_F16:
        return 0x1p-9;
    case TENON_DTYPE_BF16:
        return 0x1p-6;
    case TENON_DTYPE_F32:
        return same_bits[kind] ? 0 : 0x1p-21;
    default:
        return same_bits[kind] ? 0 : 0x1p-50;
    }
}

/* Compares two tensors that end with an activation of this kind. */
static void compare(const tenon_tensor *got, const tenon_tensor *expected,
                    tenon_activation_kind kind, const char *what)
{
    const double permitted = tolerance(got->dtype, kind);
    static unsigned char p[8 * MOST], q[8 * MOST];
    const size_t bytes = (size_t)tenon_tensor_elements(got) * tenon_dtype_size(got->dtype);
    assert_true(bytes <= sizeof p);
    assert_ok(tenon_tensor_download(test_stream, got, p, bytes, NULL));
    assert_ok(tenon_tensor_download(test_stream, expected, q, bytes, NULL));
    if (permitted == 0) {
        if (memcmp(p, q, bytes) != 0)
            fail_msg("%s: other bits when merged", what);
        return;
    }
    tenon_tensor ones = tenon_tensor_view(got->dtype, got->rank, got->shape), host_p = ones,
                 host_q = ones;
    host_p.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = p};
    host_q.memory = (tenon_memory){.kind = TENON_MEMORY_SVM, .u.svm = q};
    double *values_p = tn_host_read(&host_p, ones.rank, ones.shape),
           *values_q = tn_host_read(&host_q, ones.rank, ones.shape), largest = 0, difference = 0;
    for (int64_t i = 0; i < tenon_tensor_elements(&ones); i++) {
        largest = fmax(largest, fabs(values_q[i]));
        difference = fmax(difference, fabs(values_p[i] - values_q[i]));
    }
    if (!(difference <= permitted * largest))
        fail_msg("%s: differs by %g, the largest value is %g", what, difference, largest);
    free(values_p);
    free(values_q);
}

/* Operands of the tests of products. */
typedef struct operands {
    tenon_tensor a, b, bias, r, d, expected;
} operands;

static operands make_operands(test_random *random, tenon_dtype dtype)
{
    operands o = {random_of(random, dtype, 2, a_shape),    random_of(random, dtype, 2, b_shape),
                  random_of(random, dtype, 1, bias_shape), random_of(random, dtype, 2, d_shape),
                  random_of(random, dtype, 2, d_shape),    random_of(random, dtype, 2, d_shape)};
    return o;
}

static void free_operands(operands *o)
{
    test_destroy(&o->a, &o->b, &o->bias, &o->r, &o->d, &o->expected);
}

/* Returns the steps of a product by this solver that is followed by an activation: they merge if
 * the solver applies it (CLBlast does not). */
static uint32_t steps_with(const operands *o, const tenon_gemm_params *params,
                           tenon_activation activation)
{
    tenon_gemm_params merged = *params;
    tenon_plan *plan = NULL;
    merged.epilogue.activation = activation;
    const tenon_status status =
        tenon_gemm_plan(test_context, &merged, &o->a, &o->b, NULL, &o->bias, &o->d, &plan);
    assert_true(status == TENON_OK || status == TENON_ERROR_UNSUPPORTED);
    tenon_plan_release(plan);
    return status == TENON_OK ? 1 : 2;
}

/* d = activation(0.5 · a·b + bias), in two steps and merged. */
static void check_activation(const operands *o, tenon_activation activation, const char *solver)
{
    char what[192];
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
    tenon_plan *plan;
    own.activation = activation;
    params.epilogue.alpha = 0.5;
    params.solver = solver;
    if (tenon_gemm_plan(test_context, &params, &o->a, &o->b, NULL, &o->bias, &o->d, &plan) ==
        TENON_ERROR_UNSUPPORTED)
        return;
    const char *planned = plan->name;
    params.solver = planned;
    assert_ok(tenon_gemm(test_stream, &params, &o->a, &o->b, NULL, &o->bias, &o->expected, NULL));
    assert_ok(tenon_activation_forward(test_stream, &own, &o->expected, &o->expected, NULL));
    built b = begin(o->a.dtype, 2, a_shape, d_shape);
    const tenon_tensor h = intermediate(&b, &b.y);
    add_gemm(&b, &params, &o->b, &o->bias, &h);
    add_activation(&b, NULL, activation, &h, &b.y);
    finish(&b, steps_with(o, &params, activation), &o->a, &o->d);
    snprintf(what, sizeof what, "%s %s %s", planned, tenon_dtype_string(o->a.dtype),
             tn_activation_words[activation.kind]);
    compare(&o->d, &o->expected, activation.kind, what);
    tenon_plan_release(plan);
}

TEST(activations)
{
    test_random random = test_random_for(2911);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        operands o = make_operands(&random, *dtype);
        for (uint32_t kind = 1; kind < TN_ACTIVATION_KINDS; kind++)
            check_activation(&o, tn_activation_tried(kind), NULL);
        free_operands(&o);
    }
}

TEST(every_solver_of_products)
{
    test_random random = test_random_for(2912);
    operands o = make_operands(&random, TENON_DTYPE_F32);
    for (uint32_t i = 0; i < tn_gemm_family.solver_count; i++) {
        char name[64];
        snprintf(name, sizeof name, "gemm/%s", tn_gemm_family.solvers[i]->name);
        check_activation(&o, tn_activation_tried(TENON_ACTIVATION_LEAKY_RELU), name);
    }
    free_operands(&o);
}

/* d = relu(a·b + r): both steps merge. */
TEST(sums_and_activations)
{
    test_random random = test_random_for(2913);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        operands o = make_operands(&random, *dtype);
        const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
        tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
        own.activation = relu;
        assert_ok(tenon_gemm(test_stream, NULL, &o.a, &o.b, NULL, NULL, &o.expected, NULL));
        assert_ok(tenon_elementwise(test_stream, NULL, &o.r, &o.expected, &o.expected, NULL));
        assert_ok(tenon_activation_forward(test_stream, &own, &o.expected, &o.expected, NULL));
        for (int order = 0; order < 2; order++) {
            built b = begin(*dtype, 2, a_shape, d_shape);
            const tenon_tensor h = intermediate(&b, &b.y), sum = intermediate(&b, &b.y);
            add_gemm(&b, NULL, &o.b, NULL, &h);
            add_sum(&b, order == 0 ? &o.r : &h, order == 0 ? &h : &o.r, &sum);
            add_activation(&b, NULL, relu, &sum, &b.y);
            finish(&b, 1, &o.a, &o.d);
            compare(&o.d, &o.expected, relu.kind, "a sum and relu");
        }
        free_operands(&o);
    }
}

/* An activation in place merges, and later steps read its result. */
TEST(in_place)
{
    test_random random = test_random_for(2914);
    operands o = make_operands(&random, TENON_DTYPE_F32);
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation = relu;
    assert_ok(tenon_gemm(test_stream, &params, &o.a, &o.b, NULL, NULL, &o.expected, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, &o.expected, &o.expected, &o.expected, NULL));
    built b = begin(TENON_DTYPE_F32, 2, a_shape, d_shape);
    const tenon_tensor h = intermediate(&b, &b.y);
    add_gemm(&b, NULL, &o.b, NULL, &h);
    add_activation(&b, NULL, relu, &h, &h);
    add_sum(&b, &h, &h, &b.y);
    finish(&b, 2, &o.a, &o.d);
    compare(&o.d, &o.expected, relu.kind, "in place");
    free_operands(&o);
}

/* An activation of a reshaped intermediate merges if its result is dense, and otherwise remains. */
TEST(reshaped)
{
    static const int64_t other_shape[] = {ROWS, 1, COLUMNS}, flat_shape[] = {ROWS * COLUMNS};
    test_random random = test_random_for(2919);
    operands o = make_operands(&random, TENON_DTYPE_F32);
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation = relu;
    assert_ok(tenon_gemm(test_stream, &params, &o.a, &o.b, NULL, &o.bias, &o.expected, NULL));
    for (int round = 0; round < 3; round++) {
        built b = begin(TENON_DTYPE_F32, 2, a_shape, d_shape);
        const tenon_tensor h = intermediate(&b, &b.y);
        tenon_tensor read, result;
        if (round == 2) { /* the columns of the result are not contiguous */
            const int64_t twice[] = {ROWS, 2, COLUMNS};
            assert_ok(tenon_tensor_reshape(&h, 3, other_shape, &read));
            assert_ok(tenon_sequence_tensor(b.sequence, NULL, TENON_DTYPE_F32, 3, twice, &result));
            result = tenon_tensor_slice(result, 1, 1, 1);
        } else {
            const int64_t *shape = round == 0 ? other_shape : flat_shape;
            assert_ok(tenon_tensor_reshape(&h, round == 0 ? 3 : 1, shape, &read));
            assert_ok(tenon_tensor_reshape(&b.y, round == 0 ? 3 : 1, shape, &result));
        }
        add_gemm(&b, NULL, &o.b, &o.bias, &h);
        add_activation(&b, NULL, relu, &read, &result);
        if (round == 2) {
            tenon_tensor y;
            assert_ok(tenon_tensor_reshape(&b.y, 3, other_shape, &y));
            assert_ok(tenon_sequence_copy(b.sequence, NULL, &result, &y));
        }
        finish(&b, round == 2 ? 3 : 1, &o.a, &o.d);
        compare(&o.d, &o.expected, relu.kind, "of a reshaped intermediate");
    }
    free_operands(&o);
}

/* Steps that do not merge, one in each round. */
TEST(steps_that_remain)
{
    enum { READ_TWICE, LABEL, DOUBLED, ACTIVATED, OPERAND, PART, ROUNDS };
    test_random random = test_random_for(2915);
    operands o = make_operands(&random, TENON_DTYPE_F32);
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    for (int round = 0; round < ROUNDS; round++) {
        tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
        built b = begin(TENON_DTYPE_F32, 2, a_shape, d_shape);
        const tenon_tensor h = round == OPERAND ? b.y : intermediate(&b, &b.y);
        const tenon_tensor half = tenon_tensor_slice(h, 0, 1, ROWS - 1),
                           y_half = tenon_tensor_slice(b.y, 0, 1, ROWS - 1);
        uint32_t steps = 2;
        params.epilogue.activation.kind =
            round == ACTIVATED ? TENON_ACTIVATION_TANH : TENON_ACTIVATION_IDENTITY;
        add_gemm(&b, &params, &o.b, NULL, &h);
        switch (round) {
        case READ_TWICE:
            add_activation(&b, NULL, relu, &h, &b.y);
            add_activation(&b, NULL, relu, &h, &o.r);
            steps = 3;
            break;
        case DOUBLED: /* in place */
            add_sum(&b, &h, &h, &h);
            add_sum(&b, &h, &o.r, &b.y);
            steps = 3;
            break;
        case OPERAND:
            add_activation(&b, NULL, relu, &b.y, &o.r);
            break;
        case PART:
            add_activation(&b, NULL, relu, &half, &y_half);
            break;
        default:
            add_activation(&b, round == LABEL ? "act" : NULL, relu, &h, &b.y);
            break;
        }
        finish(&b, steps, &o.a, &o.d);
    }
    free_operands(&o);
}

static void add_elementwise(const built *b, tenon_elementwise_kind kind, const tenon_tensor *p,
                            const tenon_tensor *q, const tenon_tensor *d)
{
    const tenon_elementwise_params params = tenon_elementwise_params(.kind = kind);
    tenon_plan *plan;
    assert_ok(tenon_elementwise_plan(test_context, &params, p, q, d, &plan));
    add_plan(b, NULL, plan, (const tenon_tensor *const[]){p, q, d}, 3);
}

/* Adds the steps d = scale · h + shift + r, each in place except for the last. */
static void add_terms(const built *b, const tenon_tensor *channels, const tenon_tensor *r,
                      const tenon_tensor *h)
{
    add_elementwise(b, TENON_ELEMENTWISE_MULTIPLY, channels, h, h);
    add_elementwise(b, TENON_ELEMENTWISE_ADD, h, channels, h);
    add_elementwise(b, TENON_ELEMENTWISE_ADD, r, h, &b->y);
}

/* Calls the same steps in place. */
static void apply_terms(const tenon_tensor *channels, const tenon_tensor *r, const tenon_tensor *d)
{
    const tenon_elementwise_params multiply =
        tenon_elementwise_params(.kind = TENON_ELEMENTWISE_MULTIPLY);
    assert_ok(tenon_elementwise(test_stream, &multiply, d, channels, d, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, d, channels, d, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, d, r, d, NULL));
}

/* Returns the steps that remain of a plan's call and its terms: one if the family with terms has
 * its solver. */
static uint32_t steps_with_terms(const tenon_plan *plan)
{
    static const tn_family *const families[] = {&tn_gemm_post_family, &tn_gemm_packed_post_family,
                                                &tn_conv_post_family, &tn_conv_packed_post_family};
    const size_t family = strcspn(plan->name, "/");
    char name[TN_SOLVER_NAME_SIZE];
    snprintf(name, sizeof name, "%.*s_post%s", (int)family, plan->name, plan->name + family);
    for (size_t i = 0; i < sizeof families / sizeof *families; i++)
        if (tn_solver_named(families[i], name) != NULL && strstr(name, "/dense") == NULL)
            return 1;
    return 4;
}

/* d = bias · act(0.5 · a·b + bias) + bias + r. */
static void check_terms(const operands *o, tenon_activation_kind kind, const char *solver)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_plan *plan;
    params.epilogue.alpha = 0.5;
    params.epilogue.activation.kind = kind;
    params.solver = solver;
    if (tenon_gemm_plan(test_context, &params, &o->a, &o->b, NULL, &o->bias, &o->d, &plan) ==
        TENON_ERROR_UNSUPPORTED)
        return;
    params.solver = plan->name;
    assert_ok(tenon_gemm(test_stream, &params, &o->a, &o->b, NULL, &o->bias, &o->expected, NULL));
    apply_terms(&o->bias, &o->r, &o->expected);
    built b = begin(o->a.dtype, 2, a_shape, d_shape);
    const tenon_tensor h = intermediate(&b, &b.y);
    add_gemm(&b, &params, &o->b, &o->bias, &h);
    add_terms(&b, &o->bias, &o->r, &h);
    finish(&b, steps_with_terms(plan), &o->a, &o->d);
    compare(&o->d, &o->expected, kind, plan->name);
    tenon_plan_release(plan);
}

TEST(terms_of_products)
{
    test_random random = test_random_for(2917);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        operands o = make_operands(&random, *dtype);
        check_terms(&o, TENON_ACTIVATION_RELU, NULL);
        check_terms(&o, TENON_ACTIVATION_HARD_SWISH, NULL);
        for (uint32_t i = 0; *dtype == TENON_DTYPE_F32 && i < tn_gemm_family.solver_count; i++) {
            char name[64];
            snprintf(name, sizeof name, "gemm/%s", tn_gemm_family.solvers[i]->name);
            check_terms(&o, TENON_ACTIVATION_IDENTITY, name);
        }
        free_operands(&o);
    }
}

/* Adds or calls a chain of scalars: x · 1.25 - 0.75, or in the other order. */
static tenon_elementwise_chain_params scalar_chain(bool sum_first)
{
    tenon_elementwise_chain_params chain = TENON_ELEMENTWISE_CHAIN_PARAMS_INIT;
    chain.step_count = 2;
    chain.steps[sum_first] = (tenon_chain_step){.op = TENON_CHAIN_MULTIPLY, .alpha = 1.25};
    chain.steps[!sum_first] = (tenon_chain_step){.op = TENON_CHAIN_ADD, .alpha = -0.75};
    return chain;
}

/* d = act(a·b + bias) · 1.25 - 0.75 is one step for f32 and f64; a sum before a product remains. */
static void check_chain(const operands *o, tenon_activation_kind kind, const char *solver,
                        bool sum_first)
{
    const tenon_elementwise_chain_params chain = scalar_chain(sum_first);
    const tenon_dtype dtype = o->a.dtype;
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_plan *plan, *after;
    params.epilogue.activation.kind = kind;
    params.solver = solver;
    if (tenon_gemm_plan(test_context, &params, &o->a, &o->b, NULL, &o->bias, &o->d, &plan) ==
        TENON_ERROR_UNSUPPORTED)
        return;
    params.solver = plan->name;
    assert_ok(tenon_gemm(test_stream, &params, &o->a, &o->b, NULL, &o->bias, &o->expected, NULL));
    assert_ok(tenon_elementwise_chain(test_stream, &chain, &o->expected, NULL, NULL, NULL,
                                      &o->expected, NULL));
    built b = begin(dtype, 2, a_shape, d_shape);
    const tenon_tensor h = intermediate(&b, &b.y);
    add_gemm(&b, &params, &o->b, &o->bias, &h);
    assert_ok(
        tenon_elementwise_chain_plan(test_context, &chain, &h, NULL, NULL, NULL, &b.y, &after));
    add_plan(&b, NULL, after, (const tenon_tensor *const[]){&h, NULL, NULL, NULL, &b.y}, 5);
    const bool is_merged = (dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F64) && !sum_first &&
                           steps_with_terms(plan) == 1;
    finish(&b, is_merged ? 1 : 2, &o->a, &o->d);
    compare(&o->d, &o->expected, kind, plan->name);
    tenon_plan_release(plan);
}

TEST(chains_of_scalars)
{
    static const char *const solvers[] = {NULL, "gemm/cpu_direct", "gemm/cpu_packed", "gemm/plain"};
    test_random random = test_random_for(2919);
    for (const tenon_dtype *dtype = test_float_types(); *dtype != TENON_DTYPE_INVALID; dtype++) {
        operands o = make_operands(&random, *dtype);
        for (size_t i = 0; i < sizeof solvers / sizeof *solvers; i++) {
            check_chain(&o, TENON_ACTIVATION_HARD_SWISH, solvers[i], false);
            check_chain(&o, TENON_ACTIVATION_RELU, solvers[i], false);
        }
        check_chain(&o, TENON_ACTIVATION_RELU, NULL, true);
        free_operands(&o);
    }
}

/* An activation does not merge after a residual. */
TEST(activations_after_residuals)
{
    test_random random = test_random_for(2918);
    operands o = make_operands(&random, TENON_DTYPE_F32);
    const tenon_gemm_params params = tenon_gemm_params(.solver = "gemm/plain");
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
    own.activation = relu;
    assert_ok(tenon_gemm(test_stream, &params, &o.a, &o.b, NULL, &o.bias, &o.expected, NULL));
    assert_ok(tenon_elementwise(test_stream, NULL, &o.expected, &o.r, &o.expected, NULL));
    assert_ok(tenon_activation_forward(test_stream, &own, &o.expected, &o.expected, NULL));
    built b = begin(TENON_DTYPE_F32, 2, a_shape, d_shape);
    const tenon_tensor h = intermediate(&b, &b.y);
    add_gemm(&b, &params, &o.b, &o.bias, &h);
    add_sum(&b, &h, &o.r, &h);
    add_activation(&b, NULL, relu, &h, &b.y);
    finish(&b, 2, &o.a, &o.d);
    compare(&o.d, &o.expected, relu.kind, "relu after a residual");
    free_operands(&o);
}

/* Images with their channels first and last, packed filters or not. */
static void check_conv(test_random *random, bool last, bool packed, bool with_terms, int64_t size)
{
    const int64_t x_shape[] = {2, 6, 9, 8}, w_shape[] = {20, 6, size, size},
                  y_shape[] = {2, 20, 10 - size, 9 - size}, bias_of[] = {20};
    const tenon_activation relu = tenon_activation_default(TENON_ACTIVATION_RELU);
    tenon_activation_params own = TENON_ACTIVATION_PARAMS_INIT;
    tenon_tensor x = random_of(random, TENON_DTYPE_F32, 4, x_shape),
                 w = random_of(random, TENON_DTYPE_F32, 4, w_shape),
                 bias = random_of(random, TENON_DTYPE_F32, 1, bias_of),
                 r = random_of(random, TENON_DTYPE_F32, 4, y_shape),
                 y = random_of(random, TENON_DTYPE_F32, 4, y_shape),
                 expected = random_of(random, TENON_DTYPE_F32, 4, y_shape);
    const int64_t x_last[] = {2, 9, 8, 6}, y_last[] = {2, 10 - size, 9 - size, 20};
    const tenon_tensor x_view = last ? tenon_tensor_nhwc(tenon_tensor_view(x.dtype, 4, x_last)) : x,
                       y_view = last ? tenon_tensor_nhwc(tenon_tensor_view(y.dtype, 4, y_last)) : y;
    memcpy(x.stride, x_view.stride, sizeof x.stride);
    memcpy(y.stride, y_view.stride, sizeof y.stride);
    memcpy(r.stride, y_view.stride, sizeof r.stride);
    memcpy(expected.stride, y_view.stride, sizeof y.stride);
    tenon_packed *filters = NULL;
    tenon_plan *plan;
    own.activation = relu;
    if (packed)
        assert_ok(tenon_conv_pack_filter(test_stream, NULL, &w, &filters, NULL));
    built b = begin(TENON_DTYPE_F32, 4, x_shape, y_shape);
    memcpy(b.x.stride, x.stride, sizeof x.stride);
    memcpy(b.y.stride, y.stride, sizeof y.stride);
    const tenon_tensor h = intermediate(&b, &b.y);
    if (packed)
        assert_ok(tenon_conv_forward_packed_plan(test_context, NULL, &b.x, filters, NULL, &bias, &h,
                                                 &plan));
    else
        assert_ok(tenon_conv_forward_plan(test_context, NULL, &b.x, &w, NULL, &bias, &h, &plan));
    const tenon_tensor *const with_w[] = {&b.x, &w, NULL, &bias, &h}, *const without[] = {
                                                                          &b.x, NULL, &bias, &h};
    tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    params.solver = plan->name;
    if (packed)
        assert_ok(tenon_conv_forward_packed(test_stream, &params, &x, filters, NULL, &bias,
                                            &expected, NULL));
    else
        assert_ok(tenon_conv_forward(test_stream, &params, &x, &w, NULL, &bias, &expected, NULL));
    assert_ok(tenon_activation_forward(test_stream, &own, &expected, &expected, NULL));
    tenon_plan_retain(plan);
    add_plan(&b, NULL, plan, packed ? without : with_w, packed ? 4 : 5);
    tenon_packed_release(filters); /* the plans keep them */
    const uint32_t steps = with_terms ? steps_with_terms(plan) : 1;
    const tenon_tensor channels = tenon_tensor_unsqueeze(tenon_tensor_unsqueeze(bias, 1), 2);
    add_activation(&b, NULL, relu, &h, with_terms ? &h : &b.y);
    if (with_terms) {
        add_terms(&b, &channels, &r, &h);
        apply_terms(&channels, &r, &expected);
    }
    tenon_plan_release(plan);
    finish(&b, steps, &x, &y);
    compare(&y, &expected, relu.kind, "a convolution");
    test_destroy(&x, &w, &bias, &r, &y, &expected);
}

TEST(convolutions)
{
    test_random random = test_random_for(2916);
    for (int bits = 0; bits < 16; bits++)
        check_conv(&random, (bits & 1) != 0, (bits & 2) != 0, (bits & 8) != 0,
                   (bits & 4) != 0 ? 1 : 3);
}

/* Gradients that are not added to previous contents may be intermediates; others read them. */
TEST(gradients_are_intermediates)
{
    static const int64_t shape[] = {2, 5, 7, 6}, bias[] = {5};
    for (int adds = 0; adds < 2; adds++) {
        const built b = begin(TENON_DTYPE_F32, 4, shape, shape);
        tenon_tensor h;
        tenon_conv_backward_params params = TENON_CONV_BACKWARD_PARAMS_INIT;
        tenon_plan *plan;
        params.beta = adds;
        assert_ok(tenon_sequence_tensor(b.sequence, NULL, TENON_DTYPE_F32, 1, bias, &h));
        assert_ok(tenon_conv_backward_bias_plan(test_context, &params, &b.x, &h, &plan));
        const tenon_tensor *const tensors[] = {&b.x, &h};
        const tenon_status status = tenon_sequence_add(b.sequence, NULL, plan, tensors, 2, NULL, 0);
        if (adds)
            assert_refused(status, TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                           "db: reads an intermediate that no step has written");
        else
            assert_ok(status);
        tenon_plan_release(plan);
        tenon_sequence_release(b.sequence);
    }
}

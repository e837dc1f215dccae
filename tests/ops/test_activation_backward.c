/* tenon_activation_backward: gradients at special values and kinks, any strides, in place; the
 * reference against finite differences. */
#include "support.h"

#include "ops/activation/internal.h"
#include "ops/registry.h"

#include <float.h>
#include <math.h>

enum { APART, DX_IS_X, DX_IS_DY, PLACES };

typedef struct gradient_case {
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[ACTIVATION_VIEWS][TENON_MAX_RANK];
    int64_t offset;
    int place;
    tenon_activation activation;
} gradient_case;

typedef struct gradient_data {
    gradient_case problem;
    tenon_dtype dtype;
    test_tensor operands[ACTIVATION_VIEWS];
    tn_bounded *expected;
    bool once; /* the automatic choice alone */
} gradient_data;

static const tenon_activation activations[] = {
    {TENON_ACTIVATION_IDENTITY, 0, 0, 0},       {TENON_ACTIVATION_RELU, 0, 0, 0},
    {TENON_ACTIVATION_LEAKY_RELU, 0, -0.01, 0}, {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 0.5, 0}, {TENON_ACTIVATION_HARD_SIGMOID, 0, 0.2, 0.5},
    {TENON_ACTIVATION_HARD_SWISH, 0, 0, 0},     {TENON_ACTIVATION_HARD_TANH, 0, -1, 1.1},
    {TENON_ACTIVATION_SOFTSIGN, 0, 0, 0},       {TENON_ACTIVATION_ABS, 0, 0, 0},
    {TENON_ACTIVATION_SQUARE, 0, 0, 0},         {TENON_ACTIVATION_SIGMOID, 0, 0, 0},
    {TENON_ACTIVATION_TANH, 0, 0, 0},           {TENON_ACTIVATION_ELU, 0, -2.3, 0},
    {TENON_ACTIVATION_SELU, 0, 0, 0},           {TENON_ACTIVATION_CELU, 0, 1.3, 0},
    {TENON_ACTIVATION_GELU, 0, 0, 0},           {TENON_ACTIVATION_GELU_TANH, 0, 0, 0},
    {TENON_ACTIVATION_SILU, 0, 0, 0},           {TENON_ACTIVATION_MISH, 0, 0, 0},
    {TENON_ACTIVATION_SOFTPLUS, 0, 0, 0},       {TENON_ACTIVATION_EXP, 0, 0, 0},
};
#define ACTIVATIONS    (sizeof activations / sizeof *activations)
#define RUN_TIME_KINDS 11 /* those before the ones that need a build of their own */

static const char *describe(const void *user)
{
    static char text[1024];
    const gradient_data *data = user;
    const gradient_case *p = &data->problem;
    char shape[160], x[160], dy[160], dx[160];
    snprintf(text, sizeof text,
             "%s activation %u (%g, %g), shape %s, strides x %s dy %s dx %s, dx is %s, offset %lld",
             tenon_dtype_string(data->dtype), p->activation.kind, p->activation.alpha,
             p->activation.beta, tn_shape_text(p->rank, p->shape, shape),
             tn_shape_text(p->rank, p->stride[BACKWARD_X], x),
             tn_shape_text(p->rank, p->stride[BACKWARD_DY], dy),
             tn_shape_text(p->rank, p->stride[BACKWARD_DX], dx),
             p->place == DX_IS_X ? "x" : (p->place == DX_IS_DY ? "dy" : "apart"),
             (long long)p->offset);
    return text;
}

/* The operand that stands for a view: an input may be the output. */
static test_tensor *operand(gradient_data *data, int view)
{
    bool same = data->problem.place == (view == BACKWARD_X ? DX_IS_X : DX_IS_DY);
    return &data->operands[same ? BACKWARD_DX : view];
}

static tenon_status call(const void *user, const char *solver)
{
    gradient_data data = *(const gradient_data *)user;
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    params.activation = data.problem.activation;
    params.solver = solver;
    return test_call(&tn_operation_activation_backward, &params, &operand(&data, BACKWARD_X)->view,
                     &operand(&data, BACKWARD_DY)->view, &data.operands[BACKWARD_DX].view);
}

static void make(gradient_data *data, const gradient_case *p, tenon_dtype dtype)
{
    *data = (gradient_data){.problem = *p, .dtype = dtype};
    for (int v = 0; v < ACTIVATION_VIEWS; v++)
        if (operand(data, v) == &data->operands[v] || v == BACKWARD_DX)
            test_tensor_create(&data->operands[v], dtype, p->rank, p->shape, p->stride[v],
                               p->offset);
}

static void run(gradient_data *data)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    const tenon_tensor *dx = &data->operands[BACKWARD_DX].host,
                       *const views[] = {&operand(data, BACKWARD_X)->host,
                                         &operand(data, BACKWARD_DY)->host, dx};
    params.activation = data->problem.activation;
    data->expected = malloc(((size_t)tenon_tensor_elements(dx) + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    assert_true(tn_activation_backward_reference(&params, views, data->expected));
    const test_subject subject = {&tn_activation_backward_family,
                                  call,
                                  describe,
                                  data,
                                  data->operands,
                                  ACTIVATION_VIEWS,
                                  data->expected,
                                  TEST_BOUND};
    (data->once ? test_run_once : test_run_all)(&subject);
    for (int v = 0; v < ACTIVATION_VIEWS; v++)
        if (data->operands[v].image != NULL)
            test_tensor_destroy(&data->operands[v]);
    free(data->expected);
}

static void fill(gradient_data *data, test_random *random)
{
    test_tensor *x = operand(data, BACKWARD_X), *dy = operand(data, BACKWARD_DY);
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++) {
        test_set(x, i, test_real(random, -8, 8));
        test_set(dy, i, test_real(random, -3, 3));
    }
}

static void check(const gradient_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        gradient_data data;
        make(&data, p, *type);
        fill(&data, random);
        run(&data);
    }
}

static gradient_case dense(int64_t size)
{
    return (gradient_case){.rank = 1, .shape = {size}, .stride = {{1}, {1}, {1}}};
}

/* The 16-bit types compute in f32: the builds take turns at them, for the sake of build time. */
static bool takes_turn(size_t activation, tenon_dtype dtype)
{
    if (activation < RUN_TIME_KINDS || dtype == TENON_DTYPE_F32 || dtype == TENON_DTYPE_F64)
        return true;
    return (dtype == TENON_DTYPE_F16) == (activation % 2 == 0);
}

static void special_values(void **state)
{
    static const double values[] = {
        0,    -0.0, 1,    -1,  NAN, INFINITY, -INFINITY, 0x1p-126, -0x1p-126, 1e-30, -1e-30, 0.5,
        -0.5, 6,    5.99, 3,   -3,  2.999,    -2.999,    -2.5,     2.5,       1.1,   -0.75,  -1.19,
        12,   -12,  40,   -40, 88,  -88,      104,       -104,     710,       -710,  1e30,   -1e30};
    static const double gradients[] = {1, -3, 0.5, 0.01};
    const int64_t count = sizeof values / sizeof *values, many = 4;
    (void)state;
    for (size_t a = 0; a < ACTIVATIONS; a++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            gradient_case p = dense(count * many);
            gradient_data data;
            if (!takes_turn(a, *type))
                continue;
            p.activation = activations[a];
            make(&data, &p, *type);
            for (int64_t i = 0; i < count * many; i++) {
                test_set(&data.operands[BACKWARD_X], i, values[i / many]);
                test_set(&data.operands[BACKWARD_DY], i, gradients[i % many]);
            }
            run(&data);
        }
}

/* By the header's conventions, not by the reference: dy is 2, and NaN at the last, x being -8. */
static void kinks(void **state)
{
    static const float x[] = {-3, -1, 0, 1, 3, 6, -8};
    static const float dy[] = {2, 2, 2, 2, 2, 2, NAN};
    static const struct {
        tenon_activation activation;
        float dx[6];
    } cases[] = {
        {{TENON_ACTIVATION_IDENTITY, 0, 0, 0}, {2, 2, 2, 2, 2, 2}},
        {{TENON_ACTIVATION_RELU, 0, 0, 0}, {0, 0, 0, 2, 2, 2}},
        {{TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0}, {0.5, 0.5, 0.5, 2, 2, 2}},
        {{TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {0, 0, 0, 2, 2, 0}},
        {{TENON_ACTIVATION_HARD_SIGMOID, 0, 0.5, 0.5}, {0, 0, 1, 0, 0, 0}},
        {{TENON_ACTIVATION_HARD_SWISH, 0, 0, 0}, {0, 1.0F / 3, 1, 5.0F / 3, 2, 2}},
        {{TENON_ACTIVATION_HARD_TANH, 0, -1, 3}, {0, 0, 2, 2, 0, 0}},
        {{TENON_ACTIVATION_ABS, 0, 0, 0}, {-2, -2, 0, 2, 2, 2}},
        {{TENON_ACTIVATION_SQUARE, 0, 0, 0}, {-12, -4, 0, 4, 12, 24}},
        {{TENON_ACTIVATION_SOFTSIGN, 0, 0, 0}, {0.125, 0.5, 2, 0.5, 0.125, 2.0F / 49}},
    };
    const int64_t shape[] = {7};
    tenon_tensor at, gradient;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &at));
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &gradient));
    assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &at, NULL));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        float dx[7];
        params.activation = cases[i].activation;
        assert_ok(tenon_tensor_upload(test_stream, dy, sizeof dy, &gradient, NULL));
        assert_ok(tenon_activation_backward(test_stream, &params, &at, &gradient, &gradient, NULL));
        assert_ok(tenon_tensor_download(test_stream, &gradient, dx, sizeof dx, NULL));
        for (int e = 0; e < 6; e++)
            if (!(fabsf(dx[e] - cases[i].dx[e]) <= 1e-6F))
                fail_msg("activation %u: the gradient at %g is %g, must be %g",
                         params.activation.kind, (double)x[e], (double)dx[e],
                         (double)cases[i].dx[e]);
        assert_true(isnan(dx[6]));
    }
    tenon_memory_destroy(&at.memory);
    tenon_memory_destroy(&gradient.memory);
}

/* Between the kinks, which lie at whole numbers, -2.5, 2.5 and 1.1. */
static void finite_differences(void **state)
{
    const double h = 1e-5;
    (void)state;
    for (size_t a = 0; a < ACTIVATIONS; a++)
        for (int i = 0; i < 86; i++) {
            const double x = -9.03 + 0.211 * i;
            const tenon_activation *f = &activations[a];
            double up = tn_activation_reference(f, TENON_DTYPE_F64, (tn_bounded){x + h, 0}).value;
            double down = tn_activation_reference(f, TENON_DTYPE_F64, (tn_bounded){x - h, 0}).value;
            double got = tn_activation_gradient_reference(f, TENON_DTYPE_F64, x, 1.5).value;
            double slope = (up - down) / (2 * h);
            if (!(fabs(got - 1.5 * slope) <= 1e-8 * (1 + fabs(up))))
                fail_msg("activation %u: the gradient at %g is %.12g, by differences %.12g",
                         f->kind, x, got, 1.5 * slope);
        }
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 65, 129, 1025};
    test_random random = test_random_for(421);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int place = 0; place < PLACES; place++) {
            gradient_case p = dense(sizes[i]);
            p.activation = activations[i % RUN_TIME_KINDS];
            p.place = place;
            p.offset = (int64_t)i % 5;
            check(&p, &random);
        }
}

static void every_rank(void **state)
{
    test_random random = test_random_for(422);
    (void)state;
    for (uint32_t rank = 0; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 8; n++) {
            gradient_case p = {.rank = rank, .place = n % PLACES};
            p.activation = activations[test_between(&random, 0, RUN_TIME_KINDS - 1)];
            for (uint32_t d = 0; d < rank; d++)
                p.shape[d] = test_between(&random, 1, rank > 5 ? 3 : 5);
            for (int v = 0; v < ACTIVATION_VIEWS; v++)
                test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1),
                             (n + v) % 2 == 0, rank, p.shape, p.stride[v]);
            check(&p, &random);
        }
}

static void broadcast_inputs(void **state)
{
    test_random random = test_random_for(423);
    (void)state;
    for (int mask = 1; mask < 16; mask++) {
        gradient_case p = {.rank = 2, .shape = {5, 9}, .activation = activations[1]};
        for (int v = 0; v < ACTIVATION_VIEWS; v++)
            test_strides(v == mask % 3 ? TEST_COL : TEST_ROW, false, 2, p.shape, p.stride[v]);
        for (int bit = 0; bit < 4; bit++)
            if ((mask >> bit & 1) != 0)
                p.stride[bit / 2][bit % 2] = 0;
        check(&p, &random);
    }
}

static gradient_case random_case(test_random *random, tenon_dtype dtype)
{
    gradient_case p = {.rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK),
                       .offset = test_between(random, 0, 9),
                       .place = (int)test_between(random, 0, PLACES - 1)};
    size_t number = (size_t)test_between(random, 0, ACTIVATIONS - 1);
    p.activation = activations[takes_turn(number, dtype) ? number : number % RUN_TIME_KINDS];
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    for (int v = 0; v < ACTIVATION_VIEWS; v++)
        test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                     p.rank, p.shape, p.stride[v]);
    return p;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(425);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            gradient_case p = random_case(&random, *type);
            gradient_data data;
            make(&data, &p, *type);
            data.once = true;
            fill(&data, &random);
            run(&data);
        }
}

/* Past several work-items' share, planned once and run twice. */
static void planned(void **state)
{
    test_random random = test_random_for(424);
    gradient_case p = dense(100003);
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    gradient_data data;
    tenon_plan *plan;
    (void)state;
    p.activation = params.activation = (tenon_activation){TENON_ACTIVATION_HARD_TANH, 0, -1, 1.1};
    make(&data, &p, TENON_DTYPE_F32);
    test_fill_reals(&data.operands[BACKWARD_X], &random);
    test_fill_reals(&data.operands[BACKWARD_DY], &random);
    tenon_memory memories[ACTIVATION_VIEWS];
    tenon_tensor views[ACTIVATION_VIEWS];
    for (int v = 0; v < ACTIVATION_VIEWS; v++) {
        test_upload(&data.operands[v]);
        views[v] = data.operands[v].view;
        memories[v] = views[v].memory;
        views[v].memory = (tenon_memory){0};
    }
    assert_ok(tenon_activation_backward_plan(test_context, &params, &views[0], &views[1], &views[2],
                                             &plan));
    for (int n = 0; n < 2; n++) {
        assert_ok(tenon_plan_run(test_stream, plan, memories, ACTIVATION_VIEWS, NULL));
        double *got = test_download(&data.operands[BACKWARD_DX]);
        for (int64_t i = 0; i < 100003; i++) {
            double x = test_get(&data.operands[BACKWARD_X], i);
            assert_true(
                got[i] ==
                (x > -1 && x < (double)1.1F ? test_get(&data.operands[BACKWARD_DY], i) : 0));
        }
        free(got);
    }
    tenon_plan_release(plan);
    run(&data);
}

/* What a device may make of factors below the normal numbers: zeros, and of an infinity times such
 * a one NaN. */
static void flushed_factors(void **state)
{
    const tenon_activation gelu = {.kind = TENON_ACTIVATION_GELU_TANH},
                           sigmoid = {.kind = TENON_ACTIVATION_SIGMOID};
    (void)state;
    for (int i = 0; i < 256; i++) {
        const double x = -12 + i / 64.0;
        if (exp(1.5957691216057308 * (x + 0.044715 * x * x * x)) < (double)FLT_MIN)
            assert_true(
                tn_within(0, tn_activation_gradient_reference(&gelu, TENON_DTYPE_F32, x, 1)));
    }
    const double infinity = (double)INFINITY;
    tn_bounded far = tn_activation_gradient_reference(&sigmoid, TENON_DTYPE_F32, -95, infinity),
               near = tn_activation_gradient_reference(&sigmoid, TENON_DTYPE_F32, -5, infinity);
    assert_true(tn_within((double)NAN, far) && tn_within(infinity, far));
    assert_true(!tn_within((double)NAN, near) && tn_within(infinity, near));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finite_differences),
        cmocka_unit_test(kinks),
        cmocka_unit_test(special_values),
        cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(every_rank),
        cmocka_unit_test(broadcast_inputs),
        cmocka_unit_test(planned),
        cmocka_unit_test(random_problems),
        cmocka_unit_test(flushed_factors),
    };
    return TEST_MAIN(tests);
}

/* tenon_activation_forward: formulas at special values, any strides, in place, large. */
#include "support.h"

#include "ops/activation/internal.h"
#include "check/host.h"
#include "dispatch/operation.h"
#include "runtime/capability.h"
#include "ops/registry.h"

#include <float.h>
#include <math.h>

typedef struct activation_case {
    uint32_t rank;
    int64_t shape[TENON_MAX_RANK];
    int64_t x[TENON_MAX_RANK], y[TENON_MAX_RANK]; /* strides */
    int64_t offset;
    bool in_place;
    tenon_activation activation;
} activation_case;

typedef struct activation_data {
    activation_case problem;
    tenon_dtype dtype;
    test_tensor operands[ACTIVATION_OPERANDS];
    tn_bounded *expected;
    bool once; /* the automatic choice alone */
} activation_data;

static const tenon_activation activations[] = {
    {TENON_ACTIVATION_IDENTITY, 0, 0, 0},
    {TENON_ACTIVATION_RELU, 0, 0, 0},
    {TENON_ACTIVATION_LEAKY_RELU, 0, 0.01, 0},
    {TENON_ACTIVATION_LEAKY_RELU, 0, -3, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0},
    {TENON_ACTIVATION_CLIPPED_RELU, 0, 0.5, 0},
    {TENON_ACTIVATION_HARD_TANH, 0, 0, 6},
    {TENON_ACTIVATION_HARD_SIGMOID, 0, 0.2, 0.5},
    {TENON_ACTIVATION_HARD_SIGMOID, 0, -1.0 / 6, 0.3},
    {TENON_ACTIVATION_HARD_SWISH, 0, 0, 0},
    {TENON_ACTIVATION_HARD_TANH, 0, -1, 1.1},
    {TENON_ACTIVATION_SOFTSIGN, 0, 0, 0},
    {TENON_ACTIVATION_ABS, 0, 0, 0},
    {TENON_ACTIVATION_SQUARE, 0, 0, 0},
    {TENON_ACTIVATION_SIGMOID, 0, 0, 0},
    {TENON_ACTIVATION_TANH, 0, 0, 0},
    {TENON_ACTIVATION_ELU, 0, 1, 0},
    {TENON_ACTIVATION_ELU, 0, -2.3, 0},
    {TENON_ACTIVATION_SELU, 0, 0, 0},
    {TENON_ACTIVATION_CELU, 0, 1.3, 0},
    {TENON_ACTIVATION_CELU, 0, 0.1, 0},
    {TENON_ACTIVATION_GELU, 0, 0, 0},
    {TENON_ACTIVATION_GELU_TANH, 0, 0, 0},
    {TENON_ACTIVATION_SILU, 0, 0, 0},
    {TENON_ACTIVATION_MISH, 0, 0, 0},
    {TENON_ACTIVATION_SOFTPLUS, 0, 0, 0},
    {TENON_ACTIVATION_EXP, 0, 0, 0},
};
#define RUN_TIME_KINDS 14 /* those before the ones that need a build of their own */
#define ACTIVATIONS    (sizeof activations / sizeof *activations)

static const char *describe(const void *user)
{
    static char text[1024];
    const activation_data *data = user;
    const activation_case *p = &data->problem;
    char shape[160], x[160], y[160];
    snprintf(text, sizeof text, "%s activation %u (%g), shape %s, strides x %s y %s%s, offset %lld",
             tenon_dtype_string(data->dtype), p->activation.kind, p->activation.alpha,
             tn_shape_text(p->rank, p->shape, shape), tn_shape_text(p->rank, p->x, x),
             tn_shape_text(p->rank, p->y, y), p->in_place ? " in place" : "", (long long)p->offset);
    return text;
}

static tenon_status call(const void *user, const char *solver)
{
    const activation_data *data = user;
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    const tenon_tensor *y = &data->operands[ACTIVATION_Y].view;
    params.activation = data->problem.activation;
    params.solver = solver;
    return test_call(&tn_operation_activation, &params,
                     data->problem.in_place ? y : &data->operands[ACTIVATION_X].view, y);
}

static void make(activation_data *data, const activation_case *p, tenon_dtype dtype)
{
    *data = (activation_data){.problem = *p, .dtype = dtype};
    if (!p->in_place)
        test_tensor_create(&data->operands[ACTIVATION_X], dtype, p->rank, p->shape, p->x,
                           p->offset);
    test_tensor_create(&data->operands[ACTIVATION_Y], dtype, p->rank, p->shape, p->y, p->offset);
}

static test_tensor *input_of(activation_data *data)
{
    return &data->operands[data->problem.in_place ? ACTIVATION_Y : ACTIVATION_X];
}

static void run(activation_data *data)
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    const tenon_tensor *y = &data->operands[ACTIVATION_Y].host, *const views[] = {
                                                                    &input_of(data)->host, y};
    params.activation = data->problem.activation;
    data->expected = malloc(((size_t)tenon_tensor_elements(y) + 1) * sizeof *data->expected);
    assert_non_null(data->expected);
    assert_true(tn_activation_forward_reference(&params, views, data->expected));
    const test_subject subject = {
        &tn_activation_family, call,           describe,  data, data->operands,
        ACTIVATION_OPERANDS,   data->expected, TEST_BOUND};
    (data->once ? test_run_once : test_run_all)(&subject);
    for (int i = 0; i < ACTIVATION_OPERANDS; i++)
        if (data->operands[i].image != NULL)
            test_tensor_destroy(&data->operands[i]);
    free(data->expected);
}

static void fill(activation_data *data, test_random *random)
{
    test_tensor *x = input_of(data);
    for (int64_t i = 0; i < tenon_tensor_elements(&x->view); i++)
        test_set(x, i, test_real(random, -10, 10));
}

static void check(const activation_case *p, test_random *random)
{
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++) {
        activation_data data;
        make(&data, p, *type);
        fill(&data, random);
        run(&data);
    }
}

static activation_case dense(int64_t size)
{
    return (activation_case){.rank = 1, .shape = {size}, .x = {1}, .y = {1}};
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
        0,      -0.0, 1,    -1,   NAN,   INFINITY, -INFINITY, 0x1p-126, -0x1p-126, 1e-30,
        -1e-30, 0.5,  -0.5, 6,    5.999, 6.001,    88,        -88,      89,        -89,
        104,    -104, 710,  -710, 1e30,  -1e30,    3e38,      -3e38,    1e-4,      -1e-4};
    const int64_t count = sizeof values / sizeof *values;
    (void)state;
    for (size_t a = 0; a < ACTIVATIONS; a++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            activation_case p = dense(count);
            activation_data data;
            if (!takes_turn(a, *type))
                continue;
            p.activation = activations[a];
            make(&data, &p, *type);
            for (int64_t i = 0; i < count; i++)
                test_set(input_of(&data), i, values[i]);
            run(&data);
        }
}

/* By the header's formulas, not by the reference. */
static void known_values(void **state)
{
    static const float x[] = {-2, -0.5, 0, 0.5, 3, 8};
    static const struct {
        tenon_activation activation;
        float y[6];
    } cases[] = {
        {{TENON_ACTIVATION_IDENTITY, 0, 0, 0}, {-2, -0.5, 0, 0.5, 3, 8}},
        {{TENON_ACTIVATION_RELU, 0, 0, 0}, {0, 0, 0, 0.5, 3, 8}},
        {{TENON_ACTIVATION_LEAKY_RELU, 0, 0.25, 0}, {-0.5, -0.125, 0, 0.5, 3, 8}},
        {{TENON_ACTIVATION_CLIPPED_RELU, 0, 6, 0}, {0, 0, 0, 0.5, 3, 6}},
        {{TENON_ACTIVATION_CLIPPED_RELU, 0, INFINITY, 0}, {0, 0, 0, 0.5, 3, 8}},
        {{TENON_ACTIVATION_HARD_TANH, 0, -INFINITY, 1}, {-2, -0.5, 0, 0.5, 1, 1}},
        {{TENON_ACTIVATION_HARD_SIGMOID, 0, 0.25, 0.5}, {0, 0.375, 0.5, 0.625, 1, 1}},
        {{TENON_ACTIVATION_HARD_TANH, 0, -1, 2}, {-1, -0.5, 0, 0.5, 2, 2}},
        {{TENON_ACTIVATION_ABS, 0, 0, 0}, {2, 0.5, 0, 0.5, 3, 8}},
        {{TENON_ACTIVATION_SQUARE, 0, 0, 0}, {4, 0.25, 0, 0.25, 9, 64}},
    };
    const int64_t shape[] = {6};
    tenon_tensor tensor;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &tensor));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        float y[6];
        params.activation = cases[i].activation;
        assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tensor, NULL));
        assert_ok(tenon_activation_forward(test_stream, &params, &tensor, &tensor, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tensor, y, sizeof y, NULL));
        for (int e = 0; e < 6; e++)
            if (y[e] != cases[i].y[e])
                fail_msg("activation %u (%g) of %g is %g, must be %g", params.activation.kind,
                         params.activation.alpha, (double)x[e], (double)y[e],
                         (double)cases[i].y[e]);
    }
    tenon_memory_destroy(&tensor.memory);
}

/* Of the functions that are not exact: values at -2, -0.5, 0.5 and 3 that a calculator gave. */
static void known_curves(void **state)
{
    static const float x[] = {-2, -0.5, 0.5, 3};
    static const struct {
        tenon_activation activation;
        double y[4];
    } cases[] = {
        {{TENON_ACTIVATION_SIGMOID, 0, 0, 0}, {0.119202922, 0.377540669, 0.622459331, 0.952574127}},
        {{TENON_ACTIVATION_TANH, 0, 0, 0}, {-0.96402758, -0.462117157, 0.462117157, 0.995054754}},
        {{TENON_ACTIVATION_ELU, 0, 2, 0}, {-1.72932943, -0.786938681, 0.5, 3}},
        {{TENON_ACTIVATION_SELU, 0, 0, 0}, {-1.52016647, -0.691758188, 0.525350494, 3.15210296}},
        {{TENON_ACTIVATION_CELU, 0, 2, 0}, {-1.26424112, -0.442398434, 0.5, 3}},
        {{TENON_ACTIVATION_GELU, 0, 0, 0}, {-0.0455002639, -0.154268769, 0.345731231, 2.99595031}},
        {{TENON_ACTIVATION_GELU_TANH, 0, 0, 0},
         {-0.0454023059, -0.15428599, 0.34571401, 2.99636261}},
        {{TENON_ACTIVATION_SILU, 0, 0, 0}, {-0.238405844, -0.188770334, 0.311229666, 2.85772238}},
        {{TENON_ACTIVATION_MISH, 0, 0, 0}, {-0.252501483, -0.220743775, 0.375245211, 2.986535}},
        {{TENON_ACTIVATION_HARD_SWISH, 0, 0, 0}, {-0.333333333, -0.208333333, 0.291666667, 3}},
        {{TENON_ACTIVATION_SOFTPLUS, 0, 0, 0}, {0.126928011, 0.474076984, 0.974076984, 3.04858735}},
        {{TENON_ACTIVATION_SOFTSIGN, 0, 0, 0}, {-0.666666667, -0.333333333, 0.333333333, 0.75}},
        {{TENON_ACTIVATION_EXP, 0, 0, 0}, {0.135335283, 0.60653066, 1.64872127, 20.0855369}},
    };
    const int64_t shape[] = {4};
    tenon_tensor tensor;
    (void)state;
    assert_ok(tenon_tensor_create(test_context, TENON_DTYPE_F32, 1, shape, &tensor));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
        float y[4];
        params.activation = cases[i].activation;
        assert_ok(tenon_tensor_upload(test_stream, x, sizeof x, &tensor, NULL));
        assert_ok(tenon_activation_forward(test_stream, &params, &tensor, &tensor, NULL));
        assert_ok(tenon_tensor_download(test_stream, &tensor, y, sizeof y, NULL));
        for (int e = 0; e < 4; e++)
            if (!(fabs((double)y[e] - cases[i].y[e]) <= 4e-6 * fabs(cases[i].y[e])))
                fail_msg("activation %u (%g) of %g is %.9g, must be %.9g", params.activation.kind,
                         params.activation.alpha, (double)x[e], (double)y[e], cases[i].y[e]);
    }
    tenon_memory_destroy(&tensor.memory);
}

static void sizes_around_vectors(void **state)
{
    static const int64_t sizes[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,    15,   16,
                                    17, 31, 33, 63, 64, 65, 127, 129, 1023, 1025, 4099};
    test_random random = test_random_for(401);
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int in_place = 0; in_place < 2; in_place++) {
            activation_case p = dense(sizes[i]);
            p.activation = activations[i % RUN_TIME_KINDS];
            p.in_place = in_place != 0;
            p.offset = (int64_t)i % 5;
            check(&p, &random);
        }
}

static void every_rank(void **state)
{
    test_random random = test_random_for(402);
    (void)state;
    for (uint32_t rank = 0; rank <= TENON_MAX_RANK; rank++)
        for (int n = 0; n < 12; n++) {
            activation_case p = {.rank = rank,
                                 .activation =
                                     activations[test_between(&random, 0, RUN_TIME_KINDS - 1)]};
            for (uint32_t d = 0; d < rank; d++)
                p.shape[d] = test_between(&random, 1, rank > 5 ? 3 : 5);
            test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), n % 2 == 0, rank,
                         p.shape, p.x);
            test_strides((test_layout)test_between(&random, 0, TEST_LAYOUTS - 1), n % 3 == 0, rank,
                         p.shape, p.y);
            p.in_place = n % 4 == 0;
            check(&p, &random);
        }
}

static void broadcast_inputs(void **state)
{
    test_random random = test_random_for(403);
    (void)state;
    for (int mask = 1; mask < 8; mask++) {
        activation_case p = {.rank = 3, .shape = {4, 5, 6}, .activation = activations[1]};
        test_strides(TEST_ROW, false, 3, p.shape, p.x);
        test_strides(mask % 2 == 0 ? TEST_COL : TEST_ROW, false, 3, p.shape, p.y);
        for (int d = 0; d < 3; d++)
            if ((mask >> d & 1) != 0)
                p.x[d] = 0;
        check(&p, &random);
    }
}

static activation_case random_case(test_random *random, tenon_dtype dtype)
{
    activation_case p = {.rank = (uint32_t)test_between(random, 0, TENON_MAX_RANK),
                         .offset = test_between(random, 0, 9),
                         .in_place = test_one_in(random, 3)};
    size_t number = (size_t)test_between(random, 0, ACTIVATIONS - 1);
    p.activation = activations[takes_turn(number, dtype) ? number : number % RUN_TIME_KINDS];
    for (uint32_t d = 0; d < p.rank; d++)
        p.shape[d] = test_between(random, 1, p.rank > 4 ? 3 : test_one_in(random, 3) ? 70 : 6);
    test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                 p.rank, p.shape, p.x);
    test_strides((test_layout)test_between(random, 0, TEST_LAYOUTS - 1), test_one_in(random, 2),
                 p.rank, p.shape, p.y);
    return p;
}

static void random_problems(void **state)
{
    test_random random = test_random_for(405);
    (void)state;
    for (const tenon_dtype *type = test_float_types(); *type != TENON_DTYPE_INVALID; type++)
        for (int n = 0; n < test_problems(20); n++) {
            activation_case p = random_case(&random, *type);
            activation_data data;
            make(&data, &p, *type);
            data.once = true;
            fill(&data, &random);
            run(&data);
        }
}

/* Every 8191st float from one end to the other, NaNs, infinities and what is below the normal
 * numbers among them: the functions' ranges join somewhere in between. */
static void number_line(void **state)
{
    const activation_case p = dense(((int64_t)1 << 32) / 8191);
    (void)state;
    for (size_t a = RUN_TIME_KINDS; a < ACTIVATIONS; a++) {
        activation_data data = {.problem = p, .dtype = TENON_DTYPE_F32};
        data.problem.activation = activations[a];
        make(&data, &data.problem, data.dtype);
        test_tensor *x = input_of(&data);
        for (int64_t i = 0; i < p.shape[0]; i++) {
            const uint32_t bits = (uint32_t)(i * 8191);
            float value;
            memcpy(&value, &bits, sizeof value);
            test_set(x, i, value);
        }
        run(&data);
    }
}

/* A self-check's arguments reach to where exp() has its tail, on the host and on the device. */
static void tails_are_checked(void **state)
{
    const int64_t shape[] = {64};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F64, 1, shape);
    const tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    tn_twin twins[ACTIVATION_OPERANDS] = {0};
    uint64_t seed = 1;
    int far = 0;
    (void)state;
    for (int i = 0; i < ACTIVATION_OPERANDS; i++)
        assert_ok(tn_twin_create(test_stream, &view, &seed, &twins[i]));
    assert_ok(tn_twins_settle(test_stream, &tn_operation_activation, &params, twins));
    assert_ok(tn_twin_fetch(test_stream, &twins[ACTIVATION_X]));
    for (int64_t i = 0; i < shape[0]; i++) {
        const double x = *(double *)tn_host_element(&twins[ACTIVATION_X].host, &i);
        assert_true(x >= -100 && x <= 1);
        far += x < -50;
    }
    assert_true(far > 5);
    for (int i = 0; i < ACTIVATION_OPERANDS; i++)
        tn_twin_destroy(&twins[i]);
}

/* Doubles by the exp() that drivers are given whose own is off: along all that does not overflow,
 * and from one end of the numbers to the other. */
static void own_exp(void **state)
{
    static const tenon_activation with_exp[] = {{.kind = TENON_ACTIVATION_EXP},
                                                {.kind = TENON_ACTIVATION_SIGMOID}};
    const int form = tn_capability_form(test_context, TENON_CAPABILITY_F64);
    activation_case p = dense(20011);
    (void)state;
    if (form < 0)
        skip();
    tn_capability_set(test_context, TENON_CAPABILITY_F64, 1);
    for (size_t a = 0; a < sizeof with_exp / sizeof *with_exp; a++) {
        activation_data data;
        p.activation = with_exp[a];
        make(&data, &p, TENON_DTYPE_F64);
        for (int64_t i = 0; i < p.shape[0]; i++) {
            const uint64_t bits = (uint64_t)i * (UINT64_MAX / 20010);
            double value = -746 + 1460.0 * (double)i / 20011;
            if (i % 2 == 0)
                memcpy(&value, &bits, sizeof value);
            test_set(input_of(&data), i, value);
        }
        run(&data);
    }
    tn_capability_set(test_context, TENON_CAPABILITY_F64, form);
}

static void large(void **state)
{
    test_random random = test_random_for(404);
    activation_case p = dense((1 << 20) + 7);
    activation_data data;
    (void)state;
    p.activation = activations[1];
    make(&data, &p, TENON_DTYPE_F32);
    fill(&data, &random);
    run(&data);
    p.rank = 2;
    p.shape[0] = 1031;
    p.shape[1] = 1021;
    test_strides(TEST_COL, false, 2, p.shape, p.x);
    test_strides(TEST_PITCH, false, 2, p.shape, p.y);
    p.activation.kind = TENON_ACTIVATION_TANH;
    make(&data, &p, TENON_DTYPE_F32);
    fill(&data, &random);
    run(&data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_values),   cmocka_unit_test(known_curves),
        cmocka_unit_test(special_values), cmocka_unit_test(sizes_around_vectors),
        cmocka_unit_test(every_rank),     cmocka_unit_test(broadcast_inputs),
        cmocka_unit_test(large),          cmocka_unit_test(random_problems),
        cmocka_unit_test(number_line),    cmocka_unit_test(tails_are_checked),
        cmocka_unit_test(own_exp),
    };
    return TEST_MAIN(tests);
}

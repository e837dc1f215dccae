/* Tests tenon_sgd and tenon_adam: a step against the reference in any types, layouts and flags;
 * plans; refusals. */
#include "optimizer_case.h"

#include <math.h>

/* Runs a step of each optimizer with random parameters and the layout that `lay` chooses. */
static void check_drawn(tenon_dtype dtype, int way, test_random *random, test_extent extent,
                        void (*lay)(test_fixture *f, test_random *random, int number), int number)
{
    const tenon_sgd_params sgd = optimizer_draw_sgd(random, way);
    const tenon_adam_params adam = optimizer_draw_adam(random);
    test_fixture f;
    optimizer_begin(&f, &tn_operation_sgd, &sgd, dtype, way);
    lay(&f, random, number);
    test_run_fixture(&f, TEST_BOUND, extent, random);
    optimizer_begin(&f, &tn_operation_adam, &adam, dtype, way);
    lay(&f, random, number);
    test_run_fixture(&f, TEST_BOUND, extent, random);
}

static void lay_dense(test_fixture *f, test_random *random, int number)
{
    static const int64_t sizes[] = {0,  1,  2,  3,  7,   8,    9,    15,   16,  17,
                                    31, 33, 63, 65, 127, 4095, 4096, 4097, 8195};
    (void)random;
    lines_dense(f, sizes[number], number % 5);
}

TEST(sizes_around_vectors)
{
    test_random random = test_random_for(921);
    for (int i = 0; i < 19; i++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
            check_drawn(*type, i % WAYS, &random, TEST_ALL, lay_dense, i);
}

TEST(layouts)
{
    test_random random = test_random_for(922);
    for (int n = 0; n < 2 * WAYS; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
            check_drawn(*type, n % WAYS, &random, TEST_ALL, optimizer_lay, n);
}

static void lay_drawn(test_fixture *f, test_random *random, int number)
{
    (void)number;
    lines_draw(f, random, 10000);
}

TEST(random_problems)
{
    test_random random = test_random_for(923);
    const int count = test_problems(20);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < count; n++)
            check_drawn(*type, (int)test_between(&random, 0, WAYS - 1), &random, TEST_ONCE,
                        lay_drawn, n);
}

/* Sums and products of small integers, which are exact. */
TEST(exact)
{
    test_random random = test_random_for(924);
    for (uint32_t flags = 0; flags < 8; flags++)
        for (int way = 0; way < WAYS; way++)
            for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
                test_fixture f;
                tenon_sgd_params params =
                    tenon_sgd_params(.flags = flags, .learning_rate = 0.5,
                                     .momentum = (way & WITH_VELOCITY) != 0 ? 2 : 0,
                                     .dampening = -1, .weight_decay = flags % 2 == 0 ? 1 : 0);
                optimizer_begin(&f, &tn_operation_sgd, &params, *type, way);
                optimizer_lay(&f, &random, (int)flags);
                test_run_fixture(&f, TEST_EXACT, TEST_ONCE, &random);
            }
}

TEST(large)
{
    test_random random = test_random_for(925);
    tenon_adam_params params = TENON_ADAM_PARAMS_INIT;
    test_fixture f;
    optimizer_begin(&f, &tn_operation_adam, &params, TENON_DTYPE_F32, 0);
    lines_dense(&f, (1 << 19) + 7, 0);
    test_run_fixture(&f, TEST_BOUND, TEST_ONCE, &random);
}

static void check_special(const tn_operation *operation, const void *params, tenon_dtype dtype,
                          int way, test_random *random)
{
    static const double values[] = {NAN, INFINITY, -INFINITY, 0, 1, -1, 1e-30, 1e-40, 300};
    const int64_t count = sizeof values / sizeof *values, shape[] = {count, count};
    test_fixture f;
    optimizer_begin(&f, operation, params, dtype, way);
    lines_lay(&f, 2, shape, TEST_ROW, false, 0);
    test_make(&f);
    test_fill_inputs(&f, TEST_BOUND, random);
    for (int64_t i = 0; i < count * count; i++) {
        test_set(test_operand(&f, OPTIMIZER_GRADIENT), i, values[i / count]);
        test_set(test_operand(&f, OPTIMIZER_PARAMETER), i, values[i % count]);
    }
    test_finish(&f, TEST_ALL);
}

/* Every pair of values. NaN propagates to the state and parameter of its own element only. */
TEST(special_values)
{
    test_random random = test_random_for(926);
    for (const tenon_dtype *type = test_float_types(); *type != 0; type++)
        for (int n = 0; n < 6; n++) {
            tenon_adam_params adam = TENON_ADAM_PARAMS_INIT;
            tenon_sgd_params sgd = tenon_sgd_params(.momentum = n % 2 == 0 ? 0.5 : 0);
            sgd.weight_decay = adam.weight_decay = n < 3 ? 0.25 : 0;
            adam.flags = n % 3 == 0 ? TENON_ADAM_DECOUPLED : 0;
            check_special(&tn_operation_sgd, &sgd, *type, n % 2 == 0 ? WITH_VELOCITY : 0, &random);
            check_special(&tn_operation_adam, &adam, *type, 0, &random);
        }
}

TEST(scalars_share_a_plan)
{
    const int64_t shape[] = {100};
    tenon_sgd_params sgd = TENON_SGD_PARAMS_INIT;
    tenon_adam_params adam = TENON_ADAM_PARAMS_INIT;
    tenon_tensor t[4];
    uint32_t before = 0;
    for (int i = 0; i < 4; i++) {
        t[i] = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
        assert_ok(tenon_tensor_fill(test_stream, &t[i], 1, NULL));
    }
    for (int i = 0; i < 10; i++) {
        sgd.learning_rate = 0.1 * i;
        sgd.momentum = sgd.dampening = sgd.weight_decay = 0.01 * i;
        adam.learning_rate = 0.1 * i;
        adam.beta1 = adam.beta2 = 0.09 * i;
        adam.step = (uint64_t)i + 1;
        assert_ok(tenon_sgd(test_stream, &sgd, &t[0], &t[1], &t[2], NULL, NULL));
        assert_ok(tenon_adam(test_stream, &adam, &t[0], &t[1], &t[2], &t[3], NULL, NULL));
        before = i == 0 ? lines_plans() : before;
    }
    assert_int_equal(lines_plans(), before);
    for (int i = 0; i < 4; i++)
        tenon_memory_destroy(&t[i].memory);
}

TEST(plans)
{
    const int64_t shape[] = {5};
    tenon_tensor p, none = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tenon_memory gradient;
    tenon_plan *plan;
    float values[5];
    tenon_sgd_params params = tenon_sgd_params(.learning_rate = 0.5);
    p = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    gradient = p.memory;
    assert_ok(tenon_tensor_fill(test_stream, &p, 2, NULL));
    p = test_dense(TENON_DTYPE_F32, 1, shape, NULL);
    assert_ok(tenon_tensor_fill(test_stream, &p, 8, NULL));
    assert_ok(tenon_sgd_plan(test_context, &params, &none, &none, NULL, NULL, &plan));
    const tenon_memory memories[] = {gradient, p.memory, {0}, {0}};
    for (int i = 0; i < 3; i++)
        assert_ok(tenon_plan_run(test_stream, plan, memories, 4, NULL));
    tenon_plan_release(plan);
    assert_ok(tenon_tensor_download(test_stream, &p, values, sizeof values, NULL));
    for (int i = 0; i < 5; i++)
        assert_true(values[i] == 5);
    tenon_memory_destroy(&gradient);
    tenon_memory_destroy(&p.memory);
}

TEST(bad_parameters)
{
    const tenon_status invalid = TENON_ERROR_INVALID_ARGUMENT;
    const int64_t shape[] = {7}, stride[] = {1};
    test_tensor t[5];
    for (int i = 0; i < 5; i++) {
        test_tensor_create(&t[i], TENON_DTYPE_F32, 1, shape, stride, 0);
        test_upload(&t[i]);
    }
#define SGD_REFUSED(change, word)                                                                  \
    do {                                                                                           \
        tenon_sgd_params bad = TENON_SGD_PARAMS_INIT;                                              \
        change;                                                                                    \
        assert_refused(tenon_sgd(test_stream, &bad, &t[0].view, &t[1].view, NULL, NULL, NULL),     \
                       invalid, "tenon_sgd", word);                                                \
    } while (0)
#define ADAM_REFUSED(change, word)                                                                 \
    do {                                                                                           \
        tenon_adam_params bad = TENON_ADAM_PARAMS_INIT;                                            \
        change;                                                                                    \
        assert_refused(tenon_adam(test_stream, &bad, &t[0].view, &t[1].view, &t[2].view,           \
                                  &t[3].view, NULL, NULL),                                         \
                       invalid, "tenon_adam", word);                                               \
    } while (0)
    SGD_REFUSED(bad.flags = 8, "flags");
    SGD_REFUSED(bad.learning_rate = (double)NAN, "learning_rate");
    SGD_REFUSED(bad.dampening = (double)INFINITY, "dampening");
    SGD_REFUSED(bad.weight_decay = (double)NAN, "weight_decay");
    SGD_REFUSED(bad.momentum = 0.5, "velocity is NULL, but momentum is 0.5");
    ADAM_REFUSED(bad.flags = 4, "flags");
    ADAM_REFUSED(bad.learning_rate = (double)INFINITY, "learning_rate");
    ADAM_REFUSED(bad.beta1 = 1, "beta1 is 1");
    ADAM_REFUSED(bad.beta2 = -0.1, "beta2 is -0.1");
    ADAM_REFUSED(bad.epsilon = -1, "epsilon is -1");
    ADAM_REFUSED(bad.weight_decay = (double)NAN, "weight_decay");
    ADAM_REFUSED(bad.step = 0, "step is 0");
#undef SGD_REFUSED
#undef ADAM_REFUSED
    assert_refused(tenon_sgd(test_stream, NULL, &t[0].view, &t[1].view, NULL, &t[2].view, NULL),
                   TENON_ERROR_UNSUPPORTED, "tenon_sgd", "master");
    for (int i = 0; i < 5; i++) {
        assert_untouched(&t[i]);
        test_tensor_destroy(&t[i]);
    }
}

/* Types and shapes of the operands of a 16-bit parameter. Both operations use the same validation.
 */
TEST(bad_masters)
{
    const int64_t shape[] = {7}, stride[] = {1};
    test_tensor gradient, parameter, master;
    test_tensor_create(&gradient, TENON_DTYPE_BF16, 1, shape, stride, 0);
    test_tensor_create(&parameter, TENON_DTYPE_BF16, 1, shape, stride, 0);
    test_tensor_create(&master, TENON_DTYPE_F32, 1, shape, stride, 0);
    test_upload(&parameter);
    test_upload(&master);
    const tenon_tensor g = gradient.view, p = parameter.view, m = master.view;
    tenon_tensor v;
#define REFUSED(g, p, m, status, word)                                                             \
    assert_refused(tenon_sgd(test_stream, NULL, g, p, NULL, m, NULL), status, "tenon_sgd", word)
    REFUSED(&g, &p, &p, TENON_ERROR_UNSUPPORTED, "master is bf16, must be f32");
    v = g;
    v.dtype = TENON_DTYPE_F16;
    REFUSED(&v, &p, &m, TENON_ERROR_UNSUPPORTED, "gradient is f16, must be bf16");
    v = tenon_tensor_slice(m, 0, 0, 6);
    REFUSED(&g, &p, &v, TENON_ERROR_INVALID_ARGUMENT, "master: shape is 6, must be that of");
    v = m;
    v.stride[0] = 0;
    REFUSED(&g, &p, &v, TENON_ERROR_INVALID_ARGUMENT, "master");
    v = m;
    v.memory = p.memory;
    v.shape[0] = 3;
    const tenon_tensor short_g = tenon_tensor_slice(g, 0, 0, 3),
                       short_p = tenon_tensor_slice(p, 0, 0, 3);
    REFUSED(&short_g, &short_p, &v, TENON_ERROR_INVALID_ARGUMENT, "overlap");
    assert_untouched(&parameter);
    assert_untouched(&master);
    test_tensor_destroy(&gradient);
    test_tensor_destroy(&parameter);
    test_tensor_destroy(&master);
#undef REFUSED
}

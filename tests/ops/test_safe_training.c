/* Tests safe training: steps with skip and gradient_scale, tenon_nonfinite, tenon_loss_scale, and a
 * training loop with all of them. */
#include "optimizer_case.h"

#include <math.h>

/* Gives the operands of the guard, which follow `first` others, a single element or none. */
static void lay_guard(test_fixture *f, uint32_t first, int way)
{
    static const tenon_dtype flags[] = {TENON_DTYPE_I32, TENON_DTYPE_U8, TENON_DTYPE_INVALID};
    static const int64_t one[] = {1};
    const tenon_dtype flag = flags[way % 3];
    f->c.views[first + GUARD_SKIP] = f->c.views[first + GUARD_SCALE] = (tenon_tensor){.rank = 0};
    if (flag != TENON_DTYPE_INVALID)
        f->c.views[first + GUARD_SKIP] = test_view(flag, TEST_ROW, false, 1, one, way % 5);
    if (way % 2 == 0 || flag == TENON_DTYPE_INVALID)
        f->c.views[first + GUARD_SCALE] = test_view(TENON_DTYPE_F32, TEST_ROW, false, 1, one, 3);
}

/* Fills all inputs, and sets the guard. */
static void fill_guard(test_fixture *f, uint32_t first, int way, test_random *random)
{
    test_make(f);
    test_fill_inputs(f, TEST_BOUND, random);
    if (test_operand(f, first + GUARD_SKIP) != NULL)
        test_set(test_operand(f, first + GUARD_SKIP), 0, way % 4 == 1 ? 5 : 0);
    if (test_operand(f, first + GUARD_SCALE) != NULL)
        test_set(test_operand(f, first + GUARD_SCALE), 0, test_real(random, 0, 4));
}

static void check_step(const tn_operation *operation, const void *params, uint32_t first,
                       tenon_dtype dtype, int way, test_random *random)
{
    const tenon_dtype state = tn_state_dtype(dtype);
    tenon_dtype types[TN_MAX_OPERANDS] = {dtype, dtype};
    test_fixture f;
    for (uint32_t i = OPTIMIZER_PARAMETER + 1; i < first; i++)
        types[i] = i + 1 < first ? state : way % 2 == 0 || dtype == state ? 0 : state;
    lines_begin(&f, operation, params, types);
    optimizer_lay(&f, random, way);
    lay_guard(&f, first, way);
    fill_guard(&f, first, way, random);
    test_finish(&f, TEST_ALL);
}

TEST(guarded_steps)
{
    test_random random = test_random_for(1931);
    for (int way = 0; way < 12; way++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const tenon_sgd_params sgd = optimizer_draw_sgd(&random, WITH_VELOCITY);
            const tenon_adam_params adam = optimizer_draw_adam(&random);
            check_step(&tn_operation_sgd_guarded, &sgd, SGD_OPERANDS, *type, way, &random);
            check_step(&tn_operation_adam_guarded, &adam, ADAM_OPERANDS, *type, way, &random);
        }
}

TEST(guarded_clip)
{
    static const int64_t one[] = {1}, shape[] = {3, 41, 5};
    test_random random = test_random_for(1932);
    for (int way = 0; way < 12; way++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const tenon_clip_params params =
                tenon_clip_params(.flags = way % 5 == 0 ? TENON_CLIP_SKIP_NONFINITE : 0,
                                  .max_norm = 0.5);
            const tenon_dtype types[] = {
                [CLIP_SUM] = tn_state_dtype(*type), [CLIP_X] = *type, 0, 0};
            test_fixture f;
            lines_begin(&f, &tn_operation_clip_guarded, &params, types);
            lines_lay(&f, 3, shape, (test_layout)(way % TEST_LAYOUTS), way % 2 == 0, 0);
            f.c.views[CLIP_SUM] = test_view(types[CLIP_SUM], TEST_ROW, false, 1, one, 2);
            lay_guard(&f, CLIP_OPERANDS, way);
            fill_guard(&f, CLIP_OPERANDS, way, &random);
            test_set(test_operand(&f, CLIP_SUM), 0, way == 3 ? (double)NAN : way);
            test_finish(&f, TEST_ALL);
        }
}

/* A gradient that is not finite, anywhere in tensors of several sizes and layouts, is found. */
TEST(nonfinite)
{
    static const double values[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 1};
    static const int64_t sizes[] = {1, 2, 17, 300, 8193, 70001};
    test_random random = test_random_for(1933);
    const int64_t one[] = {1};
    for (int n = 0; n < 24; n++)
        for (const tenon_dtype *type = test_float_types(); *type != 0; type++) {
            const int64_t size = sizes[n % 6], at = test_between(&random, 0, size - 1);
            const tenon_nonfinite_params params =
                tenon_nonfinite_params(.flags = n % 3 == 0 ? TENON_NONFINITE_KEEP : 0);
            const tenon_dtype types[] = {*type, TENON_DTYPE_I32};
            test_fixture f;
            lines_begin(&f, &tn_operation_nonfinite, &params, types);
            f.c.views[NONFINITE_X] = test_view(*type, (test_layout)(n % TEST_LAYOUTS), false, 2,
                                               (const int64_t[]){1, size}, n % 5);
            f.c.views[NONFINITE_FLAG] = test_view(TENON_DTYPE_I32, TEST_ROW, false, 1, one, n % 3);
            test_make(&f);
            test_fill_plainly(&f, TEST_BOUND, 1, &random);
            test_set(test_operand(&f, NONFINITE_X), at, values[n % 4]);
            test_set(test_operand(&f, NONFINITE_FLAG), 0, n % 2);
            test_finish(&f, TEST_ALL);
        }
}

/* Large finite numbers, whose squares overflow, and denormal ones are finite. */
TEST(large_numbers_are_finite)
{
    static const float values[] = {3e38f, -3e38f, 1e-40f, 0, 65504};
    const int64_t shape[] = {5}, one[] = {1};
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, shape, values),
                 flag = test_dense(TENON_DTYPE_I32, 1, one, &(int32_t){7});
    int32_t found;
    assert_ok(tenon_nonfinite(test_stream, NULL, &x, &flag, NULL));
    assert_ok(tenon_tensor_download(test_stream, &flag, &found, sizeof found, NULL));
    assert_int_equal(found, 0);
    tenon_memory_destroy(&x.memory);
    tenon_memory_destroy(&flag.memory);
}

/* A scale over forty steps against the rule in float on the host, where all numbers are exact. */
TEST(loss_scale)
{
    const tenon_loss_scale_params params =
        tenon_loss_scale_params(.growth = 4, .backoff = 0.25, .interval = 3, .minimum = 0.5,
                                .maximum = 1024);
    const int64_t one[] = {1}, four[] = {TENON_LOSS_SCALE_STATE};
    test_random random = test_random_for(1934);
    float expected[] = {64, 1.0f / 64, 0, 0}, got[TENON_LOSS_SCALE_STATE];
    tenon_tensor state = test_dense(TENON_DTYPE_F32, 1, four, expected);
    for (int step = 0; step < 40; step++) {
        const int32_t skips = test_one_in(&random, step < 20 ? 2 : 9) ? -1 : 0;
        tenon_tensor skip = test_dense(TENON_DTYPE_I32, 1, one, &skips);
        assert_ok(tenon_loss_scale(test_stream, &params, &skip, &state, NULL));
        assert_ok(tenon_tensor_download(test_stream, &state, got, sizeof got, NULL));
        expected[2] = skips != 0 ? 0 : expected[2] + 1;
        expected[3] += skips != 0 ? 1 : 0;
        expected[0] = skips != 0 ? fmaxf(expected[0] / 4, 0.5f) : expected[0];
        if (expected[2] >= 3) {
            expected[0] = fminf(expected[0] * 4, 1024);
            expected[2] = 0;
        }
        expected[1] = 1 / expected[0];
        assert_memory_equal(got, expected, sizeof got);
        tenon_memory_destroy(&skip.memory);
    }
    tenon_memory_destroy(&state.memory);
}

/* The tensors of a training loop with one parameter of five elements. */
enum { GRADIENT, PARAMETER, FIRST_MOMENT, SECOND_MOMENT, SKIP, STATE, TENSORS };

static void download(const tenon_tensor *t, float values[5])
{
    const tenon_tensor five = *t;
    assert_ok(tenon_tensor_download(test_stream, &five, values, 5 * sizeof *values, NULL));
}

/* Runs a step on a gradient, without waiting for the device between its calls. */
static void train(tenon_tensor *t, const float gradient[5], uint64_t step)
{
    tenon_adam_params adam = tenon_adam_params(.learning_rate = 0.5, .step = step);
    const tenon_tensor inverse = tenon_tensor_slice(t[STATE], 0, 1, 1);
    adam.skip = &t[SKIP];
    adam.gradient_scale = &inverse;
    assert_ok(tenon_tensor_upload(test_stream, gradient, 5 * sizeof *gradient, &t[GRADIENT], NULL));
    assert_ok(tenon_nonfinite(test_stream, NULL, &t[GRADIENT], &t[SKIP], NULL));
    assert_ok(tenon_adam(test_stream, &adam, &t[GRADIENT], &t[PARAMETER], &t[FIRST_MOMENT],
                         &t[SECOND_MOMENT], NULL, NULL));
    assert_ok(tenon_loss_scale(test_stream, NULL, &t[SKIP], &t[STATE], NULL));
}

/* One gradient that is not finite changes neither parameters nor moments, and halves the scale; the
 * next step is the one that an unscaled gradient would make. */
TEST(training_loop)
{
    static const float zeros[5] = {0}, start[5] = {1, 2, 3, 4, 5};
    static const float bad[5] = {1, 2, (float)INFINITY, 4, 5}, scaled[5] = {32, -32, 64, 0, 16};
    static const float gradient[5] = {1, -1, 2, 0, 0.5f}, state[4] = {64, 1.0f / 64, 0, 0};
    const int64_t five[] = {5}, one[] = {1}, four[] = {4};
    float got[5], expected[5];
    tenon_tensor t[TENSORS], plain[4];
    for (int i = 0; i <= SECOND_MOMENT; i++) {
        t[i] = test_dense(TENON_DTYPE_F32, 1, five, i == PARAMETER ? start : zeros);
        plain[i] = test_dense(TENON_DTYPE_F32, 1, five,
                              i == PARAMETER  ? start
                              : i == GRADIENT ? gradient
                                              : zeros);
    }
    t[SKIP] = test_dense(TENON_DTYPE_I32, 1, one, &(int32_t){0});
    t[STATE] = test_dense(TENON_DTYPE_F32, 1, four, state);
    train(t, bad, 1);
    for (int i = PARAMETER; i <= SECOND_MOMENT; i++) {
        download(&t[i], got);
        assert_memory_equal(got, i == PARAMETER ? start : zeros, sizeof got);
    }
    train(t, scaled, 1);
    const tenon_adam_params adam = tenon_adam_params(.learning_rate = 0.5);
    assert_ok(
        tenon_adam(test_stream, &adam, &plain[0], &plain[1], &plain[2], &plain[3], NULL, NULL));
    for (int i = PARAMETER; i <= SECOND_MOMENT; i++) {
        download(&t[i], got);
        download(&plain[i], expected);
        assert_memory_equal(got, expected, sizeof got);
    }
    assert_ok(tenon_tensor_download(test_stream, &t[STATE], got, 4 * sizeof *got, NULL));
    assert_true(got[0] == 32 && got[1] == 1.0f / 32 && got[2] == 1 && got[3] == 1);
    for (int i = 0; i < TENSORS; i++)
        tenon_memory_destroy(&t[i].memory);
    for (int i = 0; i < 4; i++)
        tenon_memory_destroy(&plain[i].memory);
}

/* The limit applies to the norm of the scaled gradients, 16 · 0.25 = 4, and x stays scaled; a skip
 * leaves x unchanged. */
TEST(clip_by_norm)
{
    static const float start[] = {8, 8, 8, 8}, clipped[] = {4, 4, 4, 4};
    const int64_t four[] = {4}, one[] = {1};
    tenon_tensor x = test_dense(TENON_DTYPE_F32, 1, four, start),
                 sum = test_dense(TENON_DTYPE_F32, 1, one, &(float){0}),
                 scale = test_dense(TENON_DTYPE_F32, 1, one, &(float){0.25f}),
                 skip = test_dense(TENON_DTYPE_I32, 1, one, &(int32_t){1});
    tenon_clip_params params = tenon_clip_params(.max_norm = 2, .epsilon = 0);
    float got[4];
    params.gradient_scale = &scale;
    params.skip = &skip;
    assert_ok(tenon_clip_by_norm(test_stream, &params, &x, 1, &sum, NULL));
    test_read(&x, got);
    assert_memory_equal(got, start, sizeof got);
    params.skip = NULL;
    assert_ok(tenon_clip_by_norm(test_stream, &params, &x, 1, &sum, NULL));
    test_read(&x, got);
    assert_memory_equal(got, clipped, sizeof got);
    test_destroy(&x, &sum, &scale, &skip);
}

TEST(plan_operands)
{
    static const char *const names[] = {"gradient", "parameter", "velocity",
                                        "master",   "skip",      "gradient_scale"};
    const int64_t five[] = {5}, one[] = {1};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 1, five),
                       flag = tenon_tensor_view(TENON_DTYPE_U8, 1, one);
    tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
    tenon_plan *plan;
    assert_ok(tenon_sgd_plan(test_context, &params, &x, &x, NULL, NULL, &plan));
    assert_int_equal(tenon_plan_operands(plan), 4);
    tenon_plan_release(plan);
    params.skip = &flag;
    assert_ok(tenon_sgd_plan(test_context, &params, &x, &x, NULL, NULL, &plan));
    assert_int_equal(tenon_plan_operands(plan), 6);
    for (uint32_t i = 0; i < 6; i++)
        assert_string_equal(tenon_plan_operand_name(plan, i), names[i]);
    tenon_plan_release(plan);
}

TEST(refusals)
{
    static const test_refusal refusals[] = {
        {"sgd_guarded gradient=f32:3 parameter=f32:3 skip=f32:", "skip is f32, must be i32 or u8",
         TENON_ERROR_UNSUPPORTED},
        {"sgd_guarded gradient=f32:3 parameter=f32:3 skip=i32:2",
         "skip: shape is 2, must have one element", TENON_OK},
        {"adam_guarded gradient=f32:3 parameter=f32:3 first=f32:3 second=f32:3 "
         "gradient_scale=f16:",
         "gradient_scale is f16, must be f32", TENON_ERROR_UNSUPPORTED},
        {"clip_guarded sum=f32: x=f32:3 gradient_scale=f32:3",
         "gradient_scale: shape is 3, must have one element", TENON_OK},
        {"nonfinite x=i32:3 flag=i32:", "x: type i32", TENON_ERROR_UNSUPPORTED},
        {"nonfinite x=f32:3 flag=u8:", "flag is u8, must be i32", TENON_ERROR_UNSUPPORTED},
        {"nonfinite x=f32:3 flag=i32:2", "flag: shape is 2, must have one element", TENON_OK},
        {"loss_scale skip=i32: state=f32:3", "state: shape is 3, must be 4", TENON_OK},
        {"loss_scale skip=i32: state=f16:4", "state is f16, must be f32", TENON_ERROR_UNSUPPORTED},
        {"loss_scale skip=i32: state=f32:4 growth=0.5", "growth is 0.5", TENON_OK},
        {"loss_scale skip=i32: state=f32:4 backoff=0", "backoff is 0", TENON_OK},
        {"loss_scale skip=i32: state=f32:4 interval=2.5", "interval is 2.5, must be a whole number",
         TENON_OK},
        {"loss_scale skip=i32: state=f32:4 minimum=3 maximum=2", "minimum is 3", TENON_OK}};
    TEST_REFUSE(refusals);
}

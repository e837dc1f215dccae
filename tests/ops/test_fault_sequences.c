/* Tests building and running a sequence while each allocation and each launch fails once:
 * nothing leaks, the failed call says why, and the next attempt is complete. */
#include "support.h"

#include "common/cl_faults.h"

enum { ROWS = 3, COLUMNS = 4 };

static const int64_t shape[] = {ROWS, COLUMNS}, square[] = {COLUMNS, COLUMNS},
                     both[] = {2 * ROWS, COLUMNS};

/* Memory and plans that exist before the faults. */
static struct {
    tenon_tensor x, w, y;
    float expected[2 * ROWS * COLUMNS];
} fixture;

static tenon_status add_plans(tenon_sequence *sequence, const tenon_tensor *x,
                              const tenon_tensor *h, const tenon_tensor *r)
{
    const tenon_scalar half = tenon_scalar_f64("alpha", 0.5);
    const tenon_activation_params relu =
        tenon_activation_params(.activation = {TENON_ACTIVATION_RELU, 0, 0, 0});
    const tenon_tensor *const product[] = {x, &fixture.w, NULL, NULL, h}, *const activation[] = {h,
                                                                                                 r};
    tenon_plan *plan;
    TN_TRY(tenon_gemm_plan(test_context, NULL, x, &fixture.w, NULL, NULL, h, &plan));
    tenon_status status = tenon_sequence_add(sequence, "product", plan, product, 5, &half, 1);
    tenon_plan_release(plan);
    TN_TRY(status);
    TN_TRY(tenon_activation_forward_plan(test_context, &relu, h, r, &plan));
    status = tenon_sequence_add(sequence, NULL, plan, activation, 2, NULL, 0);
    tenon_plan_release(plan);
    return status;
}

/* y = [relu(2 · x·w), x], with a factor that the run sets. */
static tenon_status build(tenon_sequence *sequence)
{
    tenon_tensor x, h, r, y;
    const tenon_tensor *const inputs[] = {&r, &x};
    TN_TRY(tenon_sequence_tensor(sequence, "x", TENON_DTYPE_F32, 2, shape, &x));
    TN_TRY(tenon_sequence_tensor(sequence, NULL, TENON_DTYPE_F32, 2, shape, &h));
    TN_TRY(tenon_sequence_tensor(sequence, NULL, TENON_DTYPE_F32, 2, shape, &r));
    TN_TRY(tenon_sequence_tensor(sequence, "y", TENON_DTYPE_F32, 2, both, &y));
    TN_TRY(add_plans(sequence, &x, &h, &r));
    TN_TRY(tenon_sequence_concat(sequence, NULL, inputs, 2, &y));
    return tenon_sequence_finish(sequence);
}

static tenon_status build_and_run(void)
{
    const tenon_scalar two = tenon_scalar_f64("product.alpha", 2);
    const tenon_operand operands[] = {{"x", fixture.x.memory, 0}, {"y", fixture.y.memory, 0}};
    tenon_sequence *sequence;
    TN_TRY(tenon_sequence_create(test_context, &sequence));
    tenon_status status = build(sequence);
    if (status == TENON_OK)
        status = tenon_sequence_run(test_stream, sequence, operands, 2, &two, 1, NULL);
    tenon_sequence_release(sequence);
    return status;
}

static void set_up(void)
{
    float x[ROWS * COLUMNS], w[COLUMNS * COLUMNS];
    for (int i = 0; i < ROWS * COLUMNS; i++)
        x[i] = (float)(i % 7 - 3);
    for (int i = 0; i < COLUMNS * COLUMNS; i++)
        w[i] = (float)(i % 5 - 2);
    for (int i = 0; i < ROWS * COLUMNS; i++) {
        float sum = 0;
        for (int k = 0; k < COLUMNS; k++)
            sum += x[i / COLUMNS * COLUMNS + k] * w[k * COLUMNS + i % COLUMNS];
        fixture.expected[i] = sum > 0 ? 2 * sum : 0;
        fixture.expected[ROWS * COLUMNS + i] = x[i];
    }
    fixture.x = test_dense(TENON_DTYPE_F32, 2, shape, x);
    fixture.w = test_dense(TENON_DTYPE_F32, 2, square, w);
    fixture.y = test_dense(TENON_DTYPE_F32, 2, both, NULL);
}

static void check_result(void)
{
    float got[2 * ROWS * COLUMNS];
    test_read(&fixture.y, got);
    assert_memory_equal(got, fixture.expected, sizeof got);
}

static bool is_explained(tenon_status status)
{
    return status == TENON_ERROR_OUT_OF_MEMORY || status == TENON_ERROR_OPENCL ||
           status == TENON_ERROR_INCOMPLETE;
}

static void fail_each(const char *what, cl_int error)
{
    unsigned nth = 1;
    assert_ok(build_and_run()); /* everything is compiled */
    check_result();
    assert_ok(tenon_stream_finish(test_stream));
    const faults_alive before = faults_count();
    for (bool struck = true; struck; nth++) {
        faults_fail_next(what, error, nth);
        const tenon_status status = build_and_run();
        struck = faults_end() > 0;
        if (status == TENON_OK) {
            check_result();
        } else {
            if (!struck || !is_explained(status))
                fail_msg("%s %u: %s: %s", what, nth, tenon_status_string(status),
                         tenon_last_error());
        }
        assert_ok(tenon_stream_finish(test_stream));
        faults_assert_alive(&before, what);
    }
    assert_true(nth > 3);
    assert_ok(build_and_run());
    check_result();
}

TEST_WITH(each_allocation_fails, set_up, NULL)
{
    fail_each(FAULTS_MEMORY, CL_OUT_OF_HOST_MEMORY);
}

TEST_WITH(each_launch_fails, set_up, NULL)
{
    fail_each("clEnqueueNDRangeKernel", CL_MEM_OBJECT_ALLOCATION_FAILURE);
}

/* Tests sequences: their results, memory and scalars. */
#include "layers_case.h"

#include <math.h>

static tenon_status run(tenon_stream *stream, const tenon_sequence *sequence, const tenon_tensor *x,
                        const tenon_tensor *y)
{
    const tenon_operand operands[] = {{"y", y->memory, y->offset}, {"x", x->memory, x->offset}};
    return tenon_sequence_run(stream, sequence, operands, 2, NULL, 0, NULL);
}

/* Computes the layers by single calls. */
static void expect(const tenon_tensor *x, const tenon_tensor *w1, const tenon_tensor *w2,
                   float *values)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    tenon_tensor h = test_dense(TENON_DTYPE_F32, 2, layers_h, NULL),
                 y = test_dense(TENON_DTYPE_F32, 2, layers_y, NULL);
    params.epilogue.activation.kind = TENON_ACTIVATION_TANH;
    assert_ok(tenon_gemm(test_stream, &params, x, w1, NULL, NULL, &h, NULL));
    assert_ok(tenon_gemm(test_stream, NULL, &h, w2, NULL, NULL, &y, NULL));
    test_read(&y, values);
    test_destroy(&h, &y);
}

/* Runs on other memory and at other offsets have the bits of single calls. Bytes around the result
 * are not written. */
TEST(runs_equal_single_calls)
{
    test_random random = test_random_for(2901);
    static const int64_t twice[] = {3 * LAYERS_ROWS, LAYERS_COLUMNS};
    float got[3 * LAYERS_ROWS * LAYERS_COLUMNS], expected[LAYERS_ROWS * LAYERS_COLUMNS],
        poison[3 * LAYERS_ROWS * LAYERS_COLUMNS];
    tenon_tensor w1 = layers_random(&random, layers_w1), w2 = layers_random(&random, layers_w2);
    tenon_sequence *sequence = layers_sequence(&w1, &w2);
    assert_int_equal(tenon_sequence_steps(sequence), 2);
    for (int i = 0; i < 3 * LAYERS_ROWS * LAYERS_COLUMNS; i++)
        poison[i] = NAN;
    for (int64_t round = 0; round < 3; round++) {
        tenon_tensor x = layers_random(&random, layers_x),
                     all = test_dense(TENON_DTYPE_F32, 2, twice, poison);
        const tenon_tensor y = tenon_tensor_slice(all, 0, round * LAYERS_ROWS, LAYERS_ROWS);
        assert_ok(run(test_stream, sequence, &x, &y));
        test_read(&all, got);
        expect(&x, &w1, &w2, expected);
        assert_memory_equal(got + round * LAYERS_ROWS * LAYERS_COLUMNS, expected, sizeof expected);
        for (int64_t i = 0; i < 3 * LAYERS_ROWS * LAYERS_COLUMNS; i++)
            assert_true(i / (LAYERS_ROWS * LAYERS_COLUMNS) == round || isnan(got[i]));
        test_destroy(&x, &all);
    }
    tenon_sequence_release(sequence);
    test_destroy(&w1, &w2);
}

/* A chain of products needs the memory of two intermediates, whatever its length. A step without
 * consumers of its result is still executed. */
TEST(intermediates_share_memory)
{
    enum { LAYERS = 9, SIDE = 64 };
    static const int64_t shape[] = {SIDE, SIDE};
    static float unit[SIDE * SIDE], got[SIDE * SIDE];
    test_random random = test_random_for(2902);
    tenon_sequence *sequence;
    for (int i = 0; i < SIDE; i++)
        unit[i * SIDE + (i + 1) % SIDE] = 1;
    tenon_tensor w = test_dense(TENON_DTYPE_F32, 2, shape, unit);
    assert_ok(tenon_sequence_create(test_context, &sequence));
    tenon_tensor from = layers_tensor(sequence, "x", shape);
    for (int i = 0; i < LAYERS; i++) {
        const tenon_tensor to = layers_tensor(sequence, i + 1 < LAYERS ? NULL : "y", shape);
        layers_add(sequence, &from, &w, &to, TENON_ACTIVATION_IDENTITY);
        from = to;
    }
    assert_int_equal(tenon_sequence_workspace(sequence), 0);
    assert_ok(tenon_sequence_finish(sequence));
    uint64_t most = 0;
    for (uint32_t s = 0; s < LAYERS; s++) {
        const uint64_t own = tenon_plan_workspace(tenon_sequence_step(sequence, s));
        most = own > most ? own : most;
    }
    assert_null(tenon_sequence_step(sequence, LAYERS));
    assert_true(tenon_sequence_workspace(sequence) <= 2 * sizeof unit + most + 128);
    tenon_tensor x = layers_random(&random, shape), y = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
    assert_ok(run(test_stream, sequence, &x, &y));
    test_read(&x, unit);
    test_read(&y, got);
    for (int i = 0; i < SIDE * SIDE; i++) /* each layer moves the columns by one */
        assert_true(got[i / SIDE * SIDE + (i + LAYERS) % SIDE] == unit[i]);
    tenon_sequence_release(sequence);
    test_destroy(&w, &x, &y);
}

/* Copies and concatenations: y = [x transposed, b]. */
TEST(copies_and_concatenations)
{
    static const int64_t a_shape[] = {2, 3}, part[] = {3, 2}, whole[] = {3, 3}, one[] = {3, 1};
    static const float a[] = {1, 2, 3, 4, 5, 6}, b[] = {7, 8, 9},
                       expected[] = {1, 4, 7, 2, 5, 8, 3, 6, 9};
    float got[9];
    tenon_sequence *sequence;
    tenon_tensor in = test_dense(TENON_DTYPE_F32, 2, a_shape, a),
                 constant = test_dense(TENON_DTYPE_F32, 2, one, b),
                 out = test_dense(TENON_DTYPE_F32, 2, whole, NULL);
    assert_ok(tenon_sequence_create(test_context, &sequence));
    const tenon_tensor x = layers_tensor(sequence, "x", a_shape),
                       t = layers_tensor(sequence, NULL, part),
                       y = layers_tensor(sequence, "y", whole),
                       turned = tenon_tensor_transpose(x, 0, 1);
    const tenon_tensor *const inputs[] = {&t, &constant}, *const wrong[] = {&t, &turned};
    assert_ok(tenon_sequence_copy(sequence, NULL, &turned, &t));
    assert_invalid(tenon_sequence_concat(sequence, &tenon_concat_params(.axis = 1), wrong, 2, &y),
                   "too short for inputs[1]");
    assert_int_equal(tenon_sequence_steps(sequence), 1);
    assert_ok(tenon_sequence_concat(sequence, &tenon_concat_params(.axis = 1), inputs, 2, &y));
    assert_int_equal(tenon_sequence_steps(sequence), 3);
    assert_ok(tenon_sequence_finish(sequence));
    assert_ok(run(test_stream, sequence, &in, &out));
    test_read(&out, got);
    assert_memory_equal(got, expected, sizeof expected);
    tenon_sequence_release(sequence);
    test_destroy(&in, &constant, &out);
}

/* An input that is its slice of the result is not copied. */
TEST(concatenation_in_place)
{
    static const int64_t shape[] = {4, 3}, half[] = {2, 3};
    tenon_sequence *sequence;
    assert_ok(tenon_sequence_create(test_context, &sequence));
    const tenon_tensor y = layers_tensor(sequence, "y", shape),
                       x = layers_tensor(sequence, "x", half), top = tenon_tensor_slice(y, 0, 0, 2);
    const tenon_tensor *const inputs[] = {&top, &x};
    assert_ok(tenon_sequence_concat(sequence, NULL, inputs, 2, &y));
    assert_int_equal(tenon_sequence_steps(sequence), 1);
    tenon_sequence_release(sequence);
}

static void add_sgd(tenon_sequence *sequence, const char *label, const tenon_tensor *parameter,
                    const tenon_tensor *gradient, double rate, const tenon_scalar *scalar)
{
    tenon_plan *plan;
    tenon_sgd_params params = TENON_SGD_PARAMS_INIT;
    params.learning_rate = rate;
    assert_ok(tenon_sgd_plan(test_context, &params, gradient, parameter, NULL, NULL, &plan));
    const tenon_tensor *tensors[8] = {NULL};
    for (uint32_t i = 0; i < tenon_plan_operands(plan); i++) {
        const char *name = tenon_plan_operand_name(plan, i);
        tensors[i] = strcmp(name, "parameter") == 0  ? parameter
                     : strcmp(name, "gradient") == 0 ? gradient
                                                     : NULL;
    }
    assert_ok(tenon_sequence_add(sequence, label, plan, tensors, tenon_plan_operands(plan), scalar,
                                 scalar != NULL ? 1 : 0));
    tenon_plan_release(plan);
}

/* Scalars of a plan, of a step, and of a run for all steps with a label. */
TEST(scalars)
{
    static const int64_t shape[] = {1, 4};
    static const float ones[] = {1, 1, 1, 1};
    float got[4];
    tenon_sequence *sequence;
    tenon_tensor p[3], gradient = test_dense(TENON_DTYPE_F32, 2, shape, ones);
    const tenon_scalar half = tenon_scalar_f64("learning_rate", 0.5);
    assert_ok(tenon_sequence_create(test_context, &sequence));
    for (int i = 0; i < 3; i++)
        p[i] = test_dense(TENON_DTYPE_F32, 2, shape, ones);
    add_sgd(sequence, "sgd", &p[0], &gradient, 0.25, NULL);
    add_sgd(sequence, "sgd", &p[1], &gradient, 0.25, &half);
    add_sgd(sequence, NULL, &p[2], &gradient, 0.25, &half);
    assert_ok(tenon_sequence_finish(sequence));
    static const double rates[][3] = {{0.25, 0.5, 0.5}, {0.125, 0.125, 0.5}, {0.25, 0.5, 0.5}};
    double expected[3] = {1, 1, 1};
    for (int round = 0; round < 3; round++) {
        const tenon_scalar rate = tenon_scalar_f64("sgd.learning_rate", 0.125);
        assert_ok(tenon_sequence_run(test_stream, sequence, NULL, 0, round == 1 ? &rate : NULL,
                                     round == 1 ? 1 : 0, NULL));
        for (int i = 0; i < 3; i++) {
            expected[i] -= rates[round][i];
            test_read(&p[i], got);
            assert_true(got[0] == expected[i] && got[3] == expected[i]);
        }
    }
    static const struct {
        const char *name, *message;
    } wrong[] = {{"adam.learning_rate", "no step of the sequence has this label"},
                 {"sgd", "no step of the sequence has this label"},
                 {"sgd.rate", "\"rate\" is not a scalar of this plan"},
                 {NULL, "name is NULL"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        const tenon_scalar rate = tenon_scalar_f64(wrong[i].name, 1);
        assert_invalid(tenon_sequence_run(test_stream, sequence, NULL, 0, &rate, 1, NULL),
                       wrong[i].message);
    }
    tenon_sequence_release(sequence);
    for (int i = 0; i < 3; i++)
        test_destroy(&p[i]);
    test_destroy(&gradient);
}

/* The event of a run completes after the last step; the first step waits for the wait list. */
TEST(events)
{
    test_random random = test_random_for(2903);
    tenon_tensor w1 = layers_random(&random, layers_w1), w2 = layers_random(&random, layers_w2),
                 x = layers_random(&random, layers_x),
                 y = test_dense(TENON_DTYPE_F32, 2, layers_y, NULL);
    tenon_sequence *sequence = layers_sequence(&w1, &w2);
    cl_event gate = test_gate(test_context), event = NULL;
    const tenon_sync sync = {&gate, 1, 0, &event};
    const tenon_operand operands[] = {{"x", x.memory, 0}, {"y", y.memory, 0}};
    assert_ok(tenon_sequence_run(test_stream, sequence, operands, 2, NULL, 0, &sync));
    assert_false(test_is_over(event));
    clSetUserEventStatus(gate, CL_COMPLETE);
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    clReleaseEvent(gate);
    tenon_sequence_release(sequence);
    test_destroy(&w1, &w2, &x, &y);
}

/* One sequence on two streams at the same time: each has its own intermediates. */
TEST(two_streams)
{
    test_random random = test_random_for(2904);
    float got[LAYERS_ROWS * LAYERS_COLUMNS], expected[LAYERS_ROWS * LAYERS_COLUMNS];
    tenon_tensor w1 = layers_random(&random, layers_w1), w2 = layers_random(&random, layers_w2),
                 x[2], y[2];
    tenon_sequence *sequence = layers_sequence(&w1, &w2);
    tenon_stream *streams[2];
    for (int i = 0; i < 2; i++) {
        x[i] = layers_random(&random, layers_x);
        y[i] = test_dense(TENON_DTYPE_F32, 2, layers_y, NULL);
        streams[i] = test_new_stream(test_context);
    }
    assert_ok(tenon_stream_finish(test_stream));
    for (int round = 0; round < 20; round++)
        for (int i = 0; i < 2; i++)
            assert_ok(run(streams[i], sequence, &x[i], &y[i]));
    for (int i = 0; i < 2; i++) {
        assert_ok(tenon_stream_finish(streams[i]));
        test_read(&y[i], got);
        expect(&x[i], &w1, &w2, expected);
        assert_memory_equal(got, expected, sizeof got);
        tenon_stream_destroy(streams[i]);
        test_destroy(&x[i], &y[i]);
    }
    tenon_sequence_release(sequence);
    test_destroy(&w1, &w2);
}

/* A packed matrix is kept by the plan, and the plan by the sequence. Plans may be made in the
 * background. */
TEST(packed_weights_and_background_plans)
{
    test_random random = test_random_for(2905);
    float got[LAYERS_ROWS * LAYERS_HIDDEN], expected[LAYERS_ROWS * LAYERS_HIDDEN];
    tenon_tensor w = layers_random(&random, layers_w1), in = layers_random(&random, layers_x),
                 out = test_dense(TENON_DTYPE_F32, 2, layers_h, NULL);
    tenon_packed *packed;
    tenon_sequence *sequence;
    tenon_plan *plan;
    assert_ok(tenon_gemm_pack(test_stream, NULL, &w, &packed, NULL));
    assert_ok(tenon_gemm_packed(test_stream, NULL, &in, packed, NULL, NULL, &out, NULL));
    test_read(&out, expected);
    assert_ok(tenon_tensor_fill(test_stream, &out, NAN, NULL));
    assert_ok(tenon_sequence_create(test_context, &sequence));
    const tenon_tensor x = layers_tensor(sequence, "x", layers_x),
                       y = layers_tensor(sequence, "y", layers_h);
    const tenon_tensor *const tensors[] = {&x, NULL, NULL, &y};
    assert_ok(tenon_prepare_begin(test_context));
    assert_ok(tenon_gemm_packed_plan(test_context, NULL, &x, packed, NULL, NULL, &y, &plan));
    assert_ok(tenon_prepare_end(test_context));
    assert_ok(tenon_sequence_add(sequence, NULL, plan, tensors, 4, NULL, 0));
    assert_ok(tenon_sequence_finish(sequence));
    tenon_plan_release(plan);
    tenon_packed_release(packed);
    assert_ok(run(test_stream, sequence, &in, &out));
    test_read(&out, got);
    assert_memory_equal(got, expected, sizeof got);
    tenon_sequence_release(sequence);
    test_destroy(&w, &in, &out);
}

/* Empty tensors need no memory, and a sequence without steps does nothing. */
TEST(nothing_to_do)
{
    static const int64_t none[] = {0, LAYERS_INNER}, result[] = {0, LAYERS_HIDDEN};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, none),
                       y = tenon_tensor_view(TENON_DTYPE_F32, 2, result),
                       w = tenon_tensor_view(TENON_DTYPE_F32, 2, layers_w1);
    test_random random = test_random_for(2906);
    tenon_tensor weights = layers_random(&random, layers_w1);
    tenon_sequence *sequence;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    tenon_plan *plan = layers_plan(&x, &w, NULL, &y, 0);
    const tenon_tensor *const tensors[] = {&x, &weights, NULL, NULL, &y};
    assert_ok(tenon_sequence_create(test_context, &sequence));
    assert_ok(tenon_sequence_add(sequence, NULL, plan, tensors, 5, NULL, 0));
    assert_ok(tenon_sequence_finish(sequence));
    assert_ok(tenon_sequence_run(test_stream, sequence, NULL, 0, NULL, 0, &sync));
    assert_int_equal(clWaitForEvents(1, &event), CL_SUCCESS);
    clReleaseEvent(event);
    tenon_sequence_retain(sequence);
    tenon_sequence_release(sequence);
    tenon_sequence_release(sequence);
    tenon_sequence_release(NULL);
    tenon_sequence_retain(NULL);
    tenon_plan_release(plan);
    test_destroy(&weights);
}

/* Tests sequences: their results, memory, scalars and bad input. Merging of steps has a test
 * program of its own. */
#include "support.h"

#include <math.h>

enum { ROWS = 5, INNER = 7, HIDDEN = 33, COLUMNS = 11 };

static const int64_t x_shape[] = {ROWS, INNER}, w1_shape[] = {INNER, HIDDEN},
                     h_shape[] = {ROWS, HIDDEN}, w2_shape[] = {HIDDEN, COLUMNS},
                     y_shape[] = {ROWS, COLUMNS};

static tenon_tensor random_tensor(test_random *random, const int64_t *shape)
{
    float values[4096];
    for (int64_t i = 0; i < shape[0] * shape[1]; i++)
        values[i] = (float)test_real(random, -1, 1);
    return test_dense(TENON_DTYPE_F32, 2, shape, values);
}

static tenon_plan *gemm_plan(const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *c,
                             const tenon_tensor *d, uint32_t activation)
{
    tenon_plan *plan;
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.activation.kind = activation;
    assert_ok(tenon_gemm_plan(test_context, &params, a, b, c, NULL, d, &plan));
    return plan;
}

static void add_gemm(tenon_sequence *sequence, const tenon_tensor *a, const tenon_tensor *b,
                     const tenon_tensor *d, uint32_t activation)
{
    tenon_plan *plan = gemm_plan(a, b, NULL, d, activation);
    const tenon_tensor *const tensors[] = {a, b, NULL, NULL, d};
    assert_ok(tenon_sequence_add(sequence, NULL, plan, tensors, 5, NULL, 0));
    tenon_plan_release(plan); /* the sequence keeps it */
}

static tenon_tensor sequence_tensor(tenon_sequence *sequence, const char *name,
                                    const int64_t *shape)
{
    tenon_tensor tensor;
    assert_ok(tenon_sequence_tensor(sequence, name, TENON_DTYPE_F32, 2, shape, &tensor));
    return tensor;
}

/* Two layers: y = tanh(x · w1) · w2. */
static tenon_sequence *two_layers(const tenon_tensor *w1, const tenon_tensor *w2)
{
    tenon_sequence *sequence;
    assert_ok(tenon_sequence_create(test_context, &sequence));
    const tenon_tensor x = sequence_tensor(sequence, "x", x_shape),
                       h = sequence_tensor(sequence, NULL, h_shape),
                       y = sequence_tensor(sequence, "y", y_shape);
    add_gemm(sequence, &x, w1, &h, TENON_ACTIVATION_TANH);
    add_gemm(sequence, &h, w2, &y, TENON_ACTIVATION_IDENTITY);
    assert_ok(tenon_sequence_finish(sequence));
    return sequence;
}

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
    tenon_tensor h = test_dense(TENON_DTYPE_F32, 2, h_shape, NULL),
                 y = test_dense(TENON_DTYPE_F32, 2, y_shape, NULL);
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
    static const int64_t twice[] = {3 * ROWS, COLUMNS};
    float got[3 * ROWS * COLUMNS], expected[ROWS * COLUMNS], poison[3 * ROWS * COLUMNS];
    tenon_tensor w1 = random_tensor(&random, w1_shape), w2 = random_tensor(&random, w2_shape);
    tenon_sequence *sequence = two_layers(&w1, &w2);
    assert_int_equal(tenon_sequence_steps(sequence), 2);
    for (int i = 0; i < 3 * ROWS * COLUMNS; i++)
        poison[i] = NAN;
    for (int64_t round = 0; round < 3; round++) {
        tenon_tensor x = random_tensor(&random, x_shape),
                     all = test_dense(TENON_DTYPE_F32, 2, twice, poison);
        const tenon_tensor y = tenon_tensor_slice(all, 0, round * ROWS, ROWS);
        assert_ok(run(test_stream, sequence, &x, &y));
        test_read(&all, got);
        expect(&x, &w1, &w2, expected);
        assert_memory_equal(got + round * ROWS * COLUMNS, expected, sizeof expected);
        for (int64_t i = 0; i < 3 * ROWS * COLUMNS; i++)
            assert_true(i / (ROWS * COLUMNS) == round || isnan(got[i]));
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
    tenon_tensor from = sequence_tensor(sequence, "x", shape);
    for (int i = 0; i < LAYERS; i++) {
        const tenon_tensor to = sequence_tensor(sequence, i + 1 < LAYERS ? NULL : "y", shape);
        add_gemm(sequence, &from, &w, &to, TENON_ACTIVATION_IDENTITY);
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
    tenon_tensor x = random_tensor(&random, shape), y = test_dense(TENON_DTYPE_F32, 2, shape, NULL);
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
    const tenon_tensor x = sequence_tensor(sequence, "x", a_shape),
                       t = sequence_tensor(sequence, NULL, part),
                       y = sequence_tensor(sequence, "y", whole),
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
    const tenon_tensor y = sequence_tensor(sequence, "y", shape),
                       x = sequence_tensor(sequence, "x", half),
                       top = tenon_tensor_slice(y, 0, 0, 2);
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
    tenon_tensor w1 = random_tensor(&random, w1_shape), w2 = random_tensor(&random, w2_shape),
                 x = random_tensor(&random, x_shape),
                 y = test_dense(TENON_DTYPE_F32, 2, y_shape, NULL);
    tenon_sequence *sequence = two_layers(&w1, &w2);
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
    float got[ROWS * COLUMNS], expected[ROWS * COLUMNS];
    tenon_tensor w1 = random_tensor(&random, w1_shape), w2 = random_tensor(&random, w2_shape), x[2],
                 y[2];
    tenon_sequence *sequence = two_layers(&w1, &w2);
    tenon_stream *streams[2];
    for (int i = 0; i < 2; i++) {
        x[i] = random_tensor(&random, x_shape);
        y[i] = test_dense(TENON_DTYPE_F32, 2, y_shape, NULL);
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
    float got[ROWS * HIDDEN], expected[ROWS * HIDDEN];
    tenon_tensor w = random_tensor(&random, w1_shape), in = random_tensor(&random, x_shape),
                 out = test_dense(TENON_DTYPE_F32, 2, h_shape, NULL);
    tenon_packed *packed;
    tenon_sequence *sequence;
    tenon_plan *plan;
    assert_ok(tenon_gemm_pack(test_stream, NULL, &w, &packed, NULL));
    assert_ok(tenon_gemm_packed(test_stream, NULL, &in, packed, NULL, NULL, &out, NULL));
    test_read(&out, expected);
    assert_ok(tenon_tensor_fill(test_stream, &out, NAN, NULL));
    assert_ok(tenon_sequence_create(test_context, &sequence));
    const tenon_tensor x = sequence_tensor(sequence, "x", x_shape),
                       y = sequence_tensor(sequence, "y", h_shape);
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
    static const int64_t none[] = {0, INNER}, result[] = {0, HIDDEN};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 2, none),
                       y = tenon_tensor_view(TENON_DTYPE_F32, 2, result),
                       w = tenon_tensor_view(TENON_DTYPE_F32, 2, w1_shape);
    test_random random = test_random_for(2906);
    tenon_tensor weights = random_tensor(&random, w1_shape);
    tenon_sequence *sequence;
    cl_event event = NULL;
    const tenon_sync sync = {.event = &event};
    tenon_plan *plan = gemm_plan(&x, &w, NULL, &y, 0);
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

TEST(bad_tensors)
{
    test_random random = test_random_for(2907);
    tenon_tensor w = random_tensor(&random, w1_shape), real = random_tensor(&random, x_shape), t;
    tenon_sequence *sequence, *other;
    assert_ok(tenon_sequence_create(test_context, &sequence));
    assert_ok(tenon_sequence_create(test_context, &other));
    const tenon_tensor x = sequence_tensor(sequence, "x", x_shape),
                       y = sequence_tensor(sequence, "y", h_shape),
                       h = sequence_tensor(sequence, NULL, x_shape),
                       foreign = sequence_tensor(other, "x", x_shape);
    tenon_plan *plan = gemm_plan(&x, &w, NULL, &y, 0);
#define ADD(a, b, c, d)                                                                            \
    tenon_sequence_add(sequence, NULL, plan, (const tenon_tensor *const[]){a, b, c, NULL, d}, 5,   \
                       NULL, 0)
    assert_refused(ADD(NULL, &w, NULL, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a is NULL");
    assert_refused(ADD(&x, &w, &y, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "c is given");
    assert_refused(ADD(&w, &w, NULL, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a: type is f32 and shape is 7x33");
    assert_refused(ADD(&h, &w, NULL, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a: reads an intermediate that no step has written");
    assert_refused(ADD(&foreign, &w, NULL, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a: its memory is of another sequence");
    t = real;
    t.memory = (tenon_memory){0};
    assert_refused(ADD(&t, &w, NULL, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a: has no memory");
    t = real;
    t.memory.kind = 5;
    assert_refused(ADD(&t, &w, NULL, &y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a: memory kind is 5");
    t = y;
    t.offset = 2;
    assert_refused(ADD(&x, &w, NULL, &t), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "d: offset is 2");
    t.memory = x.memory;
    t.offset = 0;
    assert_refused(ADD(&x, &w, NULL, &t), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_add",
                   "a overlaps the output d");
    assert_invalid(tenon_sequence_add(sequence, NULL, plan, NULL, 5, NULL, 0), "tensors is NULL");
    assert_invalid(tenon_sequence_add(sequence, NULL, NULL, NULL, 0, NULL, 0), "plan is NULL");
    const tenon_scalar scalar = tenon_scalar_f64("gamma", 1);
    const tenon_tensor *const tensors[] = {&x, &w, NULL, NULL, &y};
    assert_invalid(tenon_sequence_add(sequence, NULL, plan, tensors, 4, NULL, 0), "count is 4");
    assert_invalid(tenon_sequence_add(sequence, NULL, plan, tensors, 5, &scalar, 1), "gamma");
    assert_invalid(tenon_sequence_add(sequence, NULL, plan, tensors, 5, NULL, 1),
                   "scalars is NULL");
    assert_int_equal(tenon_sequence_steps(sequence), 0);
    /* Calls that run something reject memory of a sequence. */
    assert_invalid(tenon_gemm(test_stream, NULL, &x, &w, NULL, NULL, &y, NULL),
                   "a: its memory is that of a sequence");
    const tenon_memory memories[] = {x.memory, w.memory, {0}, {0}, y.memory};
    assert_refused(tenon_plan_run(test_stream, plan, memories, 5, NULL),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm_plan", "that of a sequence");
    float value[ROWS * INNER] = {0};
    assert_invalid(tenon_tensor_upload(test_stream, value, sizeof value, &x, NULL),
                   "that of a sequence");
    tenon_plan_release(plan);
    tenon_sequence_release(sequence);
    tenon_sequence_release(other);
    test_destroy(&w, &real);
}

TEST(bad_sequences)
{
    tenon_sequence *sequence;
    tenon_tensor x;
    assert_invalid(tenon_sequence_create(NULL, &sequence), "context is NULL");
    assert_null(sequence);
    assert_invalid(tenon_sequence_create(test_context, NULL), "sequence is NULL");
    assert_ok(tenon_sequence_create(test_context, &sequence));
#define TENSOR(name, dtype, rank, shape, out)                                                      \
    tenon_sequence_tensor(sequence, name, dtype, rank, shape, out)
    assert_refused(TENSOR("", TENON_DTYPE_F32, 2, x_shape, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "name is an empty string");
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 2, NULL, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "shape is NULL");
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 2, x_shape, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "tensor is NULL");
    assert_refused(TENSOR("x", (tenon_dtype)77, 2, x_shape, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "tensor");
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 99, x_shape, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "tensor");
    assert_ok(TENSOR("x", TENON_DTYPE_F32, 2, x_shape, &x));
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 2, x_shape, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "\"x\" is an operand");
    assert_invalid(tenon_sequence_finish(sequence), "no step uses the operand \"x\"");
    assert_invalid(tenon_sequence_run(test_stream, sequence, NULL, 0, NULL, 0, NULL),
                   "is not finished");
    assert_invalid(tenon_sequence_finish(NULL), "sequence is NULL");
    for (int i = 1; i < 254; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        assert_ok(TENSOR(name, TENON_DTYPE_F32, 2, x_shape, &x));
    }
    assert_refused(TENSOR("last", TENON_DTYPE_F32, 2, x_shape, &x), TENON_ERROR_UNSUPPORTED,
                   "tenon_sequence_tensor", "would be operand 255");
    assert_ok(TENSOR(NULL, TENON_DTYPE_F32, 2, x_shape, &x));
    assert_string_equal(tenon_sequence_operand_name(sequence, 253), "n253");
    assert_null(tenon_sequence_operand_name(sequence, 254));
    assert_null(tenon_sequence_operand_name(NULL, 0));
    assert_null(tenon_sequence_step(NULL, 0));
    assert_int_equal(tenon_sequence_steps(NULL), 0);
    assert_int_equal(tenon_sequence_workspace(NULL), 0);
    tenon_sequence_release(sequence);
}

TEST(bad_runs)
{
    test_random random = test_random_for(2908);
    tenon_tensor w1 = random_tensor(&random, w1_shape), w2 = random_tensor(&random, w2_shape),
                 x = random_tensor(&random, x_shape),
                 y = test_dense(TENON_DTYPE_F32, 2, y_shape, NULL);
    tenon_sequence *sequence = two_layers(&w1, &w2);
    tenon_context *context = test_context_with();
    tenon_stream *stream = test_new_stream(context);
#define RUN(...)                                                                                   \
    tenon_sequence_run(test_stream, sequence, (const tenon_operand[]){__VA_ARGS__},                \
                       sizeof((const tenon_operand[]){__VA_ARGS__}) / sizeof(tenon_operand), NULL, \
                       0, NULL)
#define X {"x", x.memory, 0}
#define Y                                                                                          \
    {                                                                                              \
        "y", y.memory, 0                                                                           \
    }
    assert_refused(RUN(X), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "\"y\" is missing; the operands of the sequence are x, y");
    assert_refused(RUN(X, X), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "operands[1]: \"x\" is given twice");
    assert_refused(RUN(X, Y, {"z", y.memory, 0}), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_run", "operands[2]: \"z\" is not an operand");
    assert_refused(RUN(X, {NULL, y.memory, 0}), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "operands[1]: name is NULL");
    assert_refused(RUN(X, {"y", {0}, 0}), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "y: has no memory");
    assert_refused(RUN(X, {"y", y.memory, 6}), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "y: offset is 6 bytes");
    assert_refused(RUN(X, {"y", y.memory, 4}), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "y");
    assert_refused(RUN(X, {"y", x.memory, 0}), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "y");
    assert_refused(RUN({"x", w1.memory, 0}, {"y", w1.memory, 4 * ROWS * INNER}),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "the memory bound to a step overlaps the output y");
    assert_refused(RUN({"x", y.memory, 0}, Y), TENON_ERROR_INVALID_ARGUMENT, "tenon_sequence_run",
                   "x overlaps the output y");
    assert_invalid(tenon_sequence_run(test_stream, sequence, NULL, 2, NULL, 0, NULL),
                   "operands is NULL");
    assert_invalid(tenon_sequence_run(test_stream, sequence, NULL, 0, NULL, 1, NULL),
                   "scalars is NULL");
    assert_invalid(tenon_sequence_run(test_stream, NULL, NULL, 0, NULL, 0, NULL),
                   "sequence is NULL");
    assert_invalid(tenon_sequence_run(NULL, sequence, NULL, 0, NULL, 0, NULL), "stream is NULL");
    assert_invalid(tenon_sequence_run(stream, sequence, NULL, 0, NULL, 0, NULL),
                   "belong to different contexts");
    tenon_tensor t;
    assert_invalid(tenon_sequence_tensor(sequence, NULL, TENON_DTYPE_F32, 2, x_shape, &t),
                   "is finished and cannot be changed");
    assert_invalid(tenon_sequence_finish(sequence), "is finished");
    assert_invalid(tenon_sequence_copy(sequence, NULL, &x, &x), "is finished");
    assert_ok(tenon_stream_set_workspace(test_stream, &w1.memory, 0, 128));
    assert_refused(RUN(X, Y), TENON_ERROR_WORKSPACE_TOO_SMALL, "tenon_sequence_run", "workspace");
    assert_ok(tenon_stream_set_workspace(test_stream, NULL, 0, 0));
    assert_ok(RUN(X, Y));
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    tenon_sequence_release(sequence);
    test_destroy(&w1, &w2, &x, &y);
}

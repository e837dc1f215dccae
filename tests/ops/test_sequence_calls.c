/* Tests that sequences refuse wrong tensors, steps and operands, with a message that names them. */
#include "layers_case.h"

TEST(bad_tensors)
{
    test_random random = test_random_for(2907);
    tenon_tensor w = layers_random(&random, layers_w1), real = layers_random(&random, layers_x), t;
    tenon_sequence *sequence, *other;
    assert_ok(tenon_sequence_create(test_context, &sequence));
    assert_ok(tenon_sequence_create(test_context, &other));
    const tenon_tensor x = layers_tensor(sequence, "x", layers_x),
                       y = layers_tensor(sequence, "y", layers_h),
                       h = layers_tensor(sequence, NULL, layers_x),
                       foreign = layers_tensor(other, "x", layers_x);
    tenon_plan *plan = layers_plan(&x, &w, NULL, &y, 0);
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
    float value[LAYERS_ROWS * LAYERS_INNER] = {0};
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
    assert_refused(TENSOR("", TENON_DTYPE_F32, 2, layers_x, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "name is an empty string");
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 2, NULL, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "shape is NULL");
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 2, layers_x, NULL), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "tensor is NULL");
    assert_refused(TENSOR("x", (tenon_dtype)77, 2, layers_x, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "tensor");
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 99, layers_x, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "tensor");
    assert_ok(TENSOR("x", TENON_DTYPE_F32, 2, layers_x, &x));
    assert_refused(TENSOR("x", TENON_DTYPE_F32, 2, layers_x, &x), TENON_ERROR_INVALID_ARGUMENT,
                   "tenon_sequence_tensor", "\"x\" is an operand");
    assert_invalid(tenon_sequence_finish(sequence), "no step uses the operand \"x\"");
    assert_invalid(tenon_sequence_run(test_stream, sequence, NULL, 0, NULL, 0, NULL),
                   "is not finished");
    assert_invalid(tenon_sequence_finish(NULL), "sequence is NULL");
    for (int i = 1; i < 254; i++) {
        char name[8];
        snprintf(name, sizeof name, "n%d", i);
        assert_ok(TENSOR(name, TENON_DTYPE_F32, 2, layers_x, &x));
    }
    assert_refused(TENSOR("last", TENON_DTYPE_F32, 2, layers_x, &x), TENON_ERROR_UNSUPPORTED,
                   "tenon_sequence_tensor", "would be operand 255");
    assert_ok(TENSOR(NULL, TENON_DTYPE_F32, 2, layers_x, &x));
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
    tenon_tensor w1 = layers_random(&random, layers_w1), w2 = layers_random(&random, layers_w2),
                 x = layers_random(&random, layers_x),
                 y = test_dense(TENON_DTYPE_F32, 2, layers_y, NULL);
    tenon_sequence *sequence = layers_sequence(&w1, &w2);
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
    assert_refused(RUN({"x", w1.memory, 0}, {"y", w1.memory, 4 * LAYERS_ROWS * LAYERS_INNER}),
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
    assert_invalid(tenon_sequence_tensor(sequence, NULL, TENON_DTYPE_F32, 2, layers_x, &t),
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

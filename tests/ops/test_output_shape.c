/* Tests tenon_output_shape: calls accept the inferred shapes, and reject others. */
#include "fixture.h"
#include "runtime.h"

#include "ops/registry.h"

/* Returns true if a description is the first of its public function, which has public parameters.
 */
static bool is_public(const tn_operation *operation)
{
    for (uint32_t i = 0; tn_operations[i] != operation; i++)
        if (strcmp(tn_operations[i]->name, operation->name) == 0)
            return false;
    return operation->initializer != NULL;
}

/* Operations that accept other shapes of their output as well, because their input is repeated. */
static bool accepts_larger(const tn_operation *operation)
{
    return operation == &tn_operation_rearrange;
}

/* A call with its present outputs replaced by the inferred ones. */
typedef struct inferred_call {
    const tn_operation *operation;
    const void *params;
    tenon_tensor made[TN_MAX_OPERANDS];
    const tenon_tensor *views[TN_MAX_OPERANDS];
    uint32_t found; /* bits of the outputs whose shape was inferred */
} inferred_call;

static tenon_status infer(const inferred_call *call, uint32_t i, tenon_tensor *output)
{
    return tenon_output_shape(call->operation->name, call->params, call->views,
                              call->operation->operand_count, i, output);
}

static void begin_call(inferred_call *call, const tn_operation *operation, test_fixture *f)
{
    *call = (inferred_call){.operation = operation, .params = f->c.params.bytes};
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (f->c.views[i].dtype != TENON_DTYPE_INVALID)
            call->views[i] = &f->c.views[i];
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        if (!tn_operation_writes(operation, i) || operation->operands[i].shape == NULL ||
            infer(call, i, &call->made[i]) != TENON_OK)
            continue;
        call->found |= UINT32_C(1) << i;
        if (call->views[i] != NULL)
            call->views[i] = &call->made[i];
    }
}

static bool call_fits(const inferred_call *call)
{
    return tn_operation_supported(call->operation, test_context, call->params, call->views) ==
           TENON_OK;
}

/* Checks that the call rejects the inferred output with each of its dimensions enlarged. */
static void check_larger(inferred_call *call, uint32_t output, const char *example)
{
    for (uint32_t d = 0; d < call->made[output].rank; d++) {
        const tenon_tensor right = call->made[output];
        tenon_tensor wrong = right;
        wrong.shape[d] += 2;
        wrong = tenon_tensor_view(wrong.dtype, wrong.rank, wrong.shape);
        call->made[output] = wrong;
        if (right.shape[d] > 1 && call_fits(call))
            fail_msg("%s: accepts a larger %s", example, call->operation->operands[output].name);
        call->made[output] = right;
    }
}

static uint32_t check_example(const tn_operation *operation, const char *example, tenon_dtype type)
{
    test_fixture f;
    inferred_call call;
    test_begin_line(&f, example, type);
    begin_call(&call, operation, &f);
    if (call.found != 0 && !call_fits(&call))
        fail_msg("%s: %s", example, tenon_last_error());
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if ((call.found >> i & 1) != 0 && call.views[i] != NULL && !accepts_larger(operation))
            check_larger(&call, i, example);
    return call.found;
}

TEST(calls_accept_inferred_shapes)
{
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *operation = tn_operations[i];
        uint32_t found = 0;
        if (!is_public(operation))
            continue;
        for (uint32_t e = 0; operation->examples[e] != NULL; e++) {
            found |= check_example(operation, operation->examples[e], TENON_DTYPE_F32);
            found |= check_example(operation, operation->examples[e], TENON_DTYPE_F16);
        }
        for (uint32_t o = 0; o < operation->operand_count; o++)
            if (operation->operands[o].shape != NULL && (found >> o & 1) == 0)
                fail_msg("%s: %s is inferred in no example", operation->name,
                         operation->operands[o].name);
    }
}

#define ASSERT_SHAPE(view, type, ...)                                                              \
    do {                                                                                           \
        const int64_t wanted[] = {__VA_ARGS__};                                                    \
        assert_int_equal((view).dtype, type);                                                      \
        assert_int_equal((view).rank, sizeof wanted / sizeof *wanted);                             \
        assert_memory_equal((view).shape, wanted, sizeof wanted);                                  \
    } while (0)

TEST(known_shapes)
{
    const int64_t sides[] = {2, 3, 8, 9}, matrix[] = {5, 4}, filters[] = {6, 3, 3, 3};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_U8, 4, sides),
                       w = tenon_tensor_view(TENON_DTYPE_I8, 4, filters),
                       real = tenon_tensor_view(TENON_DTYPE_BF16, 4, sides),
                       i = tenon_tensor_view(TENON_DTYPE_I32, 2, matrix);
    const tenon_tensor *conv[] = {&x, &w, NULL, NULL, NULL}, *reduced[] = {&real, NULL},
                       *gathered[] = {&real, &i, NULL};
    const tenon_conv_params strided = tenon_conv_params(.geometry = {
                                                            .stride = {2, 1, 1},
                                                            .dilation = {1, 2, 1},
                                                            .pad_begin = {1, 0, 0},
                                                        });
    const tenon_reduce_params argmax =
        tenon_reduce_params(.kind = TENON_REDUCE_ARGMAX, .axis_count = 2, .axes = {-1, 1});
    const tenon_gather_params tuples = tenon_gather_params(.axis = 0, .mode = TENON_INDEX_TUPLES);
    tenon_tensor found;
    assert_ok(tenon_output_shape("tenon_conv_forward", &strided, conv, 5, 4, &found));
    ASSERT_SHAPE(found, TENON_DTYPE_I32, 2, 6, 4, 5);
    assert_ok(tenon_output_shape("tenon_reduce", &argmax, reduced, 2, 1, &found));
    ASSERT_SHAPE(found, TENON_DTYPE_I32, 2, 8);
    assert_int_equal(found.stride[0], 8);
    assert_ok(tenon_output_shape("tenon_gather_forward", NULL, gathered, 3, 2, &found));
    ASSERT_SHAPE(found, TENON_DTYPE_BF16, 5, 4, 3, 8, 9);
    assert_ok(tenon_output_shape("tenon_gather_forward", &tuples, gathered, 3, 2, &found));
    ASSERT_SHAPE(found, TENON_DTYPE_BF16, 5);
}

TEST(rejected_questions)
{
    const int64_t shape[] = {4, 5};
    const tenon_tensor a = tenon_tensor_view(TENON_DTYPE_F32, 2, shape);
    const tenon_tensor *misfit[] = {&a, &a, NULL, NULL, NULL},
                       *lacks[] = {&a, NULL, NULL, NULL, NULL}, *none[] = {NULL};
    const tenon_reduce_params twice = tenon_reduce_params(.axis_count = 2, .axes = {0, 0});
    tenon_tensor found = a;
    assert_invalid(tenon_output_shape("tenon_gemm", NULL, misfit, 5, 4, NULL), "output is NULL");
    assert_invalid(tenon_output_shape("tenon_gemm", NULL, NULL, 5, 4, &found), "tensors is NULL");
    assert_invalid(tenon_output_shape("tenon_none", NULL, misfit, 5, 4, &found),
                   "function is \"tenon_none\"");
    assert_invalid(tenon_output_shape("tenon_gemm", NULL, misfit, 4, 4, &found), "count is 4");
    assert_invalid(tenon_output_shape("tenon_gemm", NULL, misfit, 5, 2, &found), "index is 2");
    assert_refused(tenon_output_shape("tenon_gemm", NULL, lacks, 5, 4, &found),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_gemm", "b is NULL");
    assert_refused(tenon_output_shape("tenon_elementwise", NULL, lacks, 3, 2, &found),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_elementwise", "b is NULL");
    assert_refused(tenon_output_shape("tenon_reduce", &twice, misfit, 2, 1, &found),
                   TENON_ERROR_INVALID_ARGUMENT, "tenon_reduce",
                   "cannot infer the shape of y from x 4x5 and the parameters");
    assert_refused(tenon_output_shape("tenon_random", NULL, none, 1, 0, &found),
                   TENON_ERROR_UNSUPPORTED, "tenon_random", "y cannot be inferred");
    assert_refused(tenon_output_shape("tenon_gemm_packed", NULL, misfit, 4, 3, &found),
                   TENON_ERROR_UNSUPPORTED, "tenon_output_shape", "packed");
    assert_memory_equal(&found, &a, sizeof a);
}

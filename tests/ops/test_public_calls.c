/* Tests the public functions by name: each passes its operands and parameters on in order,
 * immediately and as a plan, and each struct's defaults equal those of its macro. */
#include "gemm_case.h"

#include "dispatch/plan.h"
#include "ops/registry.h"

#define V1  v[0]
#define V2  V1, v[1]
#define V3  V2, v[2]
#define V4  V3, v[3]
#define V5  V4, v[4]
#define V6  V5, v[5]
#define V8  V6, v[6], v[7]
#define V13 V8, v[8], v[9], v[10], v[11], v[12]
#define V14 V13, v[13]
#define V16 V14, v[14], v[15]

/* The operation, its function without "tenon_", and its operands. */
#define ENTRIES(X)                                                                                 \
    X(gemm, gemm, V5)                                                                              \
    X(gemm_ragged, gemm_ragged, V6)                                                                \
    X(conv, conv_forward, V5)                                                                      \
    X(conv_backward_data, conv_backward_data, V3)                                                  \
    X(conv_backward_filter, conv_backward_filter, V3)                                              \
    X(conv_backward_bias, conv_backward_bias, V2)                                                  \
    X(conv_transpose, conv_transpose_forward, V5)                                                  \
    X(conv_transpose_backward_data, conv_transpose_backward_data, V3)                              \
    X(conv_transpose_backward_filter, conv_transpose_backward_filter, V3)                          \
    X(im2col, im2col, V2)                                                                          \
    X(col2im, col2im, V2)                                                                          \
    X(activation, activation_forward, V2)                                                          \
    X(activation_backward, activation_backward, V3)                                                \
    X(pool, pool_forward, V3)                                                                      \
    X(pool_backward, pool_backward, V4)                                                            \
    X(resize, resize_forward, V2)                                                                  \
    X(resize_backward, resize_backward, V2)                                                        \
    X(roi_align, roi_align, V4)                                                                    \
    X(roi_align_backward, roi_align_backward, V5)                                                  \
    X(grid_sample, grid_sample, V3)                                                                \
    X(grid_sample_backward, grid_sample_backward, V5)                                              \
    X(lrn, lrn_forward, V2)                                                                        \
    X(lrn_backward, lrn_backward, V3)                                                              \
    X(elementwise, elementwise, V3)                                                                \
    X(elementwise_chain, elementwise_chain, V5)                                                    \
    X(copy, copy, V2)                                                                              \
    X(compare, compare, V3)                                                                        \
    X(classify, classify, V2)                                                                      \
    X(logic, logic, V3)                                                                            \
    X(where, where, V4)                                                                            \
    X(function, function, V2)                                                                      \
    X(gated, gated_forward, V3)                                                                    \
    X(gated_backward, gated_backward, V5)                                                          \
    X(prelu, prelu_forward, V3)                                                                    \
    X(prelu_backward, prelu_backward, V5)                                                          \
    X(softmax, softmax_forward, V2)                                                                \
    X(softmax_backward, softmax_backward, V3)                                                      \
    X(norm, norm_forward, V8)                                                                      \
    X(norm_inference, norm_inference, V6)                                                          \
    X(norm_backward, norm_backward, V8)                                                            \
    X(norm_inference_backward, norm_inference_backward, V8)                                        \
    X(cross_entropy, cross_entropy_forward, V3)                                                    \
    X(cross_entropy_backward, cross_entropy_backward, V4)                                          \
    X(mse, mse_forward, V3)                                                                        \
    X(mse_backward, mse_backward, V4)                                                              \
    X(reduce, reduce, V2)                                                                          \
    X(moments, moments, V3)                                                                        \
    X(random, random, V1)                                                                          \
    X(bernoulli, bernoulli, V2)                                                                    \
    X(categorical, categorical, V2)                                                                \
    X(permutation, permutation, V1)                                                                \
    X(dropout, dropout, V2)                                                                        \
    X(scan, scan, V2)                                                                              \
    X(sort, sort, V5)                                                                              \
    X(top_k, top_k, V3)                                                                            \
    X(search_sorted, search_sorted, V3)                                                            \
    X(compact, compact, V5)                                                                        \
    X(masked_put, masked_put, V3)                                                                  \
    X(unique, unique, V6)                                                                          \
    X(histogram, histogram, V4)                                                                    \
    X(segment_reduce, segment_reduce, V5)                                                          \
    X(segment_reduce_backward, segment_reduce_backward, V5)                                        \
    X(segment_reduce_backward_weights, segment_reduce_backward_weights, V5)                        \
    X(segment_scan, segment_scan, V3)                                                              \
    X(rnn, rnn_forward, V14)                                                                       \
    X(rnn_backward_data, rnn_backward_data, V16)                                                   \
    X(rnn_backward_weights, rnn_backward_weights, V13)                                             \
    X(sgd, sgd, V4)                                                                                \
    X(adam, adam, V5)                                                                              \
    X(square_sum, square_sum, V2)                                                                  \
    X(clip, clip, V2)                                                                              \
    X(nonfinite, nonfinite, V2)                                                                    \
    X(loss_scale, loss_scale, V2)                                                                  \
    X(gather, gather_forward, V3)                                                                  \
    X(gather_backward, gather_backward, V3)                                                        \
    X(rearrange, rearrange, V2)                                                                    \
    X(triangle, triangle, V2)                                                                      \
    X(reverse_lengths, reverse_lengths, V3)                                                        \
    X(one_hot, one_hot, V2)                                                                        \
    X(depth_to_space, depth_to_space, V2)                                                          \
    X(space_to_depth, space_to_depth, V2)                                                          \
    X(channel_shuffle, channel_shuffle, V2)                                                        \
    X(scatter, scatter, V3)                                                                        \
    X(pad, pad_forward, V2)

#define DEFINE(operation, function, views)                                                         \
    static tenon_status call_##function(const void *params, const tenon_tensor *const *v)          \
    {                                                                                              \
        return tenon_##function(test_stream, params, views, NULL);                                 \
    }                                                                                              \
    static tenon_status plan_##function(const void *params, const tenon_tensor *const *v,          \
                                        tenon_plan **plan)                                         \
    {                                                                                              \
        return tenon_##function##_plan(test_context, params, views, plan);                         \
    }
ENTRIES(DEFINE)

static tenon_status call_gemm_int8(const void *params, const tenon_tensor *const *v)
{
    const tenon_gemm_params all = gemm_params_of(params, v);
    return tenon_gemm(test_stream, &all, V5, NULL);
}

static tenon_status plan_gemm_int8(const void *params, const tenon_tensor *const *v,
                                   tenon_plan **plan)
{
    const tenon_gemm_params all = gemm_params_of(params, v);
    return tenon_gemm_plan(test_context, &all, V5, plan);
}

static tenon_conv_params conv_params_of(const void *params, const tenon_tensor *const *v)
{
    tenon_conv_params all = *(const tenon_conv_params *)params;
    tn_int8_restore_vectors(v, &all.epilogue);
    return all;
}

static tenon_status call_conv_int8(const void *params, const tenon_tensor *const *v)
{
    const tenon_conv_params all = conv_params_of(params, v);
    return tenon_conv_forward(test_stream, &all, V5, NULL);
}

static tenon_status plan_conv_int8(const void *params, const tenon_tensor *const *v,
                                   tenon_plan **plan)
{
    const tenon_conv_params all = conv_params_of(params, v);
    return tenon_conv_forward_plan(test_context, &all, V5, plan);
}

/* Calls with terms after the activation, which the epilogue points to. */
#define DEFINE_POST(operation, type, function)                                                     \
    static tenon_status call_##operation(const void *params, const tenon_tensor *const *v)         \
    {                                                                                              \
        type all = *(const type *)params;                                                          \
        tn_epilogue_set_post(&all.epilogue, v + 5);                                                \
        return function(test_stream, &all, V5, NULL);                                              \
    }                                                                                              \
    static tenon_status plan_##operation(const void *params, const tenon_tensor *const *v,         \
                                         tenon_plan **plan)                                        \
    {                                                                                              \
        type all = *(const type *)params;                                                          \
        tn_epilogue_set_post(&all.epilogue, v + 5);                                                \
        return function##_plan(test_context, &all, V5, plan);                                      \
    }
DEFINE_POST(gemm_post, tenon_gemm_params, tenon_gemm)
DEFINE_POST(conv_post, tenon_conv_params, tenon_conv_forward)
DEFINE_POST(conv_transpose_post, tenon_conv_transpose_params, tenon_conv_transpose_forward)

/* Steps with a guard, to which the parameters point. */
#define DEFINE_GUARDED(name, count, views)                                                         \
    static tenon_status call_##name##_guarded(const void *params, const tenon_tensor *const *v)    \
    {                                                                                              \
        tenon_##name##_params all = *(const tenon_##name##_params *)params;                        \
        all.skip = v[count];                                                                       \
        all.gradient_scale = v[(count) + 1];                                                       \
        return tenon_##name(test_stream, &all, views, NULL);                                       \
    }                                                                                              \
    static tenon_status plan_##name##_guarded(const void *params, const tenon_tensor *const *v,    \
                                              tenon_plan **plan)                                   \
    {                                                                                              \
        tenon_##name##_params all = *(const tenon_##name##_params *)params;                        \
        all.skip = v[count];                                                                       \
        all.gradient_scale = v[(count) + 1];                                                       \
        return tenon_##name##_plan(test_context, &all, views, plan);                               \
    }
DEFINE_GUARDED(sgd, 4, V4)
DEFINE_GUARDED(adam, 5, V5)
DEFINE_GUARDED(clip, 2, V2)

typedef struct public_call {
    const tn_operation *operation;
    const char *name;
    tenon_status (*call)(const void *params, const tenon_tensor *const *v);
    tenon_status (*plan)(const void *params, const tenon_tensor *const *v, tenon_plan **plan);
} public_call;

#define ENTRY(operation, function, views)                                                          \
    {&tn_operation_##operation, "tenon_" #function, call_##function, plan_##function},
static const public_call entries[] = {
    {&tn_operation_gemm_mixed, "tenon_gemm", call_gemm, plan_gemm},
    {&tn_operation_conv_mixed, "tenon_conv_forward", call_conv_forward, plan_conv_forward},
    {&tn_operation_gemm_int8, "tenon_gemm", call_gemm_int8, plan_gemm_int8},
    {&tn_operation_conv_int8, "tenon_conv_forward", call_conv_int8, plan_conv_int8},
    {&tn_operation_gemm_post, "tenon_gemm", call_gemm_post, plan_gemm_post},
    {&tn_operation_conv_post, "tenon_conv_forward", call_conv_post, plan_conv_post},
    {&tn_operation_conv_transpose_post, "tenon_conv_transpose_forward", call_conv_transpose_post,
     plan_conv_transpose_post},
    {&tn_operation_sgd_guarded, "tenon_sgd", call_sgd_guarded, plan_sgd_guarded},
    {&tn_operation_adam_guarded, "tenon_adam", call_adam_guarded, plan_adam_guarded},
    {&tn_operation_clip_guarded, "tenon_clip", call_clip_guarded, plan_clip_guarded},
    ENTRIES(ENTRY)};
enum { ENTRY_COUNT = sizeof entries / sizeof *entries };

/* Returns the number of the operation's entry, or -1 if it has no function of its own. */
static int entry_of(const tn_operation *operation)
{
    for (int i = 0; i < ENTRY_COUNT; i++)
        if (entries[i].operation == operation)
            return i;
    return -1;
}

TEST(every_operation_is_there)
{
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        const tn_operation *op = tn_operations[i];
        const int number = entry_of(op);
        if (op == &tn_operation_gemm_packed || op == &tn_operation_conv_packed ||
            op == &tn_operation_gemm_packed_post || op == &tn_operation_conv_packed_post)
            /* have no view for the weights */
            assert_int_equal(number, -1);
        else if (number < 0)
            fail_msg("%s is not in the list", op->name);
        else
            assert_string_equal(entries[number].name, op->name);
    }
}

/* Runs the plan on the memory of its named operands. */
static void run_plan(test_fixture *f, const public_call *e)
{
    const tn_operation *op = f->c.operation;
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    tenon_memory memories[TN_MAX_OPERANDS] = {{0}};
    tenon_plan *plan;
    for (uint32_t i = 0; i < op->operand_count; i++)
        if (test_operand(f, i) != NULL) {
            views[i] = &test_operand(f, i)->view;
            memories[i] = views[i]->memory;
        }
    assert_ok(e->plan(f->c.params.bytes, views, &plan));
    assert_int_equal(plan->operand_count, op->operand_count);
    for (uint32_t i = 0; i < op->operand_count; i++) {
        assert_string_equal(plan->operands[i].name, op->operands[i].name);
        assert_int_equal(plan->operands[i].present, views[i] != NULL);
    }
    test_run_plan(f, plan, memories, op->operand_count);
    tenon_plan_release(plan);
}

TEST(operands_are_handed_on_in_order)
{
    test_random random = test_random_for(81);
    for (int i = 0; i < ENTRY_COUNT; i++) {
        test_fixture f;
        test_begin_line(&f, entries[i].operation->examples[0], TENON_DTYPE_F32);
        f.call = entries[i].call;
        f.plan = entries[i].plan;
        test_make(&f);
        test_fill_inputs(&f, TEST_BOUND, &random);
        test_expect(&f);
        test_upload_all(&f);
        run_plan(&f, &entries[i]);
        test_finish(&f, TEST_ONCE);
    }
}

#define STRUCTS(X)                                                                                 \
    X(activation_params, TENON_ACTIVATION_PARAMS_INIT)                                             \
    X(adam_params, TENON_ADAM_PARAMS_INIT)                                                         \
    X(bernoulli_params, TENON_BERNOULLI_PARAMS_INIT)                                               \
    X(categorical_params, TENON_CATEGORICAL_PARAMS_INIT)                                           \
    X(classify_params, TENON_CLASSIFY_PARAMS_INIT)                                                 \
    X(blocks_params, TENON_BLOCKS_PARAMS_INIT)                                                     \
    X(channel_shuffle_params, TENON_CHANNEL_SHUFFLE_PARAMS_INIT)                                   \
    X(clip_params, TENON_CLIP_PARAMS_INIT)                                                         \
    X(compare_params, TENON_COMPARE_PARAMS_INIT)                                                   \
    X(concat_params, TENON_CONCAT_PARAMS_INIT)                                                     \
    X(context_params, TENON_CONTEXT_PARAMS_INIT)                                                   \
    X(conv_params, TENON_CONV_PARAMS_INIT)                                                         \
    X(conv_backward_params, TENON_CONV_BACKWARD_PARAMS_INIT)                                       \
    X(conv_transpose_params, TENON_CONV_TRANSPOSE_PARAMS_INIT)                                     \
    X(copy_params, TENON_COPY_PARAMS_INIT)                                                         \
    X(cross_entropy_params, TENON_CROSS_ENTROPY_PARAMS_INIT)                                       \
    X(dropout_params, TENON_DROPOUT_PARAMS_INIT)                                                   \
    X(elementwise_params, TENON_ELEMENTWISE_PARAMS_INIT)                                           \
    X(elementwise_chain_params, TENON_ELEMENTWISE_CHAIN_PARAMS_INIT)                               \
    X(function_params, TENON_FUNCTION_PARAMS_INIT)                                                 \
    X(gated_params, TENON_GATED_PARAMS_INIT)                                                       \
    X(gather_params, TENON_GATHER_PARAMS_INIT)                                                     \
    X(gemm_params, TENON_GEMM_PARAMS_INIT)                                                         \
    X(gemm_ragged_params, TENON_GEMM_RAGGED_PARAMS_INIT)                                           \
    X(im2col_params, TENON_IM2COL_PARAMS_INIT)                                                     \
    X(logic_params, TENON_LOGIC_PARAMS_INIT)                                                       \
    X(loss_scale_params, TENON_LOSS_SCALE_PARAMS_INIT)                                             \
    X(mse_params, TENON_MSE_PARAMS_INIT)                                                           \
    X(nonfinite_params, TENON_NONFINITE_PARAMS_INIT)                                               \
    X(norm_params, TENON_NORM_PARAMS_INIT)                                                         \
    X(pack_params, TENON_PACK_PARAMS_INIT)                                                         \
    X(pad_params, TENON_PAD_PARAMS_INIT)                                                           \
    X(permutation_params, TENON_PERMUTATION_PARAMS_INIT)                                           \
    X(pool_params, TENON_POOL_PARAMS_INIT)                                                         \
    X(prelu_params, TENON_PRELU_PARAMS_INIT)                                                       \
    X(random_params, TENON_RANDOM_PARAMS_INIT)                                                     \
    X(one_hot_params, TENON_ONE_HOT_PARAMS_INIT)                                                   \
    X(rearrange_params, TENON_REARRANGE_PARAMS_INIT)                                               \
    X(reverse_lengths_params, TENON_REVERSE_LENGTHS_PARAMS_INIT)                                   \
    X(triangle_params, TENON_TRIANGLE_PARAMS_INIT)                                                 \
    X(reduce_params, TENON_REDUCE_PARAMS_INIT)                                                     \
    X(scan_params, TENON_SCAN_PARAMS_INIT)                                                         \
    X(sort_params, TENON_SORT_PARAMS_INIT)                                                         \
    X(top_k_params, TENON_TOP_K_PARAMS_INIT)                                                       \
    X(search_sorted_params, TENON_SEARCH_SORTED_PARAMS_INIT)                                       \
    X(compact_params, TENON_COMPACT_PARAMS_INIT)                                                   \
    X(masked_put_params, TENON_MASKED_PUT_PARAMS_INIT)                                             \
    X(unique_params, TENON_UNIQUE_PARAMS_INIT)                                                     \
    X(histogram_params, TENON_HISTOGRAM_PARAMS_INIT)                                               \
    X(segment_params, TENON_SEGMENT_PARAMS_INIT)                                                   \
    X(segment_scan_params, TENON_SEGMENT_SCAN_PARAMS_INIT)                                         \
    X(scatter_params, TENON_SCATTER_PARAMS_INIT)                                                   \
    X(rnn_params, TENON_RNN_PARAMS_INIT)                                                           \
    X(sgd_params, TENON_SGD_PARAMS_INIT)                                                           \
    X(softmax_params, TENON_SOFTMAX_PARAMS_INIT)                                                   \
    X(square_sum_params, TENON_SQUARE_SUM_PARAMS_INIT)                                             \
    X(where_params, TENON_WHERE_PARAMS_INIT)

/* The function sets all bytes of the struct to those of the macro, and none after it. */
#define ASSERT_DEFAULTS(type, macro)                                                               \
    {                                                                                              \
        static const tenon_##type wanted = macro;                                                  \
        union {                                                                                    \
            tenon_##type params;                                                                   \
            unsigned char bytes[sizeof(tenon_##type) + 8];                                         \
        } got;                                                                                     \
        memset(&got, 0xA5, sizeof got);                                                            \
        tenon_##type##_default(&got.params, sizeof got.params);                                    \
        assert_memory_equal(&got, &wanted, sizeof wanted);                                         \
        for (size_t i = sizeof wanted; i < sizeof got.bytes; i++)                                  \
            assert_int_equal(got.bytes[i], 0xA5);                                                  \
        tenon_##type##_default(NULL, sizeof got.params);                                           \
    }

TEST(defaults_are_those_of_the_macros)
{
    STRUCTS(ASSERT_DEFAULTS)
}

/* Parameters and weights of the registered operations, whose weights are a pattern and not an
 * operand. The weights are small integers, which are exact in every type. */
#ifndef TN_OPS_PACKED_PATTERN_H
#define TN_OPS_PACKED_PATTERN_H

#include "ops/packed/internal.h"

/* Parameters of tn_operation_gemm_packed. */
typedef struct pattern_gemm {
    tenon_gemm_params gemm;
    int64_t batch[TENON_MAX_RANK - 2], k, n; /* sizes of the weights; those from the first 0 in
                                              * `batch` on are absent */
} pattern_gemm;

/* Parameters of tn_operation_conv_packed. */
typedef struct pattern_conv {
    tenon_conv_params conv;
    int64_t filters, channels, filter[TENON_MAX_SPATIAL]; /* sizes of w; channels of a group */
} pattern_conv;

/* Returns the type of an input, or f32 if weights cannot have it. */
tenon_dtype tn_pattern_type(const tenon_tensor *input);

/* Gives a dense view host memory with the pattern. Returns the memory, which the caller frees, or
 * NULL if memory is exhausted. */
void *tn_pattern_weights(tenon_tensor *weights);

/* Defines run_post and plan_post, which call run_packed and plan_packed with the terms after the
 * activation, whose views follow the X_OPERANDS others. `member` has the epilogue in
 * pattern_`member`. If struct_size exceeds these, the bytes after them are passed on. */
#define DEFINE_PATTERN_POST(member)                                                                \
    typedef struct post_params {                                                                   \
        pattern_##member known;                                                                    \
        uint64_t beyond;                                                                           \
    } post_params;                                                                                 \
                                                                                                   \
    static post_params with_post(const pattern_##member *params, const tenon_tensor *const *v)     \
    {                                                                                              \
        post_params all = {.known = *params};                                                      \
        if (params->member.struct_size > sizeof *params)                                           \
            memcpy(&all.beyond, params + 1, sizeof all.beyond);                                    \
        tn_epilogue_set_post(&all.known.member.epilogue, v + X_OPERANDS);                          \
        return all;                                                                                \
    }                                                                                              \
                                                                                                   \
    static tenon_status run_post(tenon_stream *stream, const void *params,                         \
                                 const tenon_tensor *const *v, const tenon_sync *sync)             \
    {                                                                                              \
        const post_params all = with_post(params, v);                                              \
        return run_packed(stream, &all, v, sync);                                                  \
    }                                                                                              \
                                                                                                   \
    static tenon_status plan_post(tenon_context *context, const void *params,                      \
                                  const tenon_tensor *const *v, tenon_plan **plan)                 \
    {                                                                                              \
        const post_params all = with_post(params, v);                                              \
        return plan_packed(context, &all, v, plan);                                                \
    }

#endif

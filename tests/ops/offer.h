/* What the tests of refused calls share: every operation, and a sound call of it to spoil. */
#ifndef TEST_OPS_OFFER_H
#define TEST_OPS_OFFER_H

#include "support.h"

/* The operations as one shape of call: operands by name, the last ones the outputs. */
#define MOST 12
typedef struct offered {
    const char *name;
    tenon_dtype dtype; /* 0: f32 */
    bool optional;
    uint32_t rank;
    int64_t shape[4];
    const double *values; /* NULL: random ones */
} offered;

typedef struct operation {
    const char *name, *plan_name;
    offered operands[MOST];
    uint32_t count;
    uint32_t outputs;  /* how many of the last operands are written; 0: one */
    uint32_t left_out; /* optional operands of the plan that are not here */
    bool converts;     /* each operand may be of a type of its own, i8, u8 and i32 among them */
    tenon_status (*run)(tenon_stream *stream, const void *params, const tenon_tensor *const *views,
                        const tenon_sync *sync);
    tenon_status (*plan)(tenon_context *context, const void *params,
                         const tenon_tensor *const *views, tenon_plan **plan);
    size_t params_size;
    void (*defaults)(void *params);
} operation;

/* Each family's are in a file of offers/; offer.c lists them. */
extern const operation *const operations[];
extern const size_t operation_count;
extern const operation offer_activation;
extern const operation offer_activation_backward;
extern const operation offer_adam;
extern const operation offer_col2im;
extern const operation offer_conv;
extern const operation offer_conv_backward_data;
extern const operation offer_conv_packed;
extern const operation offer_conv_backward_filter;
extern const operation offer_conv_transpose;
extern const operation offer_conv_transpose_backward_data;
extern const operation offer_conv_transpose_backward_filter;
extern const operation offer_copy;
extern const operation offer_cross_entropy;
extern const operation offer_cross_entropy_backward;
extern const operation offer_dropout;
extern const operation offer_elementwise;
extern const operation offer_elementwise_chain;
extern const operation offer_gated;
extern const operation offer_gated_backward;
extern const operation offer_gather;
extern const operation offer_gather_backward;
extern const operation offer_gemm;
extern const operation offer_gemm_int8;
extern const operation offer_gemm_packed;
extern const operation offer_gemm_packed_rows;
extern const operation offer_gemm_ragged;
extern const operation offer_im2col;
extern const operation offer_moments;
extern const operation offer_mse;
extern const operation offer_mse_backward;
extern const operation offer_norm;
extern const operation offer_norm_backward;
extern const operation offer_norm_inference;
extern const operation offer_norm_inference_backward;
extern const operation offer_pad;
extern const operation offer_pool;
extern const operation offer_pool_backward;
extern const operation offer_prelu;
extern const operation offer_prelu_backward;
extern const operation offer_random;
extern const operation offer_reduce;
extern const operation offer_sgd;
extern const operation offer_softmax;
extern const operation offer_softmax_backward;

/* What every parameter struct begins with. */
typedef struct params_head {
    uint32_t struct_size, flags;
    const char *solver;
} params_head;

typedef union operation_params {
    params_head head;
    unsigned char bytes[1024];
    tenon_gemm_params gemm;
    tenon_conv_params conv;
    tenon_im2col_params im2col;
    tenon_activation_params activation;
} operation_params;

/* A sound call, which each test spoils in one place. */
typedef struct offer {
    const operation *op;
    operation_params params;
    test_tensor tensors[MOST];
    tenon_tensor views[MOST];
    const tenon_tensor *arguments[MOST];
} offer;

/* Makes and uploads the operands. */
void prepare(offer *o, const operation *op);

/* Fails where the call has written to an operand. */
void dismiss(offer *o);

/* The number of the first operand that is written; those after it are, too. */
uint32_t output_of(const operation *op);

/* The immediate call and the plan both refuse. */
void refuse(offer *o, tenon_status status, const char *argument);

/* Spoils each view of each operation in turn; without `inputs`, outputs alone. */
void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs);

#endif

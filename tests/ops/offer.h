/* What the tests of refused calls share: every operation, and a sound call of it to spoil. */
#ifndef TEST_OPS_OFFER_H
#define TEST_OPS_OFFER_H

#include "support.h"

/* The operations as one shape of call: operands by name, the last one the output. */
#define MOST 5
typedef struct operation {
    const char *name, *plan_name;
    const char *operands[MOST];
    bool optional[MOST];
    uint32_t count;
    uint32_t rank[MOST];
    int64_t shape[MOST][4];
    tenon_status (*run)(tenon_stream *stream, const void *params, const tenon_tensor *const *views,
                        const tenon_sync *sync);
    tenon_status (*plan)(tenon_context *context, const void *params,
                         const tenon_tensor *const *views, tenon_plan **plan);
    size_t params_size;
    void (*defaults)(void *params);
    uint32_t left_out; /* optional operands of the plan that are not here */
} operation;

/* The operations' numbers. */
enum {
    GEMM,
    CONV,
    IM2COL,
    ACTIVATION,
    ACTIVATION_BACKWARD,
    POOL,
    POOL_BACKWARD,
    SOFTMAX,
    SOFTMAX_BACKWARD,
    OPERATIONS
};
extern const operation operations[OPERATIONS];

typedef union operation_params {
    uint32_t struct_size;
    tenon_gemm_params gemm;
    tenon_conv_params conv;
    tenon_im2col_params im2col;
    tenon_activation_params activation;
    tenon_pool_params pool;
    tenon_softmax_params softmax;
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

/* The number of the operand that is written. */
uint32_t output_of(const operation *op);

/* The immediate call and the plan both refuse. */
void refuse(offer *o, tenon_status status, const char *argument);

/* Spoils each view of each operation in turn; without `inputs`, outputs alone. */
void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs);

#endif

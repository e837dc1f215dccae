/* Shared parts of the tests of refused calls: for every operation a valid call, the first of its
 * examples, which each test makes invalid. */
#ifndef TEST_OPS_OFFER_H
#define TEST_OPS_OFFER_H

#include "support.h"

#include "check/case.h"

typedef union operation_params {
    tn_params_head head;
    unsigned char bytes[TN_PARAMS_SIZE];
    tenon_gemm_params gemm;
    tenon_conv_params conv;
    tenon_im2col_params im2col;
    tenon_activation_params activation;
} operation_params;

/* A valid call, which a test makes invalid in one place. */
typedef struct offer {
    const tn_operation *op;
    operation_params params;
    test_tensor tensors[TN_MAX_OPERANDS];
    tenon_tensor views[TN_MAX_OPERANDS];
    const tenon_tensor *arguments[TN_MAX_OPERANDS]; /* NULL if absent */
} offer;

/* Creates and uploads the operands. */
void prepare(offer *o, const tn_operation *op);

/* Fails if the call has written to an operand; frees the operands. */
void dismiss(offer *o);

/* Returns the name of the plan function, such as "tenon_gemm_plan", valid until the next call. */
const char *plan_name(const tn_operation *op);

/* Checks that both the immediate call and the plan are refused. */
void refuse(offer *o, tenon_status status, const char *argument);

/* Spoils each view of each operation in turn, except scalars, which have no size and stride; only
 * outputs unless `inputs`. */
void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs);

#endif

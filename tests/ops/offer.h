/* What the tests of refused calls share: every operation, and a sound call of it to spoil: the
 * first of its examples. */
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

/* A sound call, which each test spoils in one place. */
typedef struct offer {
    const tn_operation *op;
    operation_params params;
    test_tensor tensors[TN_MAX_OPERANDS];
    tenon_tensor views[TN_MAX_OPERANDS];
    const tenon_tensor *arguments[TN_MAX_OPERANDS]; /* NULL where absent */
} offer;

/* Makes and uploads the operands. */
void prepare(offer *o, const tn_operation *op);

/* Fails where the call has written to an operand. */
void dismiss(offer *o);

/* The number of the first operand that is written; those after it are, too. */
uint32_t output_of(const tn_operation *op);

/* "tenon_gemm_plan". The text lasts until the next call. */
const char *plan_name(const tn_operation *op);

/* The immediate call and the plan both refuse. */
void refuse(offer *o, tenon_status status, const char *argument);

/* Spoils each view of each operation in turn, but for scalars, which have no size and no stride;
 * without `inputs`, outputs alone. */
void spoil_views(void (*spoil)(tenon_tensor *view), tenon_status status, bool inputs);

#endif

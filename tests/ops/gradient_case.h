/* What the tests of convolution's gradients and of the transposed convolution share: the same
 * problems as those of the convolution, each run in one of several directions. */
#ifndef TEST_OPS_GRADIENT_CASE_H
#define TEST_OPS_GRADIENT_CASE_H

#include "conv_case.h"

#include "ops/conv/gradient.h"

typedef enum gradient_direction {
    OF_IMAGE,             /* tenon_conv_backward_data */
    OF_FILTER,            /* tenon_conv_backward_filter */
    OF_BIAS,              /* tenon_conv_backward_bias */
    TRANSPOSED,           /* tenon_conv_transpose_forward, y being its x */
    TRANSPOSED_OF_IMAGE,  /* tenon_conv_transpose_backward_data */
    TRANSPOSED_OF_FILTER, /* tenon_conv_transpose_backward_filter */
    DIRECTIONS
} gradient_direction;

typedef struct gradient_data {
    conv_case
        problem; /* its epilogue and residual are the transposed convolution's; beta is all's */
    gradient_direction direction;
    tenon_dtype dtype;
    test_judge judge;
    test_tensor operands[CONV_OPERANDS]; /* of the call */
    uint32_t count;
    tn_bounded *expected;
    tn_bounded **by_solver; /* what is expected of a solver with sums of its own */
} gradient_data;

/* Where tensor `tensor` (CONV_X, CONV_W, CONV_Y of the convolution) is among the operands. */
uint32_t gradient_operand(gradient_direction direction, int tensor);

/* Whether the direction takes such sizes: a transposed convolution has no output for an empty x. */
bool gradient_takes(gradient_direction direction, const conv_case *p);

/* Makes the operands, filled for the judge. What must not be read is left poisoned. */
void gradient_make(gradient_data *data, gradient_direction direction, const conv_case *p,
                   tenon_dtype dtype, test_judge judge, test_random *random);
void gradient_destroy(gradient_data *data);

/* What is expected of the operands as they are now. */
void gradient_expect(gradient_data *data);

test_subject gradient_subject(const gradient_data *data);

/* Tries every solver on the operands as they are now. */
void gradient_run(gradient_data *data);

/* Tries every solver on random reals and on integers: in one type, or in every type. */
void gradient_check_typed(gradient_direction direction, const conv_case *p, tenon_dtype dtype,
                          test_random *random);
void gradient_check(gradient_direction direction, const conv_case *p, test_random *random);

#endif

/* Arguments of the chain of element-wise steps: operands x0 to x3, some of which may be absent,
 * and y. */
#ifndef TENON_ELEMENTWISE_CHAIN_ARGS_H
#define TENON_ELEMENTWISE_CHAIN_ARGS_H

#include "common/walk_args.h"

#define CHAIN_STEPS 8

/* Values of tenon_chain_op. */
#define CHAIN_ADD      0
#define CHAIN_SUBTRACT 1
#define CHAIN_MULTIPLY 2
#define CHAIN_DIVIDE   3
#define CHAIN_MAX      4
#define CHAIN_MIN      5
#define CHAIN_FMA      6
#define CHAIN_ACTIVATE 7
/* The first of the functions of two operands and of one. */
#define CHAIN_BINARY 8
#define CHAIN_UNARY  12

/* Encoding of a step as a build-time constant: its operation, how each of its two operands varies
 * along the row (CHAIN_SAME, CHAIN_CONTIGUOUS or CHAIN_STRIDED), and its activation. */
#define CHAIN_SAME       0
#define CHAIN_CONTIGUOUS 1
#define CHAIN_STRIDED    2
#define CHAIN_CODE(op, operand, addend, activation)                                                \
    ((op) | (operand) << 6 | (addend) << 8 | (activation) << 10)
#define CHAIN_OP(code)            ((code)&63)
#define CHAIN_OPERAND_ALONG(code) ((code) >> 6 & 3)
#define CHAIN_ADDEND_ALONG(code)  ((code) >> 8 & 3)
#define CHAIN_ACTIVATION(code)    ((code) >> 10)
#define CHAIN_FIXED_STEPS         3 /* maximum for a build with fixed steps but without functions */

typedef struct chain_step_args {
    tenon_i32 op;
    tenon_i32 operand, addend; /* 0: the scalar, else the index of an input plus 1 */
    tenon_i32 activation;      /* TENON_ACT_* */
} chain_step_args;

typedef struct chain_args {
    walk_args walk;
    tenon_i64 alpha[CHAIN_STEPS], beta[CHAIN_STEPS]; /* bits of an acc_t */
    chain_step_args step[CHAIN_STEPS];
    tenon_i32 steps;
    tenon_i32 reserved;
} chain_args;

#endif

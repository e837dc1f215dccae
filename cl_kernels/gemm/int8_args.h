/* Arguments of the kernels for i8 and u8 products, passed by value as the last kernel argument.
 * Included by C11 and by OpenCL C. */
#ifndef TENON_GEMM_INT8_ARGS_H
#define TENON_GEMM_INT8_ARGS_H

#include "gemm/args.h"

/* Scales and zero points, in the order of the plan's operands after d. */
#define INT8_SCALE_A 0
#define INT8_SCALE_B 1
#define INT8_SCALE_D 2
#define INT8_ZERO_A  3
#define INT8_ZERO_B  4
#define INT8_ZERO_D  5
#define INT8_VECTORS 6

/* Tiles of rows of a work-group on a CPU; rows that a matrix-vector product computes together. */
#define INT8_SUM_TILES 32
#define INT8_TOGETHER  4

/* Type of d. */
#define INT8_TO_REAL 0 /* f32, f16 or bf16, as TENON_DTYPE */
#define INT8_TO_I32  1
#define INT8_TO_BYTE 2

typedef struct int8_args {
    gemm_args gemm;
    tenon_i64 offset[INT8_VECTORS];                 /* set per call */
    tenon_i64 row[INT8_VECTORS], col[INT8_VECTORS]; /* strides along M and N; one of them is 0 */
    tenon_i32 present;                              /* bit i: vector i is present */
    tenon_i32 output;                               /* INT8_TO_* */
    tenon_i32 bias_i32;                             /* the bias is i32 */
    tenon_i32 a_sign, b_sign, d_sign;               /* 128 for i8, 0 for u8: the bit of the sign */
} int8_args;

#endif

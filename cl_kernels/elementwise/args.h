/* Arguments of the element-wise kernels: up to three operands over one index space. */
#ifndef TENON_ELEMENTWISE_ARGS_H
#define TENON_ELEMENTWISE_ARGS_H

#include "common/args.h"

#define ELEMENTWISE_MAX_OPERANDS 3

typedef struct elementwise_args {
    tenon_i64 offset[ELEMENTWISE_MAX_OPERANDS]; /* elements */
    tenon_i64 alpha, beta;                      /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 items;                            /* work-items that have work */
    tenon_i64 pieces;                           /* into which a row is cut */
    tenon_i64 chunk;                            /* elements of a piece */
    tenon_i64 rows;                             /* product of all sizes but the last */
    tenon_i64 rows_each;                        /* rows of a work-item */
    tenon_i64 shape[8];
    tenon_i64 stride[ELEMENTWISE_MAX_OPERANDS][8]; /* elements */
    tenon_i32 rank;                                /* at least 1 */
    tenon_i32 kind;
} elementwise_args;

#endif

/* Products whose factors have other types than the result: a separate solver family behind
 * tenon_gemm. */
#ifndef TN_OPS_GEMM_MIXED_H
#define TN_OPS_GEMM_MIXED_H

#include "ops/common/widen.h"
#include "ops/gemm/internal.h"

/* The product has the type of d. */
typedef struct gemm_mixed_problem {
    gemm_problem product;
    uint32_t types[2]; /* of GEMM_A and GEMM_B */
} gemm_mixed_problem;

extern const tn_family tn_gemm_mixed_family;
extern const tn_solver tn_gemm_mixed_converted, tn_gemm_mixed_sums;

/* Functions as declared in tn_operation and tn_family. */
tn_prepare_function tn_gemm_mixed_prepare;
tn_reference_function tn_gemm_mixed_reference;

#endif

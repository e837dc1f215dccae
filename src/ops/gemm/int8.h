/* Products of i8 and u8: a family of its own behind tenon_gemm. Its problem is that of GEMM with
 * the types, the scales and the zero points beside it. */
#ifndef TN_OPS_GEMM_INT8_H
#define TN_OPS_GEMM_INT8_H

#include "gemm/int8_args.h"
#include "ops/gemm/internal.h"

/* The operands of a call: those of GEMM, then the scales and zero points by their numbers in
 * gemm/int8_args.h. */
#define INT8_OPERANDS (GEMM_OPERANDS + INT8_VECTORS)

/* Where tn_operation_gemm_int8 has its output; the scales and zero points begin where GEMM has it.
 */
#define INT8_D (INT8_OPERANDS - 1)

/* A scale or a zero point; all zero where it is absent. */
typedef struct int8_vector {
    int64_t row, col; /* strides along M and N, one of them 0; both where there is one element */
    uint64_t operand;
} int8_vector;

/* `gemm` is canonical and has the type of reals: d's, or f32 where d holds integers. Where its
 * factors were exchanged, so were all that belongs to them. */
typedef struct int8_problem {
    gemm_problem gemm;
    uint32_t types[GEMM_OPERANDS]; /* 0 where absent or not read */
    uint32_t present;              /* bit i: vector i is there */
    int8_vector vectors[INT8_VECTORS];
} int8_problem;

/* The views of a call as an array; those that are absent are NULL. */
typedef const tenon_tensor *int8_views[INT8_OPERANDS];

/* Whether a product with this first factor is the family's. */
bool tn_gemm_is_int8(const tenon_tensor *a);

/* As tn_operation and tn_family have them. The operands of a call are in the order of an
 * int8_views; the reference takes them in that of tn_operation_gemm_int8, whose output is the last.
 */
tn_prepare_function tn_gemm_int8_prepare;
tn_reference_function tn_gemm_int8_reference;
tn_awkward_function tn_gemm_int8_awkward;

/* Refuses types that do not go together, vectors that do not fit, and what an i32 result cannot do
 * exactly. The views are sound. */
tenon_status tn_gemm_int8_check(const char *caller, const tenon_epilogue *epilogue,
                                int8_views views);

/* Fills in a problem from views that have been checked. As tn_gemm_canonicalise. */
tenon_status tn_gemm_int8_canonicalise(const char *caller, const tenon_gemm_params *params,
                                       int8_views views, int8_problem *problem, bool *empty);

/* For solvers: */

/* Completes `launch`, which has its kernel and sizes but for the batch, and records it once for
 * each index of the batch's dimensions beyond the innermost two. `tile_rows` is what the kernel's
 * argument of that name is. */
tenon_status tn_gemm_int8_record_launch(const char *caller, tn_recording *recording,
                                        const int8_problem *problem, int64_t tile_rows,
                                        tn_launch *launch);

extern const tn_family tn_gemm_int8_family;
extern const tn_solver tn_gemm_int8_plain, tn_gemm_int8_tiled, tn_gemm_int8_cpu, tn_gemm_int8_gemv,
    tn_gemm_int8_mma, tn_gemm_int8_mfma, tn_gemm_int8_wmma, tn_gemm_int8_xmx, tn_gemm_int8_wgmma;

#endif

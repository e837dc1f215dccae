/* The ragged product: GEMM for groups of rows, whose offsets lie on the device. A family of its
 * own. */
#ifndef TN_OPS_GEMM_RAGGED_H
#define TN_OPS_GEMM_RAGGED_H

#include "ops/gemm/internal.h"

enum { RAGGED_A, RAGGED_B, RAGGED_OFFSETS, RAGGED_C, RAGGED_BIAS, RAGGED_D, RAGGED_OPERANDS };

/* As GEMM's with the groups as its batch, along which a, c and d have no stride; m is all rows. */
typedef struct ragged_problem {
    gemm_problem gemm;
    int64_t offsets_step;
} ragged_problem;

extern const tn_family tn_gemm_ragged_family;
extern const tn_solver tn_ragged_plain, tn_ragged_tiled, tn_ragged_cpu;

/* Fills in a problem from views that have been checked; c and bias may be NULL. Sets *empty where
 * there is nothing to do. Refuses shapes that do not fit. */
tenon_status tn_ragged_canonicalise(const char *operation, const tenon_gemm_ragged_params *params,
                                    const tenon_tensor *const *views, ragged_problem *problem,
                                    bool *empty);

/* Results in double with their error bounds, in row-major order of d; false without memory. The
 * views' memory is host memory of kind SVM. A row of no group is what d holds. */
bool tn_gemm_ragged_reference(const tenon_gemm_ragged_params *params,
                              const tenon_tensor *const *views, tn_bounded *results);

tenon_status tn_ragged_self_check(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256]);

#endif

/* GEMM within the library: its problem, and the interface through which convolution uses it. */
#ifndef TN_OPS_GEMM_INTERNAL_H
#define TN_OPS_GEMM_INTERNAL_H

#include "gemm/args.h"
#include "ops/common/epilogue.h"

#include <tenon/gemm.h>

enum { GEMM_A, GEMM_B, GEMM_C, GEMM_BIAS, GEMM_D, GEMM_OPERANDS };

#define GEMM_MAX_BATCH (TENON_MAX_RANK - 2)

/* A matrix: strides in elements along its rows' and its columns' index, and along the batch. */
typedef struct gemm_matrix {
    int64_t row, col;
    int64_t batch[GEMM_MAX_BATCH];
    int64_t shift;    /* elements, added to the operand's offset at each run */
    uint64_t operand; /* which operand of the run, or TN_WORKSPACE */
} gemm_matrix;

/*
 * The canonical problem. Batches are collapsed and folded into M or N where the strides allow it;
 * the columns of d are contiguous if either of its dimensions is (the operands are exchanged and
 * transposed where its rows were); a vector is always b. The stride of a dimension of size 1 is 0.
 * Absent operands have all strides 0.
 */
typedef struct gemm_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation;      /* tenon_activation_kind */
    uint32_t flags;           /* GEMM_HAS_C, GEMM_HAS_BIAS, GEMM_SKIP_AB of gemm/args.h */
    uint32_t batch_invariant; /* 0 or 1 */
    uint64_t first_scalar;    /* the number of alpha among the run's scalars; the others follow */
    int64_t m, n, k;
    uint64_t batch_rank;
    int64_t batch[GEMM_MAX_BATCH];
    gemm_matrix matrix[GEMM_OPERANDS];
} gemm_problem;

extern const tn_family tn_gemm_family;

/* tenon_gemm under another name, which its messages give. */
tenon_status tn_gemm_call(const char *operation, tenon_stream *stream,
                          const tenon_gemm_params *params, const tenon_tensor *a,
                          const tenon_tensor *b, const tenon_tensor *c, const tenon_tensor *bias,
                          const tenon_tensor *d, const tenon_sync *sync);

/* Fills in a problem from views that have been checked; c and bias may be NULL. Sets *empty where
 * there is nothing to do. Refuses shapes that do not fit. */
tenon_status tn_gemm_canonicalise(const char *operation, const tenon_gemm_params *params,
                                  const tenon_tensor *a, const tenon_tensor *b,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *d, gemm_problem *problem, bool *empty);

/* Chooses a solver that needs no workspace (the other operation has it) and records its launches
 * into another operation's plan. */
tenon_status tn_gemm_record(const char *operation, tn_recording *recording,
                            const gemm_problem *problem);

/* Nanoseconds, by the estimate of the fastest solver that needs no workspace. */
double tn_gemm_estimate(tenon_context *context, const gemm_problem *problem);

/* Results in double with their error bounds, in row-major order (false without memory) of d's shape. The views' memory is
 * host memory of kind SVM; d is not read. */
bool tn_gemm_reference(const tenon_gemm_params *params, const tenon_tensor *a,
                       const tenon_tensor *b, const tenon_tensor *c, const tenon_tensor *bias,
                       const tenon_tensor *d, tn_bounded *results);

/* For solvers: */

/* How the elements of a matrix lie: which index steps by one. The values are those of the kernels'
 * *_LAYOUT macros. */
typedef enum gemm_layout { GEMM_UNIT_ROW, GEMM_UNIT_COL, GEMM_STRIDED } gemm_layout;
gemm_layout tn_gemm_layout(const gemm_problem *problem, int matrix);

int64_t tn_gemm_batch_count(const gemm_problem *problem);

/* Multiply-adds, as a double since they may overflow. */
double tn_gemm_work(const gemm_problem *problem);

/* "-DTENON_DTYPE=… -DTENON_ACT_BUILD=…" */
#define GEMM_OPTIONS_FORMAT "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u"
#define GEMM_OPTIONS_VALUES(p)                                                                     \
    (p)->dtype, tn_activation_is_build((p)->activation) ? (p)->activation : 0u

/* The argument struct, and the patches that it needs at each run. */
typedef struct gemm_arguments {
    gemm_args args;
    tn_patch patches[GEMM_OPERANDS + TN_EPILOGUE_SCALARS];
    uint32_t patch_count;
} gemm_arguments;
void tn_gemm_arguments(const gemm_problem *problem, gemm_arguments *arguments);

/* Completes `launch`, which has its kernel and sizes but for the batch, with operands and
 * arguments, and records it once for each index of the batch's dimensions beyond the innermost two.
 */
tenon_status tn_gemm_record_launch(const char *operation, tn_recording *recording,
                                   const gemm_problem *problem, gemm_arguments *arguments,
                                   tn_launch *launch);

extern const tn_solver tn_gemm_plain, tn_gemm_tiled, tn_gemm_cpu_packed, tn_gemm_cpu_direct,
    tn_gemm_gemv_dot, tn_gemm_gemv_axpy, tn_gemm_gemv_split;

/* Runs a choice on an awkward problem derived from `problem` and compares it with the reference. */
tenon_status tn_gemm_self_check(tenon_stream *stream, const tn_problem *problem,
                                const tn_choice *choice, bool *right, char why[256]);

#endif

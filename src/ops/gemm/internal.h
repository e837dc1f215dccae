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
    uint64_t operand; /* which operand of the call, or TN_WORKSPACE */
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
    uint32_t flags;           /* GEMM_HAS_C, GEMM_HAS_BIAS, GEMM_SKIP_AB … of gemm/args.h */
    uint32_t batch_invariant; /* 0 or 1 */
    int64_t m, n, k;
    int64_t k_last; /* where the innermost batch is slices of K: the last one's; otherwise 0 */
    uint64_t sums;  /* bit x: matrix x is sums in a workspace, of the accumulator's type */
    uint64_t batch_rank;
    int64_t batch[GEMM_MAX_BATCH];
    gemm_matrix matrix[GEMM_OPERANDS];
} gemm_problem;

extern const tn_family tn_gemm_family;

/* Fills in a problem from views that have been checked; c and bias may be NULL. Sets *empty where
 * there is nothing to do. Refuses shapes that do not fit. */
tenon_status tn_gemm_canonicalise(const char *caller, const tenon_gemm_params *params,
                                  const tenon_tensor *a, const tenon_tensor *b,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *d, gemm_problem *problem, bool *empty);

/* The same for a b whose layout is not one of strides: it stays b, and no batch is folded into N.
 */
tenon_status tn_gemm_canonicalise_packed(const char *caller, const tenon_gemm_params *params,
                                         const tenon_tensor *a, const tenon_tensor *b,
                                         const tenon_tensor *c, const tenon_tensor *bias,
                                         const tenon_tensor *d, gemm_problem *problem, bool *empty);

/* d^T = b^T · a^T. */
void tn_gemm_exchange(gemm_problem *problem);

/* Records a product as a child of another operation (tn_child_record). */
tenon_status tn_gemm_record(const char *caller, tn_recording *recording, tn_frame *frame,
                            const gemm_problem *problem);

/* Nanoseconds, by the estimate of the fastest solver within the problem's limit. */
double tn_gemm_estimate(tenon_context *context, const gemm_problem *problem);

/* For references: a matrix of rows by cols in each of d's batch, as tn_host_read gives it; NULL for
 * a view that is absent. */
double *tn_gemm_read_matrix(const tenon_tensor *view, const tenon_tensor *d, int64_t rows,
                            int64_t cols);

/* As tn_operation and tn_family have them. The reference does not read d. */
tn_prepare_function tn_gemm_prepare;
tn_reference_function tn_gemm_reference;
tn_awkward_function tn_gemm_awkward;

/* The operands of an awkward case of the types given: with the layouts of `like`, and c and bias
 * where it has them, in a batch unless that is 0. The sizes m, n and k are the solver's, and those
 * that it leaves out usual ones, of so many rows; `width` is that of the vectors that it reads
 * where it can, `d_width` that of those it writes, and `thin` a size of its own for the lesser of m
 * and n. */
#define GEMM_AWKWARD_ROWS 29
void tn_gemm_awkward_views(const gemm_problem *like, const tn_choice *choice, uint32_t number,
                           int64_t batch, int64_t rows, const uint32_t types[GEMM_OPERANDS],
                           tenon_tensor views[GEMM_OPERANDS]);

/* For solvers: */

/* How the elements of a matrix lie: which index steps by one. The values are those of the kernels'
 * *_LAYOUT macros. */
typedef enum gemm_layout { GEMM_UNIT_ROW, GEMM_UNIT_COL, GEMM_STRIDED } gemm_layout;
gemm_layout tn_gemm_layout(const gemm_problem *problem, int matrix);

int64_t tn_gemm_batch_count(const gemm_problem *problem);

/* tn_family's; all bits but those of the epilogue and TF32, 7 and 39, are free for families whose
 * problems begin with GEMM's. */
uint64_t tn_gemm_paths(const tn_problem *problem);

/* Multiply-adds, as a double since they may overflow. */
double tn_gemm_work(const gemm_problem *problem);

/* "-DTENON_DTYPE=… -DTENON_ACT_BUILD=…", and for sums that d's type would round -DTENON_PARTIAL. */
#define GEMM_OPTIONS_FORMAT "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u%s"
#define GEMM_OPTIONS_VALUES(p)                                                                     \
    (p)->dtype, tn_activation_is_build((p)->activation) ? (p)->activation : 0u,                    \
        tn_gemm_rounds_sums(p) ? " -DTENON_PARTIAL=1" : ""

/* Whether d is to take bare sums (GEMM_PARTIAL) that are wider than its type. */
bool tn_gemm_rounds_sums(const gemm_problem *problem);

/* The bits of 1 in the type that sums are of. */
int64_t tn_gemm_one(uint32_t dtype);

/* The argument struct, and the patches that it needs at each run. */
typedef struct gemm_arguments {
    gemm_args args;
    tn_patch patches[GEMM_OPERANDS + TN_EPILOGUE_SCALARS];
    uint32_t patch_count;
} gemm_arguments;
void tn_gemm_arguments(const gemm_problem *problem, gemm_arguments *arguments);

/* What the plain solvers of all products share, a work-item for each element of d: the choice, and
 * a launch of all but the batch. */
void tn_gemm_plain_configure(tenon_context *context, const gemm_problem *problem,
                             tn_choice *choice);
tn_launch tn_gemm_plain_launch(const gemm_problem *problem, const char *options, const char *source,
                               const char *kernel);

/* Completes `launch`, which has its kernel and sizes but for the batch, with operands and
 * arguments, and records it once for each index of the batch's dimensions beyond the innermost two.
 */
tenon_status tn_gemm_record_launch(const char *caller, tn_recording *recording,
                                   const gemm_problem *problem, gemm_arguments *arguments,
                                   tn_launch *launch);

/* The two halves of it, for launches whose argument struct is another that begins with a gemm_args:
 * the operands, those that are not read replaced by d; and the batch. */
void tn_gemm_launch_operands(const gemm_problem *problem, tn_launch *launch);
tenon_status tn_gemm_record_batches(const char *caller, tn_recording *recording,
                                    const gemm_problem *problem, gemm_args *args,
                                    tn_launch *launch);

extern const tn_solver tn_gemm_plain, tn_gemm_tiled, tn_gemm_cpu_packed, tn_gemm_cpu_direct,
    tn_gemm_gemv_dot, tn_gemm_gemv_axpy, tn_gemm_gemv_split, tn_gemm_split_k, tn_gemm_cpu_split_k,
    tn_gemm_skinny, tn_gemm_skinny_split, tn_gemm_cpu_skinny, tn_gemm_clblast, tn_gemm_mma,
    tn_gemm_mfma, tn_gemm_wmma, tn_gemm_xmx, tn_gemm_wgmma;

#endif

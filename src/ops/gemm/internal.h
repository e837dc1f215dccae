/* Internal interface of GEMM: its canonical problem, and the functions that other operations such
 * as convolution call. */
#ifndef TN_OPS_GEMM_INTERNAL_H
#define TN_OPS_GEMM_INTERNAL_H

#include "gemm/args.h"
#include "ops/common/epilogue.h"
#include "ops/post/post.h"

#include <tenon/gemm.h>

enum { GEMM_A, GEMM_B, GEMM_C, GEMM_BIAS, GEMM_D, GEMM_OPERANDS };

/* The terms after the activation (POST_SCALE …) are matrices, and operands, after these. */
#define GEMM_POST     GEMM_OPERANDS
#define GEMM_MATRICES (GEMM_POST + POST_TERMS)

#define GEMM_MAX_BATCH (TENON_MAX_RANK - 2)

/* A matrix: strides in elements along the row index, the column index and the batch. */
typedef struct gemm_matrix {
    int64_t row, col;
    int64_t batch[GEMM_MAX_BATCH];
    uint64_t operand; /* index of the operand in the call, or TN_WORKSPACE */
} gemm_matrix;

/* The canonical problem. Batch dimensions are collapsed, and folded into M or N where the strides
 * allow it. The columns of d are contiguous if either dimension of d is: if its rows were
 * contiguous, the operands are exchanged and transposed. A vector is always b. The stride of a
 * dimension of size 1 is 0, and so are all strides of absent operands. */
typedef struct gemm_problem {
    tn_problem head;
    uint32_t dtype;
    uint32_t activation;      /* tenon_activation_kind */
    uint32_t flags;           /* GEMM_HAS_C, GEMM_HAS_BIAS, GEMM_SKIP_AB … of gemm/args.h */
    uint32_t batch_invariant; /* 0 or 1 */
    int64_t m, n, k;
    int64_t k_last; /* length of the last slice if the innermost batch dimension is slices of K,
                     * otherwise 0 */
    uint64_t sums;  /* bit x: matrix x holds sums in a workspace, in the accumulator's type */
    uint64_t batch_rank;
    int64_t batch[GEMM_MAX_BATCH];
    gemm_matrix matrix[GEMM_MATRICES];
} gemm_problem;

/* Products without and with terms after the activation. */
extern const tn_family tn_gemm_family, tn_gemm_post_family;

/* Fills in a problem from checked views; c and bias may be NULL. Sets *empty if there is nothing
 * to compute. Fails for mismatched shapes. */
tenon_status tn_gemm_canonicalize(const char *caller, const tenon_gemm_params *params,
                                  const tenon_tensor *a, const tenon_tensor *b,
                                  const tenon_tensor *c, const tenon_tensor *bias,
                                  const tenon_tensor *d, gemm_problem *problem, bool *empty);

/* The same for views that may include terms after the activation, in the order of the matrices. */
tenon_status tn_gemm_canonicalize_views(const char *caller, const tenon_gemm_params *params,
                                        const tenon_tensor *const views[GEMM_MATRICES],
                                        gemm_problem *problem, bool *empty);

/* Like tn_gemm_canonicalize_views, for a b whose layout is not given by strides. It remains b, and
 * no batch dimension is folded into N. */
tenon_status tn_gemm_canonicalize_packed(const char *caller, const tenon_gemm_params *params,
                                         const tenon_tensor *const views[GEMM_MATRICES],
                                         gemm_problem *problem, bool *empty);

/* Returns the problem without terms after the activation, in the same family or in that without
 * them, and the terms as views of d's shape. */
gemm_problem tn_gemm_without_post(const gemm_problem *problem);
tn_post tn_gemm_post_of(const gemm_problem *problem);

/* Makes d dense in row-major order. */
void tn_gemm_store_densely(gemm_problem *problem);

/* Rewrites the problem as d^T = b^T · a^T. */
void tn_gemm_exchange(gemm_problem *problem);

/* Records a product as a child of another operation (tn_child_record). */
tenon_status tn_gemm_record(const char *caller, tn_recording *recording, tn_frame *frame,
                            const gemm_problem *problem);

/* Returns the estimated time of the fastest solver within the problem's workspace limit, in
 * nanoseconds. */
double tn_gemm_estimate(tenon_context *context, const gemm_problem *problem);

/* For references: reads a rows × cols matrix for each entry of d's batch, like tn_host_read.
 * Returns NULL for an absent view. */
double *tn_gemm_read_matrix(const tenon_tensor *view, const tenon_tensor *d, int64_t rows,
                            int64_t cols);

/* Functions as declared in tn_operation and tn_family. The reference does not read d. */
tn_prepare_function tn_gemm_prepare;
tn_reference_function tn_gemm_reference, tn_gemm_post_reference;
tn_awkward_function tn_gemm_awkward;

/* Makes the operands of an awkward case of the given types, with the layouts of `like`, including
 * c, bias and the terms after the activation (of d's type) if `like` has them, and batched unless
 * `batch` is 0. The sizes m, n and k are the solver's; omitted ones have defaults, `rows` for m.
 * Other sizes of the solver are `width`, the width of its vector loads, `d_width`, the width of its
 * vector stores, and `thin`, a size for the smaller of m and n. */
#define GEMM_AWKWARD_ROWS 29
void tn_gemm_awkward_views(const gemm_problem *like, const tn_choice *choice, uint32_t number,
                           int64_t batch, int64_t rows, const uint32_t types[GEMM_OPERANDS],
                           tenon_tensor views[GEMM_MATRICES]);

/* For solvers: */

/* The layout of a matrix: the index with unit stride. The values equal those of the kernels'
 * *_LAYOUT macros. */
typedef enum gemm_layout { GEMM_UNIT_ROW, GEMM_UNIT_COL, GEMM_STRIDED } gemm_layout;
gemm_layout tn_gemm_layout(const gemm_problem *problem, int matrix);

int64_t tn_gemm_batch_count(const gemm_problem *problem);

/* The `paths` function of tn_family. Its unused bits (all but those of the epilogue and of TF32, 7
 * and 39) are available to families whose problems begin with a gemm_problem. */
uint64_t tn_gemm_paths(const tn_problem *problem);

/* Returns the number of multiply-adds, as a double to avoid overflow. */
double tn_gemm_work(const gemm_problem *problem);

/* "-DTENON_DTYPE=… -DTENON_ACT_BUILD=…", -DTENON_PARTIAL if the type of d would round the sums, and
 * -DTENON_POST if there are terms after the activation. */
#define GEMM_OPTIONS_FORMAT "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u%s%s"
#define GEMM_OPTIONS_VALUES(p)                                                                     \
    (p)->dtype, tn_activation_is_build((p)->activation) ? (p)->activation : 0u,                    \
        tn_gemm_rounds_sums(p) ? " -DTENON_PARTIAL=1" : "",                                        \
        ((p)->flags & TENON_POST_ANY) != 0 ? " -DTENON_POST=1" : ""

/* Returns true if d receives plain sums (GEMM_PARTIAL) that are wider than its type. */
bool tn_gemm_rounds_sums(const gemm_problem *problem);

/* Returns the bit pattern of 1 in the accumulator type. */
int64_t tn_gemm_one(uint32_t dtype);

/* The argument struct and its patches at each run. `post` follows `args` in builds with terms after
 * the activation. */
typedef struct gemm_arguments {
    gemm_args args;
    gemm_post_args post;
    tn_patch patches[GEMM_MATRICES + TN_EPILOGUE_SCALARS];
    uint32_t patch_count;
} gemm_arguments;
void tn_gemm_arguments(const gemm_problem *problem, gemm_arguments *arguments);

/* Returns the size of these arguments in bytes. */
size_t tn_gemm_arguments_size(const gemm_problem *problem);

/* Helpers of the plain solvers of all product families, which use one work-item per element of d.
 * They configure the choice and make the launch, except for the batch. */
void tn_gemm_plain_configure(tenon_context *context, const gemm_problem *problem,
                             tn_choice *choice);
tn_launch tn_gemm_plain_launch(const gemm_problem *problem, const char *options, const char *source,
                               const char *kernel);

/* Completes `launch`, whose kernel and sizes are set except for the batch, with operands and
 * arguments, and records it once for each index of the batch dimensions beyond the innermost two.
 */
tenon_status tn_gemm_record_launch(const char *caller, tn_recording *recording,
                                   const gemm_problem *problem, gemm_arguments *arguments,
                                   tn_launch *launch);

/* The two steps of tn_gemm_record_launch, for launches with another argument struct that begins
 * with a gemm_args. The first sets the operands, with d in place of those that are not read. The
 * second records the batch. */
void tn_gemm_launch_operands(const gemm_problem *problem, tn_launch *launch);
tenon_status tn_gemm_record_batches(const char *caller, tn_recording *recording,
                                    const gemm_problem *problem, gemm_args *args,
                                    tn_launch *launch);

extern const tn_solver tn_gemm_two_steps, tn_gemm_plain, tn_gemm_tiled, tn_gemm_cpu_packed,
    tn_gemm_cpu_direct, tn_gemm_gemv_dot, tn_gemm_gemv_axpy, tn_gemm_gemv_split, tn_gemm_split_k,
    tn_gemm_cpu_split_k, tn_gemm_skinny, tn_gemm_skinny_split, tn_gemm_cpu_skinny, tn_gemm_clblast,
    tn_gemm_mma, tn_gemm_mfma, tn_gemm_wmma, tn_gemm_xmx, tn_gemm_wgmma;

#endif

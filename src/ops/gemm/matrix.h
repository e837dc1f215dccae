/* GEMM on matrix units: what the solvers of floats (gemm/mma, mfma, wmma, xmx, wgmma) and those of
 * bytes (gemm_int8/...) share. */
#ifndef TN_OPS_GEMM_MATRIX_H
#define TN_OPS_GEMM_MATRIX_H

#include "matrix/layout.h"
#include "ops/gemm/internal.h"
#include "runtime/probe/local_memory.h"

/* Tuning parameters, in this order; the last two are not for bytes, the last for gemm alone. */
enum {
    MATRIX_MB,
    MATRIX_NB,
    MATRIX_KB,
    MATRIX_WM,
    MATRIX_WN,
    MATRIX_STAGES,
    MATRIX_BLOCKS,
    MATRIX_FORM,
    MATRIX_PARAMETERS,
    MATRIX_SLICES = MATRIX_PARAMETERS,
    MATRIX_SPLIT_PARAMETERS,
    MATRIX_CUT_ROWS = MATRIX_SPLIT_PARAMETERS,
    MATRIX_GEMM_PARAMETERS
};

/* Those of every solver: rows and columns of a work-group's block, steps of K in local memory,
 * warps along M and N, blocks on their way (1: one, through registers; and then how many there are
 * in local memory), and MATRIX_* below. */
#define TN_MATRIX_PARAMETERS                                                                       \
    [MATRIX_MB] = {"mb", 8, 256}, [MATRIX_NB] = {"nb", 8, 256}, [MATRIX_KB] = {"kb", 8, 128},      \
    [MATRIX_WM] = {"wm", 1, 16}, [MATRIX_WN] = {"wn", 1, 16}, [MATRIX_STAGES] = {"st", 1, 4},      \
    [MATRIX_BLOCKS] = {"lb", 1, 2}, [MATRIX_FORM] = {"em", MATRIX_EMULATED, MATRIX_OF_DEVICE}
extern const tn_parameter tn_gemm_matrix_parameters[MATRIX_GEMM_PARAMETERS];

/* The value of MATRIX_CUT_ROWS for all rows of blocks. */
#define MATRIX_ALL_ROWS 99

/* Values of MATRIX_FORM. Emulated units are for tests: every device has them, and they are slow. */
enum { MATRIX_EMULATED = 1, MATRIX_EMULATED_OTHER = 2, MATRIX_OF_DEVICE = 3 };

/* Kinds of units, each with a solver of its own in both families. */
typedef enum matrix_kind {
    MATRIX_MMA,
    MATRIX_AMD_MFMA,
    MATRIX_WMMA,
    MATRIX_XMX,
    MATRIX_NVIDIA_WGMMA
} matrix_kind;

/* A unit as kernels are built for it: its number and type of matrix/layout.h. */
typedef struct matrix_unit {
    int number, type;
    bool emulated;
    bool split;         /* an older unit of the kind, whose instructions are smaller */
    bool ldmatrix;      /* loads its tiles by ldmatrix */
    bool async;         /* cp.async can fill them */
    tn_local_way local; /* how the kernel has its local memory, where the choice is made */
    tenon_capability capability;
    /* Bytes of local memory that the kernel takes beside its blocks: for each of their columns and
     * steps, and once. */
    int32_t column_bytes, step_bytes, more_bytes;
    bool sums_along_m; /* sums pass through local memory as columns of d */
} matrix_unit;

/* The kind that a solver is for. */
matrix_kind tn_matrix_kind(const tn_solver *solver);

/* Whether a solver of gemm is one of these. */
bool tn_gemm_is_matrix(const tn_solver *solver);

/* The unit for elements of `type` (MATRIX_F16 ...), `form` being the value of MATRIX_FORM, or 0.
 * False where there is none: the device lacks it, or no unit of the kind multiplies the type. */
bool tn_matrix_unit(tenon_context *context, matrix_kind kind, int32_t form, int type,
                    matrix_unit *unit);

/* Fills in the misfit of a choice whose block is given, or adds its time. */
typedef void tn_matrix_trial(tenon_context *context, const tn_problem *problem,
                             const matrix_unit *unit, tn_choice *choice);

/* Gives a choice the block that is fastest by trial of those that suit the device's kind, and the
 * usual values of what else is 0. Small and thin blocks read more for a product, and keep every
 * core at work on a small or thin problem. */
void tn_matrix_choose_block(tenon_context *context, const tn_problem *problem,
                            const matrix_unit *unit, tn_matrix_trial *trial, tn_choice *choice);

/* The trial of a product whose problem begins with a gemm_problem. */
tn_matrix_trial tn_matrix_try;

/* Why the parameters do not go together, or NULL. */
const char *tn_matrix_constrains(tenon_context *context, const matrix_unit *unit,
                                 const int32_t *values);
/* Bytes of local memory: of the kernel's array, in which blocks and then sums lie, and of all. */
int64_t tn_matrix_array(const matrix_unit *unit, const int32_t *values);
int64_t tn_matrix_local(const matrix_unit *unit, const int32_t *values);

/* The main loop of every such kernel: of so many work-groups through k steps of K, each block of
 * which takes `address_instructions` to compute its addresses. */
tn_work tn_matrix_loop(const tenon_context *context, const matrix_unit *unit, const int32_t *values,
                       double groups, double k, double address_instructions);

/* How a kernel with blocks of these values has its local memory; false where it cannot. */
bool tn_matrix_local_way(tenon_context *context, const matrix_unit *unit, const int32_t *values,
                         tn_local_way *way);

/* What the kernel is built with: "… -DTENON_UNIT=… -DTENON_MB=…". */
void tn_matrix_options(tenon_context *context, const gemm_problem *problem, const matrix_unit *unit,
                       const int32_t *values, char text[TN_OPTIONS_SIZE]);

/* Bytes of a kernel's __local argument; 0: it has none. */
size_t tn_matrix_local_argument(const matrix_unit *unit, const int32_t *values);

/* Fills in the local and the global size, but for the batch. */
void tn_matrix_sizes(const gemm_problem *problem, const matrix_unit *unit, const int32_t *values,
                     tn_launch *launch);

/* A solver by its name, its file's functions (FILE_configure, FILE_launch), and what tn_solver says
 * of it. Its awkward cases have two blocks and one, K past all stages and a tail, and vectors of 16
 * bytes or more; and such vectors of d, whole ones. */
#define TN_MATRIX_SOLVER(solver, file, parameters_used, serves_text, needs_text)                   \
    {                                                                                              \
        .name = #solver, .serves = serves_text, .needs = needs_text,                               \
        .awkward = "m=2*mb+1 n=2*nb+1 k=5*kb+3 width=16; m=mb+5 n=nb+16 k=kb+3 d_width=16",        \
        .parameters = tn_gemm_matrix_parameters, .parameter_count = parameters_used,               \
        .configure = file##_configure, .launch = file##_launch                                     \
    }

#endif

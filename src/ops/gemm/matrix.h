/* GEMM on matrix units: declarations shared by the solvers for floats (gemm/mma, mfma, wmma, xmx,
 * wgmma) and for bytes (gemm_int8/...). */
#ifndef TN_OPS_GEMM_MATRIX_H
#define TN_OPS_GEMM_MATRIX_H

#include "matrix/layout.h"
#include "ops/gemm/internal.h"
#include "runtime/probe/local_memory.h"

/* Tuning parameters, in this order. The solvers for bytes lack the last two; the last is used only
 * by gemm. */
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

/* Parameters of every solver: rows and columns of a work-group's block, steps of K in local
 * memory, warps along M and N, pipeline stages (1: a single block in flight, staged through
 * registers), blocks in local memory in that case, and MATRIX_FORM below. */
#define TN_MATRIX_PARAMETERS                                                                       \
    [MATRIX_MB] = {"mb", 8, 256}, [MATRIX_NB] = {"nb", 8, 256}, [MATRIX_KB] = {"kb", 8, 128},      \
    [MATRIX_WM] = {"wm", 1, 16}, [MATRIX_WN] = {"wn", 1, 16}, [MATRIX_STAGES] = {"st", 1, 4},      \
    [MATRIX_BLOCKS] = {"lb", 1, 2}, [MATRIX_FORM] = {"em", MATRIX_EMULATED, MATRIX_OF_DEVICE}
extern const tn_parameter tn_gemm_matrix_parameters[MATRIX_GEMM_PARAMETERS];

/* The value of MATRIX_CUT_ROWS that means all rows of blocks. */
#define MATRIX_ALL_ROWS 99

/* Values of MATRIX_FORM. Emulated units are for tests: they run on every device, and are slow. */
enum { MATRIX_EMULATED = 1, MATRIX_EMULATED_OTHER = 2, MATRIX_OF_DEVICE = 3 };

/* Kinds of matrix units, each with its own solver in both families. */
typedef enum matrix_kind {
    MATRIX_MMA,
    MATRIX_AMD_MFMA,
    MATRIX_WMMA,
    MATRIX_XMX,
    MATRIX_NVIDIA_WGMMA
} matrix_kind;

/* A unit as kernels are built for it. The number and type are those of matrix/layout.h. */
typedef struct matrix_unit {
    int number, type;
    bool emulated;
    bool split;    /* an older unit of the kind, with smaller instructions */
    bool ldmatrix; /* tiles are loaded by ldmatrix */
    bool async;    /* blocks can be filled by cp.async */
    tn_local_method
        local; /* how the kernel obtains its local memory; set when the choice is made */
    tenon_capability capability;
    /* Bytes of local memory that the kernel uses in addition to its blocks: per column, per step
     * of K, and fixed. */
    int32_t column_bytes, step_bytes, more_bytes;
    bool sums_along_m; /* sums are staged in local memory as columns of d */
} matrix_unit;

/* Returns the kind of unit of a solver. */
matrix_kind tn_matrix_kind(const tn_solver *solver);

/* Returns true if a solver of gemm uses matrix units. */
bool tn_gemm_is_matrix(const tn_solver *solver);

/* Fills in the unit for elements of `type` (MATRIX_F16 ...); `form` is a value of MATRIX_FORM or
 * 0. Returns false if the device lacks the unit or if no unit of the kind supports the type. */
bool tn_matrix_unit(tenon_context *context, matrix_kind kind, int32_t form, int type,
                    matrix_unit *unit);

/* Fills in the misfit of a choice whose block is set, or adds its time. */
typedef void tn_matrix_trial(tenon_context *context, const tn_problem *problem,
                             const matrix_unit *unit, tn_choice *choice);

/* Selects the block that `trial` rates fastest, out of those for the device kind, and fills in the
 * other parameters that are 0. Small and thin blocks read more per product, but keep every core
 * busy on a small or thin problem. */
void tn_matrix_choose_block(tenon_context *context, const tn_problem *problem,
                            const matrix_unit *unit, tn_matrix_trial *trial, tn_choice *choice);

/* The trial for problems that begin with a gemm_problem. */
tn_matrix_trial tn_matrix_try;

/* Returns why the parameters are incompatible, or NULL. */
const char *tn_matrix_constrains(tenon_context *context, const matrix_unit *unit,
                                 const int32_t *values);
/* Return the bytes of local memory: of the kernel's array, which holds the blocks and later the
 * sums, and of everything. */
int64_t tn_matrix_array(const matrix_unit *unit, const int32_t *values);
int64_t tn_matrix_local(const matrix_unit *unit, const int32_t *values);

/* Returns the work of the main loop of such a kernel: `groups` work-groups over `k` steps of K,
 * with `address_instructions` for the addresses of each block. */
tn_work tn_matrix_loop(const tenon_context *context, const matrix_unit *unit, const int32_t *values,
                       double groups, double k, double address_instructions);

/* Finds the method by which a kernel with these blocks obtains its local memory. Returns false if
 * there is none. */
bool tn_matrix_local_way(tenon_context *context, const matrix_unit *unit, const int32_t *values,
                         tn_local_method *way);

/* Writes the build options "… -DTENON_UNIT=… -DTENON_MB=…". */
void tn_matrix_options(tenon_context *context, const gemm_problem *problem, const matrix_unit *unit,
                       const int32_t *values, char text[TN_OPTIONS_SIZE]);

/* Returns the bytes of the kernel's __local argument; 0 if it has none. */
size_t tn_matrix_local_argument(const matrix_unit *unit, const int32_t *values);

/* Fills in the local and global size, except for the batch. */
void tn_matrix_sizes(const gemm_problem *problem, const matrix_unit *unit, const int32_t *values,
                     tn_launch *launch);

/* Defines a solver from its name, its file's functions (FILE_configure, FILE_launch), and the texts
 * of tn_solver. Its awkward cases have two blocks plus one element, and one block plus a remainder,
 * along M and N, a K beyond all stages with a remainder, vector loads of 16 bytes or more, and
 * whole vector stores to d. */
#define TN_MATRIX_SOLVER(solver, file, parameters_used, serves_text, needs_text)                   \
    {                                                                                              \
        .name = #solver, .serves = serves_text, .needs = needs_text,                               \
        .awkward = "m=2*mb+1 n=2*nb+1 k=5*kb+3 width=16; m=mb+5 n=nb+16 k=kb+3 d_width=16",        \
        .parameters = tn_gemm_matrix_parameters, .parameter_count = parameters_used,               \
        .configure = file##_configure, .launch = file##_launch                                     \
    }

#endif

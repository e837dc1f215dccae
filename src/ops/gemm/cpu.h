/* What the CPU solvers share: vector widths, tile sizes, and the model of their cost. */
#ifndef TN_OPS_GEMM_CPU_H
#define TN_OPS_GEMM_CPU_H

#include "ops/gemm/internal.h"

/* Tuning parameters of the tiled kernels, in this order; those from CPU_PARAMETERS on are
 * gemm/cpu_split_k's alone. */
enum { CPU_MR, CPU_NR, CPU_KC, CPU_PANELS, CPU_PARAMETERS };
enum { CPU_SLICES = CPU_PARAMETERS, CPU_PACKS, CPU_SPLIT_PARAMETERS };
extern const tn_parameter tn_gemm_cpu_parameters[CPU_SPLIT_PARAMETERS];

/* Lanes of a vector of the accumulator's type: 4, 8 or 16 floats' worth. */
int64_t tn_gemm_lanes(tenon_context *context, uint32_t dtype);

/* Whether a tile's sums may take 32 vector registers, not 16. */
bool tn_gemm_has_many_registers(const tenon_context *context);

/* Rows of a tile of 1 to 4 vectors, for kernels that pack both factors. */
int32_t tn_gemm_rows_of_tile(const tenon_context *context, int32_t vectors);

/* Why a kernel made for a CPU is never chosen, or NULL; a forced one runs anywhere. */
const char *tn_gemm_made_for_cpus(const tenon_context *context);

/* How many elements of local memory a kernel with these parameters has. */
typedef int64_t (*tn_gemm_cpu_local)(const gemm_problem *problem, const int32_t *values);

/* Fills in the parameters that are 0, so that the local memory suffices. `panels` is how many a
 * work-group does. */
void tn_gemm_cpu_tune(tenon_context *context, const gemm_problem *problem, int32_t panels,
                      tn_gemm_cpu_local local, int32_t *values);

/* NULL, or why the parameters do not go together. */
const char *tn_gemm_cpu_constrains(tenon_context *context, const gemm_problem *problem,
                                   const int32_t *values, tn_gemm_cpu_local local);

/* Elements of local memory that the packed rows of a take: none where its K stride is 1. */
int64_t tn_gemm_cpu_packed_a(const gemm_problem *problem, const int32_t *values);

/* Elements of local memory for sums that cannot wait in d. */
int64_t tn_gemm_cpu_sums(const gemm_problem *problem, const int32_t *values);

/* What the compiler is told. */
void tn_gemm_cpu_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                         char text[TN_OPTIONS_SIZE]);

/* All of these for a solver: its parameters, whether they go together, its options, and its time
 * but for what it packs of b. `efficiency` is the share of the rate that its loop reaches. */
void tn_gemm_cpu_configure(tenon_context *context, const gemm_problem *problem, int32_t panels,
                           tn_gemm_cpu_local local, double efficiency, tn_choice *choice);

/* Work-groups side by side, each with its panels of columns. */
int64_t tn_gemm_cpu_column_groups(const gemm_problem *problem, const int32_t *values);

/* Rows of d that a work-group covers. */
int64_t tn_gemm_cpu_tile_rows(tenon_context *context, const gemm_problem *problem,
                              const int32_t *values);

/* What a launch of a tiled kernel does, but for packing b. */
tn_work tn_gemm_cpu_work(tenon_context *context, const gemm_problem *problem,
                         const int32_t *values);

/* A launch of a tiled kernel, but for the batch, of work-groups of so many rows; and such a launch
 * completed and recorded. */
tn_launch tn_gemm_cpu_launch(const gemm_problem *problem, const tn_choice *choice, int64_t rows,
                             const char *source, const char *kernel);
tenon_status tn_gemm_cpu_record(const char *caller, tn_recording *recording,
                                const gemm_problem *problem, const tn_choice *choice,
                                const char *source, const char *kernel);

#endif

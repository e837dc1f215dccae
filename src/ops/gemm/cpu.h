/* Helpers shared by the CPU solvers: vector widths, tile sizes, and the cost model. */
#ifndef TN_OPS_GEMM_CPU_H
#define TN_OPS_GEMM_CPU_H

#include "ops/gemm/internal.h"

/* Tuning parameters of the tiled kernels, in this order. Those from CPU_PARAMETERS on are used
 * only by gemm/cpu_split_k. */
enum { CPU_MR, CPU_NR, CPU_KC, CPU_PANELS, CPU_PARAMETERS };
enum { CPU_SLICES = CPU_PARAMETERS, CPU_PACKS, CPU_SPLIT_PARAMETERS };
extern const tn_parameter tn_gemm_cpu_parameters[CPU_SPLIT_PARAMETERS];

/* Returns the lanes of a vector of the accumulator's type; a vector holds 4, 8 or 16 floats. */
int64_t tn_gemm_lanes(tenon_context *context, uint32_t dtype);

/* Returns true if a tile may use 32 vector registers rather than 16. */
bool tn_gemm_has_many_registers(const tenon_context *context);

/* Returns the rows of a tile that is 1 to 4 vectors wide, for kernels that pack both factors. */
int32_t tn_gemm_rows_of_tile(const tenon_context *context, int32_t vectors);

/* Returns true if elements are stored in 16 bits, and thus converted before they are multiplied. */
bool tn_gemm_converts(const gemm_problem *problem);

/* Work to convert an element of these types, in vector elements: a vector takes a slot of both
 * units that multiply. */
#define GEMM_CONVERSION 0.5

/* Returns why a CPU kernel is never chosen on this device, or NULL. If forced it runs on any
 * device. */
const char *tn_gemm_made_for_cpus(const tenon_context *context);

/* Returns the local memory of a kernel with these parameters, in elements. */
typedef int64_t (*tn_gemm_cpu_local)(const gemm_problem *problem, const int32_t *values);

/* Fills in the parameters that are 0, within the local memory of the device. `panels` is the
 * default number per work-group. */
void tn_gemm_cpu_tune(tenon_context *context, const gemm_problem *problem, int32_t panels,
                      tn_gemm_cpu_local local, int32_t *values);

/* Returns why the parameters are incompatible, or NULL. */
const char *tn_gemm_cpu_constrains(tenon_context *context, const gemm_problem *problem,
                                   const int32_t *values, tn_gemm_cpu_local local);

/* Returns the elements of local memory for the packed rows of a; 0 if the K stride of a is 1. */
int64_t tn_gemm_cpu_packed_a(const gemm_problem *problem, const int32_t *values);

/* Returns the elements of local memory for partial sums that cannot be kept in d. */
int64_t tn_gemm_cpu_sums(const gemm_problem *problem, const int32_t *values);

/* Writes the build options. */
void tn_gemm_cpu_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                         char text[TN_OPTIONS_SIZE]);

/* Configures a choice by the functions above: parameters, misfit, options, and time except for the
 * packing of b. `efficiency` is the share of the peak rate that the solver's main loop attains. */
void tn_gemm_cpu_configure(tenon_context *context, const gemm_problem *problem, int32_t panels,
                           tn_gemm_cpu_local local, double efficiency, tn_choice *choice);

/* Returns the number of work-groups along N; each computes its panels of columns. */
int64_t tn_gemm_cpu_column_groups(const gemm_problem *problem, const int32_t *values);

/* Returns the rows of d that a work-group covers. */
int64_t tn_gemm_cpu_tile_rows(tenon_context *context, const gemm_problem *problem,
                              const int32_t *values);

/* Awkward cases of gemm/cpu_packed and gemm/cpu_direct: the last panel is multiplied vector by
 * vector in the first, and as a whole in the second. */
#define TN_GEMM_CPU_AWKWARD "n=2*nr+nr/2-1; m=mr+1 n=3*nr-nr/4-1 k=100"

/* Returns the columns that gemm/cpu_packed and gemm/cpu_direct multiply, in columns of whole
 * panels: a last panel of at most half of the vectors is multiplied vector by vector. */
double tn_gemm_cpu_columns(tenon_context *context, const gemm_problem *problem,
                           const int32_t *values);

/* Returns the work of a tiled kernel's launch that multiplies `columns` columns, except the packing
 * of b. */
tn_work tn_gemm_cpu_work(tenon_context *context, const gemm_problem *problem, const int32_t *values,
                         double columns);

/* The first returns the launch of a tiled kernel with `rows` rows per work-group, without the
 * batch. The second completes and records such a launch. */
/* Returns why a kernel with these parameters cannot apply the terms after the activation, or NULL.
 */
const char *tn_gemm_cpu_refuses_post(const gemm_problem *problem, const int32_t *values);

tn_launch tn_gemm_cpu_launch(const gemm_problem *problem, const tn_choice *choice, int64_t rows,
                             const char *source, const char *kernel);
tenon_status tn_gemm_cpu_record(const char *caller, tn_recording *recording,
                                const gemm_problem *problem, const tn_choice *choice,
                                const char *source, const char *kernel);

#endif

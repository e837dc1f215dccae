/* What gemm/tiled and the solvers made of its kernel share: their parameters, and the model of
 * their cost. */
#ifndef TN_OPS_GEMM_TILED_H
#define TN_OPS_GEMM_TILED_H

#include "ops/gemm/internal.h"

/* Tuning parameters, in this order; those from TILED_PARAMETERS on are gemm/split_k's alone. */
enum { TILED_MB, TILED_NB, TILED_KB, TILED_MR, TILED_NR, TILED_VW, TILED_LB, TILED_PARAMETERS };
enum { TILED_SLICES = TILED_PARAMETERS, TILED_SPLIT_PARAMETERS };
extern const tn_parameter tn_gemm_tiled_parameters[TILED_SPLIT_PARAMETERS];

/* The tiles of the device's kind for a type, the largest first and the smallest last; the small
 * ones for kernels that need registers beside the sums. And how many there are. */
const tn_kind_tile *tn_gemm_tiles(const tenon_context *context, uint32_t dtype, bool small);
int tn_gemm_tile_count(const tn_kind_tile *tiles);

/* Fills in the misfit of a choice with all its values, or its time. */
typedef void (*tn_gemm_tile_trial)(tenon_context *context, const gemm_problem *problem,
                                   tn_choice *choice);

/* Takes of a device's tiles the one that is fastest by trial: large ones read less, small ones keep
 * every core at work on a small problem. The first `count` parameters are gemm/tiled's; those that
 * are not 0 stay. `width` is the default of vw. */
void tn_gemm_choose_tile(tenon_context *context, const gemm_problem *problem,
                         tn_gemm_tile_trial trial, const tn_kind_tile *tiles, int32_t width,
                         uint32_t count, tn_choice *choice);

/* Work-groups, each with a block of mb by nb elements of d. */
int64_t tn_gemm_tiled_groups(const gemm_problem *problem, int64_t mb, int64_t nb);

/* Why a kernel made for a GPU is never chosen, or NULL; a forced one runs anywhere. */
const char *tn_gemm_made_for_gpus(const tenon_context *context);

/* Why the parameters do not go together, or NULL, for a problem that begins with a gemm_problem. An
 * element of a block is of the accumulator's type. */
const char *tn_gemm_tiled_constrains(tenon_context *context, const tn_problem *problem,
                                     const int32_t *values);

/* What a launch of gemm/tiled does. */
tn_work tn_gemm_tiled_work(const gemm_problem *problem, const int32_t *values);

/* The main loop of every such kernel: of so many work-groups through k steps of K, where an element
 * of b takes `address_instructions` more to compute its address. */
tn_work tn_gemm_tiled_loop(uint32_t dtype, const int32_t *values, double groups, double k,
                           double address_instructions);

/* Bytes of local memory that the tiles take. */
uint64_t tn_gemm_tiled_local(const gemm_problem *problem, const int32_t *values);

/* Fills in the local and the global size, but for the batch. */
void tn_gemm_tiled_sizes(const gemm_problem *problem, const int32_t *values, tn_launch *launch);

#endif

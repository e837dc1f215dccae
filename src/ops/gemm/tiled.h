/* Declarations shared by gemm/tiled and the solvers derived from its kernel: parameters and cost
 * model. */
#ifndef TN_OPS_GEMM_TILED_H
#define TN_OPS_GEMM_TILED_H

#include "ops/gemm/internal.h"

/* Tuning parameters, in this order. Those from TILED_PARAMETERS on are used only by gemm/split_k.
 */
enum { TILED_MB, TILED_NB, TILED_KB, TILED_MR, TILED_NR, TILED_VW, TILED_LB, TILED_PARAMETERS };
enum { TILED_SLICES = TILED_PARAMETERS, TILED_SPLIT_PARAMETERS };
extern const tn_parameter tn_gemm_tiled_parameters[TILED_SPLIT_PARAMETERS];

/* Return the tiles of the device kind for a type, from the largest to the smallest, and their
 * number. `small` selects those for kernels that need registers in addition to the sums. */
const tn_kind_tile *tn_gemm_tiles(const tenon_context *context, uint32_t dtype, bool small);
int tn_gemm_tile_count(const tn_kind_tile *tiles);

/* Fills in the misfit of a choice whose parameters are all set, or its time. */
typedef void (*tn_gemm_tile_trial)(tenon_context *context, const gemm_problem *problem,
                                   tn_choice *choice);

/* Selects the tile that `trial` rates fastest, out of the device's tiles. Large tiles read less;
 * small ones keep every core busy on a small problem. The first `count` parameters are those of
 * gemm/tiled; nonzero values are kept. `width` is the default of vw. */
void tn_gemm_choose_tile(tenon_context *context, const gemm_problem *problem,
                         tn_gemm_tile_trial trial, const tn_kind_tile *tiles, int32_t width,
                         uint32_t count, tn_choice *choice);

/* Returns the number of work-groups, each with a block of mb by nb elements of d. */
int64_t tn_gemm_tiled_groups(const gemm_problem *problem, int64_t mb, int64_t nb);

/* Returns why a GPU kernel is never chosen on this device, or NULL. If forced it runs on any
 * device. */
const char *tn_gemm_made_for_gpus(const tenon_context *context);

/* Returns why the parameters are incompatible, or NULL, for a problem that begins with a
 * gemm_problem. Elements of blocks have the accumulator's type. */
const char *tn_gemm_tiled_constrains(tenon_context *context, const tn_problem *problem,
                                     const int32_t *values);

/* Returns the work of a launch of gemm/tiled. */
tn_work tn_gemm_tiled_work(const gemm_problem *problem, const int32_t *values);

/* Returns the work of the main loop of such a kernel: `groups` work-groups over `k` steps of K,
 * with `address_instructions` additional instructions for the address of each element of b. */
tn_work tn_gemm_tiled_loop(uint32_t dtype, const int32_t *values, double groups, double k,
                           double address_instructions);

/* Returns the bytes of local memory of the tiles. */
uint64_t tn_gemm_tiled_local(const gemm_problem *problem, const int32_t *values);

/* Fills in the local and global size, except for the batch. */
void tn_gemm_tiled_sizes(const gemm_problem *problem, const int32_t *values, tn_launch *launch);

#endif

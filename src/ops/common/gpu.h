/* What kernels that are bound by memory share on GPUs, and the teams of work-items that do a row
 * together (cl_kernels/common/team.clh). */
#ifndef TN_OPS_COMMON_GPU_H
#define TN_OPS_COMMON_GPU_H

#include "common/team_args.h"
#include "dispatch/solver.h"
#include "ops/common/lanes.h"

/* Rows side by side, fewer than which are not read as neighbours. */
#define TN_GPU_LEAST_COLUMNS 16

/* TENON_GPU, which common/types.clh describes, with a space before it; "" on a CPU. */
const char *tn_gpu_option(const tenon_context *context);

/* The same with TENON_VECTORS, in `text`. */
#define TN_GPU_OPTIONS 48
const char *tn_stream_option(const tenon_context *context, int32_t vectors,
                             char text[TN_GPU_OPTIONS]);

/* Work-items of a group that do not work together, for a GPU's launch of so many: smaller where
 * there would be fewer groups than the device has cores. */
size_t tn_gpu_group(const tenon_context *context, int64_t items);

/* Gives a GPU's launch a work-group: its first dimension is rounded up, whose work-items past the
 * end must find nothing to do, the others are cut where they divide. Drivers that choose by
 * themselves take groups of one where a size is prime. */
void tn_gpu_local(const tenon_context *context, tn_launch *launch);

/* What a work-item takes of a stream (cl_kernels/common/stream.clh): so many elements at once, and
 * that as often at most before it uses the first. */
typedef struct tn_stream_share {
    int64_t unit;
    int32_t vectors;
} tn_stream_share;

/* TENON_VECTORS of kernels that compute in vectors of `dtype` from so many inputs: 1 on a CPU. */
int32_t tn_stream_vectors(const tenon_context *context, uint32_t dtype, uint32_t inputs);

/* How a line is cut into pieces of `chunk` elements, each of `parts` work-items. */
typedef struct tn_stream_pieces {
    int64_t pieces, chunk, parts;
} tn_stream_pieces;

/* Of `lines` lines of so many elements, on a GPU. A piece is one unit of one work-item where all
 * vectors on their way at once would leave it too few neighbours, or the device too few work-items.
 */
tn_stream_pieces tn_stream_cut(const tenon_context *context, int64_t length, int64_t lines,
                               tn_stream_share share);

/* Dimensions that most tensors have no more of, once those that lie in one piece are merged. */
#define TN_FEW_DIMENSIONS 4

/* TENON_DIMENSIONS (cl_kernels/common/dimensions.clh) of a kernel that goes through so many, where
 * Intel's compiler is to have few: it keeps something for each. Else nothing. */
const char *tn_gpu_dimensions_option(const tenon_context *context, int64_t rank);

/* What a kernel with much to keep is compiled with, where the kind of device has threads with more
 * registers; else nothing. */
const char *tn_gpu_registers_option(const tenon_context *context);

/* Vectors of a row that a work-item of a team keeps: TEAM_VECTORS. */
#define TN_TEAM_VECTORS 4

/* Work-items of a group of teams, a power of two: TENON_GROUP. */
int32_t tn_team_group(const tenon_context *context);

/* What the compiler is told of teams: TENON_VW and TENON_GROUP. */
char *tn_team_options(const tenon_context *context, uint32_t dtype, char options[64]);

/* The parameter `tm` of solvers with teams: work-items of a team, a power of two. */
extern const tn_parameter tn_team_parameter[1];

/* Gives a choice's only parameter, this one, its value where it is free, for so many rows of so
 * many vectors; sets misfit where it is forced and no team's. */
void tn_team_tune(const tenon_context *context, int64_t rows, int64_t vectors, tn_choice *choice);

/* Through lines of so many vectors. */
team_way tn_team_way(int32_t team, int64_t vectors);

/* Longer rows, whose places an int does not hold, are not served. */
#define TN_TEAM_MOST (INT64_C(1) << 30)

#endif

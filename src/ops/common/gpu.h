/* Launch sizes and build options of memory-bound kernels on GPUs, and of kernels in which a team of
 * work-items handles a row (cl_kernels/common/team.clh). */
#ifndef TN_OPS_COMMON_GPU_H
#define TN_OPS_COMMON_GPU_H

#include "common/team_args.h"
#include "dispatch/solver.h"
#include "ops/common/lanes.h"

/* Number of adjacent rows below which reads across rows do not count as coalesced. */
#define TN_GPU_LEAST_COLUMNS 16

/* Returns the option for TENON_GPU (common/types.clh), with a leading space; "" on a CPU. */
const char *tn_gpu_option(const tenon_context *context);

/* As tn_gpu_option, plus TENON_VECTORS; written to `text`. */
#define TN_GPU_OPTIONS 48
const char *tn_stream_option(const tenon_context *context, int32_t vectors,
                             char text[TN_GPU_OPTIONS]);

/* Returns the work-group size for a GPU launch of `items` independent work-items. It is reduced if
 * there would be fewer groups than the device has cores. */
size_t tn_gpu_group(const tenon_context *context, int64_t items);

/* Sets the work-group size of a GPU launch. The first dimension is rounded up, so work-items past
 * the end must do nothing; in the others the group size divides the global size. Left to
 * themselves, drivers use groups of one work-item if a size is prime. */
void tn_gpu_local(const tenon_context *context, tn_launch *launch);

/* A work-item's share of a stream (cl_kernels/common/stream.clh): `unit` elements at a time, and up
 * to `vectors` of those units in flight. */
typedef struct tn_stream_share {
    int64_t unit;
    int32_t vectors;
} tn_stream_share;

/* Returns TENON_VECTORS of kernels that compute on vectors of `dtype` from `inputs` inputs. */
int32_t tn_stream_vectors(const tenon_context *context, uint32_t dtype, uint32_t inputs);

/* The division of a line into pieces of `chunk` elements, each shared by `parts` work-items. */
typedef struct tn_stream_pieces {
    int64_t pieces, chunk, parts;
} tn_stream_pieces;

/* Divides `lines` lines of `length` elements for a GPU. A piece is one unit of one work-item if
 * several vectors in flight would leave too few neighboring work-items per piece, or too few
 * work-items for the device. */
tn_stream_pieces tn_stream_cut(const tenon_context *context, int64_t length, int64_t lines,
                               tn_stream_share share);

/* Rank that most tensors do not exceed after contiguous dimensions are merged. */
#define TN_FEW_DIMENSIONS 4

/* Returns the option for TENON_DIMENSIONS (cl_kernels/common/dimensions.clh), or "". Intel's
 * compiler needs a small bound, because it keeps registers for every dimension. */
const char *tn_gpu_dimensions_option(const tenon_context *context, int64_t rank);

/* Returns the build option for more registers per thread, for kernels with much register pressure;
 * "" if the kind of device has no such mode. */
const char *tn_gpu_registers_option(const tenon_context *context);

/* Vectors of a row that a work-item of a team keeps in registers: TEAM_VECTORS. */
#define TN_TEAM_VECTORS 4

/* Returns the work-group size of kernels with teams, a power of two: TENON_GROUP. */
int32_t tn_team_group(const tenon_context *context);

/* Writes the options of kernels with teams: TENON_GPU, TENON_VW, TENON_GROUP. Returns `options`. */
char *tn_team_options(const tenon_context *context, uint32_t dtype, char options[64]);

/* The tuning parameter `tm`: work-items per team, a power of two. */
extern const tn_parameter tn_team_parameter[1];

/* Sets `tm`, which must be the choice's only parameter, for rows of `vectors` vectors each. A
 * forced value is kept; sets misfit if it is not a valid team size. */
void tn_team_tune(const tenon_context *context, int64_t rows, int64_t vectors, tn_choice *choice);

/* Returns how a team iterates over lines of `vectors` vectors. */
team_way tn_team_way(int32_t team, int64_t vectors);

/* Maximum row length for teams: kernels index a row with int. */
#define TN_TEAM_MOST (INT64_C(1) << 30)

#endif

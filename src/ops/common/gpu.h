/* What kernels that are bound by memory take on a GPU, for estimates; and the teams of work-items
 * that do a row together (cl_kernels/common/team.clh). */
#ifndef TN_OPS_COMMON_GPU_H
#define TN_OPS_COMMON_GPU_H

#include "common/team_args.h"
#include "dispatch/solver.h"
#include "ops/common/lanes.h"

/* How much of the memory's speed a kernel reaches by how its work-items read: neighbours read
 * neighbours; each goes through a short row of its own, whose lines the cache keeps; through a long
 * one, of which nothing is left when the next vector is wanted. */
#define TN_GPU_SIDE_BY_SIDE 0.9
#define TN_GPU_SHORT_ROWS   0.4
#define TN_GPU_LONG_ROWS    0.1
/* Rows side by side, fewer than which are not read as neighbours. */
#define TN_GPU_LEAST_COLUMNS 16
/* Bytes of a row that is short. */
#define TN_GPU_SHORT_BYTES 128
/* Bytes that a work-item reads at once, of which its vector has tn_gpu_lanes. */
#define TN_GPU_VECTOR_BYTES 16

/* What a launch costs by itself, in nanoseconds; a guess until it is measured. */
#define TN_GPU_LAUNCH 5000.0

/* Parts of the device that have a work-group at a time, or more: its compute units, or the several
 * that share local memory. */
int64_t tn_gpu_cores(const tenon_context *context);

/* What a compute unit and all of them do in a nanosecond: multiply-adds of f32, at best; and bytes
 * of memory. */
double tn_gpu_multiply_adds(const tenon_context *context);
double tn_gpu_bytes(const tenon_context *context);

/* Nanoseconds of a launch that moves so many bytes, at `part` of the memory's speed where there are
 * work-items enough, and less where there are too few for reads to wait side by side. */
double tn_gpu_time(const tenon_context *context, double bytes, double items, double part);

/* Which of the above a work-item's own row of so many bytes is. */
double tn_gpu_own_row(double bytes);

/* The work-items that keep the device's memory busy. */
double tn_gpu_items(const tenon_context *context);

/* TENON_GPU, which common/types.clh describes, with a space before it; "" on a CPU. */
const char *tn_gpu_option(const tenon_context *context);

/* Gives a GPU's launch a work-group: its first dimension is rounded up, whose work-items past the
 * end must find nothing to do, the others are cut where they divide. Drivers that choose by
 * themselves take groups of one where a size is prime. */
void tn_gpu_local(tn_launch *launch);

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

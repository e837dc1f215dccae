/* Winograd's convolution of 3 x 3 filters: what its solvers share, which differ in the size of
 * their tiles, and in how they go about it: for CPUs, or for GPUs (winograd_gemm). */
#ifndef TN_OPS_CONV_WINOGRAD_H
#define TN_OPS_CONV_WINOGRAD_H

#include "ops/conv/internal.h"

enum { WINOGRAD_MR, WINOGRAD_NR, WINOGRAD_PARAMETERS };
extern const tn_parameter tn_winograd_parameters[WINOGRAD_PARAMETERS];

/* A convolution, in the way a solver does it. */
typedef struct winograd {
    const conv_problem *conv;
    int64_t tile; /* outputs in each dimension: 2 or 4 */
} winograd;

/* What such a convolution has and this one lacks, or NULL. */
const char *tn_winograd_lacks(const conv_problem *problem);

/* As in tn_solver. */
const char *tn_winograd_refuses(tenon_context *context, const winograd *w);
void tn_winograd_tune(tenon_context *context, const winograd *w, int32_t *values);
const char *tn_winograd_constrains(tenon_context *context, const winograd *w,
                                   const int32_t *values);
uint64_t tn_winograd_workspace(tenon_context *context, const winograd *w, const int32_t *values);
double tn_winograd_estimate(tenon_context *context, const winograd *w, const int32_t *values);
void tn_winograd_options(tenon_context *context, const winograd *w, const int32_t *values,
                         char text[TN_OPTIONS_SIZE]);
tenon_status tn_winograd_record(const char *operation, tn_recording *recording, const winograd *w,
                                const int32_t *values);

/* The same of the solvers for GPUs, which have no parameters. */
const char *tn_winograd_gemm_refuses(tenon_context *context, const winograd *w);
uint64_t tn_winograd_gemm_workspace(tenon_context *context, const winograd *w);
double tn_winograd_gemm_estimate(tenon_context *context, const winograd *w);
void tn_winograd_gemm_options(tenon_context *context, const winograd *w,
                              char text[TN_OPTIONS_SIZE]);
tenon_status tn_winograd_gemm_record(const char *operation, tn_recording *recording,
                                     const winograd *w);

/* The tile of a solver: 0 where it is none of these, or NULL. */
int64_t tn_winograd_tile(const tn_solver *solver);

/* The sums of products that stand in for those of a convolution of dense x and w, in row-major
 * order: with NaN and infinities where the transforms spread them, and as bounds the magnitudes
 * that roundings are relative to. False without memory. */
bool tn_winograd_sums(const conv_problem *problem, int64_t tile, const double *x, const double *w,
                      tn_bounded *sums);

/* How many roundings a term passes through in the transforms. */
double tn_winograd_roundings(int64_t tile);

#endif

/* Winograd's convolution of 3 x 3 filters: what its solvers share, which differ in the size of
 * their tiles, and in how they go about it: for CPUs (winograd.c), or for GPUs (winograd_gemm.c).
 */
#ifndef TN_OPS_CONV_FORWARD_WINOGRAD_H
#define TN_OPS_CONV_FORWARD_WINOGRAD_H

#include "ops/conv/problem/problem.h"

/* A convolution, in the way a solver does it. */
typedef struct winograd {
    const conv_problem *conv;
    int64_t tile; /* outputs in each dimension: 2 or 4 */
} winograd;

/* Why a convolution cannot be done so, or NULL. */
const char *tn_winograd_refuses(const conv_problem *problem);

/* Their awkward cases: more tiles than a set of registers, cut at both edges, and filters past a
 * panel. */
#define TN_WINOGRAD_AWKWARD                                                                        \
    "channels=37 filters=67 d=1 h=11 w=33 t=1 r=3 s=3 stride_h=1 stride_w=1 dilation_h=1"

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

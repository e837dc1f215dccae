/* Winograd convolution of 3 x 3 filters: declarations shared by its solvers, which differ in tile
 * size and in method: for CPUs (winograd.c) or for GPUs (winograd_gemm.c). */
#ifndef TN_OPS_CONV_FORWARD_WINOGRAD_H
#define TN_OPS_CONV_FORWARD_WINOGRAD_H

#include "ops/conv/problem/problem.h"

/* A convolution and the tile size of its solver. */
typedef struct winograd {
    const conv_problem *conv;
    int64_t tile; /* outputs in each dimension: 2 or 4 */
} winograd;

/* Returns why a convolution cannot use Winograd's method, or NULL. */
const char *tn_winograd_refuses(const conv_problem *problem);

/* Awkward cases of these solvers: more tiles than a register tile holds, cut at both edges, and
 * filters beyond one panel. */
#define TN_WINOGRAD_AWKWARD                                                                        \
    "channels=37 filters=67 d=1 h=11 w=33 t=1 r=3 s=3 stride_h=1 stride_w=1 dilation_h=1"

/* Returns the tile size of a solver; 0 if it is not one of these or NULL. */
int64_t tn_winograd_tile(const tn_solver *solver);

/* Computes the sums that replace those of a convolution of dense, row-major x and w. They include
 * NaN and infinities where the transforms spread them; their bounds are the magnitudes that
 * roundings are relative to. Returns false if memory is exhausted. */
bool tn_winograd_sums(const conv_problem *problem, int64_t tile, const double *x, const double *w,
                      tn_bounded *sums);

/* Returns the number of roundings of a term in the transforms. */
double tn_winograd_roundings(int64_t tile);

#endif

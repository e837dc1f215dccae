/* Winograd convolution of 3 x 3 filters: declarations shared by its solvers, which differ in tile
 * size and in method: for CPUs (winograd.c) or for GPUs (winograd_gemm.c). */
#ifndef TN_OPS_CONV_FORWARD_WINOGRAD_H
#define TN_OPS_CONV_FORWARD_WINOGRAD_H

#include "ops/conv/problem/problem.h"

/* A convolution and the tile size of its solver. If its filters were transformed when they were
 * packed, operand w contains both the dense and the transformed filters. */
typedef struct winograd {
    const conv_problem *conv;
    int64_t tile;           /* outputs in each dimension: 2 or 4 */
    int64_t panel;          /* filters of a panel of the transformed ones; 0: not transformed */
    int64_t dense_at;       /* the element of w with which the dense filters begin */
    int64_t transformed_at; /* the same of the transformed ones, in the accumulator type */
} winograd;

/* Tuning parameters of the solvers for CPUs, in this order. */
enum { WINOGRAD_MR, WINOGRAD_NR, WINOGRAD_PARAMETERS };
extern const tn_parameter tn_winograd_parameters[WINOGRAD_PARAMETERS];

/* Returns why a convolution cannot use Winograd's method, or NULL. */
const char *tn_winograd_refuses(const conv_problem *problem);

/* Functions of the solvers for CPUs: fill in a choice, except for its solver and forced values
 * (returns why the problem is not supported, or NULL); record the convolution; record only the
 * transformation of the filters, which are written to operand w. */
const char *tn_winograd_configure(tenon_context *context, const winograd *w, tn_choice *choice);
tenon_status tn_winograd_launch(const char *caller, tn_recording *recording, const winograd *w,
                                const tn_choice *choice);
tenon_status tn_winograd_transform(const char *caller, tn_recording *recording, const winograd *w,
                                   const tn_choice *choice);

/* Returns the default number of filters in a panel of transformed filters, for `k` filters. */
int64_t tn_winograd_panel(tenon_context *context, uint32_t dtype, int64_t k);

/* Computes the number of elements of `k` transformed filters with `c` channels, for tiles of 4 x 4.
 * Returns false if it overflows. */
bool tn_winograd_filters_size(tenon_context *context, uint32_t dtype, int64_t panel, int64_t k,
                              int64_t c, int64_t *size);

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

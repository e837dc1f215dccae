/* What the depthwise solvers share: how a filter's tiles lie in local memory. */
#ifndef TN_OPS_CONV_DEPTHWISE_DEPTHWISE_H
#define TN_OPS_CONV_DEPTHWISE_DEPTHWISE_H

#include "conv/depthwise_args.h"
#include "ops/conv/problem/gradient.h"

/* Local memory for tiles: with the results that are written, half of a small first-level cache. */
#define TN_DEPTHWISE_TILE_BYTES 16384

/* Taps that kernels along channels have sums or vectors for; those of the gradient along rows, too.
 */
#define TN_DEPTHWISE_MOST_TAPS 128

/* Their awkward cases: at strides 1 and 2, as unrolled loops have it, and at others. */
#define TN_DEPTHWISE_AWKWARD                                                                       \
    "depthwise=1 stride_h=1 stride_w=1 dilation_h=1; "                                             \
    "depthwise=1 stride_h=2 stride_w=2 dilation_h=1; "                                             \
    "depthwise=1 stride_h=2 stride_w=3 dilation_h=2 dilation_w=2"

/* Vectors along a tile's row, at most. */
#define TN_DEPTHWISE_BLOCKS 16

/* Elements from a tensor's first to its last, both included. */
int64_t tn_depthwise_span(const int64_t *shape, const int64_t *stride);

/* The side of a window whose loops are unrolled, or 0. */
int tn_depthwise_taps(const conv_window *v);

/* The stride of a window of such taps, 1 or 2 in both dimensions and without dilation, or 0. */
int tn_depthwise_stride(const conv_window *v);

/* A CPU's vectors of so many results. */
tn_work tn_depthwise_vectors(const conv_problem *problem, double vectors, int32_t lanes,
                             bool unrolled);

/* Elements of acc_t that a kernel has for its tiles. */
int64_t tn_depthwise_room(uint32_t dtype);

/* Lays out tiles of `members` image channels under the window, whose outputs are computed in blocks
 * of `rows` by `lanes`; false where the smallest one has no room. `spread` is of the image's rows.
 */
bool tn_depthwise_lay_out(const conv_window *window, int64_t spread, int64_t members, int64_t room,
                          int64_t rows, int64_t lanes, depthwise_tile *tile);

/* Why no depthwise solver serves a problem, or NULL. */
const char *tn_depthwise_refuses(const conv_problem *problem);

/* Lanes that a kernel is built with: 1 on GPUs, whose work-items do without vectors. */
int32_t tn_depthwise_lanes(tenon_context *context, uint32_t dtype);

/* Whether vectors should lie along the channels. */
bool tn_depthwise_along_channels(const conv_problem *problem, int32_t lanes);

#endif

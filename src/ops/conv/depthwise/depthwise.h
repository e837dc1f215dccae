/* Declarations shared by the depthwise solvers: the layout of a filter's tiles in local memory. */
#ifndef TN_OPS_CONV_DEPTHWISE_DEPTHWISE_H
#define TN_OPS_CONV_DEPTHWISE_DEPTHWISE_H

#include "conv/depthwise_args.h"
#include "ops/conv/problem/gradient.h"

/* Local memory for tiles: together with the stored results, half of a small L1 cache. */
#define TN_DEPTHWISE_TILE_BYTES 16384

/* Maximum number of taps for which the kernels along channels, and those of the gradient along
 * rows, have sums or vectors. */
#define TN_DEPTHWISE_MOST_TAPS 128

/* Awkward cases of these solvers. The value of `depthwise` is the number of filters of a group, and
 * that of `narrow` a width for which two channels share a vector. Strides 1 and 2 have unrolled
 * loops. */
#define TN_DEPTHWISE_AWKWARD                                                                       \
    "depthwise=2 stride_h=1 stride_w=1 dilation_h=1; "                                             \
    "depthwise=2 stride_h=2 stride_w=2 dilation_h=1; "                                             \
    "depthwise=2 stride_h=2 stride_w=3 dilation_h=2 dilation_w=2"

/* Maximum number of vectors along a tile's row. */
#define TN_DEPTHWISE_BLOCKS 16

/* Returns the number of elements from a tensor's first to its last, inclusive. */
int64_t tn_depthwise_span(const int64_t *shape, const int64_t *stride);

/* Returns the side of a window whose loops are unrolled, or 0. */
int tn_depthwise_taps(const conv_window *v);

/* Returns the stride of such a window, 1 or 2 in both dimensions without dilation, or 0. */
int tn_depthwise_stride(const conv_window *v);

/* Returns the work of `vectors` vectors of results on a CPU. */
tn_work tn_depthwise_vectors(const conv_problem *problem, double vectors, int32_t lanes,
                             bool unrolled);

/* Returns the elements of acc_t in a kernel's tiles. */
int64_t tn_depthwise_room(uint32_t dtype);

/* Lays out tiles of `members` image channels under the window; outputs are computed in blocks of
 * `rows` by `lanes`. `spread` is the dilation of the image's rows. Returns false if the smallest
 * tile does not fit `room`. */
bool tn_depthwise_lay_out(const conv_window *window, int64_t spread, int64_t members, int64_t room,
                          int64_t rows, int64_t lanes, depthwise_tile *tile);

/* Returns why no depthwise solver serves a problem, or NULL. */
const char *tn_depthwise_refuses(const conv_problem *problem);

/* Returns the lanes that a kernel is built with; 1 on GPUs, whose work-items do not use vectors. */
int32_t tn_depthwise_lanes(tenon_context *context, uint32_t dtype);

/* Returns true if vectors should run along the channels. */
bool tn_depthwise_along_channels(const conv_problem *problem, int32_t lanes);

#endif

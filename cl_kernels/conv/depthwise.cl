/*
 * Depthwise convolution: each result channel is computed from one image channel,
 *
 *     y[n, k] = act(alpha * (x[n, k / share] convolved with w[k]) + beta * c + bias).
 *
 * Also the reverse direction (args.backwards): each result channel is the sum over `members` image
 * channels whose elements are spread apart by the convolution's stride (input dilation), with
 * reversed filters (their strides are negative).
 *
 * conv_depthwise_rows: for CPUs, vectors along w. A work-item computes args.run tiles of a
 *   channel's results, one after the other, TENON_ROWS rows at a time. With TENON_STEP it reads the
 *   image directly, except at the ends of its tensor, beyond which nothing is read; otherwise it
 *   reads a copy in private memory. Global size: {ceil(units / run)}; a unit is a tile.
 * conv_depthwise_channels: for CPUs, vectors along channels, which are contiguous in x and y; share
 *   and members are 1. A work-item computes args.run rows of results of TENON_VW channels. Global
 *   size: {ceil(units / run), ceil(channels / TENON_VW)}; a unit is a row.
 * conv_depthwise_columns: for GPUs, without vectors. A work-item computes TENON_ROWS results, one
 *   below the other. With TENON_STEP it reads the image elements under them once. Work-items are
 *   numbered along w, blocks of rows, d, channels and images; with args.side_by_side along the
 *   channels first. Global size: {units} or more, in one dimension.
 *
 * TENON_TAPS: 3 or 5: the window is a square of that size, and its loops are unrolled. 0: any
 *   window; for vectors along channels with at most TENON_MAX_TAPS taps.
 * TENON_CHANNELS: 1 builds the kernel along channels instead of the one along rows.
 * TENON_SPARSE_ROWS: 1 if the image's rows are spread apart (input dilation), which leaves some
 *   rows of a tile empty.
 * TENON_ROWS: see above.
 * TENON_STEP: 1 or 2, with TENON_TAPS: the stride of a window without dilation, on an image that is
 *   not spread. The kernel along rows then reads the image directly where it can, and rows of x and
 *   y are contiguous. 0: any window.
 * TENON_DOWN: 1 or 2, for the kernel along rows: the window is TENON_TAPS squared without dilation
 *   along h, members is 1, and this is its stride along h. 0: any window.
 * TENON_SKIP_OUTSIDE: 1: only elements that exist are multiplied, as with args.backwards.
 * TENON_PLANES: with TENON_STEP, the number of channels that share a vector, 1 or 2.
 * TENON_BLOCKS: with TENON_STEP, the maximum number of vectors along a tile's row.
 * TENON_TILE: elements of a tile.
 * TENON_VW: lanes of a vector; 1 builds the kernel without vectors.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_CHANNELS
#define TENON_CHANNELS 0
#endif
#ifndef TENON_SPARSE_ROWS
#define TENON_SPARSE_ROWS 1
#endif
#ifndef TENON_MAX_TAPS
#define TENON_MAX_TAPS 128
#endif
#ifndef TENON_ROWS
#define TENON_ROWS 4
#endif
#ifndef TENON_STEP
#define TENON_STEP 1
#endif
#ifndef TENON_DOWN
#define TENON_DOWN TENON_STEP
#endif
#ifndef TENON_PLANES
#define TENON_PLANES 1
#endif
#ifndef TENON_SKIP_OUTSIDE
#define TENON_SKIP_OUTSIDE 0
#endif
#ifndef TENON_BLOCKS
#define TENON_BLOCKS 8
#endif
#ifndef TENON_TILE
#define TENON_TILE 2048
#endif
#ifndef TENON_VW
#define TENON_VW 4
#endif
#if TENON_VW == 1
#undef TENON_VW
#endif
#include "conv/depthwise_points.clh"

#ifndef TENON_VW
#include "conv/depthwise_columns.clh"
#elif TENON_CHANNELS
#include "conv/depthwise_channels.clh"
#else
#include "conv/depthwise_rows.clh"
#endif

/*
 * Depthwise convolution: each result channel comes from an image channel of its own,
 *
 *   y[n, k] = act(alpha * (x[n, k / share] convolved with w[k]) + beta * c + bias),
 *
 * or run backwards from `members` of them, of images that are spread by the convolution's stride,
 * with filters that are reversed (their strides are negative).
 *
 * conv_depthwise_rows: for CPUs, vectors along w. A work-item does args.run tiles of a channel's
 *   results, one after the other; TENON_ROWS rows of a tile are computed at once. With TENON_STEP
 *   they come straight from the image, except at its tensor's ends, beyond which nothing is read;
 *   otherwise from a copy of it in local memory.
 *   Global size: {ceil(units / run)}, a unit being a tile.
 * conv_depthwise_channels: for CPUs, vectors along channels, which are contiguous in x and y, with
 *   share and members 1. A work-item does args.run rows of results of TENON_VW channels.
 *   Global size: {ceil(units / run), ceil(channels / TENON_VW)}, a unit being a row.
 * conv_depthwise_columns: for GPUs, without vectors: a work-item does TENON_ROWS results, one below
 *   the other. With TENON_STEP it reads what is under them once. Work-items are numbered along w,
 *   blocks of rows, d, channels and images, or with args.side_by_side along the channels first.
 *   Global size: {units} or more, in one dimension.
 *
 * TENON_TAPS:     3 or 5: the window is a square of that size, and its loops are unrolled; 0: any,
 *                 of TENON_MOST_TAPS taps at most for vectors along channels.
 * TENON_CHANNELS: 1 builds the kernel along channels instead of that along rows.
 * TENON_SPREAD:   1 where the image's rows lie apart, so that some of the tile hold nothing.
 * TENON_ROWS:     see above.
 * TENON_STEP:     1 or 2, with TENON_TAPS: the window's stride, without dilation, of an image that
 *                 is not spread. The kernel along rows then reads the image itself where it can,
 *                 and rows of x and y are contiguous. 0: any window.
 * TENON_BACKWARDS: 1: only elements that exist are multiplied, as args.backwards says.
 * TENON_PLANES:   with TENON_STEP, channels that a vector has a row of, 1 or 2.
 * TENON_BLOCKS:   vectors along a tile's row, at most, with TENON_STEP.
 * TENON_TILE:     elements of a tile in local memory.
 * TENON_VW:       lanes of a vector; 1 builds the kernel without vectors.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_CHANNELS
#define TENON_CHANNELS 0
#endif
#ifndef TENON_SPREAD
#define TENON_SPREAD 1
#endif
#ifndef TENON_MOST_TAPS
#define TENON_MOST_TAPS 128
#endif
#ifndef TENON_ROWS
#define TENON_ROWS 4
#endif
#ifndef TENON_STEP
#define TENON_STEP 1
#endif
#ifndef TENON_PLANES
#define TENON_PLANES 1
#endif
#ifndef TENON_BACKWARDS
#define TENON_BACKWARDS 0
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

/* Arguments of the Winograd kernels for CPUs. Sizes and strides are in elements: of the tensor's
 * type, or, in u and in the workspace, of the accumulator type. */
#ifndef TENON_CONV_FORWARD_WINOGRAD_ARGS_H
#define TENON_CONV_FORWARD_WINOGRAD_ARGS_H

#include "conv/args.h"

/* Layout of the filters in w. */
typedef struct winograd_filters {
    tenon_i64 filter, channel; /* strides of w */
    tenon_i64 span;            /* elements from the first to the last */
    tenon_i64 tap[9];          /* what is added for tap r * 3 + s */
    tenon_i64 c, k;            /* channels and filters per group */
    tenon_i64 layout;          /* WINOGRAD_TAPS … */
} winograd_filters;

/* The contiguous dimensions of the filters. */
#define WINOGRAD_STRIDED  0 /* none */
#define WINOGRAD_TAPS     1 /* the nine taps of a channel */
#define WINOGRAD_ALL_TAPS 2 /* and the taps of all channels */
#define WINOGRAD_CHANNELS 3

/*
 * The convolution. Each work-group computes every N-th set of tiles, where N is the number of
 * slices, with some panels of filters, in its own slice of the workspace.
 *
 * Transformed filters are u[group][panel][point][channel][lane], where the lanes are a panel's
 * filters. The channels of a point are followed by an unused vector: points that are a power of two
 * apart would share one cache set.
 */
typedef struct winograd_args {
    conv_args conv;
    winograd_filters filters;
    tenon_i64 u_offset, work_offset;
    tenon_i64 u_point, u_panel, u_group; /* strides of u */
    tenon_i64 slices, slice;             /* start of the slices, and size of a slice */
    tenon_i64 v_row, v_point;            /* transformed image v[point][tile][channel] */
    tenon_i64 m, m_point;                /* products m[point][tile][lane]: offset in a slice */
    tenon_i64 own_u;    /* offset of a slice's own filters; 0: they are in u, already transformed */
    tenon_i64 block;    /* channels that are multiplied at a time */
    tenon_i64 tiles[2]; /* per image, along h and w */
    tenon_i64 all_tiles, set_tiles; /* of all images, and per set */
    tenon_i64 panels, part;         /* per group, and per work-group */
    tenon_i64 x_span;               /* elements from the first to the last of x */
    tenon_i64 filters_only;         /* 1: a launch that only transforms filters */
} winograd_args;

#endif

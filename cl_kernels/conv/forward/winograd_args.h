/* Arguments of the Winograd kernels. Sizes and strides are in elements: of the tensors', or in the
 * workspace of what sums are kept in. */
#ifndef TENON_CONV_FORWARD_WINOGRAD_ARGS_H
#define TENON_CONV_FORWARD_WINOGRAD_ARGS_H

#include "conv/args.h"

/* The filters as they lie in w. */
typedef struct winograd_filters {
    tenon_i64 filter, channel; /* strides of w */
    tenon_i64 span;            /* from the first element to the last */
    tenon_i64 tap[9];          /* what is added for tap r * 3 + s */
    tenon_i64 c, k;            /* channels and filters of a group */
    tenon_i64 layout;          /* WINOGRAD_TAPS ... */
} winograd_filters;

/* What is contiguous in the filters. */
#define WINOGRAD_STRIDED  0 /* nothing */
#define WINOGRAD_TAPS     1 /* the nine taps of a channel */
#define WINOGRAD_ALL_TAPS 2 /* and these follow those of the channel before */
#define WINOGRAD_CHANNELS 3

/* The convolution: each work-group does every so manieth set of tiles, with some panels of filters,
 * in a slice of the workspace of its own.
 *
 * Transformed filters are u[group][panel][point][channel][lane], the lanes being a panel's filters.
 * A point's channels are followed by a vector that is not used: powers of two apart, the points
 * would share one set of a cache. */
typedef struct winograd_args {
    conv_args conv;
    winograd_filters filters;
    tenon_i64 work_offset;
    tenon_i64 u_point, u_panel, u_group; /* strides of u */
    tenon_i64 slices, slice;             /* where the slices begin, and the size of one */
    tenon_i64 v_row, v_point;            /* transformed image v[point][tile][channel] */
    tenon_i64 m, m_point;                /* products m[point][tile][lane]: where in a slice */
    tenon_i64 own_u;    /* where in a slice the filters are transformed, or 0: they are already */
    tenon_i64 block;    /* channels that are multiplied before the next are looked at */
    tenon_i64 tiles[2]; /* of an image, along h and w */
    tenon_i64 all_tiles, set_tiles; /* of all images, and of a set */
    tenon_i64 panels, part;         /* of a group, and of a work-group */
    tenon_i64 x_span;               /* elements from the first of x to its last */
    tenon_i64 filters_only; /* 1: the launch before, which does no more than transform filters */
} winograd_args;

#endif

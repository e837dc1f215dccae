/* Arguments of conv/forward/cpu_direct.cl. */
#ifndef TENON_CONV_FORWARD_CPU_DIRECT_ARGS_H
#define TENON_CONV_FORWARD_CPU_DIRECT_ARGS_H

#include "conv/args.h"

/* Runs of pixels that a work-group has room for. */
#define CONV_DIRECT_RUNS 512

/*
 * A work-group does a box of images and pixels for some of a group's filters. For a few channels at
 * a time it copies the part of the image that the box sees into local memory, in phases: along each
 * dimension, taps whose distance is a multiple of the stride see the same elements. Tap t belongs
 * to phase t % subfilter_tap, and sees its elements t / subfilter_tap * subfilter_out further on.
 */
typedef struct conv_direct_args {
    conv_args conv;
    tenon_i64 images;
    tenon_i64 box[4];   /* images, and pixels along o, p and q, of a work-group */
    tenon_i64 filters;  /* of a work-group */
    tenon_i64 channels; /* done at a time */
    tenon_i64 x_span;   /* elements from the first of a group's image to its last */
    tenon_i64 subfilter_tap[3], subfilter_out[3];
    tenon_i64 phases[3], extent[3]; /* of the copy, and elements of a phase */
    tenon_i64 channel;              /* elements of the copy in one channel */
    tenon_i64 sums_at, filters_at;  /* in local memory, in vectors; the copy is at 0 */
    tenon_i32 channel_last;         /* taps in the order t, r, s, c instead of c, t, r, s */
    tenon_i32 taps_join;            /* in that order they lie one after the other */
    tenon_i32 join; /* dimensions of y that continue the last: 0, 1 (rows) or 2 (planes) */
    tenon_i32 reserved;
} conv_direct_args;

#endif

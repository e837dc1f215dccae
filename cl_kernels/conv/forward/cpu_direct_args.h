/* Arguments of conv/forward/cpu_direct.cl. */
#ifndef TENON_CONV_FORWARD_CPU_DIRECT_ARGS_H
#define TENON_CONV_FORWARD_CPU_DIRECT_ARGS_H

#include "conv/args.h"

/* Maximum number of runs of pixels of a work-group. */
#define CONV_DIRECT_RUNS 512

/* A work-group computes a box of images and pixels for some filters of a group. For a few
 * channels at a time it copies the image part under the box to local memory, in phases: along
 * each dimension, taps whose distance is a multiple of the stride read the same elements. Tap t
 * belongs to phase t % subfilter_tap, and reads the elements at distance t / subfilter_tap *
 * subfilter_out. */
typedef struct conv_direct_args {
    conv_args conv;
    tenon_i64 images;
    tenon_i64 box[4];   /* images, and pixels along o, p and q, per work-group */
    tenon_i64 filters;  /* per work-group */
    tenon_i64 channels; /* processed at a time */
    tenon_i64 x_span;   /* elements from the first to the last of a group's image */
    tenon_i64 subfilter_tap[3], subfilter_out[3];
    tenon_i64 phases[3], extent[3]; /* of the copy, and elements per phase */
    tenon_i64 channel;              /* elements of the copy per channel */
    tenon_i64 sums_at, filters_at;  /* in local memory, in vectors; the copy is at 0 */
    tenon_i32 channel_last;         /* taps in the order t, r, s, c instead of c, t, r, s */
    tenon_i32 taps_join;            /* taps in that order are contiguous */
    tenon_i32 join; /* dimensions of y that continue the last one: 0, 1 (rows) or 2 (planes) */
    tenon_i32 reserved;
} conv_direct_args;

#endif

/* Arguments of the RoI align kernel. Strides and offsets are in elements. */
#ifndef TENON_ROI_ALIGN_ARGS_H
#define TENON_ROI_ALIGN_ARGS_H

#include "common/args.h"

#define ROI_MAX       1 /* the maximum, not the average */
#define ROI_UNSHIFTED 2 /* tenon/roi_align.h */

/* The most samples of a bin along one dimension. */
#define ROI_MOST_SAMPLES 1024

typedef struct roi_args {
    tenon_i64 x_offset, roi_offset, index_offset, y_offset;
    tenon_i64 x_stride[4], y_stride[4]; /* n or the region, c, h, w */
    tenon_i64 roi_stride[2], index_stride;
    tenon_i64 images, channels;
    tenon_i64 count, each;  /* results: all, and per work-item */
    tenon_i64 scale;        /* bits of an acc_t */
    tenon_i32 size[2];      /* h and w of x */
    tenon_i32 bins[2];      /* of y */
    tenon_i32 samples;      /* along one dimension; 0: by the size of a bin */
    tenon_i32 flags;        /* ROI_* */
    tenon_i32 side_by_side; /* neighboring results have neighboring channels */
    tenon_i32 reserved;
} roi_args;

#endif

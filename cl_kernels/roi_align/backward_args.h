/* Arguments of the kernel of RoI align's gradient. */
#ifndef TENON_ROI_ALIGN_BACKWARD_ARGS_H
#define TENON_ROI_ALIGN_BACKWARD_ARGS_H

#include "roi_align/args.h"

/* Channels of a work-item. */
#define ROI_CHANNELS 8

typedef struct roi_backward_args {
    roi_args forward;  /* x is dx, and y is dy; count is the number of pixels with a block of
                          channels each */
    tenon_i64 regions; /* number of regions */
    tenon_i64 values_offset, values_stride[4]; /* of x, for maxima */
} roi_backward_args;

#endif

/* Internal interface of the RoI align family. */
#ifndef TN_OPS_ROI_ALIGN_INTERNAL_H
#define TN_OPS_ROI_ALIGN_INTERNAL_H

#include "ops/common/epilogue.h"
#include "ops/common/images.h"
#include "roi_align/args.h"

#include <tenon/roi_align.h>

enum { ROI_X, ROI_ROIS, ROI_INDICES, ROI_Y, ROI_OPERANDS };

/* The canonical problem. */
typedef struct roi_problem {
    tn_problem head;
    uint32_t dtype, flags; /* ROI_* of roi_align/args.h */
    int64_t samples;
    double scale;
    int64_t images, channels, regions;
    int64_t size[2], bins[2]; /* h and w of x and of y */
    int64_t x[4], y[4];       /* strides */
    int64_t rois[2], indices;
} roi_problem;

extern const tn_family tn_roi_align_family;
extern const tn_solver tn_roi_align_items;

tn_prepare_function tn_roi_align_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_roi_align_reference;
tn_fill_function tn_roi_align_fill_valid;
tn_awkward_function tn_roi_align_awkward;

#endif

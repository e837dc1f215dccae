/* Internal interface of the RoI align family. */
#ifndef TN_OPS_ROI_ALIGN_INTERNAL_H
#define TN_OPS_ROI_ALIGN_INTERNAL_H

#include "ops/common/epilogue.h"
#include "ops/common/images.h"
#include "roi_align/backward_args.h"

#include <tenon/roi_align.h>

enum { ROI_X, ROI_ROIS, ROI_INDICES, ROI_Y, ROI_OPERANDS };

/* Operands of the gradient. */
enum {
    ROI_BACKWARD_X,
    ROI_DY,
    ROI_BACKWARD_ROIS,
    ROI_BACKWARD_INDICES,
    ROI_DX,
    ROI_BACKWARD_OPERANDS
};

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

/* The canonical problem of the gradient: x is dx, and y is dy. */
typedef struct roi_backward_problem {
    roi_problem forward;
    int64_t values[4]; /* strides of x; 0 for averages, which do not read it */
} roi_backward_problem;

extern const tn_family tn_roi_align_family, tn_roi_align_backward_family;
extern const tn_solver tn_roi_align_tables, tn_roi_align_items;
extern const tn_solver tn_roi_align_backward_scatter, tn_roi_align_backward_items;

/* The tensors of a call, with the names of x and y, which are dx and dy in the gradient. */
typedef struct roi_views {
    const char *x_name, *y_name;
    const tenon_tensor *x, *rois, *indices, *y;
} roi_views;

/* Checks a call and fills in its problem. */
tenon_status tn_roi_take(const tn_call *call, const tenon_roi_align_params *params,
                         const roi_views *views, roi_problem *problem);

/* Bits for the mode and the flag, and for a given number of samples: tn_family.paths. */
uint64_t tn_roi_paths(const tn_problem *problem);

/* Returns the arguments of a kernel without its shares of work. */
roi_args tn_roi_arguments(const roi_problem *problem);

/* Returns the channels of a work-item of a CPU if there are `blocks_of` blocks of them: a multiple
 * of the vector's lanes, and enough work-items to balance the load. */
int64_t tn_roi_channels(const tenon_context *context, const roi_problem *problem,
                        int64_t blocks_of);

/* Multiply-adds, on single elements, that take as long on a CPU as finding the place of a sample,
 * and as computing or adding the sample of a channel. */
#define ROI_PLACE  30.0
#define ROI_SAMPLE 12.0

/* Returns the arguments of the gradient's kernels without the shares of work, and records a launch
 * of one of them, whose operands are filled in here. */
roi_backward_args tn_roi_backward_arguments(const roi_backward_problem *problem);
tenon_status tn_roi_backward_record(const char *caller, tn_recording *recording,
                                    const roi_backward_problem *problem,
                                    const roi_backward_args *args, tn_launch *launch);

/* Fills in the patches of these arguments for the operands of tenon_roi_align. */
void tn_roi_fill_patches(const roi_problem *problem, tn_patch patches[ROI_OPERANDS]);

tn_prepare_function tn_roi_align_prepare, tn_roi_align_backward_prepare;

/* Members of tn_operation and tn_family. */
tn_reference_function tn_roi_align_reference, tn_roi_align_backward_reference;
tn_fill_function tn_roi_align_fill_valid, tn_roi_align_backward_fill_valid;
tn_awkward_function tn_roi_align_awkward, tn_roi_align_backward_awkward;

#endif

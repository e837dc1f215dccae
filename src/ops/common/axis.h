/* Rows of up to five tensors along an axis, for scans and sorts. Unlike tn_rows_problem, the
 * tensors may have different lengths along the axis. */
#ifndef TN_OPS_COMMON_AXIS_H
#define TN_OPS_COMMON_AXIS_H

#include "common/axis_args.h"
#include "ops/common/rows.h"

/* Part of a problem. Dimensions other than the axis are sorted by decreasing stride of one view,
 * and merged where possible. */
typedef struct tn_axis_space {
    int64_t size; /* of the first view along the axis */
    int64_t axis[AXIS_VIEWS];
    uint64_t rank; /* at least 1 */
    int64_t shape[TENON_MAX_RANK];
    int64_t stride[AXIS_VIEWS][TENON_MAX_RANK];
} tn_axis_space;

/* Fills in the space from validated views of equal rank; NULL views are absent. No dimension other
 * than the axis may be empty. */
void tn_axis_space_fill(const tenon_tensor *const *views, uint32_t count, uint32_t by,
                        uint32_t axis, tn_axis_space *space);

/* Returns the number of rows. */
int64_t tn_axis_rows(const tn_axis_space *space);

/* Sets the arguments of a kernel, except for the offsets. */
void tn_axis_args_fill(const tn_axis_space *space, axis_args *args);

/* Fails unless a view has the rank and the shape of the first operand, except for the axis, whose
 * size must be `size`. */
tenon_status tn_axis_shape_check(const tn_call *call, uint32_t operand, uint32_t axis,
                                 int64_t size);

/* Rows of doubles that are contiguous along the axis: copies of a view for references, and the
 * address of a row's elements in row-major order of the view. */
typedef struct tn_axis_walk {
    int64_t outer, size, inner;
} tn_axis_walk;

tn_axis_walk tn_axis_walk_of(const tenon_tensor *view, uint32_t axis);

/* Returns the row-major index of element `i` of row `row`. */
static inline int64_t tn_axis_walk_at(const tn_axis_walk *w, int64_t row, int64_t i)
{
    return (row / w->inner * w->size + i) * w->inner + row % w->inner;
}

#endif

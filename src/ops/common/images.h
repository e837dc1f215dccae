/* Images with N, C and one to three spatial dimensions, in problems and launches that always have
 * three. */
#ifndef TN_OPS_COMMON_IMAGES_H
#define TN_OPS_COMMON_IMAGES_H

#include "ops/common/gpu.h"

#define TN_IMAGE_RANK 5

/* Writes the strides of a view with three spatial dimensions; those that it lacks come first. They
 * are 0 for dimensions of size 1, which must not distinguish problems, and if the view is NULL. */
void tn_image_strides(int64_t to[TN_IMAGE_RANK], const tenon_tensor *view);

/* Returns true if the channels are contiguous and the elements along w are not. */
static inline bool tn_image_by_channels(const int64_t stride[TN_IMAGE_RANK])
{
    return stride[1] == 1 && stride[4] != 1;
}

/* Divides `count` results among the work-items of a one-dimensional launch, whose sizes it sets.
 * Returns the results of a work-item: one on a GPU, and on a CPU as many as are worth a work-item,
 * if each takes as long as `work` multiply-adds. */
int64_t tn_image_share(const tenon_context *context, int64_t count, double work, tn_launch *launch);

#endif

#include "ops/common/images.h"

#include "base/checked.h"

/* Multiply-adds that are worth a work-item of a CPU. */
#define CPU_WORK 8192

void tn_image_strides(int64_t to[TN_IMAGE_RANK], const tenon_tensor *view)
{
    for (uint32_t d = 0; view != NULL && d < view->rank; d++)
        to[d < 2 ? d : d + TN_IMAGE_RANK - view->rank] = view->shape[d] == 1 ? 0 : view->stride[d];
}

int64_t tn_image_share(const tenon_context *context, int64_t count, double work, tn_launch *launch)
{
    const bool is_cpu = context->device.is_cpu;
    const int64_t each = is_cpu ? tn_max_i64((int64_t)(CPU_WORK / work), 1) : 1,
                  items = tn_ceil_div(count, each);
    launch->dimensions = 1;
    launch->local[0] = is_cpu ? 1 : tn_gpu_group(context, items);
    launch->global[0] = (size_t)tn_round_up(items, (int64_t)launch->local[0]);
    return each;
}

/* Awkward cases of element-wise operations, one for each layout, longer than a work-item's piece;
 * and the common part of their references. */
#include "check/awkward.h"
#include "ops/common/pointwise.h"

#include <math.h>

static tenon_tensor common_pointwise_check_make_view(uint32_t type, tn_layout layout,
                                                     uint32_t operand, bool output)
{
    static const int64_t dense[] = {16387}, plane[] = {37, 229}, block[] = {11, 15, 19};
    const tenon_dtype dtype = (tenon_dtype)type;
    if (layout == TN_LAYOUT_DENSE)
        return tn_awkward_view(dtype, 1, dense, false);
    if (layout == TN_LAYOUT_BROADCAST) {
        tenon_tensor view = tn_awkward_view(dtype, 2, plane, false);
        if (!output)
            view.stride[operand % 2] = 0;
        return view;
    }
    tenon_tensor view = tn_awkward_view(dtype, 3, block, false);
    for (int d = 2; d >= 0; d--)
        view.stride[d] =
            d == 2 ? (int64_t)operand + 1 : view.stride[d + 1] * view.shape[d + 1] + operand;
    return view;
}

void tn_pointwise_awkward(const tn_operation *operation, uint32_t from, uint32_t to,
                          tn_layout layout, tn_case *c)
{
    tn_awkward_begin(c, operation);
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        const bool output = tn_operation_writes(operation, i);
        c->views[i] = common_pointwise_check_make_view(output ? to : from, layout, i, output);
    }
}

double tn_flushed(double x, double least_normal)
{
    return fabs(x) < least_normal ? fabs(x) : 0;
}

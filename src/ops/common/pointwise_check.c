/* Awkward cases of operations on elements, each kind of layout, past a piece of a work-item; and
 * what their references share. */
#include "check/awkward.h"
#include "ops/common/pointwise.h"

#include <math.h>

static tenon_tensor make_view(uint32_t type, tn_layout layout, uint32_t operand, bool output)
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
        const bool output = i >= operation->operand_count - operation->output_count;
        c->views[i] = make_view(output ? to : from, layout, i, output);
    }
}

double tn_flushed(double x, double least_normal)
{
    return fabs(x) < least_normal ? fabs(x) : 0;
}

tenon_status tn_twins_check(tenon_stream *stream, const char *operation, const tn_choice *choice,
                            const tn_problem *problem, const double *scalars, tn_twin *twins,
                            uint32_t count, uint32_t outputs, const tn_bounded *expected,
                            bool *right, char why[256])
{
    TN_TRY(tn_twin_run(stream, operation, choice, problem, scalars, twins, count));
    for (uint32_t i = count - outputs; i < count && *right; i++) {
        TN_TRY(tn_twin_fetch(stream, &twins[i]));
        *right = tn_host_within(&twins[i].host, expected, why);
        expected += tenon_tensor_elements(&twins[i].host);
    }
    return TENON_OK;
}

/* tenon_conv_forward_packed: convolution with packed filters. */
#include "dispatch/operation.h"
#include "dispatch/plan.h"
#include "ops/conv/problem/problem.h"
#include "ops/packed/internal.h"
#include "ops/registry.h"

TENON_API tenon_status tenon_conv_forward_packed(tenon_stream *stream,
                                                 const tenon_conv_params *params,
                                                 const tenon_tensor *x, const tenon_packed *packed,
                                                 const tenon_tensor *c, const tenon_tensor *bias,
                                                 const tenon_tensor *y, const tenon_sync *sync)
{
    static const char caller[] = "tenon_conv_forward_packed";
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_packed_check(caller, stream->context, packed, PACKED_FILTER));
    const tenon_tensor w = tn_packed_dense(packed);
    const tenon_tensor *const views[] = {x, &w, c, bias, y};
    return tn_operation_run_as(caller, &tn_operation_conv, stream, params, views, sync);
}

TENON_API tenon_status tenon_conv_forward_packed_plan(
    tenon_context *context, const tenon_conv_params *params, const tenon_tensor *x,
    const tenon_packed *packed, const tenon_tensor *c, const tenon_tensor *bias,
    const tenon_tensor *y, tenon_plan **plan)
{
    static const char caller[] = "tenon_conv_forward_packed_plan";
    TN_TRY(tn_plan_check(caller, context, plan));
    TN_TRY(tn_packed_check(caller, context, packed, PACKED_FILTER));
    const tenon_tensor w = tn_packed_dense(packed);
    const tenon_tensor *const views[] = {x, &w, c, bias, y};
    TN_TRY(tn_operation_plan_as(caller, &tn_operation_conv, context, params, views, plan));
    tn_packed_keep(*plan, CONV_W, packed);
    return TENON_OK;
}

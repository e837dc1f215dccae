/* tenon_conv_forward_packed: convolution with packed filters. With dense filters it is
 * tenon_conv_forward. If the images have their channels last, filters of one element in panels are
 * multiplied as a packed matrix by the pixels, and others by the solvers of conv_packed, which also
 * serve images in any order if the filters are transformed. */
#include "base/checked.h"
#include "dispatch/operation.h"
#include "dispatch/plan.h"
#include "ops/conv/problem/problem.h"
#include "ops/packed/internal.h"
#include "ops/registry.h"

#include <string.h>

/* Returns true if the parameters name a family, or one of its solvers. */
static bool names(const tenon_conv_params *params, const tn_family *family)
{
    const size_t length = strlen(family->name);
    const char *solver = params->solver;
    return solver != NULL && strncmp(solver, family->name, length) == 0 &&
           (solver[length] == '\0' || solver[length] == '/');
}

/* Returns true if the convolution is a product over all pixels: filters of one element, no groups,
 * and no results in the padding. */
static bool is_product(const tenon_packed *packed, const tenon_conv_params *params)
{
    const tenon_conv_geometry *g = &params->geometry;
    for (size_t d = 0; d < sizeof g->pad_begin / sizeof *g->pad_begin; d++)
        if (g->pad_begin[d] != 0 || g->pad_end[d] != 0)
            return false;
    return params->groups == 1 && tn_packed_is_pointwise(packed);
}

/* Minimum number of pixels per product if an image needs several products. Each of them reads all
 * panels. */
#define LEAST_PIXELS 12

/* Returns true if the channels of a pixel are contiguous. */
static bool has_channels_last(const tenon_tensor *view)
{
    return view != NULL && view->rank >= 3 && view->rank <= 2 + TENON_MAX_SPATIAL &&
           view->stride[1] == 1;
}

/* Returns true if the pixels of an image are the rows of one matrix, or of matrices with many rows.
 * Pixels that a stride skips, and gaps between lines, separate matrices. */
static bool has_long_products(const tenon_conv_geometry *g, const tenon_tensor *x,
                              const tenon_tensor *y)
{
    int64_t pixels = 1, x_next = 0, y_next = 0; /* strides that would continue the matrix */
    for (uint32_t d = y->rank - 1; d >= 2 && pixels < LEAST_PIXELS; d--) {
        const int64_t size = y->shape[d];
        int64_t x_stride;
        if (size == 1)
            continue;
        if (!tn_mul_i64(x->stride[d], g->stride[d - 2], &x_stride) ||
            (pixels > 1 && (x_stride != x_next || y->stride[d] != y_next)))
            return false;
        if (!tn_mul_i64(x_stride, size, &x_next) || !tn_mul_i64(y->stride[d], size, &y_next) ||
            !tn_mul_i64(pixels, size, &pixels))
            return false;
    }
    return true;
}

/* Returns true if the convolution may use filters that were transformed when they were packed. */
static bool may_use_transformed(const tenon_packed *packed, const tenon_conv_params *params)
{
    const tenon_conv_geometry *g = &params->geometry;
    return packed->transformed.panel > 0 && (params->flags & TENON_CONV_EXACT) == 0 &&
           g->stride[0] == 1 && g->stride[1] == 1 && g->dilation[0] == 1 && g->dilation[1] == 1;
}

/* Returns the operation that serves a call: for filters in panels the product over all pixels, or
 * the family conv_packed, if the solver is one of theirs; or, without a solver, on CPUs if the
 * images have their channels last or the filters are transformed. All others read the dense
 * filters. The views need not be valid. */
static const tn_operation *serving(const tenon_packed *packed, const tenon_conv_params *params,
                                   const tenon_tensor *x, const tenon_tensor *y)
{
    const bool multiplies = is_product(packed, params);
    if (packed->layout != PACKED_FILTER_PANELS)
        return &tn_conv_by_dense;
    if (params->solver != NULL)
        return names(params, &tn_conv_packed_family)                 ? &tn_conv_by_filters
               : multiplies && names(params, &tn_gemm_packed_family) ? &tn_conv_by_pixels
                                                                     : &tn_conv_by_dense;
    if (packed->context->device.is_cpu && may_use_transformed(packed, params))
        return &tn_conv_by_filters;
    if (!packed->context->device.is_cpu || !has_channels_last(x) || !has_channels_last(y) ||
        x->rank != y->rank)
        return &tn_conv_by_dense;
    return multiplies && has_long_products(&params->geometry, x, y) ? &tn_conv_by_pixels
                                                                    : &tn_conv_by_filters;
}

/* A call: the operation that serves it, its parameters, and the view that it gets as w. */
typedef struct filter_call {
    const tn_operation *operation;
    filter_params params;
    tenon_tensor w;
} filter_call;

/* Selects the operation. All take filter_params, which begins with the convolution's. */
static tenon_status select_operation(const char *caller, const tenon_conv_params *given,
                                     const tenon_packed *packed, const tenon_tensor *x,
                                     const tenon_tensor *y, filter_call *call)
{
    TN_TRY(tn_filters_take_params(caller, given, packed, &call->params));
    call->operation = serving(packed, &call->params.conv, x, y);
    call->w = call->operation == &tn_conv_by_dense ? tn_packed_dense(packed) : packed->memory;
    return TENON_OK;
}

TENON_API tenon_status tenon_conv_forward_packed(tenon_stream *stream,
                                                 const tenon_conv_params *params,
                                                 const tenon_tensor *x, const tenon_packed *packed,
                                                 const tenon_tensor *c, const tenon_tensor *bias,
                                                 const tenon_tensor *y, const tenon_sync *sync)
{
    const char *caller = tn_conv_by_pixels.name;
    filter_call call;
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_packed_check(caller, stream->context, packed, PACKED_FILTER));
    TN_TRY(tn_packed_check_types(caller, packed, "x", x, "y", y));
    TN_TRY(select_operation(caller, params, packed, x, y, &call));
    const tenon_tensor *const views[] = {x, &call.w, c, bias, y};
    return tn_operation_run_as(caller, call.operation, stream, &call.params, views, sync);
}

TENON_API tenon_status tenon_conv_forward_packed_plan(
    tenon_context *context, const tenon_conv_params *params, const tenon_tensor *x,
    const tenon_packed *packed, const tenon_tensor *c, const tenon_tensor *bias,
    const tenon_tensor *y, tenon_plan **plan)
{
    const char *caller = tn_conv_by_pixels.plan_name;
    filter_call call;
    TN_TRY(tn_plan_check(caller, context, plan));
    TN_TRY(tn_packed_check(caller, context, packed, PACKED_FILTER));
    TN_TRY(tn_packed_check_types(caller, packed, "x", x, "y", y));
    TN_TRY(select_operation(caller, params, packed, x, y, &call));
    const tenon_tensor *const views[] = {x, &call.w, c, bias, y};
    TN_TRY(tn_operation_plan_as(caller, call.operation, context, &call.params, views, plan));
    tn_packed_keep(*plan, CONV_W, packed);
    return TENON_OK;
}

/* tenon_conv_forward_packed: convolution with packed filters. With dense filters it is
 * tenon_conv_forward. If the images have their channels last, filters of one element in panels are
 * multiplied as a packed matrix by the pixels, and others by the solvers of conv_packed. */
#include "base/checked.h"
#include "dispatch/operation.h"
#include "dispatch/plan.h"
#include "ops/conv/problem/problem.h"
#include "ops/packed/internal.h"
#include "ops/registry.h"

#include <stddef.h>
#include <string.h>

/* Rank of the views of a product over the pixels: n, o, p, and the matrix of q and channels. */
#define PIXELS_RANK 5

/* Returns a view of images, whose pixels are the rows of a matrix with the given columns. */
static tenon_tensor pixels_of(const conv_problem *p, int64_t columns, const int64_t stride[],
                              const int64_t step[3])
{
    const int64_t *out = p->window.out;
    return (tenon_tensor){.dtype = (tenon_dtype)p->dtype,
                          .rank = PIXELS_RANK,
                          .shape = {p->n, out[0], out[1], out[2], columns},
                          .stride = {stride[0], step[0] * stride[2], step[1] * stride[3],
                                     step[2] * stride[4], stride[1]}};
}

/* Makes the product of the images' pixels and the panels. Its operands have the numbers of the
 * convolution's. */
static tenon_status multiply_pixels(const char *caller, const filter_params *params,
                                    const conv_problem *p, packed_problem *problem, bool *empty)
{
    static const int64_t one[] = {1, 1, 1};
    const tenon_gemm_params gemm = {.struct_size = sizeof gemm, .epilogue = params->conv.epilogue};
    const tenon_tensor x = pixels_of(p, p->c, p->x, p->window.stride);
    const tenon_tensor y = pixels_of(p, p->k, p->y, one), c = pixels_of(p, p->k, p->res, one);
    const tenon_tensor bias = {
        .dtype = (tenon_dtype)p->dtype, .rank = 1, .shape = {p->k}, .stride = {p->bias}};
    const tenon_tensor *const views[GEMM_OPERANDS] = {
        &x, NULL, (p->flags & CONV_HAS_C) != 0 ? &c : NULL,
        (p->flags & CONV_HAS_BIAS) != 0 ? &bias : NULL, &y};
    return tn_gemm_packed_canonicalize(caller, &gemm, params->packed, views, problem, empty);
}

static tenon_status prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    conv_problem conv;
    TN_TRY(tn_filters_prepare(given, call, &conv, empty));
    return *empty ? TENON_OK
                  : multiply_pixels(call->caller, given, &conv, (packed_problem *)problem, empty);
}

static const filter_params filter_defaults = {
    .conv = {.struct_size = sizeof(filter_params), .epilogue = TENON_EPILOGUE_INIT}};
static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, filter_params, conv.flags),
                                  TN_FIELD("groups", TN_FIELD_I64, filter_params, conv.groups),
                                  TN_GEOMETRY_FIELDS(filter_params, conv.geometry),
                                  TN_EPILOGUE_FIELDS(filter_params, conv.epilogue)};

/* Description of the convolution with filters in panels, by the solvers of the packed product. */
static const tn_operation by_panels = {
    .name = "tenon_conv_forward_packed",
    .plan_name = "tenon_conv_forward_packed_plan",
    .family = &tn_gemm_packed_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "w"},
                 {.name = "c", .image = true, .optional = true, .role = TN_INPUT_OR_SAME},
                 {.name = "bias", .optional = true},
                 {.name = "y", .image = true, .role = TN_OUTPUT}},
    .operand_count = CONV_OPERANDS,
    TN_FIELDS(fields),
    TN_OWN_PARAMS(filter_defaults),
    .flags = TENON_CONV_EXACT,
    TN_PROBLEM(packed_problem),
    .prepare = prepare,
    .channels_last = tn_filters_channels_last,
};

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

/* Returns the operation that serves a call: for filters in panels the product over all pixels, or
 * the family conv_packed, if the solver is one of theirs; or, without a solver, on CPUs if the
 * images have their channels last. All others read the dense filters. The views need not be valid.
 */
static const tn_operation *serving(const tenon_packed *packed, const tenon_conv_params *params,
                                   const tenon_tensor *x, const tenon_tensor *y)
{
    const bool multiplies = is_product(packed, params);
    if (packed->layout != PACKED_FILTER_PANELS)
        return &tn_operation_conv;
    if (params->solver != NULL)
        return names(params, &tn_conv_packed_family)                 ? &tn_conv_by_filters
               : multiplies && names(params, &tn_gemm_packed_family) ? &by_panels
                                                                     : &tn_operation_conv;
    if (!packed->context->device.is_cpu || !has_channels_last(x) || !has_channels_last(y) ||
        x->rank != y->rank)
        return &tn_operation_conv;
    return multiplies && has_long_products(&params->geometry, x, y) ? &by_panels
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
    call->w = call->operation == &tn_operation_conv ? tn_packed_dense(packed) : packed->memory;
    call->params.conv.struct_size = (uint32_t)call->operation->params_size;
    return TENON_OK;
}

TENON_API tenon_status tenon_conv_forward_packed(tenon_stream *stream,
                                                 const tenon_conv_params *params,
                                                 const tenon_tensor *x, const tenon_packed *packed,
                                                 const tenon_tensor *c, const tenon_tensor *bias,
                                                 const tenon_tensor *y, const tenon_sync *sync)
{
    const char *caller = by_panels.name;
    filter_call call;
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_packed_check(caller, stream->context, packed, PACKED_FILTER));
    TN_TRY(select_operation(caller, params, packed, x, y, &call));
    const tenon_tensor *const views[] = {x, &call.w, c, bias, y};
    return tn_operation_run_as(caller, call.operation, stream, &call.params, views, sync);
}

TENON_API tenon_status tenon_conv_forward_packed_plan(
    tenon_context *context, const tenon_conv_params *params, const tenon_tensor *x,
    const tenon_packed *packed, const tenon_tensor *c, const tenon_tensor *bias,
    const tenon_tensor *y, tenon_plan **plan)
{
    const char *caller = by_panels.plan_name;
    filter_call call;
    TN_TRY(tn_plan_check(caller, context, plan));
    TN_TRY(tn_packed_check(caller, context, packed, PACKED_FILTER));
    TN_TRY(select_operation(caller, params, packed, x, y, &call));
    const tenon_tensor *const views[] = {x, &call.w, c, bias, y};
    TN_TRY(tn_operation_plan_as(caller, call.operation, context, &call.params, views, plan));
    tn_packed_keep(*plan, CONV_W, packed);
    return TENON_OK;
}

/* Descriptions (dispatch/operation.h) of tenon_gather_forward, tenon_gather_backward and
 * tenon_scatter. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

static const char *const modes[] = {"slices", "elements", "tuples", NULL};
static const char *const scatter_ops[] = {"set", "add", "multiply", "min", "max", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_gather_params), TN_FIELD("axis", TN_FIELD_I32, tenon_gather_params, axis),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_gather_params, mode, modes)};
static const tn_field scatter_fields[] = {
    TN_FLAGS_FIELD(tenon_scatter_params),
    TN_FIELD("axis", TN_FIELD_I32, tenon_scatter_params, axis),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_scatter_params, mode, modes),
    TN_FIELD_WORDS("op", TN_FIELD_U32, tenon_scatter_params, op, scatter_ops)};

static const tenon_gather_params gather_defaults = TENON_GATHER_PARAMS_INIT;
static const tenon_scatter_params scatter_defaults = TENON_SCATTER_PARAMS_INIT;

TENON_API void tenon_gather_params_default(tenon_gather_params *params, uint32_t size)
{
    tn_params_give(params, size, &gather_defaults, sizeof gather_defaults);
}

TENON_API void tenon_scatter_params_default(tenon_scatter_params *params, uint32_t size)
{
    tn_params_give(params, size, &scatter_defaults, sizeof scatter_defaults);
}

TENON_API tenon_status tenon_gather_forward(tenon_stream *stream, const tenon_gather_params *params,
                                            const tenon_tensor *x, const tenon_tensor *indices,
                                            const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_gather, x, indices, y);
}

TENON_API tenon_status tenon_gather_forward_plan(tenon_context *context,
                                                 const tenon_gather_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *indices,
                                                 const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_gather, x, indices, y);
}

TENON_API tenon_status tenon_gather_backward(tenon_stream *stream,
                                             const tenon_gather_params *params,
                                             const tenon_tensor *dy, const tenon_tensor *indices,
                                             const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_gather_backward, dy, indices, dx);
}

TENON_API tenon_status tenon_gather_backward_plan(tenon_context *context,
                                                  const tenon_gather_params *params,
                                                  const tenon_tensor *dy,
                                                  const tenon_tensor *indices,
                                                  const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_gather_backward, dy, indices, dx);
}

TENON_API tenon_status tenon_scatter(tenon_stream *stream, const tenon_scatter_params *params,
                                     const tenon_tensor *updates, const tenon_tensor *indices,
                                     const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_scatter, updates, indices, y);
}

TENON_API tenon_status tenon_scatter_plan(tenon_context *context,
                                          const tenon_scatter_params *params,
                                          const tenon_tensor *updates, const tenon_tensor *indices,
                                          const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_scatter, updates, indices, y);
}

static const char *const forward_examples[] = {
    "gather x=T:4x5 indices=i32:7 y=T:7x5",
    "gather x=T:37x700+2 indices=i32:3x11 y=T:3x11x700",
    "gather x=T:13x29x3 indices=i32:50/2 y=T:13x50x3 axis=1",
    "gather x=u8:40x13 indices=i32:9 y=u8:40x9 axis=-1",
    "gather x=i32:40x13 indices=i32:9 y=i32:40x9 axis=-1",
    "gather x=T:40x13x5 indices=i32:40x9x4 y=T:40x9x4 axis=1 mode=elements flags=1",
    "gather x=T:5x7x11x30 indices=i32:5x23x2 y=T:5x23x30 axis=1 mode=tuples flags=1",
    NULL,
};

static const char *const backward_examples[] = {
    "gather_backward dy=T:7x5 indices=i32:7 dx=T:4x5",
    "gather_backward dy=T:3x11x700 indices=i32:3x11 dx=T:37x700/710,1",
    "gather_backward dy=T:13x5000x3 indices=i32:5000 dx=T:13x29x3 axis=1",
    "gather_backward dy=T:40x9x4 indices=i32:40x9x4 dx=T:40x13x5 axis=1 mode=elements",
    "gather_backward dy=T:5x23x30 indices=i32:5x23x2 dx=T:5x7x11x30 axis=1 mode=tuples",
    NULL,
};

static const char *const scatter_examples[] = {
    "scatter updates=T:7x5 indices=i32:7 y=T:4x5 op=add",
    "scatter updates=T:3x11x700 indices=i32:3x11 y=T:37x700/710,1 op=multiply",
    "scatter updates=T:40x9x4 indices=i32:40x9x4 y=T:40x13x5 axis=1 mode=elements",
    "scatter updates=T:40x9x4 indices=i32:40x9x4 y=T:40x13x5 axis=1 mode=elements op=max flags=1",
    "scatter updates=T:5x23x30 indices=i32:5x23x2 y=T:5x7x11x30 axis=1 mode=tuples op=min",
    "scatter updates=T:100000 indices=i32:100000 y=T:30000 op=add",
    "scatter updates=i32:50x13 indices=i32:50 y=i32:40x13 op=min",
    "scatter updates=u8:50x13 indices=i32:50 y=u8:40x13 op=add",
    NULL,
};

/* Appends the dimensions of a view from `first` to before `end`. */
static bool append_sizes(tenon_tensor *output, const tenon_tensor *view, int64_t first, int64_t end)
{
    bool fits = true;
    for (int64_t d = first; fits && d < end; d++)
        fits = tn_shape_append(output, view->shape[d]);
    return fits;
}

static bool gather_shape(const void *given, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_gather_params *params = given;
    const tenon_tensor *x = views[GATHER_FROM], *indices = views[GATHER_INDICES];
    uint32_t axis;
    if (!tn_shape_axis(params->axis, x->rank, &axis))
        return false;
    if (params->mode == TENON_INDEX_ELEMENTS)
        return tn_shape_set(output, x->dtype, indices->rank, indices->shape);
    if (params->mode == TENON_INDEX_TUPLES) {
        const uint32_t last = indices->rank - 1;
        return indices->rank > axis && indices->shape[last] <= x->rank - axis &&
               tn_shape_set(output, x->dtype, last, indices->shape) &&
               append_sizes(output, x, axis + indices->shape[last], x->rank);
    }
    return tn_shape_set(output, x->dtype, axis, x->shape) &&
           append_sizes(output, indices, 0, indices->rank) &&
           append_sizes(output, x, axis + 1, x->rank);
}

const tn_operation tn_operation_gather = {
    TN_NAMES("tenon_gather_forward"),
    .family = &tn_gather_family,
    .operands = {{.name = "x"},
                 {.name = "indices"},
                 {.name = "y", .role = TN_OUTPUT, .shape = gather_shape}},
    .operand_count = GATHER_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(gather_defaults, TENON_GATHER_PARAMS_INIT),
    .flags = TENON_INDEX_FROM_END,
    TN_PROBLEM(gather_problem),
    .prepare = tn_gather_prepare,
    .reference = tn_gather_reference,
    .fill_valid = tn_gather_fill_valid,
    .examples = forward_examples,
    .converts = true,
};

const tn_operation tn_operation_gather_backward = {
    TN_NAMES("tenon_gather_backward"),
    .family = &tn_gather_backward_family,
    .operands = {{.name = "dy"}, {.name = "indices"}, {.name = "dx", .role = TN_OUTPUT}},
    .operand_count = GATHER_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(gather_defaults, TENON_GATHER_PARAMS_INIT),
    .flags = TENON_INDEX_FROM_END,
    TN_PROBLEM(scatter_problem),
    .prepare = tn_gather_backward_prepare,
    .reference = tn_gather_backward_reference,
    .fill_valid = tn_gather_backward_fill_valid,
    .examples = backward_examples,
};

const tn_operation tn_operation_scatter = {
    TN_NAMES("tenon_scatter"),
    .family = &tn_scatter_family,
    .operands = {{.name = "updates"},
                 {.name = "indices"},
                 {.name = "y", .read = true, .role = TN_OUTPUT}},
    .operand_count = GATHER_OPERANDS,
    TN_FIELDS(scatter_fields),
    TN_PARAMS(scatter_defaults, TENON_SCATTER_PARAMS_INIT),
    .flags = TENON_INDEX_FROM_END,
    TN_PROBLEM(scatter_problem),
    .prepare = tn_scatter_prepare,
    .reference = tn_scatter_reference,
    .fill_valid = tn_scatter_fill_valid,
    .examples = scatter_examples,
    .converts = true,
};

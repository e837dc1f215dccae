/* Descriptions (dispatch/operation.h) of tenon_segment_reduce, tenon_segment_reduce_backward and
 * tenon_segment_scan. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/registry.h"
#include "ops/segment/internal.h"

#include <string.h>

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_segment_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_segment_params, kind, tn_segment_words)};
static const tn_field scan_fields[] = {
    TN_FLAGS_FIELD(tenon_segment_scan_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_segment_scan_params, kind, tn_segment_words),
    TN_FIELD("axis", TN_FIELD_I32, tenon_segment_scan_params, axis)};

static const tenon_segment_params segment_defaults = TENON_SEGMENT_PARAMS_INIT;

TENON_API void tenon_segment_params_default(tenon_segment_params *params, uint32_t size)
{
    tn_params_give(params, size, &segment_defaults, sizeof segment_defaults);
}

TENON_API tenon_status tenon_segment_reduce(tenon_stream *stream,
                                            const tenon_segment_params *params,
                                            const tenon_tensor *x, const tenon_tensor *indices,
                                            const tenon_tensor *weights,
                                            const tenon_tensor *segments, const tenon_tensor *y,
                                            const tenon_sync *sync)
{
    return TN_RUN(tn_operation_segment_reduce, x, indices, weights, segments, y);
}

TENON_API tenon_status tenon_segment_reduce_plan(tenon_context *context,
                                                 const tenon_segment_params *params,
                                                 const tenon_tensor *x, const tenon_tensor *indices,
                                                 const tenon_tensor *weights,
                                                 const tenon_tensor *segments,
                                                 const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_segment_reduce, x, indices, weights, segments, y);
}

TENON_API tenon_status tenon_segment_reduce_backward(
    tenon_stream *stream, const tenon_segment_params *params, const tenon_tensor *dy,
    const tenon_tensor *indices, const tenon_tensor *weights, const tenon_tensor *segments,
    const tenon_tensor *dx, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_segment_reduce_backward, dy, indices, weights, segments, dx);
}

TENON_API tenon_status tenon_segment_reduce_backward_plan(
    tenon_context *context, const tenon_segment_params *params, const tenon_tensor *dy,
    const tenon_tensor *indices, const tenon_tensor *weights, const tenon_tensor *segments,
    const tenon_tensor *dx, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_segment_reduce_backward, dy, indices, weights, segments, dx);
}

TENON_API tenon_status tenon_segment_reduce_backward_weights(
    tenon_stream *stream, const tenon_segment_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *indices, const tenon_tensor *segments,
    const tenon_tensor *dweights, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_segment_reduce_backward_weights, x, dy, indices, segments, dweights);
}

TENON_API tenon_status tenon_segment_reduce_backward_weights_plan(
    tenon_context *context, const tenon_segment_params *params, const tenon_tensor *x,
    const tenon_tensor *dy, const tenon_tensor *indices, const tenon_tensor *segments,
    const tenon_tensor *dweights, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_segment_reduce_backward_weights, x, dy, indices, segments,
                   dweights);
}

static const tenon_segment_scan_params segment_scan_defaults = TENON_SEGMENT_SCAN_PARAMS_INIT;

TENON_API void tenon_segment_scan_params_default(tenon_segment_scan_params *params, uint32_t size)
{
    tn_params_give(params, size, &segment_scan_defaults, sizeof segment_scan_defaults);
}

TENON_API tenon_status tenon_segment_scan(tenon_stream *stream,
                                          const tenon_segment_scan_params *params,
                                          const tenon_tensor *x, const tenon_tensor *segments,
                                          const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_segment_scan, x, segments, y);
}

TENON_API tenon_status tenon_segment_scan_plan(tenon_context *context,
                                               const tenon_segment_scan_params *params,
                                               const tenon_tensor *x, const tenon_tensor *segments,
                                               const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_segment_scan, x, segments, y);
}

static const char *const reduce_examples[] = {
    "segment_reduce x=T:9x7 indices=i32:21 weights=T:21 segments=i32:6 y=T:5x7",
    "segment_reduce x=T:1000x64 indices=i64:3000 segments=i32:301 y=T:300x64 kind=mean",
    "segment_reduce x=T:40001 segments=i32:40001 y=T:700 flags=1",
    "segment_reduce x=i32:3001x5 segments=i32:41 y=i32:40x5 kind=max",
    "segment_reduce x=T:3000x2x3 y=T:100x2x3 kind=product",
    NULL,
};

static const char *const backward_examples[] = {
    "segment_reduce_backward dy=T:5x7 indices=i32:21 weights=T:21 segments=i32:6 dx=T:9x7",
    "segment_reduce_backward dy=T:300x64 indices=i64:3000 segments=i32:301 dx=T:1000x64 kind=mean",
    "segment_reduce_backward dy=T:70x5 segments=i32:4001 dx=T:4001x5 flags=1",
    NULL,
};

static const char *const weights_examples[] = {
    "segment_reduce_backward_weights x=T:9x7 dy=T:5x7 indices=i32:21 segments=i32:6 dweights=T:21",
    "segment_reduce_backward_weights x=T:1000x64 dy=T:300x64 indices=i64:3000 segments=i64:301 "
    "dweights=T:3000 kind=mean",
    "segment_reduce_backward_weights x=T:4001x5 dy=T:70x5 segments=i32:4001 dweights=T:4001 "
    "flags=1",
    NULL,
};

static const char *const scan_examples[] = {
    "segment_scan x=T:3x7 segments=i32:7 y=T:3x7",
    "segment_scan x=T:100003+1 segments=i32:100003 y=T:100003",
    "segment_scan x=T:37x70/80,1 segments=i32:37x1 y=T:37x70 axis=0 kind=max flags=3",
    "segment_scan x=i32:3x100003 segments=i32:3x100003 y=i32:3x100003 kind=min flags=2",
    NULL,
};

/* Only offsets tell the number of segments. */
static bool reduced_shape(const void *params, const tenon_tensor *const *views,
                          tenon_tensor *output)
{
    const tenon_segment_params *p = params;
    const tenon_tensor *x = views[0], *offsets = views[3];
    if (offsets == NULL || (p->flags & TENON_SEGMENT_IDS) != 0 || x->rank == 0 ||
        offsets->rank != 1 || offsets->shape[0] == 0)
        return false;
    int64_t shape[TENON_MAX_RANK];
    memcpy(shape, x->shape, sizeof shape);
    shape[0] = offsets->shape[0] - 1;
    return tn_shape_set(output, x->dtype, x->rank, shape);
}

const tn_operation tn_operation_segment_reduce = {
    TN_NAMES("tenon_segment_reduce"),
    .family = &tn_segment_reduce_family,
    .operands = {{.name = "x"},
                 {.name = "indices", .optional = true},
                 {.name = "weights", .optional = true},
                 {.name = "segments", .optional = true},
                 {.name = "y", .role = TN_OUTPUT, .shape = reduced_shape}},
    .operand_count = SEGMENT_OPERANDS,
    .flags = TENON_SEGMENT_IDS,
    TN_FIELDS(fields),
    TN_PARAMS(segment_defaults, TENON_SEGMENT_PARAMS_INIT),
    TN_PROBLEM(segment_problem),
    .prepare = tn_segment_reduce_prepare,
    .reference = tn_segment_reduce_reference,
    .fill_valid = tn_segment_reduce_fill_valid,
    .is_measurable = true,
    .examples = reduce_examples,
    .converts = true,
};

const tn_operation tn_operation_segment_reduce_backward = {
    TN_NAMES("tenon_segment_reduce_backward"),
    .family = &tn_segment_reduce_backward_family,
    .operands = {{.name = "dy"},
                 {.name = "indices", .optional = true},
                 {.name = "weights", .optional = true},
                 {.name = "segments", .optional = true},
                 {.name = "dx", .role = TN_OUTPUT}},
    .operand_count = SEGMENT_OPERANDS,
    .flags = TENON_SEGMENT_IDS,
    TN_FIELDS(fields),
    TN_PARAMS(segment_defaults, TENON_SEGMENT_PARAMS_INIT),
    TN_PROBLEM(segment_problem),
    .prepare = tn_segment_reduce_backward_prepare,
    .reference = tn_segment_reduce_backward_reference,
    .fill_valid = tn_segment_reduce_backward_fill_valid,
    .is_measurable = true,
    .examples = backward_examples,
    .converts = true,
};

/* A weight for each position: of the indices, or of the rows of x. */
static bool weights_shape(const void *params, const tenon_tensor *const *views,
                          tenon_tensor *output)
{
    const tenon_tensor *x = views[SEGMENT_WEIGHTS_X], *indices = views[SEGMENT_WEIGHTS_INDICES];
    (void)params;
    if (x->rank == 0 || (indices != NULL && indices->rank != 1))
        return false;
    return tn_shape_set(output, x->dtype, 1, indices != NULL ? indices->shape : x->shape);
}

const tn_operation tn_operation_segment_reduce_backward_weights = {
    TN_NAMES("tenon_segment_reduce_backward_weights"),
    .family = &tn_segment_reduce_backward_weights_family,
    .operands = {{.name = "x"},
                 {.name = "dy"},
                 {.name = "indices", .optional = true},
                 {.name = "segments", .optional = true},
                 {.name = "dweights", .role = TN_OUTPUT, .shape = weights_shape}},
    .operand_count = SEGMENT_OPERANDS,
    .flags = TENON_SEGMENT_IDS,
    TN_FIELDS(fields),
    TN_PARAMS(segment_defaults, TENON_SEGMENT_PARAMS_INIT),
    TN_PROBLEM(segment_problem),
    .prepare = tn_segment_reduce_backward_weights_prepare,
    .reference = tn_segment_reduce_backward_weights_reference,
    .fill_valid = tn_segment_reduce_backward_weights_fill_valid,
    .is_measurable = true,
    .examples = weights_examples,
    .converts = true,
};

const tn_operation tn_operation_segment_scan = {
    TN_NAMES("tenon_segment_scan"),
    .family = &tn_segment_scan_family,
    .operands = {{.name = "x", .role = TN_INPUT_OR_SAME},
                 {.name = "segments"},
                 {.name = "y", .role = TN_OUTPUT, .shape = tn_shape_of_first}},
    .operand_count = SEGMENT_SCAN_OPERANDS,
    .flags = TENON_SEGMENT_SCAN_EXCLUSIVE | TENON_SEGMENT_SCAN_REVERSE,
    TN_FIELDS(scan_fields),
    TN_PARAMS(segment_scan_defaults, TENON_SEGMENT_SCAN_PARAMS_INIT),
    TN_PROBLEM(segment_scan_problem),
    .prepare = tn_segment_scan_prepare,
    .reference = tn_segment_scan_reference,
    .fill_valid = tn_segment_scan_fill_valid,
    .is_measurable = true,
    .examples = scan_examples,
    .converts = true,
};

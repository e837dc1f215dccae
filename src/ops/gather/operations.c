/* What tests and tools know of the operations of this family: see dispatch/operation.h. */
#include "check/case.h"
#include "ops/gather/internal.h"
#include "ops/registry.h"

static const tn_field fields[] = {TN_FLAGS_FIELD(tenon_gather_params),
                                  TN_FIELD("axis", TN_FIELD_I32, tenon_gather_params, axis)};

TN_OPERATION_DEFAULTS(gather, tenon_gather_params)
TN_OPERATION_CALLS(forward, tenon_gather_forward, v[0], v[1], v[2])
TN_OPERATION_CALLS(backward, tenon_gather_backward, v[0], v[1], v[2])

static uint32_t axis_of(const void *params, const tenon_tensor *table)
{
    const int32_t axis = ((const tenon_gather_params *)params)->axis;
    return (uint32_t)(axis < 0 ? axis + (int32_t)table->rank : axis);
}

static bool forward_reference(const void *params, const tenon_tensor *const *v,
                              tn_bounded *expected)
{
    return tn_gather_reference(axis_of(params, v[GATHER_FROM]), v[GATHER_FROM], v[GATHER_INDICES],
                               v[GATHER_TO], expected);
}

static bool backward_reference(const void *params, const tenon_tensor *const *v,
                               tn_bounded *expected)
{
    return tn_gather_backward_reference(axis_of(params, v[GATHER_TO]), v[GATHER_FROM],
                                        v[GATHER_INDICES], v[GATHER_TO], expected);
}

/* Indices within the table, but for one beyond it. */
static void put_indices(const void *params, const tenon_tensor *table, const tenon_tensor *indices,
                        uint64_t *seed)
{
    tn_case_integers(indices, 0, table->shape[axis_of(params, table)], seed);
}

static void settle_forward(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    put_indices(params, v[GATHER_FROM], v[GATHER_INDICES], seed);
}

static void settle_backward(const void *params, const tenon_tensor *const *v, uint64_t *seed)
{
    put_indices(params, v[GATHER_TO], v[GATHER_INDICES], seed);
}

static const char *const forward_examples[] = {
    "gather x=T:4x5 indices=i32:7 y=T:7x5",
    "gather x=T:37x700+2 indices=i32:3x11 y=T:3x11x700",
    "gather x=T:13x29x3 indices=i32:50/2 y=T:13x50x3 axis=1",
    "gather x=u8:40x13 indices=i32:9 y=u8:40x9 axis=-1",
    "gather x=i32:40x13 indices=i32:9 y=i32:40x9 axis=-1",
    NULL,
};

static const char *const backward_examples[] = {
    "gather_backward dy=T:7x5 indices=i32:7 dx=T:4x5",
    "gather_backward dy=T:3x11x700 indices=i32:3x11 dx=T:37x700/710,1",
    "gather_backward dy=T:13x5000x3 indices=i32:5000 dx=T:13x29x3 axis=1",
    NULL,
};

const tn_operation tn_operation_gather = {
    .name = "tenon_gather_forward",
    .family = &tn_gather_family,
    .operands = {{.name = "x"}, {.name = "indices"}, {.name = "y"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_gather_params),
    .defaults = default_gather,
    .run = run_forward,
    .plan = plan_forward,
    .reference = forward_reference,
    .settle = settle_forward,
    .examples = forward_examples,
    .converts = true,
};

const tn_operation tn_operation_gather_backward = {
    .name = "tenon_gather_backward",
    .family = &tn_gather_backward_family,
    .operands = {{.name = "dy"}, {.name = "indices"}, {.name = "dx"}},
    .operand_count = 3,
    .output_count = 1,
    .fields = fields,
    .field_count = TN_FIELD_COUNT(fields),
    .params_size = sizeof(tenon_gather_params),
    .defaults = default_gather,
    .run = run_backward,
    .plan = plan_backward,
    .reference = backward_reference,
    .settle = settle_backward,
    .examples = backward_examples,
};

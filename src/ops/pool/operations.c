/* Descriptions (dispatch/operation.h) of tenon_pool_forward and tenon_pool_backward. */
#include "dispatch/operation.h"
#include "ops/common/output_shape.h"
#include "ops/pool/internal.h"
#include "ops/registry.h"

static const char *const kinds[] = {"max", "average", "average_inside", "lp", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_pool_params),
    TN_FIELD_WORDS("kind", TN_FIELD_U32, tenon_pool_params, kind, kinds),
    TN_FIELD_ARRAY("window", TN_FIELD_I64, tenon_pool_params, window),
    TN_GEOMETRY_FIELDS(tenon_pool_params, geometry),
    TN_FIELD_FIXED("p", TN_FIELD_F64, tenon_pool_params, p)};

static const tenon_pool_params pool_defaults = TENON_POOL_PARAMS_INIT;

TENON_API void tenon_pool_params_default(tenon_pool_params *params, uint32_t size)
{
    tn_params_give(params, size, &pool_defaults, sizeof pool_defaults);
}

TENON_API tenon_status tenon_pool_forward(tenon_stream *stream, const tenon_pool_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          const tenon_tensor *indices, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_pool, x, y, indices);
}

TENON_API tenon_status tenon_pool_forward_plan(tenon_context *context,
                                               const tenon_pool_params *params,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               const tenon_tensor *indices, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_pool, x, y, indices);
}

TENON_API tenon_status tenon_pool_backward(tenon_stream *stream, const tenon_pool_params *params,
                                           const tenon_tensor *x, const tenon_tensor *dy,
                                           const tenon_tensor *indices, const tenon_tensor *dx,
                                           const tenon_sync *sync)
{
    return TN_RUN(tn_operation_pool_backward, x, dy, indices, dx);
}

TENON_API tenon_status tenon_pool_backward_plan(tenon_context *context,
                                                const tenon_pool_params *params,
                                                const tenon_tensor *x, const tenon_tensor *dy,
                                                const tenon_tensor *indices, const tenon_tensor *dx,
                                                tenon_plan **plan)
{
    return TN_PLAN(tn_operation_pool_backward, x, dy, indices, dx);
}

static const char *const forward_examples[] = {
    "pool x=T:2x3x5x6 y=T:2x3x5x5 indices=i32:2x3x5x5 window=1,2",
    "pool x=T:2x19x37x41+3 y=T:2x19x19x21 indices=i32:2x19x19x21 window=3,3 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    "pool x=T:2x35x17x19/11305,1,665,35 y=T:2x35x8x9/2520,1,315,35 kind=average window=2,2 "
    "stride=2,2",
    "pool x=T:3x7x100 y=T:3x7x33 kind=average_inside window=5 stride=3 pad_begin=1 pad_end=1",
    "pool x=T:2x5x6x7x8 y=T:2x5x3x3x4 window=2,3,2 stride=2,2,2",
    "pool x=T:2x70x9x9 y=T:2x70x1x1 kind=average flags=1",
    "pool x=T:2x5x17x19 y=T:2x5x6x7 kind=lp window=3,3 stride=3,3 pad_begin=1,1 p=3 flags=2",
    "pool x=T:2x5x17x19 y=T:2x5x6x7 kind=average flags=4",
    NULL,
};

static bool pool_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_tensor *x = views[0];
    bool fits = x->rank >= 3 && x->rank <= 2 + TENON_MAX_SPATIAL &&
                tn_shape_set(output, x->dtype, x->rank, x->shape);
    for (uint32_t d = 2; fits && d < x->rank; d++) {
        output->shape[d] = tenon_pool_output_size(params, d - 2, x->shape[d]);
        fits = output->shape[d] >= 0;
    }
    return fits;
}

static bool pool_indices_shape(const void *params, const tenon_tensor *const *views,
                               tenon_tensor *output)
{
    const bool fits = pool_shape(params, views, output);
    output->dtype = TENON_DTYPE_I32;
    return fits;
}

/* Only x, which not every kind reads, has the shape of dx. */
static bool pool_dx_shape(const void *params, const tenon_tensor *const *views,
                          tenon_tensor *output)
{
    return views[0] != NULL && tn_shape_of_first(params, views, output);
}

const tn_operation tn_operation_pool = {
    TN_NAMES("tenon_pool_forward"),
    .family = &tn_pool_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "y", .image = true, .role = TN_OUTPUT, .shape = pool_shape},
                 {.name = "indices",
                  .image = true,
                  .optional = true,
                  .role = TN_OPTIONAL_OUTPUT,
                  .shape = pool_indices_shape}},
    .operand_count = POOL_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(pool_defaults, TENON_POOL_PARAMS_INIT),
    .flags = TENON_POOL_GLOBAL | TENON_POOL_CEIL | TENON_POOL_ADAPTIVE,
    TN_PROBLEM(pool_problem),
    .prepare = tn_pool_prepare,
    .reference = tn_pool_reference,
    .examples = forward_examples,
};

static const char *const backward_examples[] = {
    "pool_backward x=T:2x3x5x6 dy=T:2x3x5x5 indices=i32:2x3x5x5 dx=T:2x3x5x6 window=1,2",
    "pool_backward x=T:2x19x37x41+3 dy=T:2x19x19x21 dx=T:2x19x37x41 window=3,3 stride=2,2 "
    "pad_begin=1,1 pad_end=1,1",
    "pool_backward dy=T:2x35x8x9/2520,1,315,35 dx=T:2x35x17x19/11305,1,665,35 kind=average "
    "window=2,2 stride=2,2",
    "pool_backward dy=T:3x7x33 indices=i32:3x7x33 dx=T:3x7x100 window=5 stride=3 pad_begin=1 "
    "pad_end=1",
    "pool_backward dy=T:2x70x1x1 dx=T:2x70x9x9 kind=average_inside flags=1",
    "pool_backward x=T:2x5x17x19 dy=T:2x5x6x7 dx=T:2x5x17x19 kind=lp window=3,3 stride=3,3 "
    "pad_begin=1,1 flags=2",
    "pool_backward x=T:2x5x17x19 dy=T:2x5x6x7 dx=T:2x5x17x19 flags=4",
    NULL,
};

const tn_operation tn_operation_pool_backward = {
    TN_NAMES("tenon_pool_backward"),
    .family = &tn_pool_backward_family,
    .operands = {{.name = "x", .image = true, .optional = true},
                 {.name = "dy", .image = true},
                 {.name = "indices", .image = true, .optional = true},
                 {.name = "dx", .image = true, .role = TN_OUTPUT, .shape = pool_dx_shape}},
    .operand_count = POOL_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(pool_defaults, TENON_POOL_PARAMS_INIT),
    .flags = TENON_POOL_GLOBAL | TENON_POOL_CEIL | TENON_POOL_ADAPTIVE,
    TN_PROBLEM(pool_problem),
    .prepare = tn_pool_backward_prepare,
    .reference = tn_pool_backward_reference,
    .fill_valid = tn_pool_backward_fill_valid,
    .examples = backward_examples,
};

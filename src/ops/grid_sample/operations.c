/* Description (dispatch/operation.h) of tenon_grid_sample. */
#include "ops/common/output_shape.h"
#include "ops/grid_sample/internal.h"
#include "ops/registry.h"

static const char *const modes[] = {"linear", "nearest", "cubic", NULL};
static const char *const paddings[] = {"zeros", "border", "reflection", NULL};

static const tn_field fields[] = {
    TN_FLAGS_FIELD(tenon_grid_sample_params),
    TN_FIELD_WORDS("mode", TN_FIELD_U32, tenon_grid_sample_params, mode, modes),
    TN_FIELD_WORDS("padding", TN_FIELD_U32, tenon_grid_sample_params, padding, paddings)};

static const tenon_grid_sample_params grid_defaults = TENON_GRID_SAMPLE_PARAMS_INIT;

TENON_API void tenon_grid_sample_params_default(tenon_grid_sample_params *params, uint32_t size)
{
    tn_params_give(params, size, &grid_defaults, sizeof grid_defaults);
}

TENON_API tenon_status tenon_grid_sample(tenon_stream *stream,
                                         const tenon_grid_sample_params *params,
                                         const tenon_tensor *x, const tenon_tensor *grid,
                                         const tenon_tensor *y, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_grid_sample, x, grid, y);
}

TENON_API tenon_status tenon_grid_sample_plan(tenon_context *context,
                                              const tenon_grid_sample_params *params,
                                              const tenon_tensor *x, const tenon_tensor *grid,
                                              const tenon_tensor *y, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_grid_sample, x, grid, y);
}

TENON_API tenon_status tenon_grid_sample_backward(tenon_stream *stream,
                                                  const tenon_grid_sample_params *params,
                                                  const tenon_tensor *x, const tenon_tensor *grid,
                                                  const tenon_tensor *dy, const tenon_tensor *dx,
                                                  const tenon_tensor *dgrid, const tenon_sync *sync)
{
    return TN_RUN(tn_operation_grid_sample_backward, x, grid, dy, dx, dgrid);
}

TENON_API tenon_status tenon_grid_sample_backward_plan(
    tenon_context *context, const tenon_grid_sample_params *params, const tenon_tensor *x,
    const tenon_tensor *grid, const tenon_tensor *dy, const tenon_tensor *dx,
    const tenon_tensor *dgrid, tenon_plan **plan)
{
    return TN_PLAN(tn_operation_grid_sample_backward, x, grid, dy, dx, dgrid);
}

static bool grid_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_tensor *x = views[GRID_X], *grid = views[GRID_PLACES];
    (void)params;
    if ((x->rank != 4 && x->rank != 5) || grid->rank != x->rank)
        return false;
    int64_t shape[] = {x->shape[0], x->shape[1], 0, 0, 0};
    for (uint32_t d = 2; d < x->rank; d++)
        shape[d] = grid->shape[d - 1];
    return tn_shape_set(output, x->dtype, x->rank, shape);
}

static const char *const examples[] = {
    "grid_sample x=T:2x3x5x6 grid=T:2x4x3x2 y=T:2x3x4x3",
    ("grid_sample x=T:2x19x9x11/1881,1,209,19 grid=S:2x7x8x2 y=T:2x19x7x8/1064,1,152,19 "
     "mode=cubic padding=reflection flags=1"),
    "grid_sample x=T:1x9x13x8 grid=T:1x6x5x2 y=T:1x9x6x5 mode=nearest padding=border",
    "grid_sample x=T:2x3x4x5x6 grid=S:2x3x4x2x3 y=T:2x3x3x4x2 padding=border",
    "grid_sample x=T:1x9x5x4x7 grid=T:1x2x3x4x3 y=T:1x9x2x3x4 mode=nearest padding=reflection",
    NULL,
};

static bool grid_dx_shape(const void *params, const tenon_tensor *const *views,
                          tenon_tensor *output)
{
    const tenon_tensor *x = views[GRID_BACKWARD_X];
    (void)params;
    return x != NULL && tn_shape_set(output, x->dtype, x->rank, x->shape);
}

static const char *const backward_examples[] = {
    "grid_sample_backward x=T:2x3x5x6 grid=T:2x4x3x2 dy=T:2x3x4x3 dx=T:2x3x5x6 dgrid=T:2x4x3x2",
    "grid_sample_backward x=T:2x19x9x11/1881,1,209,19 grid=S:2x7x8x2 "
    "dy=T:2x19x7x8/1064,1,152,19 dx=T:2x19x9x11/1881,1,209,19 dgrid=S:2x7x8x2 mode=cubic "
    "padding=reflection flags=1",
    "grid_sample_backward grid=T:1x6x5x2 dy=T:1x9x6x5 dx=T:1x9x13x8 mode=nearest padding=border",
    "grid_sample_backward x=T:2x3x4x5x6 grid=S:2x3x4x2x3 dy=T:2x3x3x4x2 dx=T:2x3x4x5x6 "
    "dgrid=S:2x3x4x2x3",
    "grid_sample_backward x=T:1x9x5x4x7 grid=T:1x2x3x4x3 dy=T:1x9x2x3x4 dgrid=T:1x2x3x4x3 "
    "padding=reflection",
    NULL,
};

const tn_operation tn_operation_grid_sample_backward = {
    TN_NAMES("tenon_grid_sample_backward"),
    .family = &tn_grid_sample_backward_family,
    .operands =
        {{.name = "x", .image = true, .optional = true},
         {.name = "grid"},
         {.name = "dy", .image = true},
         {.name = "dx",
          .image = true,
          .optional = true,
          .role = TN_OWN_OUTPUT,
          .shape = grid_dx_shape},
         {.name = "dgrid", .optional = true, .role = TN_OWN_OUTPUT, .shape = tn_shape_of_second}},
    .operand_count = GRID_BACKWARD_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(grid_defaults, TENON_GRID_SAMPLE_PARAMS_INIT),
    .flags = TENON_GRID_SAMPLE_ALIGN_CORNERS,
    TN_PROBLEM(grid_backward_problem),
    .prepare = tn_grid_sample_backward_prepare,
    .reference = tn_grid_sample_backward_reference,
    .fill_valid = tn_grid_sample_backward_fill_valid,
    .is_measurable = true,
    .examples = backward_examples,
};

const tn_operation tn_operation_grid_sample = {
    TN_NAMES("tenon_grid_sample"),
    .family = &tn_grid_sample_family,
    .operands = {{.name = "x", .image = true},
                 {.name = "grid"},
                 {.name = "y", .image = true, .role = TN_OUTPUT, .shape = grid_shape}},
    .operand_count = GRID_OPERANDS,
    TN_FIELDS(fields),
    TN_PARAMS(grid_defaults, TENON_GRID_SAMPLE_PARAMS_INIT),
    .flags = TENON_GRID_SAMPLE_ALIGN_CORNERS,
    TN_PROBLEM(grid_problem),
    .prepare = tn_grid_sample_prepare,
    .reference = tn_grid_sample_reference,
    .fill_valid = tn_grid_sample_fill_valid,
    .is_measurable = true,
    .examples = examples,
};

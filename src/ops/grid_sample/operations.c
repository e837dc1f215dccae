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

static bool grid_shape(const void *params, const tenon_tensor *const *views, tenon_tensor *output)
{
    const tenon_tensor *x = views[GRID_X], *grid = views[GRID_PLACES];
    (void)params;
    if (x->rank != 4 || grid->rank != 4)
        return false;
    const int64_t shape[] = {x->shape[0], x->shape[1], grid->shape[1], grid->shape[2]};
    return tn_shape_set(output, x->dtype, 4, shape);
}

static const char *const examples[] = {
    "grid_sample x=T:2x3x5x6 grid=T:2x4x3x2 y=T:2x3x4x3",
    "grid_sample x=T:2x19x9x11/1881,1,209,19 grid=S:2x7x8x2 y=T:2x19x7x8/1064,1,152,19 "
    "mode=cubic padding=reflection flags=1",
    "grid_sample x=T:1x9x13x8 grid=T:1x6x5x2 y=T:1x9x6x5 mode=nearest padding=border",
    NULL,
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

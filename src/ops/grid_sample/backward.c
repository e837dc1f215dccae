/* Argument validation of tenon_grid_sample_backward, its family, and the solver
 * grid_sample_backward/bands. */
#include "base/checked.h"
#include "base/shape.h"
#include "grid_sample/backward_args.h"
#include "ops/grid_sample/internal.h"

#include <stddef.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_grid_sample_backward_bands};

/* Also bits for the outputs. */
static uint64_t backward_paths(const tn_problem *problem)
{
    const grid_backward_problem *p = (const grid_backward_problem *)problem;
    return tn_grid_paths(problem) | p->has_dx << 20 | p->has_dgrid << 21;
}

const tn_family tn_grid_sample_backward_family = {.name = "grid_sample_backward",
                                                  TN_SOLVERS(solvers),
                                                  .awkward = tn_grid_sample_backward_awkward,
                                                  .paths = backward_paths};

static tenon_status backward_check_outputs(const tn_call *call, const tenon_tensor *x,
                                           const tenon_tensor *grid, const tenon_tensor *dx,
                                           const tenon_tensor *dgrid)
{
    if (dx == NULL && dgrid == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: dx and dgrid are NULL, at least one must be a tensor", call->caller);
    if (dgrid != NULL && x == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x is NULL, which is allowed only if dgrid is NULL", call->caller);
    if (x != NULL && dx != NULL) {
        TN_TRY(tn_same_dtype_check(call->caller, "dx", dx, "x", x->dtype));
        TN_TRY(tn_shape_check(call->caller, "dx", dx, x->rank, x->shape));
    }
    if (dgrid != NULL) {
        TN_TRY(tn_same_dtype_check(call->caller, "dgrid", dgrid, "grid", grid->dtype));
        TN_TRY(tn_shape_check(call->caller, "dgrid", dgrid, grid->rank, grid->shape));
    }
    return TENON_OK;
}

tenon_status tn_grid_sample_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                             bool *empty)
{
    const tn_argument *o = call->operands;
    const tenon_tensor *x = o[GRID_BACKWARD_X].view, *grid = o[GRID_BACKWARD_PLACES].view,
                       *dx = o[GRID_DX].view, *dgrid = o[GRID_DPLACES].view;
    const grid_views views = {x != NULL ? "x" : "dx", "dy", x != NULL ? x : dx, grid,
                              o[GRID_DY].view};
    grid_backward_problem *p = (grid_backward_problem *)problem;
    TN_TRY(backward_check_outputs(call, x, grid, dx, dgrid));
    tn_problem_begin(problem, sizeof *p);
    TN_TRY(tn_grid_take(call, given, &views, &p->forward));
    p->has_dx = dx != NULL && !tn_tensor_empty(dx);
    p->has_dgrid = dgrid != NULL && !tn_tensor_empty(dgrid);
    if (!p->has_dgrid || p->forward.mode == GRID_NEAREST)
        memset(p->forward.x, 0, sizeof p->forward.x); /* x is not read */
    tn_image_strides(p->dx, dx);
    if (dgrid != NULL)
        tn_grid_strides(p->dgrid, dgrid);
    *empty = !p->has_dx && !p->has_dgrid;
    return TENON_OK;
}

/* The work-items of dx: each has a band of rows of a block of channels of an image. */
typedef struct bands {
    int64_t rows_each, count, items, elements;
} bands;

/* Bands of a CPU per compute unit, so that units that finish early get another one. */
#define CPU_SHARES 4

/* Each band looks at all places, so there are no more than keep the device busy. */
static bands divide(const tenon_context *context, const grid_problem *p)
{
    const int64_t rows = p->size[0] * p->size[1],
                  blocks = p->images * tn_ceil_div(p->channels, GRID_CHANNELS);
    const double wanted = context->device.is_cpu
                              ? CPU_SHARES * (double)context->device.info.compute_units
                              : tn_model_items(&context->device.model);
    const int64_t count =
        tn_max_i64(1, tn_min_i64(rows, tn_ceil_div((int64_t)wanted, tn_max_i64(blocks, 1))));
    bands b = {.rows_each = tn_ceil_div(rows, count)};
    b.count = tn_ceil_div(rows, b.rows_each);
    b.items = blocks * b.count;
    b.elements = blocks * rows * p->size[2] * GRID_CHANNELS;
    return b;
}

/* Sets no time estimate, because there is no other solver. */
static const char *grid_backward_configure(tenon_context *context, const tn_problem *problem,
                                           tn_choice *choice)
{
    const grid_backward_problem *p = (const grid_backward_problem *)problem;
    if (p->has_dx)
        choice->workspace =
            (uint64_t)divide(context, &p->forward).elements * tn_acc_size(p->forward.dtype);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", p->forward.dtype,
                      tn_gpu_option(context));
    return NULL;
}

static grid_backward_args backward_arguments(const grid_backward_problem *p)
{
    grid_backward_args args = {.forward = tn_grid_arguments(&p->forward)};
    memcpy(args.dx_stride, p->dx, sizeof args.dx_stride);
    memcpy(args.dgrid_stride, p->dgrid, sizeof args.dgrid_stride);
    return args;
}

static tenon_status record_dx(const char *caller, tn_recording *recording,
                              const grid_backward_problem *p, const tn_choice *choice,
                              uint32_t size, uint32_t grid_size)
{
    const bands b = divide(recording->context, &p->forward);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, GRID_BACKWARD_PLACES, offsetof(grid_backward_args, forward.grid_offset),
         grid_size},
        {TN_PATCH_OFFSET, GRID_DY, offsetof(grid_backward_args, forward.y_offset), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(grid_backward_args, sums_offset),
         (uint32_t)tn_acc_size(p->forward.dtype)},
        {TN_PATCH_OFFSET, GRID_DX, offsetof(grid_backward_args, dx_offset), size}};
    grid_backward_args args = backward_arguments(p);
    tn_launch launch = {.source = "grid_sample/backward",
                        .kernel = "grid_sample_dx",
                        .options = choice->options,
                        .operands = {GRID_BACKWARD_PLACES, GRID_DY, TN_WORKSPACE, GRID_DX},
                        .operand_count = 4,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    args.bands = b.count;
    args.rows_each = b.rows_each;
    args.forward.count = b.items;
    launch.dimensions = 1;
    launch.local[0] =
        recording->context->device.is_cpu ? 1 : tn_gpu_group(recording->context, b.items);
    launch.global[0] = (size_t)tn_round_up(b.items, (int64_t)launch.local[0]);
    return tn_record(caller, recording, &launch);
}

/* Multiply-adds that take as long as finding the elements around a place, and as an element of a
 * channel (guesses). */
#define PLACE   100.0
#define ELEMENT 3.0

static tenon_status record_dgrid(const char *caller, tn_recording *recording,
                                 const grid_backward_problem *p, const tn_choice *choice,
                                 uint32_t size, uint32_t grid_size)
{
    static const double elements[] = {[GRID_LINEAR] = 8, [GRID_NEAREST] = 0, [GRID_CUBIC] = 16};
    const grid_problem *f = &p->forward;
    const bool reads = f->mode != GRID_NEAREST;
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, GRID_BACKWARD_PLACES, offsetof(grid_backward_args, forward.grid_offset),
         grid_size},
        {TN_PATCH_OFFSET, GRID_DPLACES, offsetof(grid_backward_args, dgrid_offset), grid_size},
        {TN_PATCH_OFFSET, GRID_BACKWARD_X, offsetof(grid_backward_args, forward.x_offset), size},
        {TN_PATCH_OFFSET, GRID_DY, offsetof(grid_backward_args, forward.y_offset), size}};
    grid_backward_args args = backward_arguments(p);
    const uint16_t x = reads ? GRID_BACKWARD_X : GRID_BACKWARD_PLACES,
                   dy = reads ? GRID_DY : GRID_BACKWARD_PLACES;
    tn_launch launch = {.source = "grid_sample/backward",
                        .kernel = "grid_sample_dgrid",
                        .options = choice->options,
                        .operands = {x, GRID_BACKWARD_PLACES, dy, GRID_DPLACES},
                        .operand_count = 4,
                        TN_ARGS(args),
                        .patches = patches,
                        .patch_count = reads ? 4 : 2};
    args.forward.count = f->images * f->out[0] * f->out[1] * f->out[2];
    args.forward.each =
        tn_image_share(recording->context, args.forward.count,
                       PLACE + (double)f->channels * ELEMENT * elements[f->mode], &launch);
    return tn_record(caller, recording, &launch);
}

static tenon_status grid_backward_launch(const char *caller, tn_recording *recording,
                                         const tn_problem *problem, const tn_choice *choice)
{
    const grid_backward_problem *p = (const grid_backward_problem *)problem;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->forward.dtype),
                   grid_size = (p->forward.flags & GRID_WIDE) != 0 ? (uint32_t)sizeof(float) : size;
    if (p->has_dx)
        TN_TRY(record_dx(caller, recording, p, choice, size, grid_size));
    return p->has_dgrid ? record_dgrid(caller, recording, p, choice, size, grid_size) : TENON_OK;
}

const tn_solver tn_grid_sample_backward_bands = {
    .name = "bands",
    .serves =
        "everything; a work-item adds all places to some channels of a band of rows of dx, or "
        "computes places of dgrid",
    .needs = "workspace for dx",
    .configure = grid_backward_configure,
    .launch = grid_backward_launch};

/* Argument validation of tenon_grid_sample, its family, and the solver grid_sample/items. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/grid_sample/internal.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

_Static_assert((int)TENON_GRID_SAMPLE_NEAREST == GRID_NEAREST &&
                   (int)TENON_GRID_SAMPLE_CUBIC == GRID_CUBIC &&
                   (int)TENON_GRID_SAMPLE_BORDER == GRID_BORDER &&
                   (int)TENON_GRID_SAMPLE_REFLECTION == GRID_REFLECTION &&
                   (int)TENON_GRID_SAMPLE_ALIGN_CORNERS == GRID_ALIGNED,
               "kernels take the numbers of the public modes, paddings and flags");

static const tn_solver *const solvers[] = {&tn_grid_sample_items};

/* Bits for the mode, the padding and the flags. */
static uint64_t grid_paths(const tn_problem *problem)
{
    const grid_problem *p = (const grid_problem *)problem;
    return UINT64_C(1) << (8 + p->mode) | UINT64_C(1) << (12 + p->padding) |
           tn_paths_of_flags(p->flags, 3);
}

const tn_family tn_grid_sample_family = {.name = "grid_sample",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_grid_sample_awkward,
                                         .paths = grid_paths};

static tenon_status grid_check_types(const tn_call *call)
{
    const tenon_tensor *x = call->operands[GRID_X].view, *grid = call->operands[GRID_PLACES].view;
    const bool is_half = x->dtype == TENON_DTYPE_F16 || x->dtype == TENON_DTYPE_BF16;
    TN_TRY(tn_float_check(call->caller, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, "y", call->operands[GRID_Y].view, "x", x->dtype));
    if (is_half && grid->dtype == TENON_DTYPE_F32)
        return TENON_OK;
    return tn_same_dtype_check(call->caller, "grid", grid, "x", x->dtype);
}

static tenon_status grid_check_shapes(const tn_call *call)
{
    const char *caller = call->caller;
    const tenon_tensor *x = call->operands[GRID_X].view, *grid = call->operands[GRID_PLACES].view,
                       *y = call->operands[GRID_Y].view;
    if (x->rank != 4)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x: rank is %u, must be 4: N, C, H and W",
                       caller, x->rank);
    const int64_t places[] = {x->shape[0], grid->rank == 4 ? grid->shape[1] : 1,
                              grid->rank == 4 ? grid->shape[2] : 1, 2};
    TN_TRY(tn_shape_check(caller, "grid", grid, 4, places));
    const int64_t shape[] = {x->shape[0], x->shape[1], places[1], places[2]};
    TN_TRY(tn_shape_check(caller, "y", y, 4, shape));
    for (uint32_t d = 2; d < 4 && !tn_tensor_empty(y); d++) {
        if (x->shape[d] < 1 || x->shape[d] > GRID_MOST_SIZE)
            return tn_fail(x->shape[d] < 1 ? TENON_ERROR_INVALID_ARGUMENT : TENON_ERROR_UNSUPPORTED,
                           "%s: x: size of dimension %u is %" PRId64 ", must be from 1 to %d",
                           caller, d, x->shape[d], GRID_MOST_SIZE);
        if (y->shape[d] > INT32_MAX)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: y: size of dimension %u is %" PRId64 ", must be at most %d", caller,
                           d, y->shape[d], INT32_MAX);
    }
    return TENON_OK;
}

static void take_strides(int64_t to[4], const tenon_tensor *view)
{
    for (uint32_t d = 0; d < 4; d++)
        to[d] = view->shape[d] == 1 ? 0 : view->stride[d];
}

tenon_status tn_grid_sample_prepare(const void *given, tn_call *call, tn_problem *problem,
                                    bool *empty)
{
    const tenon_grid_sample_params *params = given;
    const tenon_tensor *x = call->operands[GRID_X].view, *grid = call->operands[GRID_PLACES].view,
                       *y = call->operands[GRID_Y].view;
    grid_problem *p = (grid_problem *)problem;
    TN_TRY(tn_kind_check(call->caller, "mode", params->mode, TENON_GRID_SAMPLE_CUBIC,
                         "tenon_grid_sample_mode"));
    TN_TRY(tn_kind_check(call->caller, "padding", params->padding, TENON_GRID_SAMPLE_REFLECTION,
                         "tenon_grid_sample_padding"));
    TN_TRY(grid_check_types(call));
    TN_TRY(grid_check_shapes(call));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->flags = ((params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0 ? GRID_ALIGNED : 0) |
               (grid->dtype != x->dtype ? GRID_WIDE : 0);
    p->mode = params->mode;
    p->padding = params->padding;
    p->images = x->shape[0];
    p->channels = x->shape[1];
    for (int d = 0; d < 2; d++) {
        p->size[d] = x->shape[2 + d];
        p->out[d] = y->shape[2 + d];
    }
    take_strides(p->x, x);
    take_strides(p->grid, grid);
    take_strides(p->y, y);
    *empty = tn_tensor_empty(y);
    return TENON_OK;
}

/* Sets no time estimate, because there is no other solver. */
static const char *grid_configure(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", ((const grid_problem *)problem)->dtype,
                      tn_gpu_option(context));
    return NULL;
}

static grid_args grid_arguments(const grid_problem *p)
{
    grid_args args = {.channels = p->channels,
                      .mode = (tenon_i32)p->mode,
                      .padding = (tenon_i32)p->padding,
                      .flags = (tenon_i32)p->flags,
                      .side_by_side = p->y[1] == 1 && p->y[3] != 1};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.grid_stride, p->grid, sizeof args.grid_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    args.count = p->images * tn_ceil_div(p->channels, GRID_CHANNELS) * p->out[0] * p->out[1];
    for (int d = 0; d < 2; d++) {
        args.size[d] = (tenon_i32)p->size[d];
        args.out[d] = (tenon_i32)p->out[d];
    }
    return args;
}

/* Multiply-adds that take as long as finding the elements around a place, and as an element of a
 * channel (guesses). */
#define PLACE   60.0
#define ELEMENT 3.0

static tenon_status grid_launch(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    static const double elements[] = {[GRID_LINEAR] = 4, [GRID_NEAREST] = 1, [GRID_CUBIC] = 16};
    const grid_problem *p = (const grid_problem *)problem;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {{TN_PATCH_OFFSET, GRID_X, offsetof(grid_args, x_offset), size},
                                {TN_PATCH_OFFSET, GRID_PLACES, offsetof(grid_args, grid_offset),
                                 (p->flags & GRID_WIDE) != 0 ? (uint32_t)sizeof(float) : size},
                                {TN_PATCH_OFFSET, GRID_Y, offsetof(grid_args, y_offset), size}};
    grid_args args = grid_arguments(p);
    tn_launch launch = {.source = "grid_sample/items",
                        .kernel = "grid_sample",
                        .options = choice->options,
                        .operands = {GRID_X, GRID_PLACES, GRID_Y},
                        .operand_count = GRID_OPERANDS,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    args.each = tn_image_share(recording->context, args.count,
                               PLACE + GRID_CHANNELS * ELEMENT * elements[p->mode], &launch);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_grid_sample_items = {
    .name = "items",
    .serves = "everything; a work-item computes some channels of a place",
    .configure = grid_configure,
    .launch = grid_launch};

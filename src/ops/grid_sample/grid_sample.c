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

uint64_t tn_grid_paths(const tn_problem *problem)
{
    const grid_problem *p = (const grid_problem *)problem;
    return UINT64_C(1) << (8 + p->mode) | UINT64_C(1) << (12 + p->padding) |
           UINT64_C(1) << (14 + p->dims) | tn_paths_of_flags(p->flags, 3);
}

const tn_family tn_grid_sample_family = {.name = "grid_sample",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_grid_sample_awkward,
                                         .paths = tn_grid_paths};

static tenon_status grid_check_types(const tn_call *call, const grid_views *v)
{
    const bool is_half = v->y->dtype == TENON_DTYPE_F16 || v->y->dtype == TENON_DTYPE_BF16;
    TN_TRY(tn_float_check(call->caller, v->x_name, call->context, v->x->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, v->y_name, v->y, v->x_name, v->x->dtype));
    if (is_half && v->grid->dtype == TENON_DTYPE_F32)
        return TENON_OK;
    return tn_same_dtype_check(call->caller, "grid", v->grid, v->x_name, v->x->dtype);
}

static tenon_status grid_check_sizes(const tn_call *call, const grid_views *v)
{
    for (uint32_t d = 2; d < v->y->rank && !tn_tensor_empty(v->y); d++) {
        if (v->x->shape[d] < 1 || v->x->shape[d] > GRID_MOST_SIZE)
            return tn_fail(v->x->shape[d] < 1 ? TENON_ERROR_INVALID_ARGUMENT
                                              : TENON_ERROR_UNSUPPORTED,
                           "%s: %s: size of dimension %u is %" PRId64 ", must be from 1 to %d",
                           call->caller, v->x_name, d, v->x->shape[d], GRID_MOST_SIZE);
        if (v->y->shape[d] > INT32_MAX)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: %s: size of dimension %u is %" PRId64 ", must be at most %d",
                           call->caller, v->y_name, d, v->y->shape[d], INT32_MAX);
    }
    return TENON_OK;
}

static tenon_status grid_check_shapes(const tn_call *call, const tenon_grid_sample_params *params,
                                      const grid_views *v)
{
    const char *caller = call->caller, *name = v->x_name;
    const tenon_tensor *x = v->x, *grid = v->grid;
    if (x->rank != 4 && x->rank != 5)
        return tn_fail(
            TENON_ERROR_INVALID_ARGUMENT,
            "%s: %s: rank is %u, must be 4 or 5: N, C and two or three spatial dimensions", caller,
            name, x->rank);
    if (x->rank == 5 && params->mode == TENON_GRID_SAMPLE_CUBIC)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: rank is 5; the mode cubic requires rank 4: N, C, H and W", caller,
                       name);
    int64_t places[5] = {x->shape[0], 1, 1, 1, 1}, shape[5] = {x->shape[0], x->shape[1]};
    for (uint32_t d = 1; d + 1 < x->rank; d++) {
        places[d] = grid->rank == x->rank ? grid->shape[d] : 1;
        shape[1 + d] = places[d];
    }
    places[x->rank - 1] = x->rank - 2;
    TN_TRY(tn_shape_check(caller, "grid", grid, x->rank, places));
    return tn_shape_check(caller, v->y_name, v->y, x->rank, shape);
}

void tn_grid_sizes(const tenon_tensor *view, int64_t size[3])
{
    size[0] = 1;
    for (uint32_t d = 2; d < view->rank; d++)
        size[5 - view->rank + d - 2] = view->shape[d];
}

void tn_grid_strides(int64_t to[5], const tenon_tensor *grid)
{
    const uint32_t dims = grid->rank - 2;
    memset(to, 0, 5 * sizeof *to);
    to[0] = grid->shape[0] == 1 ? 0 : grid->stride[0];
    for (uint32_t d = 0; d < dims; d++)
        to[4 - dims + d] = grid->shape[1 + d] == 1 ? 0 : grid->stride[1 + d];
    to[4] = grid->stride[1 + dims];
}

tenon_status tn_grid_take(const tn_call *call, const tenon_grid_sample_params *params,
                          const grid_views *v, grid_problem *p)
{
    TN_TRY(tn_kind_check(call->caller, "mode", params->mode, TENON_GRID_SAMPLE_CUBIC,
                         "tenon_grid_sample_mode"));
    TN_TRY(tn_kind_check(call->caller, "padding", params->padding, TENON_GRID_SAMPLE_REFLECTION,
                         "tenon_grid_sample_padding"));
    TN_TRY(grid_check_types(call, v));
    TN_TRY(grid_check_shapes(call, params, v));
    TN_TRY(grid_check_sizes(call, v));
    p->dtype = v->x->dtype;
    p->flags = ((params->flags & TENON_GRID_SAMPLE_ALIGN_CORNERS) != 0 ? GRID_ALIGNED : 0) |
               (v->grid->dtype != v->x->dtype ? GRID_WIDE : 0);
    p->mode = params->mode;
    p->padding = params->padding;
    p->dims = v->x->rank - 2;
    p->images = v->x->shape[0];
    p->channels = v->x->shape[1];
    tn_grid_sizes(v->x, p->size);
    tn_grid_sizes(v->y, p->out);
    tn_image_strides(p->x, v->x);
    tn_grid_strides(p->grid, v->grid);
    tn_image_strides(p->y, v->y);
    return TENON_OK;
}

tenon_status tn_grid_sample_prepare(const void *given, tn_call *call, tn_problem *problem,
                                    bool *empty)
{
    const tn_argument *o = call->operands;
    const grid_views views = {"x", "y", o[GRID_X].view, o[GRID_PLACES].view, o[GRID_Y].view};
    tn_problem_begin(problem, sizeof(grid_problem));
    TN_TRY(tn_grid_take(call, given, &views, (grid_problem *)problem));
    *empty = tn_tensor_empty(views.y);
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

grid_args tn_grid_arguments(const grid_problem *p)
{
    grid_args args = {.channels = p->channels,
                      .dims = (tenon_i32)p->dims,
                      .mode = (tenon_i32)p->mode,
                      .padding = (tenon_i32)p->padding,
                      .flags = (tenon_i32)p->flags};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.grid_stride, p->grid, sizeof args.grid_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    for (int d = 0; d < 3; d++) {
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
    static const double elements[] = {[GRID_LINEAR] = 8, [GRID_NEAREST] = 1, [GRID_CUBIC] = 16};
    const grid_problem *p = (const grid_problem *)problem;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {{TN_PATCH_OFFSET, GRID_X, offsetof(grid_args, x_offset), size},
                                {TN_PATCH_OFFSET, GRID_PLACES, offsetof(grid_args, grid_offset),
                                 (p->flags & GRID_WIDE) != 0 ? (uint32_t)sizeof(float) : size},
                                {TN_PATCH_OFFSET, GRID_Y, offsetof(grid_args, y_offset), size}};
    grid_args args = tn_grid_arguments(p);
    tn_launch launch = {.source = "grid_sample/items",
                        .kernel = "grid_sample",
                        .options = choice->options,
                        .operands = {GRID_X, GRID_PLACES, GRID_Y},
                        .operand_count = GRID_OPERANDS,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    args.side_by_side = tn_image_by_channels(p->y);
    args.count =
        p->images * tn_ceil_div(p->channels, GRID_CHANNELS) * p->out[0] * p->out[1] * p->out[2];
    args.each = tn_image_share(recording->context, args.count,
                               PLACE + GRID_CHANNELS * ELEMENT * elements[p->mode], &launch);
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_grid_sample_items = {
    .name = "items",
    .serves = "everything; a work-item computes some channels of a place",
    .configure = grid_configure,
    .launch = grid_launch};

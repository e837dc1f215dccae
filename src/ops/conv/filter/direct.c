/* conv_backward_filter/direct: one work-item per element of the filters. Serves every problem, on
 * any device, without workspace. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/gradient.h"

#include <stddef.h>
#include <string.h>

#define LOCAL_SIZE 32

/* Returns the work. Vectors are used for long rows; few filters leave a GPU idle. */
static tn_work filter_work(tenon_context *context, const conv_problem *p)
{
    const bool dense = p->window.stride[2] == 1 && p->x[4] == 1 && p->y[4] == 1 &&
                       p->window.out[2] >= (int64_t)tn_lanes(context, p->dtype);
    tn_work work = tn_conv_direct_work(p);
    work.rate = tn_sum_rate(p->dtype);
    work.items = (double)(p->groups * p->k * p->c * tn_window_taps(&p->window));
    if (context->device.is_cpu && dense) {
        work.vector_elements = 2 * work.scalar;
        work.scalar = 0;
    }
    return work;
}

static const char *conv_filter_direct_configure(tenon_context *context, const tn_problem *problem,
                                                tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const tn_work work = filter_work(context, p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->dtype,
                      tn_lanes(context, p->dtype));
    return NULL;
}

static conv_filter_args filter_arguments(const conv_problem *p)
{
    conv_filter_args args = {.n = p->n,
                             .group_channels = p->c,
                             .group_filters = p->k,
                             .window = p->window,
                             .adds = (p->flags & CONV_HAS_C) != 0};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    memcpy(args.w_stride, p->w, sizeof args.w_stride);
    return args;
}

static tenon_status conv_filter_direct_launch(const char *caller, tn_recording *recording,
                                              const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    conv_filter_args args = filter_arguments(p);
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    /* Empty tensors have no memory. */
    bool has_y = p->n > 0 && tn_window_pixels(&p->window) > 0;
    bool has_x = has_y && !tn_window_empty(&p->window);
    uint8_t w = p->operand[CONV_W], x = has_x ? p->operand[CONV_X] : w,
            y = has_y ? p->operand[CONV_Y] : w;
    const tn_patch patches[] = {{(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_BETA,
                                 offsetof(conv_filter_args, beta), 1},
                                {TN_PATCH_OFFSET, w, offsetof(conv_filter_args, w_offset), size},
                                {TN_PATCH_OFFSET, y, offsetof(conv_filter_args, y_offset), size},
                                {TN_PATCH_OFFSET, x, offsetof(conv_filter_args, x_offset), size}};
    tn_launch launch = {
        .source = "conv/filter/direct",
        .options = choice->options,
        .kernel = "conv_backward_filter",
        .dimensions = 2,
        .global = {(size_t)tn_round_up(p->c * tn_window_taps(&p->window), LOCAL_SIZE),
                   (size_t)(p->groups * p->k)},
        .local = {LOCAL_SIZE, 1},
        .operands = {x, y, w},
        .operand_count = 3,
        TN_ARGS(args),
        TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_backward_filter_direct = {.name = "direct",
                                                  .serves = "everything",
                                                  .configure = conv_filter_direct_configure,
                                                  .launch = conv_filter_direct_launch};

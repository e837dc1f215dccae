/* The solver resize/items: any strides on any device, without workspace. The weights are computed
 * again for each result. */
#include "ops/resize/internal.h"

#include <stddef.h>
#include <string.h>

/* Multiply-adds that take as long as computing a weight, and a window (measured on x86-64). */
#define WEIGHT 8.0
#define WINDOW 24.0

double tn_resize_elements(const resize_problem *p, const int64_t size[3])
{
    return (double)p->n * (double)p->c * (double)size[0] * (double)size[1] * (double)size[2];
}

double tn_resize_taps(const resize_problem *p)
{
    return (double)p->map[0].taps * (double)p->map[1].taps * (double)p->map[2].taps;
}

static resize_axis axis_of(const resize_problem *p, int d)
{
    const resize_map *map = &p->map[d];
    const uint8_t kind = tn_scalar_patch((tenon_dtype)p->dtype);
    return (resize_axis){.step = map->step.whole,
                         .step_rest = (int64_t)map->step.rest,
                         .start = map->start.whole,
                         .start_rest = (int64_t)map->start.rest,
                         .scale = tn_patch_scalar(kind, &map->scale),
                         .in = (tenon_i32)p->in[d],
                         .out = (tenon_i32)p->out[d],
                         .taps = (tenon_i32)map->taps,
                         .before = (tenon_i32)map->before,
                         .is_normalized = map->is_normalized != 0};
}

resize_filter tn_resize_filter(const resize_problem *p)
{
    resize_filter filter = {.mode = (tenon_i32)p->mode,
                            .rounding = (tenon_i32)p->rounding,
                            .flags = (tenon_i32)p->flags};
    for (int d = 0; d < 3; d++)
        filter.axis[d] = axis_of(p, d);
    return filter;
}

void tn_resize_patch_filter(const resize_problem *p, tn_launch *launch, tn_patch *patches,
                            size_t filter_at)
{
    const uint8_t kind = tn_scalar_patch((tenon_dtype)p->dtype);
    patches[launch->patch_count++] = (tn_patch){
        kind, RESIZE_SCALAR_CUBIC, (uint16_t)(filter_at + offsetof(resize_filter, cubic)), 1};
    patches[launch->patch_count++] =
        (tn_patch){kind, RESIZE_SCALAR_EXTRAPOLATION,
                   (uint16_t)(filter_at + offsetof(resize_filter, extrapolation)), 1};
}

static const char *resize_items_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    const resize_problem *p = (const resize_problem *)problem;
    const double outputs = tn_resize_elements(p, p->out), taps = tn_resize_taps(p);
    const tn_work work = {.launches = 1,
                          .items = outputs,
                          .rate = tn_sum_rate(p->dtype),
                          .scalar = outputs * (3 * WINDOW + (1 + WEIGHT) * taps),
                          .instructions = outputs * (3 * WINDOW + (1 + WEIGHT) * taps),
                          .bytes = context->device.is_cpu
                                       ? 0
                                       : outputs * (1 + taps) *
                                             (double)tenon_dtype_size((tenon_dtype)p->dtype),
                          .reads = TN_SHORT_ROWS};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", p->dtype, tn_gpu_option(context));
    return NULL;
}

/* Records a launch of either direction, whose operands are the source and the target. */
static tenon_status resize_items_record(const char *caller, tn_recording *recording,
                                        const resize_problem *p, tn_launch *launch)
{
    const bool is_backward = p->is_backward != 0;
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const int64_t *target = is_backward ? p->x : p->y;
    tn_patch patches[4] = {{TN_PATCH_OFFSET, is_backward ? RESIZE_BACKWARD_DX : RESIZE_X,
                            offsetof(resize_items_args, x_offset), size},
                           {TN_PATCH_OFFSET, is_backward ? RESIZE_BACKWARD_DY : RESIZE_Y,
                            offsetof(resize_items_args, y_offset), size}};
    resize_items_args args = {.channels = p->c,
                              .count = (int64_t)tn_resize_elements(p, is_backward ? p->in : p->out),
                              .side_by_side = tn_image_by_channels(target),
                              .filter = tn_resize_filter(p)};
    launch->operand_count = RESIZE_OPERANDS;
    launch->operands[0] = 0;
    launch->operands[1] = 1;
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    launch->patch_count = 2;
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    tn_resize_patch_filter(p, launch, patches, offsetof(resize_items_args, filter));
    args.each = tn_image_share(recording->context, args.count, 2 * tn_resize_taps(p) + 32, launch);
    return tn_record(caller, recording, launch);
}

static tenon_status resize_items_launch_forward(const char *caller, tn_recording *recording,
                                                const tn_problem *problem, const tn_choice *choice)
{
    tn_launch launch = {
        .source = "resize/items", .kernel = "resize_items", .options = choice->options};
    return resize_items_record(caller, recording, (const resize_problem *)problem, &launch);
}

static tenon_status resize_items_launch_backward(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    tn_launch launch = {.source = "resize/items_backward",
                        .kernel = "resize_items_backward",
                        .options = choice->options};
    return resize_items_record(caller, recording, (const resize_problem *)problem, &launch);
}

#define SERVES "everything; computes the weights of each result again"

const tn_solver tn_resize_items = {.name = "items",
                                   .serves = SERVES,
                                   .configure = resize_items_configure,
                                   .launch = resize_items_launch_forward};

const tn_solver tn_resize_backward_items = {.name = "items",
                                            .serves = SERVES,
                                            .configure = resize_items_configure,
                                            .launch = resize_items_launch_backward};

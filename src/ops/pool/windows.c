/* The solvers `windows` of pool and pool_backward: norms, adaptive windows, and averages of windows
 * that end beyond the padding, for any strides on any device. */
#include "ops/pool/internal.h"
#include "pool/windows_args.h"

#include <stddef.h>
#include <string.h>

const char *tn_pool_is_special(const pool_problem *p)
{
    return p->kind == TENON_POOL_LP              ? "it is a norm"
           : (p->flags & POOL_ADAPTIVE) != 0     ? "the windows have different sizes"
           : (p->flags & POOL_COUNT_PADDED) != 0 ? "a window ends beyond the padding"
                                                 : NULL;
}

/* Multiply-adds that take as long as a tap, and in the gradient as a window that may contain an
 * element. A norm, or a maximum without indices, is computed again for each of its taps. */
#define TAP    4.0
#define WINDOW 20.0

static double work_of_tap(const pool_problem *p, bool is_backward)
{
    const bool repeats = p->kind == TENON_POOL_LP ||
                         (p->kind == TENON_POOL_MAX && (p->flags & POOL_HAS_INDICES) == 0);
    return !is_backward ? TAP : WINDOW + (repeats ? TAP * tn_pool_taps(p) : 0);
}

static const char *configure_for(tenon_context *context, const pool_problem *p, bool is_backward,
                                 tn_choice *choice)
{
    if (tn_pool_is_special(p) == NULL)
        return "the windows are ordinary ones, which other solvers serve";
    const double taps = tn_pool_elements(p, p->out) * tn_pool_taps(p);
    const tn_work work = {.launches = 1,
                          .items = tn_pool_elements(p, p->out),
                          .rate = tn_sum_rate(p->dtype),
                          .single_elements = work_of_tap(p, is_backward) * taps,
                          .bytes = context->device.is_cpu ? 0 : 4 * taps,
                          .reads = TN_SHORT_ROWS};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u%s", p->dtype, tn_gpu_option(context));
    return NULL;
}

static const char *windows_configure(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    return configure_for(context, (const pool_problem *)problem, false, choice);
}

static const char *windows_configure_backward(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    return configure_for(context, (const pool_problem *)problem, true, choice);
}

pool_windows_args tn_pool_windows_arguments(const pool_problem *p)
{
    const uint8_t kind = tn_scalar_patch((tenon_dtype)p->dtype);
    const double inverse = p->p > 0 ? 1 / p->p : 0;
    pool_windows_args args = {.channels = p->c,
                              .kind = (tenon_i32)p->kind,
                              .flags = (tenon_i32)p->flags,
                              .p = tn_patch_scalar(kind, &p->p),
                              .inverse_p = tn_patch_scalar(kind, &inverse)};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    memcpy(args.index_stride, p->indices, sizeof args.index_stride);
    memcpy(args.image_stride, p->image, sizeof args.image_stride);
    memcpy(args.size, p->size, sizeof args.size);
    memcpy(args.out, p->out, sizeof args.out);
    memcpy(args.window, p->window, sizeof args.window);
    memcpy(args.step, p->step, sizeof args.step);
    memcpy(args.dilation, p->dilation, sizeof args.dilation);
    memcpy(args.start, p->start, sizeof args.start);
    memcpy(args.limit, p->limit, sizeof args.limit);
    return args;
}

/* Records a launch, whose arguments are a pool_windows_args or begin with one. `operands` are those
 * of the members of `offset_at`; TN_WORKSPACE if absent. */
static tenon_status windows_record(const char *caller, tn_recording *recording,
                                   const pool_problem *p, tn_launch *launch,
                                   const uint8_t *operands)
{
    static const uint16_t offset_at[] = {
        offsetof(pool_windows_args, image_offset), offsetof(pool_windows_args, y_offset),
        offsetof(pool_windows_args, index_offset), offsetof(pool_windows_args, x_offset)};
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    tn_patch patches[4];
    for (int i = 0; i < 4; i++)
        if (operands[i] != TN_WORKSPACE)
            patches[launch->patch_count++] = (tn_patch){TN_PATCH_OFFSET, operands[i], offset_at[i],
                                                        i == 2 ? (uint32_t)sizeof(int32_t) : size};
    launch->patches = patches;
    return tn_record(caller, recording, launch);
}

tenon_status tn_pool_windows_record_forward(const char *caller, tn_recording *recording,
                                            const pool_problem *p, tn_launch *launch)
{
    const bool indices = (p->flags & POOL_HAS_INDICES) != 0,
               empty = p->size[0] == 0 || p->size[1] == 0 || p->size[2] == 0;
    const uint8_t operands[] = {TN_WORKSPACE, POOL_Y, indices ? POOL_INDICES : TN_WORKSPACE,
                                empty ? TN_WORKSPACE : POOL_X};
    /* Absent operands are neither read nor written, so y's pointer is passed for them. */
    launch->operands[0] = empty ? POOL_Y : POOL_X;
    launch->operands[1] = POOL_Y;
    launch->operands[2] = indices ? POOL_INDICES : POOL_Y;
    launch->operand_count = 3;
    return windows_record(caller, recording, p, launch, operands);
}

tenon_status tn_pool_windows_record_backward(const char *caller, tn_recording *recording,
                                             const pool_problem *p, tn_launch *launch)
{
    const bool indices = (p->flags & POOL_HAS_INDICES) != 0,
               image = p->kind == TENON_POOL_LP || (p->kind == TENON_POOL_MAX && !indices);
    const uint8_t operands[] = {image ? POOL_BACKWARD_X : TN_WORKSPACE, POOL_BACKWARD_DY,
                                indices ? POOL_BACKWARD_INDICES : TN_WORKSPACE, POOL_BACKWARD_DX};
    for (int i = 0; i < 4; i++) /* dx replaces operands that are not read */
        launch->operands[i] = operands[i] != TN_WORKSPACE ? operands[i] : POOL_BACKWARD_DX;
    launch->operand_count = 4;
    return windows_record(caller, recording, p, launch, operands);
}

/* Records a kernel each of whose work-items computes some results, in the order of their memory. */
static tenon_status windows_launch(const char *caller, tn_recording *recording,
                                   const pool_problem *p, const tn_choice *choice, bool is_backward)
{
    pool_windows_args args = tn_pool_windows_arguments(p);
    tn_launch launch = {.source = is_backward ? "pool/windows_backward" : "pool/windows",
                        .kernel = is_backward ? "pool_windows_backward" : "pool_windows",
                        .options = choice->options,
                        TN_ARGS(args)};
    args.count = (int64_t)tn_pool_elements(p, is_backward ? p->size : p->out);
    args.side_by_side = tn_image_by_channels(is_backward ? p->x : p->y);
    args.each = tn_image_share(recording->context, args.count, tn_pool_taps(p) + 8, &launch);
    return is_backward ? tn_pool_windows_record_backward(caller, recording, p, &launch)
                       : tn_pool_windows_record_forward(caller, recording, p, &launch);
}

static tenon_status windows_launch_forward(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    return windows_launch(caller, recording, (const pool_problem *)problem, choice, false);
}

static tenon_status windows_launch_backward(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    return windows_launch(caller, recording, (const pool_problem *)problem, choice, true);
}

#define SERVES "norms, adaptive windows, and averages of windows that end beyond the padding"

const tn_solver tn_pool_windows = {.name = "windows",
                                   .serves = SERVES,
                                   .configure = windows_configure,
                                   .launch = windows_launch_forward};

const tn_solver tn_pool_backward_windows = {.name = "windows",
                                            .serves = SERVES,
                                            .configure = windows_configure_backward,
                                            .launch = windows_launch_backward};

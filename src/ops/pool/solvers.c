/* The solvers `rows` and `channels` of pool and pool_backward: a work-item handles lines along w,
 * or along the channels. Both support any strides on any device, without workspace. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/pool/internal.h"

#include <stddef.h>
#include <string.h>

/* Taps that are worth a work-item of a CPU. A GPU's work-item computes one element. */
#define CPU_WORK  8192
#define CPU_CHUNK 4096

static bool by_channels(const tn_choice *choice)
{
    return tn_is_solver(choice->solver, &tn_pool_channels) ||
           tn_is_solver(choice->solver, &tn_pool_backward_channels);
}

double tn_pool_elements(const pool_problem *p, const int64_t size[3])
{
    return (double)p->n * (double)p->c * (double)size[0] * (double)size[1] * (double)size[2];
}

double tn_pool_taps(const pool_problem *p)
{
    return (double)p->window[0] * (double)p->window[1] * (double)p->window[2];
}

/* Weights of a tap, measured on x86-64, if it is loaded in vectors for adjacent outputs, or
 * gathered because the stride is not 1; and the kind of reads on a GPU. */
typedef struct taps {
    double by_vectors, alone;
    tn_reads reads;
} taps;

static tn_reads reads_of(const pool_problem *p, bool channels)
{
    const bool near = channels ? p->x[1] == 1 && p->y[1] == 1 : p->x[4] == 1;
    return near ? TN_SHORT_ROWS : TN_LONG_ROWS;
}

/* Only the outputs of vectors of rows whose windows are inside x are computed together. */
static taps taps_of_rows(const tenon_context *context, const pool_problem *p)
{
    const tn_reads reads = reads_of(p, false);
    if (p->out[2] < 2 * (int64_t)tn_lanes(context, p->dtype))
        return (taps){0, 3, reads};
    return p->x[4] == 1 && p->step[2] == 1 ? (taps){10, 0, reads} : (taps){0, 1.5, reads};
}

static taps taps_of_channels(const tenon_context *context, const pool_problem *p)
{
    const tn_reads reads = reads_of(p, true);
    if (p->c < (int64_t)tn_lanes(context, p->dtype))
        return (taps){0, 3, reads};
    return reads == TN_SHORT_ROWS ? (taps){5, 0, reads} : (taps){0, 2.5, reads};
}

/* The gradient does not use vectors along w, and looks for the maximum of a window again for each
 * of its elements. */
static taps taps_of_gradient(const tenon_context *context, const pool_problem *p, bool channels)
{
    const tn_reads reads = reads_of(p, channels);
    if (!channels)
        return (taps){0, 12, reads};
    if (p->c < (int64_t)tn_lanes(context, p->dtype))
        return (taps){0, 16, reads};
    return reads == TN_SHORT_ROWS ? (taps){40, 0, reads} : (taps){0, 5, reads};
}

/* Also used for the gradient, where the windows over an element cost about as much as taps. */
static const char *configure_for(tenon_context *context, const pool_problem *p, taps each,
                                 tn_choice *choice)
{
    const char *special = tn_pool_is_special(p);
    if (special != NULL)
        return special;
    const double all = tn_pool_elements(p, p->out) * tn_pool_taps(p);
    const tn_work work = {.launches = 1,
                          .items = tn_pool_elements(p, p->out) / tn_lanes(context, p->dtype),
                          .rate = tn_sum_rate(p->dtype),
                          .vector_elements = each.by_vectors * all,
                          .single_elements = each.alone * all,
                          .bytes = context->device.is_cpu /* most taps hit the cache */
                                       ? 0
                                       : all * (double)tenon_dtype_size((tenon_dtype)p->dtype),
                          .reads = each.reads,
                          .reach = by_channels(choice) ? 0.5 : 1};
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_POOL_MAX=%d -DTENON_VW=%u",
                      p->dtype, p->kind == TENON_POOL_MAX, tn_lanes(context, p->dtype));
    return NULL;
}

static const char *pool_solvers_configure(tenon_context *context, const tn_problem *problem,
                                          tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    return configure_for(
        context, p, by_channels(choice) ? taps_of_channels(context, p) : taps_of_rows(context, p),
        choice);
}

static const char *configure_backward(tenon_context *context, const tn_problem *problem,
                                      tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    return configure_for(context, p, taps_of_gradient(context, p, by_channels(choice)), choice);
}

/* Sets the range of outputs whose taps along w are all inside x. */
static void set_inner(const pool_problem *p, pool_args *args)
{
    int64_t room = p->size[2] - 1 - (p->window[2] - 1) * p->dilation[2] - p->start[2];
    args->inner_first = tn_ceil_div(-p->start[2], p->step[2]);
    args->inner_last = room < 0 ? 0 : tn_min_i64(room / p->step[2] + 1, p->out[2]);
}

pool_args tn_pool_arguments(const pool_problem *p)
{
    pool_args args = {.channels = p->c, .flags = (tenon_i32)p->flags};
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
    set_inner(p, &args);
    return args;
}

/* Divides `lines` lines of `length` elements among work-items. An element costs `work` taps. */
static void share_out(const tenon_context *context, int64_t length, int64_t lines, double work,
                      pool_args *args, tn_launch *launch)
{
    const tn_device *device = &context->device;
    args->line_count = lines;
    args->chunk = device->is_cpu ? tn_max_i64(tn_min_i64(length, CPU_CHUNK), 1) : 1;
    args->lines = 1;
    if (device->is_cpu) {
        double worth = CPU_WORK / (work * (double)args->chunk);
        int64_t fair = tn_ceil_div(lines, 4 * (int64_t)device->info.compute_units);
        args->lines = tn_max_i64(tn_min_i64(worth < 1 ? 1 : (int64_t)worth, fair), 1);
    }
    launch->dimensions = 2;
    launch->global[0] = (size_t)tn_ceil_div(length, args->chunk);
    launch->global[1] = (size_t)tn_ceil_div(lines, args->lines);
    /* An explicit group size: PoCL compiles a kernel for each size that the driver selects. */
    launch->local[0] = launch->local[1] = device->is_cpu ? 1 : 0;
}

/* Records a launch. `operands`: image, y, indices and x; TN_WORKSPACE if absent. */
static tenon_status pool_solvers_record(const char *caller, tn_recording *recording,
                                        const pool_problem *p, const pool_args *args,
                                        tn_launch *launch, const uint8_t *operands)
{
    static const uint16_t offset_at[] = {
        offsetof(pool_args, image_offset), offsetof(pool_args, y_offset),
        offsetof(pool_args, index_offset), offsetof(pool_args, x_offset)};
    tn_patch patches[4];
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    for (int i = 0; i < 4; i++)
        if (operands[i] != TN_WORKSPACE)
            patches[launch->patch_count++] = (tn_patch){TN_PATCH_OFFSET, operands[i], offset_at[i],
                                                        i == 2 ? (uint32_t)sizeof(int32_t) : size};
    launch->args = args;
    launch->args_size = sizeof *args;
    launch->patches = patches;
    return tn_record(caller, recording, launch);
}

tenon_status tn_pool_record_forward(const char *caller, tn_recording *recording,
                                    const pool_problem *p, const pool_args *args, tn_launch *launch)
{
    bool indices = (p->flags & POOL_HAS_INDICES) != 0;
    bool empty = p->size[0] == 0 || p->size[1] == 0 || p->size[2] == 0;
    /* Absent operands are neither read nor written, so y's pointer is passed for them. */
    const uint8_t operands[] = {TN_WORKSPACE, POOL_Y, indices ? POOL_INDICES : TN_WORKSPACE,
                                empty ? TN_WORKSPACE : POOL_X};
    launch->operands[0] = empty ? POOL_Y : POOL_X;
    launch->operands[1] = POOL_Y;
    launch->operands[2] = indices ? POOL_INDICES : POOL_Y;
    launch->operand_count = 3;
    return pool_solvers_record(caller, recording, p, args, launch, operands);
}

tenon_status tn_pool_record_backward(const char *caller, tn_recording *recording,
                                     const pool_problem *p, const pool_args *args,
                                     tn_launch *launch)
{
    bool indices = (p->flags & POOL_HAS_INDICES) != 0,
         image = p->kind == TENON_POOL_MAX && !indices;
    const uint8_t operands[] = {image ? POOL_BACKWARD_X : TN_WORKSPACE, POOL_BACKWARD_DY,
                                indices ? POOL_BACKWARD_INDICES : TN_WORKSPACE, POOL_BACKWARD_DX};
    for (int i = 0; i < 4; i++) /* dx replaces operands that are not read */
        launch->operands[i] = operands[i] != TN_WORKSPACE ? operands[i] : POOL_BACKWARD_DX;
    launch->operand_count = 4;
    return pool_solvers_record(caller, recording, p, args, launch, operands);
}

static tenon_status launch_forward(const char *caller, tn_recording *recording,
                                   const tn_problem *problem, const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const bool channels = by_channels(choice);
    pool_args args = tn_pool_arguments(p);
    tn_launch launch = {.source = "pool/forward",
                        .kernel = channels ? "pool_forward_channels" : "pool_forward_rows",
                        .options = choice->options};
    share_out(recording->context, channels ? p->c : p->out[2],
              p->n * p->out[0] * p->out[1] * (channels ? p->out[2] : p->c), tn_pool_taps(p), &args,
              &launch);
    return tn_pool_record_forward(caller, recording, p, &args, &launch);
}

static tenon_status launch_backward(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const bool channels = by_channels(choice);
    const bool looks = p->kind == TENON_POOL_MAX && (p->flags & POOL_HAS_INDICES) == 0;
    const double elements = (double)p->size[0] * (double)p->size[1] * (double)p->size[2];
    const double covers =
        tn_pool_taps(p) * (double)p->out[0] * (double)p->out[1] * (double)p->out[2] / elements;
    pool_args args = tn_pool_arguments(p);
    tn_launch launch = {.source = "pool/backward",
                        .kernel = channels ? "pool_backward_channels" : "pool_backward_rows",
                        .options = choice->options};
    share_out(recording->context, channels ? p->c : p->size[2],
              p->n * p->size[0] * p->size[1] * (channels ? p->size[2] : p->c),
              4 + covers * (looks ? tn_pool_taps(p) : 1), &args, &launch);
    return tn_pool_record_backward(caller, recording, p, &args, &launch);
}

const tn_solver tn_pool_rows = {
    .name = "rows",
    .serves = "ordinary windows; a work-item handles lines along the last dimension",
    .configure = pool_solvers_configure,
    .launch = launch_forward};

const tn_solver tn_pool_channels = {.name = "channels",
                                    .serves =
                                        "ordinary windows; best if the channels are contiguous",
                                    .configure = pool_solvers_configure,
                                    .launch = launch_forward};

const tn_solver tn_pool_backward_rows = {
    .name = "rows",
    .serves = "ordinary windows; a work-item handles lines along the last dimension",
    .configure = configure_backward,
    .launch = launch_backward};

const tn_solver tn_pool_backward_channels = {
    .name = "channels",
    .serves = "ordinary windows; best if the channels are contiguous",
    .configure = configure_backward,
    .launch = launch_backward};

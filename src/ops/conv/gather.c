/* im2col/rows and im2col/channels: columns written along q, or along the channels. */
#include "base/checked.h"
#include "ops/conv/internal.h"

#include <stddef.h>
#include <string.h>

/* What makes a CPU's work-item worth the arithmetic that finds its place. */
#define CPU_ELEMENTS 1024

static const char *refuses_nothing(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

static const char *refuses_channels(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    return ((const im2col_problem *)problem)->col[1] == 1 || problem->forced >= 0
               ? NULL
               : "the columns are not contiguous along the channels";
}

/* Neither needs more than the other: what is written along the contiguous dimension goes faster. */
static double estimate_rows(tenon_context *context, const tn_problem *problem,
                            const int32_t *values)
{
    (void)context;
    (void)values;
    return ((const im2col_problem *)problem)->col[7] == 1 ? 1 : 2;
}

static double estimate_channels(tenon_context *context, const tn_problem *problem,
                                const int32_t *values)
{
    (void)context;
    (void)problem;
    (void)values;
    return 1.5;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u",
                     (unsigned)((const im2col_problem *)problem)->dtype);
}

static im2col_args arguments(const im2col_problem *p)
{
    im2col_args args = {
        .x_offset = p->x_shift, .col_offset = p->col_shift, .c = p->c, .window = p->window};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.col_stride, p->col, sizeof args.col_stride);
    return args;
}

static tenon_status record(const char *operation, tn_recording *recording, const im2col_problem *p,
                           im2col_args *args, const char *kernel, int64_t width, int64_t height)
{
    char text[TN_OPTIONS_SIZE];
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    uint8_t x = (uint8_t)p->x_operand, col = (uint8_t)p->col_operand;
    const tn_patch patches[] = {{TN_PATCH_OFFSET, x, offsetof(im2col_args, x_offset), size},
                                {TN_PATCH_OFFSET, col, offsetof(im2col_args, col_offset), size}};
    /* An empty image has no memory; nothing of it is read. */
    bool empty = tn_window_empty(&p->window);
    /* Where the driver chooses a work-group by the sizes, PoCL compiles for each that it has not
     * seen. */
    size_t local = recording->context->device.is_cpu ? 1 : 0;
    options(recording->context, &p->head, NULL, text);
    tn_launch launch = {.source = "conv/im2col",
                        .options = text,
                        .kernel = kernel,
                        .dimensions = 3,
                        .global = {(size_t)width, (size_t)height, (size_t)p->n},
                        .local = {local, local, local},
                        .operands = {empty ? col : x, col},
                        .operand_count = IM2COL_OPERANDS,
                        .args = args,
                        .args_size = sizeof *args,
                        .patches = patches,
                        .patch_count = 2};
    return tn_record(operation, recording, &launch);
}

/* A CPU's work-item takes all of a line, or all channels of a pixel, and as many of them as make it
 * worth its launch; a GPU's takes one element, beside its neighbours'. */
static void share_out(const tn_recording *recording, int64_t length, int64_t lines,
                      im2col_args *args)
{
    bool cpu = recording->context->device.is_cpu;
    args->run = cpu ? tn_max_i64(length, 1) : 1;
    args->lines = cpu ? tn_min_i64(lines, tn_ceil_div(CPU_ELEMENTS, args->run)) : 1;
}

static tenon_status record_rows(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const im2col_problem *p = (const im2col_problem *)problem;
    const conv_window *v = &p->window;
    im2col_args args = arguments(p);
    int64_t lines = v->out[0] * v->out[1];
    (void)values;
    share_out(recording, v->out[2], lines, &args);
    return record(operation, recording, p, &args, "im2col_rows",
                  tn_ceil_div(v->out[2], args.run) * tn_ceil_div(lines, args.lines),
                  p->c * tn_window_taps(v));
}

static tenon_status record_channels(const char *operation, tn_recording *recording,
                                    const tn_problem *problem, const int32_t *values)
{
    const im2col_problem *p = (const im2col_problem *)problem;
    const conv_window *v = &p->window;
    im2col_args args = arguments(p);
    int64_t pixels = tn_window_pixels(v);
    (void)values;
    share_out(recording, p->c, pixels, &args);
    return record(operation, recording, p, &args, "im2col_channels",
                  tn_ceil_div(p->c, args.run) * tn_window_taps(v), tn_ceil_div(pixels, args.lines));
}

const tn_solver tn_im2col_rows = {.name = "rows",
                                  .refuses = refuses_nothing,
                                  .estimate = estimate_rows,
                                  .options = options,
                                  .record = record_rows};

const tn_solver tn_im2col_channels = {.name = "channels",
                                      .refuses = refuses_channels,
                                      .estimate = estimate_channels,
                                      .options = options,
                                      .record = record_channels};

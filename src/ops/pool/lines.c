/* The solver pool/lines, for CPUs: norms, adaptive windows, and averages of windows that end beyond
 * the padding, with a kernel each for contiguous rows and contiguous channels. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/pool/internal.h"
#include "pool/lines_args.h"

/* Elements of x, counted once for each window, that are worth a work-item. */
#define WORTH 32768
/* Channels per work-item. */
#define CHANNELS_AT_ONCE 4096
/* Columns of x that a work-item combines at once, and outputs of a row. */
#define LINE 1024

static bool by_channels(const pool_problem *p)
{
    return p->x[1] == 1 && p->y[1] == 1;
}

/* Returns the number of outputs of a row whose columns a work-item can combine at once. */
static int64_t outputs_at_once(const pool_problem *p)
{
    int64_t reach;
    if ((p->flags & POOL_ADAPTIVE) != 0) /* n outputs cover at most n * size / out + 2 columns */
        return tn_min_i64((int64_t)((LINE - 2) * ((double)p->out[2] / (double)p->size[2])), LINE);
    if (!tn_mul_i64(p->window[2] - 1, p->dilation[2], &reach) || reach >= LINE)
        return 0;
    return tn_min_i64((LINE - 1 - reach) / p->step[2] + 1, LINE);
}

/* Multiply-adds that take as long as an output, and as combining one of its columns; and as an
 * element of x in vectors (guesses). */
#define OUTPUT  6.0
#define COLUMN  1.0
#define ELEMENT 3.0

static tn_work lines_work_of(const tenon_context *context, const pool_problem *p)
{
    const double outputs = tn_pool_elements(p, p->out), taps = outputs * tn_pool_taps(p),
                 rows = (double)p->window[0] * (double)p->window[1],
                 columns = outputs / (double)p->out[2] * (double)p->size[2];
    tn_work work = {.launches = 1,
                    .items = outputs / tn_lanes(context, p->dtype),
                    .rate = tn_sum_rate(p->dtype),
                    .vector_elements = ELEMENT * (by_channels(p) ? taps : columns * rows)};
    work.single_elements = by_channels(p) ? OUTPUT * outputs / tn_lanes(context, p->dtype)
                                          : (OUTPUT + COLUMN * (double)p->window[2]) * outputs;
    return work;
}

static const char *lines_configure(tenon_context *context, const tn_problem *problem,
                                   tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (tn_pool_is_special(p) == NULL)
        return "the windows are ordinary ones, which other solvers serve faster";
    if (!by_channels(p) && p->x[4] != 1)
        return "neither the rows of x nor the channels of x and y are contiguous";
    if (!by_channels(p) && outputs_at_once(p) < 1)
        return "the window is too long";
    const tn_work work = lines_work_of(context, p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u -DTENON_POOL_LINE=%d",
                      p->dtype, tn_lanes(context, p->dtype), LINE);
    return NULL;
}

static tenon_status lines_launch(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const bool channels = by_channels(p);
    const int64_t length = channels ? p->c : p->out[2];
    pool_lines_args args = {.windows = tn_pool_windows_arguments(p)};
    pool_windows_args *windows = &args.windows;
    windows->count = p->n * p->out[0] * p->out[1] * (channels ? p->out[2] : p->c);
    args.chunk =
        tn_max_i64(tn_min_i64(length, channels ? CHANNELS_AT_ONCE : outputs_at_once(p)), 1);
    const double worth = WORTH / (tn_pool_taps(p) * (double)args.chunk);
    const int64_t fair =
        tn_ceil_div(windows->count, 4 * (int64_t)recording->context->device.info.compute_units);
    windows->each = tn_max_i64(tn_min_i64(worth < 1 ? 1 : (int64_t)worth, fair), 1);
    tn_launch launch = {.source = "pool/lines",
                        .kernel = channels ? "pool_lines_channels" : "pool_lines_rows",
                        .options = choice->options,
                        .args = &args,
                        .args_size = sizeof args,
                        .dimensions = 2,
                        .global = {(size_t)tn_ceil_div(length, args.chunk),
                                   (size_t)tn_ceil_div(windows->count, windows->each)},
                        .local = {1, 1}};
    return tn_pool_windows_record_forward(caller, recording, p, &launch);
}

const tn_solver tn_pool_lines = {
    .name = "lines",
    .serves = "norms, adaptive windows, and averages of windows that end beyond the padding, on "
              "CPUs, with contiguous rows or channels",
    .configure = lines_configure,
    .launch = lines_launch};

/* The solver pool/values, for CPUs: pooling without indices, in vectors along w or along the
 * channels, whichever is contiguous, with a kernel for each, and one for windows of whole rows. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/common/stores.h"
#include "ops/pool/internal.h"

#include <stdio.h>

/* Elements of x, counted once for each window, that are worth a work-item. */
#define WORTH 32768
/* Channels per work-item. */
#define CHANNELS_AT_ONCE 4096
/* Columns of x that a work-item combines at once. */
#define LINE 1024

/* The lines that vectors lie along. */
typedef enum line_kind { OTHER, ROWS, PLANES, CHANNELS } line_kind;

static line_kind lines_of(const pool_problem *p)
{
    if (p->x[1] == 1 && p->y[1] == 1)
        return CHANNELS;
    if (p->x[4] == 1 && p->out[2] == 1 && p->start[2] == 0 && p->window[2] == p->size[2] &&
        p->dilation[2] == 1)
        return PLANES;
    return p->x[4] == 1 && p->y[4] == 1 ? ROWS : OTHER;
}

/* Returns the number of columns of x from the first to the last tap of a window, or INT64_MAX. */
static int64_t reach_of(const pool_problem *p)
{
    int64_t reach;
    return tn_mul_i64(p->window[2] - 1, p->dilation[2], &reach) && reach < INT64_MAX ? reach + 1
                                                                                     : INT64_MAX;
}

/* Returns the number of outputs of a row, a multiple of the vector width, whose columns a work-item
 * can combine at once. */
static int64_t outputs_at_once(const pool_problem *p, int64_t lanes)
{
    const int64_t reach = reach_of(p);
    return reach > LINE ? 0 : (LINE - reach) / p->step[2] / lanes * lanes;
}

/* Returns the bytes of y if its lines are whole cache lines; otherwise 0, because non-temporal
 * stores write each part of a cache line to memory. */
static int64_t bytes_of_lines(const pool_problem *p)
{
    const int64_t line = lines_of(p) == CHANNELS ? p->c : p->out[2];
    return line * (int64_t)tenon_dtype_size((tenon_dtype)p->dtype) % TN_LINE_BYTES == 0
               ? tn_stores_bytes(p->dtype, (int64_t)tn_pool_elements(p, p->out))
               : 0;
}

/* Weight of a loaded element, measured on x86-64. */
#define WEIGHT 2.0

/* Estimates the work. Along w, every column is combined once for each row of outputs, and the
 * columns once for each output. Fewer columns than lanes are combined one at a time. As in the
 * other solvers, time for memory is not counted, because all of them read the same. */
static tn_work work_of(const tenon_context *context, const pool_problem *p)
{
    const line_kind lines = lines_of(p);
    const double outputs = tn_pool_elements(p, p->out), taps = tn_pool_taps(p),
                 columns = outputs / (double)p->out[2] * (double)p->size[2],
                 rows = (double)p->window[0] * (double)p->window[1],
                 loaded = lines == ROWS ? columns * rows + outputs * (double)p->window[2]
                                        : outputs * taps,
                 width = lines == ROWS     ? (double)p->size[2]
                         : lines == PLANES ? taps
                                           : (double)p->c;
    tn_work work = {.launches = 1,
                    .items = outputs / tn_lanes(context, p->dtype),
                    .rate = tn_sum_rate(p->dtype)};
    *(width >= tn_lanes(context, p->dtype) ? &work.vector_elements : &work.single_elements) =
        WEIGHT * loaded;
    return work;
}

/* Returns why the kernels do not support a problem, or NULL. */
static const char *why_not(const pool_problem *p, int64_t lanes)
{
    switch (lines_of(p)) {
    case CHANNELS:
        return p->c < lanes ? "there are fewer channels than vector lanes" : NULL;
    case ROWS:
        return outputs_at_once(p, lanes) == 0 ? "the window is too long" : NULL;
    case PLANES:
        return NULL;
    default:
        return "neither the rows nor the channels of x and y are contiguous";
    }
}

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const int64_t lanes = tn_lanes(context, p->dtype);
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    const char *special = tn_pool_is_special(p);
    if (special != NULL)
        return special;
    if ((p->flags & POOL_HAS_INDICES) != 0)
        return "indices are requested";
    const char *reason = why_not(p, lanes);
    if (reason != NULL)
        return reason;
    tn_stores_configure(context, bytes_of_lines(p), choice);
    const tn_work work = work_of(context, p);
    tn_choice_add(context, choice, &work);
    char rows[96] = "";
    if (lines_of(p) != CHANNELS)
        snprintf(rows, sizeof rows, " -DTENON_POOL_LINE=%d -DTENON_BUILTIN_PREFETCH=%d", LINE,
                 context->device.has_builtin_prefetch);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_POOL_MAX=%d -DTENON_VW=%d%s%s",
                      p->dtype, p->kind == TENON_POOL_MAX, (int)lanes, rows,
                      tn_stores_option(choice->values));
    return NULL;
}

/* Divides lines of `length` outputs among work-items. */
static void divide(const tenon_context *context, const pool_problem *p, int64_t length,
                   int64_t limit, pool_args *args, tn_launch *launch)
{
    args->chunk = tn_max_i64(tn_min_i64(length, limit), 1);
    const double read = tn_pool_elements(p, p->size) / (double)args->line_count;
    const double worth = WORTH / (read > 1 ? read : 1);
    const int64_t fair =
        tn_ceil_div(args->line_count, 4 * (int64_t)context->device.info.compute_units);
    args->lines = tn_max_i64(tn_min_i64(worth < 1 ? 1 : (int64_t)worth, fair), 1);
    launch->dimensions = 2;
    launch->global[0] = (size_t)tn_ceil_div(length, args->chunk);
    launch->global[1] = (size_t)tn_ceil_div(args->line_count, args->lines);
    launch->local[0] = launch->local[1] = 1; /* PoCL compiles a kernel for each size */
}

static tenon_status launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice)
{
    static const char *const kernels[] = {[ROWS] = "pool_values_rows",
                                          [PLANES] = "pool_values_planes",
                                          [CHANNELS] = "pool_values_channels"};
    const pool_problem *p = (const pool_problem *)problem;
    const line_kind lines = lines_of(p);
    const int64_t rows = p->n * p->out[0] * p->out[1],
                  limit = lines == CHANNELS ? CHANNELS_AT_ONCE
                          : lines == ROWS
                              ? outputs_at_once(p, tn_lanes(recording->context, p->dtype))
                              : 1;
    pool_args args = tn_pool_arguments(p);
    tn_launch launch = {.source = lines == CHANNELS ? "pool/values_channels" : "pool/values",
                        .kernel = kernels[lines],
                        .options = choice->options};
    args.line_count = rows * (lines == CHANNELS ? p->out[2] : p->c);
    divide(recording->context, p, lines == CHANNELS ? p->c : p->out[2], limit, &args, &launch);
    return tn_pool_record_forward(caller, recording, p, &args, &launch);
}

const tn_solver tn_pool_values = {
    .name = "values",
    .serves = "calls without indices on CPUs, with contiguous rows or channels; vectors of results",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = configure,
    .launch = launch};

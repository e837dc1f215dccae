/* copy/transpose and copy/transpose_local: x and y are contiguous along different dimensions.
 * Squares turn in registers, on CPUs, or in local memory, on GPUs. */
#include "base/checked.h"
#include "elementwise/transpose_args.h"
#include "ops/common/lanes.h"
#include "ops/common/walk.h"
#include "ops/elementwise/internal.h"

#include <stddef.h>

/* What a CPU's work-item does: few columns, and rows (along which x is contiguous) as many as leave
 * enough work-items. What is read is then neighbouring long enough for the prefetchers. */
#define CPU_COLUMNS    32
#define CPU_MOST_ROWS  1024
#define CPU_LEAST_ROWS 64
/* Stores past the caches pay where y is this part of the last one and its rows begin at lines:
 * lines a power of two apart displace each other long before it is full. */
#define CACHE_PARTS 8
#define LINE_BYTES  64

/* The dimension along which x is contiguous; that of y is the last. Past the end: none. */
static uint32_t down(const tn_pointwise_problem *p)
{
    uint32_t d = 0;
    while (d + 1 < p->rank && p->stride[COPY_X][d] != 1)
        d++;
    return d + 1 < p->rank ? d : p->rank;
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    uint32_t last = p->rank - 1;
    (void)context;
    if (p->from != p->to)
        return "it moves elements as they are, without a conversion";
    if (p->stride[COPY_Y][last] != 1 || p->stride[COPY_X][last] == 1 || down(p) == p->rank)
        return "x and y are not contiguous along two different dimensions";
    return NULL;
}

static const char *refuses_local(tenon_context *context, const tn_problem *problem)
{
    const char *why = refuses(context, problem);
    if (why == NULL && context->device.info.max_work_group < TRANSPOSE_TILE * TRANSPOSE_ITEMS)
        why = "the device's work-groups are too small";
    return why;
}

/* Beside tn_pointwise_estimate: elements of whole squares cost half to three quarters of single
 * ones, the rest somewhat more than these; measured on x86-64. */
static double time_of(tenon_context *context, const tn_pointwise_problem *p, bool good)
{
    const int64_t width = (int64_t)tn_lanes(context, TENON_DTYPE_F32);
    int64_t rows = p->shape[down(p)], columns = p->shape[p->rank - 1];
    double planes = 1;
    for (uint32_t d = 0; d + 1 < p->rank; d++)
        planes *= d == down(p) ? 1 : (double)p->shape[d];
    const int64_t whole_rows = rows / width * width, whole_columns = columns / width * width;
    double whole = (double)whole_rows * (double)whole_columns;
    double all = (double)rows * (double)columns;
    return 5000 + planes * (good ? 0.6 * whole + 1.2 * (all - whole) : 2.0 * all);
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return time_of(context, (const tn_pointwise_problem *)problem, context->device.is_cpu);
}

static double estimate_local(tenon_context *context, const tn_problem *problem,
                             const int32_t *values)
{
    (void)values;
    return time_of(context, (const tn_pointwise_problem *)problem, !context->device.is_cpu);
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    tn_element_options(context, (tenon_dtype)((const tn_pointwise_problem *)problem)->to, values,
                       text);
}

static void options_local(tenon_context *context, const tn_problem *problem, const int32_t *values,
                          char text[TN_OPTIONS_SIZE])
{
    (void)values;
    options(context, problem, NULL, text);
}

static void tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const int64_t step = p->stride[COPY_Y][down(p)] * (int64_t)tenon_dtype_size((tenon_dtype)p->to);
    const int64_t bytes = tn_pointwise_copy_bytes(p) * CACHE_PARTS;
    tn_stores_tune(context, step % LINE_BYTES == 0 ? bytes : 0, &values[0]);
}

/* Fills in all but the offsets; returns how many blocks there are. */
static int64_t cut(const tn_pointwise_problem *p, int64_t block_rows, int64_t block_columns,
                   transpose_args *args)
{
    const uint32_t last = p->rank - 1, rows = down(p);
    int64_t count = 1;
    *args = (transpose_args){.columns = p->shape[last],
                             .rows = p->shape[rows],
                             .x_step = p->stride[COPY_X][last],
                             .y_step = p->stride[COPY_Y][rows],
                             .block_columns = block_columns,
                             .block_rows = block_rows};
    args->blocks[0] = tn_ceil_div(args->columns, block_columns);
    args->blocks[1] = tn_ceil_div(args->rows, block_rows);
    for (uint32_t d = 0; d < last; d++) {
        if (d == rows)
            continue;
        args->shape[args->rank] = p->shape[d];
        args->stride[0][args->rank] = p->stride[COPY_X][d];
        args->stride[1][args->rank++] = p->stride[COPY_Y][d];
        count *= p->shape[d];
    }
    return count * args->blocks[0] * args->blocks[1];
}

static int64_t cpu_rows(tenon_context *context, const tn_pointwise_problem *p)
{
    const int64_t enough = 8 * (int64_t)context->device.info.compute_units;
    transpose_args args;
    int64_t rows = CPU_MOST_ROWS;
    while (rows > CPU_LEAST_ROWS && cut(p, rows, CPU_COLUMNS, &args) < enough)
        rows /= 2;
    return rows;
}

static tenon_status record_launch(const char *operation, tn_recording *recording,
                                  const tn_pointwise_problem *p, tn_launch launch,
                                  int64_t block_rows, int64_t block_columns)
{
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->to);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, COPY_X, offsetof(transpose_args, offset[0]), size},
        {TN_PATCH_OFFSET, COPY_Y, offsetof(transpose_args, offset[1]), size}};
    transpose_args args;
    launch.source = "elementwise/transpose";
    launch.global[0] = (size_t)cut(p, block_rows, block_columns, &args) * launch.local[0];
    launch.operands[0] = COPY_X;
    launch.operands[1] = COPY_Y;
    launch.operand_count = COPY_OPERANDS;
    launch.args = &args;
    launch.args_size = sizeof args;
    launch.patches = patches;
    launch.patch_count = COPY_OPERANDS;
    return tn_record(operation, recording, &launch);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    char text[TN_OPTIONS_SIZE];
    const tn_launch launch = {
        .kernel = "transpose", .options = text, .dimensions = 1, .local = {1}};
    options(recording->context, problem, values, text);
    return record_launch(operation, recording, (const tn_pointwise_problem *)problem, launch,
                         cpu_rows(recording->context, (const tn_pointwise_problem *)problem),
                         CPU_COLUMNS);
}

static tenon_status record_local(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    char text[TN_OPTIONS_SIZE];
    const tn_launch launch = {.kernel = "transpose_local",
                              .options = text,
                              .dimensions = 2,
                              .global = {0, TRANSPOSE_ITEMS},
                              .local = {TRANSPOSE_TILE, TRANSPOSE_ITEMS}};
    options_local(recording->context, problem, values, text);
    return record_launch(operation, recording, (const tn_pointwise_problem *)problem, launch,
                         TRANSPOSE_TILE, TRANSPOSE_TILE);
}

/* Two blocks and a tail each way. */
#define AWKWARD "rows=131 columns=150"

const tn_solver tn_copy_transpose = {.name = "transpose",
                                     .awkward = AWKWARD,
                                     .parameters = tn_stores_parameter,
                                     .parameter_count = 1,
                                     .refuses = refuses,
                                     .tune = tune,
                                     .constrains = tn_stores_constrains,
                                     .estimate = estimate,
                                     .options = options,
                                     .record = record};

const tn_solver tn_copy_transpose_local = {.name = "transpose_local",
                                           .awkward = AWKWARD,
                                           .refuses = refuses_local,
                                           .estimate = estimate_local,
                                           .options = options_local,
                                           .record = record_local};

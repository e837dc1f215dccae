/* The solvers copy/transpose and copy/transpose_local, for x and y that are contiguous along
 * different dimensions. Tiles are transposed in registers on CPUs, or in local memory on GPUs. */
#include "base/checked.h"
#include "elementwise/transpose_args.h"
#include "ops/common/lanes.h"
#include "ops/common/walk.h"
#include "ops/elementwise/internal.h"

#include <stddef.h>

/* Block of a CPU's work-item: few columns, and as many rows (along which x is contiguous) as leave
 * enough work-items, to make reads long enough for the prefetcher. */
#define CPU_COLUMNS    32
#define CPU_MOST_ROWS  1024
#define CPU_LEAST_ROWS 64
/* Non-temporal stores are used if y is at least this fraction of the cache and its rows start at
 * cache lines: strides of a power of two cause conflict misses long before the cache is full. */
#define CACHE_PARTS 8
#define LINE_BYTES  64

typedef struct transpose_layout {
    transpose_args args;
    int64_t blocks;
} transpose_layout;

/* Returns the dimension, other than the last, along which x is contiguous; p->rank if none. */
static uint32_t down(const tn_pointwise_problem *p)
{
    uint32_t d = 0;
    while (d + 1 < p->rank && p->stride[COPY_X][d] != 1)
        d++;
    return d + 1 < p->rank ? d : p->rank;
}

/* Returns true for the solver that transposes tiles in local memory. */
static bool is_local(const tn_choice *choice)
{
    return tn_is_solver(choice->solver, &tn_copy_transpose_local);
}

static const char *elementwise_transpose_refuses(tenon_context *context,
                                                 const tn_pointwise_problem *p, bool local)
{
    uint32_t last = p->rank - 1;
    if (p->from != p->to)
        return "x and y have different types";
    if (p->stride[COPY_Y][last] != 1 || p->stride[COPY_X][last] == 1 || down(p) == p->rank)
        return "x and y are not contiguous along two different dimensions";
    if (local && context->device.info.max_work_group < TRANSPOSE_TILE * TRANSPOSE_ITEMS)
        return "the device's work-groups are too small";
    return NULL;
}

/* Estimates the work, measured on x86-64: relative to single elements (tn_pointwise_work), those of
 * whole tiles cost half to three quarters, the others somewhat more. */
static tn_work elementwise_transpose_work_of(tenon_context *context, const tn_pointwise_problem *p,
                                             bool good)
{
    const int64_t width = (int64_t)tn_lanes(context, TENON_DTYPE_F32);
    const int64_t rows = p->shape[down(p)], columns = p->shape[p->rank - 1];
    const double all = (double)tn_pointwise_elements(p),
                 planes = all / ((double)rows * (double)columns);
    const int64_t whole_rows = rows / width * width, whole_columns = columns / width * width;
    const double whole = planes * (double)whole_rows * (double)whole_columns;
    return (tn_work){.launches = 1,
                     .single_elements = good ? 0.6 * whole + 1.2 * (all - whole) : 2.0 * all,
                     .bytes = all * 2 * (double)tenon_dtype_size((tenon_dtype)p->to),
                     .reads = good ? TN_COALESCED : TN_LONG_ROWS};
}

/* Fills in the arguments except the offsets. Returns the number of blocks. */
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

static void configure_stores(tenon_context *context, const tn_pointwise_problem *p,
                             tn_choice *choice)
{
    const int64_t step = p->stride[COPY_Y][down(p)] * (int64_t)tenon_dtype_size((tenon_dtype)p->to);
    const int64_t bytes = tn_pointwise_copy_bytes(p) * CACHE_PARTS;
    tn_stores_configure(context, step % LINE_BYTES == 0 ? bytes : 0, choice);
}

static const char *elementwise_transpose_configure(tenon_context *context,
                                                   const tn_problem *problem, tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    const bool local = is_local(choice);
    transpose_layout *layout = TN_LAYOUT(transpose_layout, choice);
    const char *why = elementwise_transpose_refuses(context, p, local);
    if (why != NULL)
        return why;
    if (!local)
        configure_stores(context, p, choice);
    layout->blocks = local ? cut(p, TRANSPOSE_TILE, TRANSPOSE_TILE, &layout->args)
                           : cut(p, cpu_rows(context, p), CPU_COLUMNS, &layout->args);
    const tn_work work = elementwise_transpose_work_of(context, p, local != context->device.is_cpu);
    tn_choice_add(context, choice, &work);
    tn_element_options(context, (tenon_dtype)p->to, choice->values, choice->options);
    return NULL;
}

static tenon_status elementwise_transpose_launch(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    const transpose_layout *layout = TN_LAYOUT(const transpose_layout, choice);
    const uint32_t size =
        (uint32_t)tenon_dtype_size((tenon_dtype)((const tn_pointwise_problem *)problem)->to);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, COPY_X, offsetof(transpose_args, offset[0]), size},
        {TN_PATCH_OFFSET, COPY_Y, offsetof(transpose_args, offset[1]), size}};
    tn_launch squares = {.source = "elementwise/transpose",
                         .options = choice->options,
                         .kernel = "transpose",
                         .dimensions = 1,
                         .global = {(size_t)layout->blocks},
                         .local = {1},
                         .operands = {COPY_X, COPY_Y},
                         .operand_count = COPY_OPERANDS,
                         TN_ARGS(layout->args),
                         TN_PATCHES(patches)};
    if (is_local(choice)) {
        squares.kernel = "transpose_local";
        squares.dimensions = 2;
        squares.global[0] *= squares.local[0] = TRANSPOSE_TILE;
        squares.global[1] = squares.local[1] = TRANSPOSE_ITEMS;
    }
    return tn_record(caller, recording, &squares);
}

/* Two blocks and a tail in either dimension. */
#define AWKWARD "rows=131 columns=150"

const tn_solver tn_copy_transpose = {
    .name = "transpose",
    .serves = "x and y of one type, contiguous along different dimensions; transposes tiles in "
              "registers, on CPUs",
    .awkward = AWKWARD,
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = elementwise_transpose_configure,
    .launch = elementwise_transpose_launch};

const tn_solver tn_copy_transpose_local = {
    .name = "transpose_local",
    .serves =
        "x and y of one type, contiguous along different dimensions; transposes tiles in local "
        "memory, on GPUs",
    .awkward = AWKWARD,
    .configure = elementwise_transpose_configure,
    .launch = elementwise_transpose_launch};

/* The solvers scan/rows, scan/pieces and scan/columns. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/stores.h"
#include "ops/common/values.h"
#include "ops/scan/internal.h"

#include <stddef.h>

/* Least elements per work-item of a CPU, to be worth its launch. */
#define CPU_CHUNK 8192
/* Least length of a piece, and the maximum number of pieces of a row. */
#define CPU_PIECE  16384
#define CPU_PIECES 64
#define GPU_PIECE  SCAN_BLOCK
#define GPU_PIECES 2048
#define GPU_GROUP  64
/* Work-items per compute unit of a GPU, to keep enough reads in flight. */
#define GPU_WORK_ITEMS 128
/* Neighboring rows of a work-item of a CPU: TENON_VW of the kernels. */
#define CPU_COLUMNS 8

/* The layout of a choice. */
typedef struct scan_layout {
    int64_t pieces, length; /* of a row */
    int64_t each, items;    /* scan_args.each, and the number of work-items */
} scan_layout;

static void scan_options(tenon_context *context, const scan_problem *p, tn_choice *choice)
{
    tn_choice_options(context, choice, "%s%s%s%s", tn_value_options(p->dtype),
                      context->device.is_cpu ? " -DTENON_VW=8" : "", tn_gpu_option(context),
                      choice->solver->parameter_count > 0 ? tn_stores_option(choice->values) : "");
}

/* Returns the work of a launch that reads every element, and writes it if `writes`. Elements of a
 * CPU's vectors count about 3 vector operations, others 4 scalar ones. */
static tn_work scan_work(const scan_problem *p, double items, bool is_dense, bool writes)
{
    const double elements = (double)tn_axis_rows(&p->space) * (double)p->space.size;
    const double bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype);
    return (tn_work){.launches = 1,
                     .items = items,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = is_dense ? 3 * elements : 0,
                     .single_elements = is_dense ? 0 : 4 * elements,
                     .bytes = writes ? 2 * bytes : bytes,
                     .reads = tn_reads_of_row((double)p->space.size * bytes / elements)};
}

static bool is_dense_along(const scan_problem *p)
{
    return p->space.axis[SCAN_X] == 1 && p->space.axis[SCAN_Y] == 1;
}

/* Sets `nt`. Only contiguous rows are written by vectors. */
static void configure_stores(tenon_context *context, const scan_problem *p, tn_choice *choice)
{
    const int64_t elements = is_dense_along(p) ? tn_axis_rows(&p->space) * p->space.size : 0;
    tn_stores_configure(context, tn_stores_bytes(p->dtype, elements), choice);
}

static const char *configure_rows(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const scan_problem *p = (const scan_problem *)problem;
    scan_layout *l = TN_LAYOUT(scan_layout, choice);
    const int64_t rows = tn_axis_rows(&p->space);
    l->pieces = 1;
    l->each = context->device.is_cpu ? tn_max_i64(CPU_CHUNK / p->space.size, 1) : 1;
    l->items = tn_ceil_div(rows, l->each);
    const tn_work work = scan_work(p, (double)l->items, is_dense_along(p), true);
    tn_choice_add(context, choice, &work);
    configure_stores(context, p, choice);
    scan_options(context, p, choice);
    return NULL;
}

static const char *configure_pieces(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const scan_problem *p = (const scan_problem *)problem;
    const bool is_cpu = context->device.is_cpu;
    scan_layout *l = TN_LAYOUT(scan_layout, choice);
    const int64_t rows = tn_axis_rows(&p->space), least = is_cpu ? CPU_PIECE : GPU_PIECE;
    const int64_t units = context->device.info.compute_units;
    const int64_t wanted = tn_ceil_div(units * (is_cpu ? 4 : GPU_WORK_ITEMS), rows);
    const int64_t most = tn_min_i64(is_cpu ? CPU_PIECES : GPU_PIECES, p->space.size / least);
    if (p->space.size < 2 * least)
        return "the rows are too short to split";
    l->pieces = tn_max_i64(tn_min_i64(wanted, most), 2);
    l->length = tn_round_up(tn_ceil_div(p->space.size, l->pieces), SCAN_BLOCK);
    l->pieces = tn_ceil_div(p->space.size, l->length);
    l->items = rows * l->pieces;
    choice->workspace = (uint64_t)l->items * sizeof(double);
    tn_work work = scan_work(p, (double)l->items, is_dense_along(p), false);
    tn_choice_add(context, choice, &work);
    work = scan_work(p, (double)l->items, is_dense_along(p), true);
    work.follows = true;
    work.scalar = (double)l->items * (double)l->pieces;
    tn_choice_add(context, choice, &work);
    configure_stores(context, p, choice);
    scan_options(context, p, choice);
    return NULL;
}

static const char *configure_columns(tenon_context *context, const tn_problem *problem,
                                     tn_choice *choice)
{
    const scan_problem *p = (const scan_problem *)problem;
    scan_layout *l = TN_LAYOUT(scan_layout, choice);
    const uint64_t last = p->space.rank - 1;
    const int64_t width = p->space.shape[last];
    if (p->space.stride[SCAN_X][last] != 1 || p->space.stride[SCAN_Y][last] != 1)
        return "neighboring rows are not neighbors in memory";
    l->pieces = 1;
    l->each = tn_ceil_div(width, context->device.is_cpu ? CPU_COLUMNS : 1);
    l->items = tn_axis_rows(&p->space) / width * l->each;
    tn_work work = scan_work(p, (double)l->items, true, true);
    work.vector_elements *= (double)(l->each * CPU_COLUMNS) / (double)width;
    work.reads = width >= TN_GPU_LEAST_COLUMNS ? TN_COALESCED : TN_LONG_ROWS;
    tn_choice_add(context, choice, &work);
    scan_options(context, p, choice);
    return NULL;
}

/* Records one kernel, whose memory operands are x, y or the workspace. */
static tenon_status record(const char *caller, tn_recording *recording, const scan_problem *p,
                           const tn_choice *choice, tn_launch *launch)
{
    const scan_layout *l = TN_LAYOUT(const scan_layout, choice);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, SCAN_X, offsetof(scan_args, axis.offset[SCAN_X]), size},
        {TN_PATCH_OFFSET, SCAN_Y, offsetof(scan_args, axis.offset[SCAN_Y]), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(scan_args, workspace), tn_value_size(p->dtype)}};
    scan_args args = {.pieces = l->pieces,
                      .length = l->length,
                      .each = l->each,
                      .kind = (tenon_i32)p->kind,
                      .flags = (tenon_i32)p->flags};
    tn_axis_args_fill(&p->space, &args.axis);
    launch->source = "scan/scan";
    launch->options = choice->options;
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(l->items, (int64_t)launch->local[0]);
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    launch->patch_count = l->pieces > 1 ? 3 : 2;
    return tn_record(caller, recording, launch);
}

static tenon_status launch_whole(const char *caller, tn_recording *recording,
                                 const tn_problem *problem, const tn_choice *choice)
{
    const bool across = tn_is_solver(choice->solver, &tn_scan_columns);
    tn_launch whole = {.kernel = across ? "scan_columns" : "scan_rows",
                       .operands = {SCAN_X, SCAN_Y},
                       .operand_count = 2};
    return record(caller, recording, (const scan_problem *)problem, choice, &whole);
}

static tenon_status launch_pieces(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const scan_problem *p = (const scan_problem *)problem;
    tn_launch totals = {
        .kernel = "scan_totals", .operands = {SCAN_X, TN_WORKSPACE}, .operand_count = 2};
    tn_launch pieces = {
        .kernel = "scan_pieces", .operands = {SCAN_X, TN_WORKSPACE, SCAN_Y}, .operand_count = 3};
    TN_TRY(record(caller, recording, p, choice, &totals));
    return record(caller, recording, p, choice, &pieces);
}

const tn_solver tn_scan_rows = {.name = "rows",
                                .serves = "everything; a work-item scans whole rows",
                                TN_PARAMETERS(tn_stores_parameter, 1),
                                .configure = configure_rows,
                                .launch = launch_whole};

const tn_solver tn_scan_pieces = {
    .name = "pieces",
    .serves = "long rows, split into pieces whose totals are combined first; best for few rows",
    .needs = "workspace for the totals",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .awkward = "size=32771",
    .configure = configure_pieces,
    .launch = launch_pieces};

const tn_solver tn_scan_columns = {
    .name = "columns",
    .serves = "neighboring rows that are neighbors in memory; vectors across the rows",
    .configure = configure_columns,
    .launch = launch_whole};

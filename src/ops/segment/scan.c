/* Argument validation of tenon_segment_scan, its family, and the solvers segment_scan/rows and
 * segment_scan/pieces. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/common/values.h"
#include "ops/common/index.h"
#include "ops/segment/internal.h"

#include <stddef.h>

_Static_assert(TENON_SEGMENT_SCAN_EXCLUSIVE == SCAN_EXCLUSIVE &&
                   TENON_SEGMENT_SCAN_REVERSE == SCAN_REVERSE,
               "kernels take the public flags");

/* Least elements per work-item of a CPU, to be worth its launch. */
#define CPU_CHUNK 8192
/* Least length of a piece, and the maximum number of pieces of a row. */
#define CPU_PIECE  16384
#define CPU_PIECES 64
#define GPU_PIECE  SCAN_BLOCK
#define GPU_PIECES 2048
#define GPU_GROUP  64

static const tn_solver *const solvers[] = {&tn_segment_scan_whole, &tn_segment_scan_pieces};

static uint64_t scan_paths(const tn_problem *problem)
{
    const segment_scan_problem *p = (const segment_scan_problem *)problem;
    return UINT64_C(1) << (8 + p->kind) | UINT64_C(1) << (16 + p->dtype) |
           tn_paths_of_flags(p->flags, SCAN_EXCLUSIVE | SCAN_REVERSE);
}

const tn_family tn_segment_scan_family = {.name = "segment_scan",
                                          TN_SOLVERS(solvers),
                                          .awkward = tn_segment_scan_awkward,
                                          .paths = scan_paths};

tenon_status tn_segment_scan_prepare(const void *given, tn_call *call, tn_problem *problem,
                                     bool *empty)
{
    const char *caller = call->caller;
    const tenon_segment_scan_params *params = given;
    const tenon_tensor *x = call->operands[SEGMENT_SCAN_X].view;
    const tenon_tensor *y = call->operands[SEGMENT_SCAN_Y].view;
    tenon_tensor segments = *call->operands[SEGMENT_SCAN_SEGMENTS].view;
    const tenon_tensor *const views[] = {x, &segments, y};
    segment_scan_problem *p = (segment_scan_problem *)problem;
    uint32_t axis = 0;
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_SEGMENT_MIN,
                         "tenon_segment_kind except for the mean"));
    TN_TRY(tn_value_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_index_check(caller, "segments", &segments));
    TN_TRY(tn_axis_check(caller, params->axis, x->rank, "x", &axis));
    TN_TRY(tn_same_dtype_check(caller, "y", y, "x", x->dtype));
    TN_TRY(tn_axis_shape_check(call, SEGMENT_SCAN_Y, axis, x->shape[axis]));
    TN_TRY(tn_broadcast(caller, "segments", call->operands[SEGMENT_SCAN_SEGMENTS].view, x->rank,
                        x->shape, segments.stride));
    segments.rank = x->rank;
    memcpy(segments.shape, x->shape, sizeof segments.shape);
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->segment_type = segments.dtype;
    p->kind = params->kind;
    p->flags = params->flags;
    *empty = tn_tensor_empty(y);
    tn_axis_space_fill(views, SEGMENT_SCAN_OPERANDS, SEGMENT_SCAN_Y, axis, &p->space);
    return TENON_OK;
}

/* The layout of a choice. */
typedef struct scan_layout {
    int64_t pieces, length; /* of a row */
    int64_t each, items;    /* rows per work-item, and the number of work-items */
    int64_t marks;          /* start of the pieces' marks in the workspace, in bytes */
} scan_layout;

static void add_work(tenon_context *context, const segment_scan_problem *p, double launches,
                     tn_choice *choice)
{
    const scan_layout *l = TN_LAYOUT(scan_layout, choice);
    const double elements = (double)tn_axis_rows(&p->space) * (double)p->space.size;
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const tn_work work = {.launches = launches,
                          .items = (double)l->items,
                          .rate = tn_sum_rate(p->dtype),
                          .single_elements = 4 * launches * elements,
                          .bytes = elements * (launches * (size + 4) + size)};
    tn_choice_add(context, choice, &work);
    tn_segment_options(context, p->dtype, TENON_DTYPE_I32, p->segment_type, false, choice);
}

static const char *configure_rows(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const segment_scan_problem *p = (const segment_scan_problem *)problem;
    scan_layout *l = TN_LAYOUT(scan_layout, choice);
    l->pieces = 1;
    l->each = context->device.is_cpu ? tn_max_i64(CPU_CHUNK / p->space.size, 1) : 1;
    l->items = tn_ceil_div(tn_axis_rows(&p->space), l->each);
    add_work(context, p, 1, choice);
    return NULL;
}

static const char *configure_pieces(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const segment_scan_problem *p = (const segment_scan_problem *)problem;
    const bool is_cpu = context->device.is_cpu;
    const int64_t rows = tn_axis_rows(&p->space), least = is_cpu ? CPU_PIECE : GPU_PIECE;
    const int64_t units = context->device.info.compute_units;
    const int64_t wanted = tn_ceil_div(units * (is_cpu ? 4 : GPU_GROUP), rows);
    const int64_t most = tn_min_i64(is_cpu ? CPU_PIECES : GPU_PIECES, p->space.size / least);
    scan_layout *l = TN_LAYOUT(scan_layout, choice);
    if (p->space.size < 2 * least)
        return "the rows are too short to split";
    l->pieces = tn_max_i64(tn_min_i64(wanted, most), 2);
    l->length = tn_round_up(tn_ceil_div(p->space.size, l->pieces), SCAN_BLOCK);
    l->pieces = tn_ceil_div(p->space.size, l->length);
    l->items = rows * l->pieces;
    l->marks = tn_round_up(l->items * (int64_t)sizeof(double), TN_WORKSPACE_ALIGNMENT);
    choice->workspace = (uint64_t)(l->marks + l->items * (int64_t)sizeof(int32_t));
    add_work(context, p, 2, choice);
    return NULL;
}

/* Records one kernel, whose memory operands are those of the call or the workspace. */
static tenon_status record(const char *caller, tn_recording *recording,
                           const segment_scan_problem *p, const tn_choice *choice,
                           tn_launch *launch)
{
    const scan_layout *l = TN_LAYOUT(const scan_layout, choice);
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype), mark = sizeof(int32_t);
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, SEGMENT_SCAN_X, offsetof(segment_scan_args, axis.offset[SEGMENT_SCAN_X]),
         size},
        {TN_PATCH_OFFSET, SEGMENT_SCAN_SEGMENTS,
         offsetof(segment_scan_args, axis.offset[SEGMENT_SCAN_SEGMENTS]),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->segment_type)},
        {TN_PATCH_OFFSET, SEGMENT_SCAN_Y, offsetof(segment_scan_args, axis.offset[SEGMENT_SCAN_Y]),
         size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_scan_args, workspace),
         tn_value_size(p->dtype)},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(segment_scan_args, begins_at), mark}};
    segment_scan_args args = {.begins_at = l->marks / (int64_t)mark,
                              .pieces = l->pieces,
                              .length = l->length,
                              .each = l->each,
                              .kind = (tenon_i32)p->kind,
                              .flags = (tenon_i32)p->flags};
    tn_axis_args_fill(&p->space, &args.axis);
    launch->source = "segment/scan";
    launch->options = choice->options;
    launch->dimensions = 1;
    launch->local[0] = recording->context->device.is_cpu ? 1 : GPU_GROUP;
    launch->global[0] = (size_t)tn_round_up(l->items, (int64_t)launch->local[0]);
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = patches;
    launch->patch_count = l->pieces > 1 ? 5 : 3;
    return tn_record(caller, recording, launch);
}

static tenon_status launch_rows(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    tn_launch rows = {.kernel = "segment_scan_rows",
                      .operands = {SEGMENT_SCAN_X, SEGMENT_SCAN_SEGMENTS, SEGMENT_SCAN_Y},
                      .operand_count = 3};
    return record(caller, recording, (const segment_scan_problem *)problem, choice, &rows);
}

static tenon_status launch_pieces(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const segment_scan_problem *p = (const segment_scan_problem *)problem;
    tn_launch totals = {
        .kernel = "segment_scan_totals",
        .operands = {SEGMENT_SCAN_X, SEGMENT_SCAN_SEGMENTS, TN_WORKSPACE, TN_WORKSPACE},
        .operand_count = 4};
    tn_launch pieces = {.kernel = "segment_scan_pieces",
                        .operands = {SEGMENT_SCAN_X, SEGMENT_SCAN_SEGMENTS, SEGMENT_SCAN_Y,
                                     TN_WORKSPACE, TN_WORKSPACE},
                        .operand_count = 5};
    TN_TRY(record(caller, recording, p, choice, &totals));
    return record(caller, recording, p, choice, &pieces);
}

const tn_solver tn_segment_scan_whole = {.name = "rows",
                                         .serves = "everything; a work-item scans whole rows",
                                         .configure = configure_rows,
                                         .launch = launch_rows};

const tn_solver tn_segment_scan_pieces = {
    .name = "pieces",
    .serves = "long rows, split into pieces whose last segments are combined first",
    .needs = "workspace for the results of the pieces",
    .awkward = "size=32771",
    .configure = configure_pieces,
    .launch = launch_pieces};

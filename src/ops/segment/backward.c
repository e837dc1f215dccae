/* The solvers segment_reduce_backward/rows and segment_reduce_backward/sorted. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/gather/internal.h"
#include "ops/segment/launch.h"

#include <string.h>

static bool has_indices(const segment_problem *p)
{
    return (p->flags & SEGMENT_HAS_INDICES) != 0;
}

static void add_work(tenon_context *context, const segment_problem *p, double reads,
                     const segment_layout *l, tn_choice *choice)
{
    const double size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double elements = (double)p->positions * (double)tn_segment_columns(p);
    const tn_work work = {.launches = l->counted > 0 ? 3 : 1,
                          .items = (double)l->items,
                          .rate = tn_sum_rate(p->dtype),
                          .scalar = reads,
                          .vector_elements = 3 * elements,
                          .bytes = 2 * elements * size};
    tn_choice_add(context, choice, &work);
    tn_segment_options(context, p->dtype, p->index_type, p->segment_type, true, choice);
}

static const char *configure_rows(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const double positions = has_indices(p) ? (double)p->positions : 1;
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    tn_segment_lay_out(context, p, p->rows, positions, l);
    tn_segment_counts_plan(p, 0, l);
    choice->workspace = (uint64_t)l->counted;
    add_work(context, p, 4 * (double)p->rows * positions * (double)l->chunks, l, choice);
    return NULL;
}

static tenon_status launch_rows(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    return tn_segment_record_backward(caller, recording, (const segment_problem *)problem, choice,
                                      "segment/backward", "segment_backward");
}

/* Returns the problem with a row for each position, which is contiguous, instead of dx. */
static segment_problem expanded_of(const segment_problem *p)
{
    segment_problem e = *p;
    int64_t step = 1;
    for (uint64_t d = p->rank; d-- > 0; step *= p->shape[d])
        e.stride[SEGMENT_ROWS][d] = step;
    e.row_step[SEGMENT_ROWS] = step;
    e.flags |= SEGMENT_EXPANDS;
    return e;
}

/* Returns a view of rows with the columns of a problem. */
static tenon_tensor rows_view(const segment_problem *p, int64_t rows)
{
    tenon_tensor view = {.dtype = (tenon_dtype)p->dtype, .rank = (uint32_t)p->rank + 1};
    view.shape[0] = rows;
    view.stride[0] = p->row_step[SEGMENT_ROWS];
    for (uint64_t d = 0; d < p->rank; d++) {
        view.shape[d + 1] = p->shape[d];
        view.stride[d + 1] = p->stride[SEGMENT_ROWS][d];
    }
    return view;
}

/* Returns the problem of adding the expanded rows to those of dx. */
static scatter_problem scatter_of(const segment_problem *p, const segment_layout *l)
{
    const segment_problem expanded = expanded_of(p);
    const tenon_tensor picked = rows_view(&expanded, p->positions), table = rows_view(p, p->rows);
    const tenon_tensor indices = {.dtype = (tenon_dtype)p->index_type,
                                  .rank = 1,
                                  .shape = {p->positions},
                                  .stride = {p->index_step}};
    const tn_index index = {.mode = TENON_INDEX_SLICES, .count = 1, .rank = 1};
    scatter_problem scatter;
    tn_scatter_canonicalize(&picked, &indices, &table, &index, &scatter);
    scatter.op = TENON_SCATTER_ADD;
    scatter.from_zero = 1;
    scatter.head.workspace_limit = tn_frame_room(p->head.workspace_limit, (uint64_t)l->expanded);
    return scatter;
}

static const char *configure_sorted(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    if (!has_indices(p))
        return "there are no indices";
    if (p->positions == 0)
        return "there are no positions";
    if (p->rows > INT32_MAX)
        return "dx has too many rows to sort their numbers";
    const segment_problem expanded = expanded_of(p);
    tn_segment_lay_out(context, &expanded, p->positions, 1, l);
    l->expanded = tn_round_up(p->positions * tn_segment_columns(p) *
                                  (int64_t)tenon_dtype_size((tenon_dtype)p->dtype),
                              TN_WORKSPACE_ALIGNMENT);
    tn_segment_counts_plan(p, l->expanded, l);
    l->expanded += l->counted;
    choice->workspace = (uint64_t)l->expanded;
    const scatter_problem scatter = scatter_of(p, l);
    choice->time = tn_problem_time(context, &tn_gather_backward_family, &scatter.head);
    add_work(context, p, 20 * (double)p->positions, l, choice);
    return NULL;
}

static tenon_status launch_sorted(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const segment_layout *l = TN_LAYOUT(const segment_layout, choice);
    const segment_problem expanded = expanded_of(p);
    const scatter_problem scatter = scatter_of(p, l);
    const segment_kernel kernel = {"segment/backward", "segment_backward", SEGMENT_DY, TN_WORKSPACE,
                                   true};
    segment_args args = tn_segment_args_of(&expanded, l);
    tn_frame frame = tn_frame_after((uint64_t)l->expanded);
    tn_frame_operand(&frame, GATHER_FROM, TN_WORKSPACE, 0);
    tn_frame_operand(&frame, GATHER_INDICES, SEGMENT_INDICES, 0);
    tn_frame_operand(&frame, GATHER_TO, SEGMENT_DX, 0);
    TN_TRY(tn_segment_counts_record(caller, recording, p, choice, l, SEGMENT_INDICES,
                                    SEGMENT_SEGMENTS));
    TN_TRY(tn_segment_record(caller, recording, &expanded, choice, &args, l, &kernel));
    return tn_child_record(caller, recording, &frame, &tn_gather_backward_family, &scatter.head);
}

const tn_solver tn_segment_backward_rows = {
    .name = "rows",
    .serves = "everything; each row of dx reads all indices; best without indices",
    .needs = "workspace of a u32 for each segment, for means with indices, if there may be as much",
    .configure = configure_rows,
    .launch = launch_rows};

const tn_solver tn_segment_backward_sorted = {
    .name = "sorted",
    .serves = "indices: stores a row for each position, and adds them as tenon_gather_backward",
    .needs = "workspace of a row for each position, that of the gradient of a gather, and of a u32 "
             "for each segment for means",
    .configure = configure_sorted,
    .launch = launch_sorted};

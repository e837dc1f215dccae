/* The solver segment_reduce/rows. */
#include "ops/common/lanes.h"
#include "ops/segment/launch.h"

/* Returns the average number of positions of a segment. */
static double average(const segment_problem *p)
{
    return (double)p->positions / (double)p->segments;
}

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const double elements = (double)p->positions * (double)tn_segment_columns(p);
    segment_layout *l = TN_LAYOUT(segment_layout, choice);
    tn_segment_lay_out(context, p, p->segments, average(p), l);
    const tn_work work = {.launches = 1,
                          .items = (double)l->items,
                          .rate = tn_sum_rate(p->dtype),
                          .vector_elements = l->lanes > 1 ? 3 * elements : 0,
                          .single_elements = l->lanes > 1 ? 0 : 4 * elements,
                          .bytes = elements * (double)tenon_dtype_size((tenon_dtype)p->dtype)};
    tn_choice_add(context, choice, &work);
    tn_segment_options(context, p->dtype, p->index_type, true, choice);
    return NULL;
}

static tenon_status launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice)
{
    const segment_problem *p = (const segment_problem *)problem;
    const segment_layout *l = TN_LAYOUT(const segment_layout, choice);
    segment_args args = tn_segment_args_of(p, l);
    return tn_segment_record(caller, recording, p, choice, &args, l, SEGMENT_X, SEGMENT_Y, false,
                             "segment_reduce");
}

const tn_solver tn_segment_rows = {
    .name = "rows",
    .serves = "everything; a work-item combines the rows of whole segments",
    .configure = configure,
    .launch = launch};

/* The solvers `group` of softmax and cross-entropy: a team of work-items per row. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/rows.h"

#include <math.h>

/* Returns true if neighbors in memory belong to different rows. */
static bool is_across(const tn_rows_problem *p)
{
    return p->axis[0] > 1 && p->stride[0][p->rank - 1] < p->axis[0];
}

/* Estimates the work. The extent of coalesced reads is the number of adjacent rows, or of elements
 * in a row. On a CPU the synchronization within work-groups dominates. */
static tn_work common_rows_group_work_of(const tenon_context *context, const tn_rows_problem *p,
                                         int32_t team)
{
    const int64_t step = is_across(p) ? p->stride[0][p->rank - 1] : p->axis[0];
    const int64_t length = is_across(p) ? p->shape[p->rank - 1] : p->size;
    const double kept = (double)team * tn_gpu_lanes(p->dtype) * TN_TEAM_VECTORS;
    const double elements = (double)tn_rows_count(p) * (double)p->size;
    const bool alone = team == 1 && !is_across(p);
    return (tn_work){.launches = 1,
                     .items = (double)tn_rows_count(p) * team,
                     .single_elements = context->device.is_cpu ? 1e6 + 25 * elements : 0,
                     .bytes = tn_rows_bytes(p, (double)p->size <= kept ? 1 : 2),
                     .reads = step > 1 ? TN_SCATTERED
                              : alone  ? tn_reads_of_row((double)p->size * p->element_size[0])
                                       : TN_COALESCED,
                     .reach = step > 1 || alone || length >= tn_gpu_lanes(p->dtype) ? 1 : 0.5};
}

const char *tn_rows_group_configure(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    const int64_t rows = tn_rows_count(p), group = tn_team_group(context);
    char options[64];
    if (p->size > TN_TEAM_MOST)
        return "the rows are too long";
    tn_team_tune(context, rows, tn_ceil_div(p->size, tn_gpu_lanes(p->dtype)), choice);
    if (choice->misfit != NULL)
        return NULL;
    const tn_work work = common_rows_group_work_of(context, p, choice->values[0]);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u %s", p->dtype,
                      tn_team_options(context, p->dtype, options));
    tn_rows_layout *layout = tn_rows_layout_of(p, choice);
    layout->args.team = choice->values[0];
    layout->args.across = is_across(p);
    layout->global[0] = (size_t)tn_round_up(rows * choice->values[0], group);
    layout->local[0] = (size_t)group;
    return NULL;
}

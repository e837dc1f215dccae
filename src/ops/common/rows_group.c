/* Rows done by teams of work-items: the solvers `group` of softmax and cross-entropy. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/common/rows.h"

#include <math.h>

const char *tn_rows_group_refuses(tenon_context *context, const tn_problem *problem)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    (void)context;
    return p->size > TN_TEAM_MOST ? "the rows are too long" : NULL;
}

void tn_rows_group_tune(tenon_context *context, const tn_problem *problem, int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    tn_team_tune(context, tn_rows_count(p), tn_ceil_div(p->size, tn_gpu_lanes(p->dtype)),
                 &values[0]);
}

/* Whether neighbours in memory are those of different rows. */
static bool is_across(const tn_rows_problem *p)
{
    return p->axis[0] > 1 && p->stride[0][p->rank - 1] < p->axis[0];
}

/* Neighbours are as many as there are rows side by side, or vectors. */
static double part_of(const tn_rows_problem *p, int32_t team)
{
    const int64_t step = is_across(p) ? p->stride[0][p->rank - 1] : p->axis[0];
    const int64_t length = is_across(p) ? p->shape[p->rank - 1] : p->size;
    if (step > 1)
        return TN_GPU_LONG_ROWS;
    if (team == 1 && !is_across(p))
        return tn_gpu_own_row((double)p->size * p->element_size[0]);
    return TN_GPU_SIDE_BY_SIDE * (length >= tn_gpu_lanes(p->dtype) ? 1 : 0.5);
}

double tn_rows_group_estimate(tenon_context *context, const tn_problem *problem,
                              const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    const double kept = (double)values[0] * tn_gpu_lanes(p->dtype) * TN_TEAM_VECTORS;
    if (context->device.is_cpu) /* what keeps a GPU's work-items together costs a CPU */
        return 1e6 + 20.0 * (double)tn_rows_count(p) * (double)p->size;
    return tn_rows_gpu_time(context, p, (double)tn_rows_count(p) * values[0],
                            (double)p->size <= kept ? 1 : 2, part_of(p, values[0]));
}

void tn_rows_group_options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                           char text[TN_OPTIONS_SIZE])
{
    const uint32_t dtype = ((const tn_rows_problem *)problem)->dtype;
    char team[64];
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u %s", dtype,
                     tn_team_options(context, dtype, team));
}

tenon_status tn_rows_group_record(const char *operation, tn_recording *recording,
                                  const tn_rows_problem *problem, const char *source,
                                  const char *kernel, int32_t team)
{
    char text[TN_OPTIONS_SIZE];
    const int64_t group = tn_team_group(recording->context);
    rows_args args = {.team = team, .across = is_across(problem)};
    tn_launch launch = {.source = source, .kernel = kernel, .options = text, .dimensions = 1};
    tn_rows_group_options(recording->context, &problem->head, NULL, text);
    launch.local[0] = (size_t)group;
    launch.global[0] = (size_t)tn_round_up(tn_rows_count(problem) * team, group);
    return tn_rows_launch(operation, recording, problem, &args, &launch);
}

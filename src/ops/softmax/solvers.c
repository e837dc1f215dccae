/* softmax/rows, softmax/columns and softmax/group, and the same of softmax_backward: vectors along
 * the axis, vectors across it, and a row to a team of work-items. */
#include "ops/common/gpu.h"
#include "ops/softmax/internal.h"

static tenon_status record_rows(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    (void)values;
    return p->backward
               ? tn_rows_record(operation, recording, p, "softmax/backward", "backward_rows")
               : tn_rows_record(operation, recording, p, "softmax/forward", "forward_rows");
}

static tenon_status record_columns(const char *operation, tn_recording *recording,
                                   const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    (void)values;
    return p->backward
               ? tn_columns_record(operation, recording, p, "softmax/backward", "backward_columns")
               : tn_columns_record(operation, recording, p, "softmax/forward", "forward_columns");
}

static tenon_status record_group(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    return tn_rows_group_record(operation, recording, p,
                                p->backward ? "softmax/backward_group" : "softmax/forward_group",
                                p->backward ? "backward_group" : "forward_group", values[0]);
}

const tn_solver tn_softmax_rows = {.name = "rows",
                                   .refuses = tn_rows_refuses,
                                   .estimate = tn_rows_estimate,
                                   .options = tn_rows_options,
                                   .record = record_rows};

const tn_solver tn_softmax_columns = {.name = "columns",
                                      .refuses = tn_rows_refuses,
                                      .estimate = tn_columns_estimate,
                                      .options = tn_rows_options,
                                      .record = record_columns};

const tn_solver tn_softmax_group = {.name = "group",
                                    .parameters = tn_team_parameter,
                                    .parameter_count = 1,
                                    .refuses = tn_rows_group_refuses,
                                    .tune = tn_rows_group_tune,
                                    .constrains = tn_team_constrains,
                                    .estimate = tn_rows_group_estimate,
                                    .options = tn_rows_group_options,
                                    .awkward = TN_ROWS_GROUP_AWKWARD,
                                    .record = record_group};

/* cross_entropy/rows, cross_entropy/columns and cross_entropy/group, and the same of
 * cross_entropy_backward: vectors along the classes, vectors across them, and a row to a team of
 * work-items. */
#include "ops/common/gpu.h"
#include "ops/loss/internal.h"

static const char *source_of(const tn_rows_problem *p)
{
    return p->backward ? "loss/cross_entropy_backward" : "loss/cross_entropy_forward";
}

static tenon_status record_rows(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    (void)values;
    return tn_rows_record(operation, recording, p, source_of(p), "cross_entropy_rows");
}

static tenon_status record_columns(const char *operation, tn_recording *recording,
                                   const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    (void)values;
    return tn_columns_record(operation, recording, p, source_of(p), "cross_entropy_columns");
}

static tenon_status record_group(const char *operation, tn_recording *recording,
                                 const tn_problem *problem, const int32_t *values)
{
    const tn_rows_problem *p = (const tn_rows_problem *)problem;
    return tn_rows_group_record(operation, recording, p,
                                p->backward ? "loss/cross_entropy_backward_group"
                                            : "loss/cross_entropy_forward_group",
                                "cross_entropy_group", values[0]);
}

const tn_solver tn_cross_entropy_rows = {.name = "rows",
                                         .refuses = tn_rows_refuses,
                                         .estimate = tn_rows_estimate,
                                         .options = tn_rows_options,
                                         .record = record_rows};

const tn_solver tn_cross_entropy_columns = {.name = "columns",
                                            .refuses = tn_rows_refuses,
                                            .estimate = tn_columns_estimate,
                                            .options = tn_rows_options,
                                            .record = record_columns};

const tn_solver tn_cross_entropy_group = {.name = "group",
                                          .parameters = tn_team_parameter,
                                          .parameter_count = 1,
                                          .refuses = tn_rows_group_refuses,
                                          .tune = tn_rows_group_tune,
                                          .constrains = tn_team_constrains,
                                          .estimate = tn_rows_group_estimate,
                                          .options = tn_rows_group_options,
                                          .awkward = TN_ROWS_GROUP_AWKWARD,
                                          .record = record_group};

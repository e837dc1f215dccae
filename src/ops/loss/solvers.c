/* cross_entropy/rows and cross_entropy/columns, and the same of cross_entropy_backward: vectors
 * along the classes, and vectors across them. */
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

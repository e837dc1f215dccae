/* The solvers mse_backward/rows and mse_backward/columns: a work-item has several short lines of
 * elements, or a piece of a long one. The forward solvers are those of all reductions. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/loss/internal.h"

#include <string.h>

/* Returns the problem with its last dimension as the axis. */
static tn_rows_problem with_axis(const tn_problem *problem)
{
    tn_rows_problem p = *(const tn_rows_problem *)problem;
    const uint64_t last = p.rank - 1;
    p.size = p.shape[last];
    for (uint32_t v = 0; v < TENON_ROWS_VIEWS; v++) {
        p.axis[v] = p.stride[v][last];
        p.stride[v][last] = 0;
    }
    p.shape[last] = 1;
    return p;
}

/* Estimates the work, with a work-item per line or per vector of columns. */
static tn_work loss_mse_solvers_work_of(const tn_rows_problem *p, bool rows)
{
    const double length = (double)p->shape[p->rank - 1];
    double elements = 1;
    for (uint64_t d = 0; d < p->rank; d++)
        elements *= (double)p->shape[d];
    const double lines = elements / length, size = (double)tenon_dtype_size((tenon_dtype)p->dtype);
    return (tn_work){.launches = 1,
                     .items = rows ? lines : elements,
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = 4 * elements,
                     .rows = lines * (rows ? 2 : 20),
                     .bytes = 2 * elements * size,
                     .reads = rows ? tn_reads_of_row(length * size) : TN_COALESCED};
}

static const char *loss_mse_solvers_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    const bool rows = tn_is_solver(choice->solver, &tn_mse_backward_rows);
    const tn_rows_problem p = with_axis(problem);
    if (rows)
        tn_rows_configure(context, &p.head, choice);
    else
        tn_columns_configure(context, problem, choice);
    const tn_work work = loss_mse_solvers_work_of((const tn_rows_problem *)problem, rows);
    tn_choice_reset_time(choice);
    tn_choice_add(context, choice, &work);
    return NULL;
}

static tenon_status loss_mse_solvers_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    const bool rows = tn_is_solver(choice->solver, &tn_mse_backward_rows);
    return tn_rows_launch(caller, recording, problem, choice, "loss/mse_backward",
                          rows ? "mse_rows" : "mse_columns");
}

const tn_solver tn_mse_backward_rows = {.name = "rows",
                                        .serves = "everything; best for short lines of elements",
                                        .configure = loss_mse_solvers_configure,
                                        .launch = loss_mse_solvers_launch};

const tn_solver tn_mse_backward_columns = {.name = "columns",
                                           .serves = "everything; best for long lines of elements",
                                           .configure = loss_mse_solvers_configure,
                                           .launch = loss_mse_solvers_launch};

/* The solvers rows, columns and group of softmax and softmax_backward: vectors along the axis,
 * vectors across it, and a team of work-items per row. */
#include "ops/common/gpu.h"
#include "ops/softmax/internal.h"

#include <stdio.h>

/* Launches the kernel named by direction and solver: forward_rows, backward_columns and so on. */
static tenon_status softmax_solvers_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const bool by_team = tn_is_solver(choice->solver, &tn_softmax_group);
    const char *direction = ((const tn_rows_problem *)problem)->backward ? "backward" : "forward";
    char source[32], kernel[32];
    snprintf(source, sizeof source, "softmax/%s%s", direction, by_team ? "_group" : "");
    snprintf(kernel, sizeof kernel, "%s_%s", direction, choice->solver->name);
    return tn_rows_launch(caller, recording, problem, choice, source, kernel);
}

const tn_solver tn_softmax_rows = {TN_ROWS_SOLVER("axis"), .launch = softmax_solvers_launch};
const tn_solver tn_softmax_columns = {TN_COLUMNS_SOLVER("axis"), .launch = softmax_solvers_launch};
const tn_solver tn_softmax_group = {TN_ROWS_GROUP_SOLVER, .launch = softmax_solvers_launch};

/* The solvers rows, columns and group of cross_entropy and cross_entropy_backward: vectors along
 * the classes, vectors across them, and a team of work-items per row. */
#include "ops/common/gpu.h"
#include "ops/loss/internal.h"

#include <stdio.h>

/* Launches the kernel cross_entropy_rows, cross_entropy_columns or cross_entropy_group. */
static tenon_status loss_solvers_launch(const char *caller, tn_recording *recording,
                                        const tn_problem *problem, const tn_choice *choice)
{
    const bool by_team = tn_is_solver(choice->solver, &tn_cross_entropy_group);
    const bool backward = ((const tn_rows_problem *)problem)->backward != 0;
    char source[64], kernel[64];
    snprintf(source, sizeof source, "loss/cross_entropy_%s%s", backward ? "backward" : "forward",
             by_team ? "_group" : "");
    snprintf(kernel, sizeof kernel, "cross_entropy_%s", choice->solver->name);
    return tn_rows_launch(caller, recording, problem, choice, source, kernel);
}

const tn_solver tn_cross_entropy_rows = {TN_ROWS_SOLVER("classes"), .launch = loss_solvers_launch};
const tn_solver tn_cross_entropy_columns = {TN_COLUMNS_SOLVER("classes"),
                                            .launch = loss_solvers_launch};
const tn_solver tn_cross_entropy_group = {TN_ROWS_GROUP_SOLVER, .launch = loss_solvers_launch};

/* softmax/rows, softmax/columns and softmax/group, and the same of softmax_backward: vectors along
 * the axis, vectors across it, and a row to a team of work-items. */
#include "ops/common/gpu.h"
#include "ops/softmax/internal.h"

#include <stdio.h>

/* The kernels forward_rows, backward_columns and so on. */
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

const tn_solver tn_softmax_rows = {.name = "rows",
                                   .serves = "everything; vectors lie along the axis",
                                   .configure = tn_rows_configure,
                                   .launch = softmax_solvers_launch};

const tn_solver tn_softmax_columns = {.name = "columns",
                                      .serves = "everything; vectors lie across the axis",
                                      .configure = tn_columns_configure,
                                      .launch = softmax_solvers_launch};

const tn_solver tn_softmax_group = {
    .name = "group",
    .serves = "rows of 2³⁰ elements at most; a row to a team of work-items, on "
              "GPUs",
    .awkward = TN_ROWS_GROUP_AWKWARD,
    TN_PARAMETERS(tn_team_parameter, 1),
    .configure = tn_rows_group_configure,
    .launch = softmax_solvers_launch};

/* Argument validation of tenon_square_sum, its family and awkward cases. */
#include "check/awkward.h"
#include "base/shape.h"
#include "ops/optimizer/internal.h"
#include "ops/registry.h"
#include "ops/common/epilogue.h"

/* Replacing the sum and adding to it are in one build, so both are checked. */
static bool awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number, tn_case *c)
{
    static const int64_t one[] = {1};
    const tenon_dtype dtype = (tenon_dtype)((const tn_lines_problem *)problem)->dtype;
    (void)choice;
    if (number == 2 * TN_LINES_LAYOUTS)
        return false;
    tn_awkward_begin(c, &tn_operation_square_sum);
    ((tenon_square_sum_params *)c->params.bytes)->flags =
        number >= TN_LINES_LAYOUTS ? TENON_SQUARE_SUM_ADD : 0;
    c->views[SQUARE_SUM_X] = tn_lines_awkward(dtype, number % TN_LINES_LAYOUTS, 1);
    c->views[SQUARE_SUM_SUM] = tn_awkward_view(tn_state_dtype(dtype), 1, one, false);
    return true;
}

static const tn_solver *const solvers[] = {&tn_square_sum_lines, &tn_square_sum_single};

static uint64_t optimizer_square_sum_paths(const tn_problem *problem)
{
    return tn_paths_of_flags(((const tn_lines_problem *)problem)->flags, TENON_SQUARE_SUM_ADD);
}

const tn_family tn_square_sum_family = {.name = "square_sum",
                                        TN_SOLVERS(solvers),
                                        .awkward = awkward,
                                        .paths = optimizer_square_sum_paths};

tenon_status tn_square_sum_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    const char *caller = call->caller;
    const tenon_square_sum_params *params = given;
    const tenon_tensor *views[] = {call->operands[SQUARE_SUM_X].view,
                                   call->operands[SQUARE_SUM_SUM].view};
    TN_TRY(tn_float_check(caller, "x", call->context, views[SQUARE_SUM_X]->dtype));
    TN_TRY(tn_sum_check(caller, views[SQUARE_SUM_SUM], views[SQUARE_SUM_X]->dtype));
    *empty = false;
    tn_lines_canonicalize(views, SQUARE_SUM_OPERANDS, SQUARE_SUM_X, (tn_lines_problem *)problem);
    ((tn_lines_problem *)problem)->flags = params->flags;
    return TENON_OK;
}

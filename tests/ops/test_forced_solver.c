/* Tests the errors of a solver that a caller forces. */
#include "fake_solvers.h"

#include "dispatch/select.h"

static tenon_status select_for(const tn_problem *problem)
{
    tn_choice choice;
    return tn_select(&(tn_request){"tenon_fake", test_context, &fake_family, problem, NULL},
                     &choice);
}

/* Parameters that the caller gives and that do not fit are an error of the caller. If the solver's
 * own do not fit, it cannot serve. */
TEST(parameters_that_do_not_fit)
{
    tn_problem given = fake_forced;
    given.forced_values[0] = 3;
    fake_misfit = "there are no pieces of 3";
    assert_refused(select_for(&given), TENON_ERROR_INVALID_ARGUMENT, "tenon_fake",
                   "solver: fake/bad: there are no pieces of 3");
    assert_refused(select_for(&fake_forced), TENON_ERROR_UNSUPPORTED, "tenon_fake",
                   "solver fake/bad cannot serve: there are no pieces of 3");
    fake_misfit = NULL;
}

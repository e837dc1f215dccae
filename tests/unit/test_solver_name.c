/* Tests the grammar of solver names: printed names can be parsed, and malformed names are
 * refused. */
#include "common/testing.h"

#include "dispatch/solver.h"

/* Some names are prefixes of others, which a careless parser confuses. */
static const tn_parameter parameters[] = {{"m", 1, 9}, {"mr", 1, 64}, {"kc", 8, 1024}};
static const tn_solver plain = {.name = "plain"};
static const tn_solver tiled = {.name = "tiled", .parameters = parameters, .parameter_count = 3};
static const tn_solver tiled_fast = {
    .name = "tiled_fast", .parameters = &parameters[1], .parameter_count = 2};
static const tn_solver *const solvers[] = {&plain, &tiled, &tiled_fast};
static const tn_family family = {.name = "fake", .solvers = solvers, .solver_count = 3};

static tenon_status force(const char *name, tn_problem *problem)
{
    memset(problem, 0, sizeof *problem);
    problem->size = sizeof *problem;
    return tn_solver_force("tenon_fake", &family, name, problem);
}

TEST(null_selects_automatically)
{
    tn_problem problem;
    assert_int_equal(force(NULL, &problem), TENON_OK);
    assert_int_equal(problem.forced, -1);
}

TEST(names_are_parsed)
{
    tn_problem problem;
    assert_int_equal(force("fake/plain", &problem), TENON_OK);
    assert_int_equal(problem.forced, 0);
    assert_int_equal(force("fake/tiled", &problem), TENON_OK);
    assert_int_equal(problem.forced, 1);
    assert_int_equal(problem.forced_values[0], 0);
    assert_int_equal(force("fake/tiled_fast:kc384", &problem), TENON_OK);
    assert_int_equal(problem.forced, 2);
    assert_int_equal(problem.forced_values[0], 0);
    assert_int_equal(problem.forced_values[1], 384);
    assert_int_equal(force("fake/tiled:kc8,mr64,m1", &problem), TENON_OK);
    assert_int_equal(problem.forced_values[0], 1);
    assert_int_equal(problem.forced_values[1], 64);
    assert_int_equal(problem.forced_values[2], 8);
}

TEST(printed_names_are_parsed)
{
    test_random random = test_random_for(2);
    for (int n = 0; n < 1000; n++) {
        char name[TN_SOLVER_NAME_SIZE], again[TN_SOLVER_NAME_SIZE];
        int32_t which = (int32_t)test_between(&random, 0, 2);
        tn_choice choice = {.solver = solvers[which]};
        for (uint32_t i = 0; i < choice.solver->parameter_count; i++)
            choice.values[i] = (int32_t)test_between(&random, choice.solver->parameters[i].low,
                                                     choice.solver->parameters[i].high);
        tn_problem problem;
        assert_int_equal(force(tn_solver_name(&family, &choice, name), &problem), TENON_OK);
        assert_int_equal(problem.forced, which);
        memcpy(choice.values, problem.forced_values, sizeof choice.values);
        assert_string_equal(tn_solver_name(&family, &choice, again), name);
    }
}

TEST(printed_names)
{
    char name[TN_SOLVER_NAME_SIZE];
    const tn_choice simple = {.solver = &plain}, full = {.solver = &tiled, .values = {2, 6, 384}};
    assert_string_equal(tn_solver_name(&family, &simple, name), "fake/plain");
    assert_string_equal(tn_solver_name(&family, &full, name), "fake/tiled:m2,mr6,kc384");
}

TEST(unknown_solvers_are_refused_with_a_list)
{
    tn_problem problem;
    assert_int_equal(force("fake/none", &problem), TENON_ERROR_INVALID_ARGUMENT);
    assert_string_equal(tenon_last_error(),
                        "tenon_fake: solver: \"fake/none\" names an unknown solver; those "
                        "of fake are plain, tiled, tiled_fast");
}

TEST(malformed_names_are_refused)
{
    static const char *const names[] = {
        "",
        "/",
        "fake",
        "fake/",
        "plain",
        "fak/plain",
        "fakes/plain",
        "Fake/plain",
        " fake/plain",
        "fake/plain ",
        "fake//plain",
        "fake/plai",
        "fake/plainer",
        "fake/tiled_",
        "fake/:mr6",
        "fake/plain:",
        "fake/plain:mr6",
        "fake/tiled:",
        "fake/tiled:,",
        "fake/tiled:mr",
        "fake/tiled:6",
        "fake/tiled:mr6,",
        "fake/tiled:mr6,kc8,mr8",
        "fake/tiled:,mr6",
        "fake/tiled:mr6,,kc8",
        "fake/tiled:mr6kc8",
        "fake/tiled:mr6;kc8",
        "fake/tiled:mr6,kc",
        "fake/tiled:mr=6",
        "fake/tiled:mr 6",
        "fake/tiled:mr-6",
        "fake/tiled:mr+6",
        "fake/tiled:mr6.5",
        "fake/tiled:mr6 ",
        "fake/tiled:MR6",
        "fake/tiled:nr6",
        "fake/tiled_fast:m2",
        "fake/tiled:mr0",
        "fake/tiled:mr65",
        "fake/tiled:kc7",
        "fake/tiled:kc1025",
        "fake/tiled:mr99999999999999999999",
        "fake/tiled:mr4294967302",
        "fake/tiled:mr6:kc8",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tn_problem problem;
        tenon_status status = force(names[i], &problem);
        if (status != TENON_ERROR_INVALID_ARGUMENT)
            fail_msg("\"%s\" gives %s", names[i], tenon_status_string(status));
        assert_contains(tenon_last_error(), "tenon_fake: solver");
        assert_contains(tenon_last_error(), names[i]);
    }
}

/*
 * Tests that self-checks cover the run-time arguments of the current problem: a solver that is
 * wrong for one value of one argument is barred before it is used with that value, even if it
 * passed with others.
 */
#include "support.h"

#include "quick.h"

#include "dispatch/plan.h"
#include "dispatch/select.h"
#include "dispatch/state.h"
#include "ops/registry.h"

/* A solver that does nothing if a problem takes one of the `spoiled` paths. */
static struct mutant {
    const tn_family *of;
    const tn_solver *original;
    tn_solver solver;
    const tn_solver *solvers[1];
    tn_family family;
    uint64_t spoiled;
} mutant;

static tenon_status launch_unless_spoiled(const char *operation, tn_recording *recording,
                                          const tn_problem *problem, const tn_choice *choice)
{
    if ((mutant.of->paths(problem) & mutant.spoiled) != 0)
        return TENON_OK;
    return mutant.original->launch(operation, recording, problem, choice);
}

static void make_mutant(const tn_family *family, const char *name, uint64_t spoiled)
{
    mutant.of = family;
    mutant.original = tn_solver_named(family, name);
    assert_non_null(mutant.original);
    mutant.solver = *mutant.original;
    mutant.solver.copy_of = mutant.original;
    mutant.solver.launch = launch_unless_spoiled;
    mutant.solvers[0] = &mutant.solver;
    mutant.family = *family;
    mutant.family.solvers = mutant.solvers;
    mutant.family.solver_count = 1;
    mutant.spoiled = spoiled;
}

/* Runs an example; returns the newest plan that the context keeps, with its problem, or NULL if the
 * device lacks the example's type. */
static const tenon_plan *plan_of_example(tenon_stream *stream, const char *example,
                                         tenon_dtype type)
{
    tn_case c;
    tn_case_result result;
    assert_ok(tn_case_parse_line(example, type, &c));
    tenon_status status = tn_case_run(stream, &c, &result);
    if (status == TENON_ERROR_UNSUPPORTED_DEVICE || (status == TENON_OK && !result.served))
        return NULL;
    assert_ok(status);
    if (!result.right)
        fail_msg("%s: %s", example, result.why);
    return tn_dispatch_of(stream->context)->plans.newest;
}

static tenon_status select_mutant(tenon_context *context, const tenon_plan *plan)
{
    tn_choice choice;
    tn_problem *problem = malloc(plan->problem->size);
    assert_non_null(problem);
    memcpy(problem, plan->problem, plan->problem->size);
    assert_ok(tn_solver_force("tenon_mutant", &mutant.family, plan->name, problem));
    tenon_status status =
        tn_select(&(tn_request){"tenon_mutant", context, &mutant.family, problem, NULL}, &choice);
    free(problem);
    return status;
}

/* Checks that a new context bars a solver that does nothing on one path of the plan's problem. */
static void try_path(const char *example, const tenon_plan *plan, uint64_t path)
{
    make_mutant(plan->family, plan->name, path);
    tenon_context *fresh = test_new_context(NULL);
    tenon_status status = select_mutant(fresh, plan);
    if (status != TENON_ERROR_SOLVER_BARRED)
        fail_msg("%s: %s that does nothing on path %#llx: %s, %s", example, plan->name,
                 (unsigned long long)path, tenon_status_string(status),
                 status != TENON_OK ? tenon_last_error() : "");
    tenon_context_release(fresh);
}

static void try_example(const char *example, tenon_dtype type)
{
    tenon_context *context = test_new_context(NULL);
    tenon_stream *stream = test_new_stream(context);
    const tenon_plan *plan = plan_of_example(stream, example, type);
    const uint64_t paths =
        plan != NULL && plan->family->paths != NULL ? plan->family->paths(plan->problem) : 0;
    for (int bit = 0; bit < 64; bit++)
        if ((paths >> bit & 1) != 0)
            try_path(example, plan, UINT64_C(1) << bit);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

TEST(mutants_are_barred)
{
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        const char *const *examples = tn_operations[i]->examples;
        uint32_t count = 0;
        while (examples[count] != NULL)
            count++;
        for (uint32_t k = 0; k < count; k++)
            if (quick_draws(examples[k], count))
                try_example(examples[k], TENON_DTYPE_F32);
    }
}

/* A solver that passed without a path is checked again with it. The gradients of an average over
 * all taps and over the taps within the image differ by one flag of the same build. */
TEST(later_paths_are_checked)
{
    static const char *const lines[] = {
        "pool_backward dx=f32:1x2x5x5 dy=f32:1x2x5x5 kind=average window=3,3 pad_begin=1,1 "
        "pad_end=1,1",
        "pool_backward dx=f32:1x2x5x5 dy=f32:1x2x5x5 kind=average_inside window=3,3 "
        "pad_begin=1,1 pad_end=1,1"};
    const tenon_plan *plans[2];
    tenon_context *context = test_new_context(NULL);
    tenon_stream *stream = test_new_stream(context);
    for (int i = 0; i < 2; i++)
        plans[i] = plan_of_example(stream, lines[i], TENON_DTYPE_F32);
    const uint64_t all = plans[0]->family->paths(plans[0]->problem),
                   inside = plans[1]->family->paths(plans[1]->problem);
    assert_true((inside & ~all) != 0);
    make_mutant(plans[0]->family, plans[0]->name, inside & ~all);
    tenon_context *fresh = test_new_context(NULL);
    assert_ok(select_mutant(fresh, plans[0]));
    assert_int_equal(select_mutant(fresh, plans[1]), TENON_ERROR_SOLVER_BARRED);
    tenon_context_release(fresh);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
}

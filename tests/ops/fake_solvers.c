#include "dispatch/select.h"
#include "fake_solvers.h"

fake_outcome fake_behavior;
bool fake_good_is_wrong;
int fake_checks;
const char *fake_misfit;
void (*fake_at_check)(tenon_context *context);

static const tn_solver bad_solver, good_solver;

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    (void)context;
    (void)problem;
    choice->time = choice->solver == &bad_solver ? 1 : 2;
    choice->misfit = choice->solver == &bad_solver ? fake_misfit : NULL;
    return NULL;
}

static const tn_solver bad_solver = {
    .name = "bad", .configure = configure, .launch = test_launch_nothing};
static const tn_solver good_solver = {
    .name = "good", .configure = configure, .launch = test_launch_nothing};
static const tn_solver *const both[] = {&bad_solver, &good_solver};

static tenon_status check_as_told(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    (void)problem;
    fake_checks++;
    *right = choice->solver == &bad_solver ? fake_behavior == FAKE_RIGHT : !fake_good_is_wrong;
    snprintf(why, 256, "%s", *right ? "" : "element 3 is 7, must be 8");
    if (choice->solver == &bad_solver && fake_at_check != NULL)
        fake_at_check(tenon_stream_context(stream));
    return TENON_OK;
}

const tn_family fake_family = {
    .name = "fake", .solvers = both, .solver_count = 2, .self_check = check_as_told};
const tn_family fake_family_alone = {
    .name = "fake", .solvers = both, .solver_count = 1, .self_check = check_as_told};
const tn_problem fake_problem = {.size = sizeof fake_problem, .forced = -1};
const tn_problem fake_forced = {.size = sizeof fake_forced, .forced = 0};

void fake_assert_chosen(kept_session *s, const char *folder, const char *solver, int checks)
{
    const tenon_store store = kept_folder(folder);
    tn_choice choice;
    fake_checks = 0;
    kept_open(s, &store);
    s->context->device.miscompiles_at_random =
        false; /* otherwise code would be built and checked more often */
    assert_ok(tn_select(&(tn_request){"tenon_fake", s->context, &fake_family, &fake_problem, NULL},
                        &choice));
    assert_string_equal(choice.solver->name, solver);
    kept_see(s);
    kept_close(s);
    assert_int_equal(fake_checks, checks);
    assert_int_equal(temporary_count(folder, ".writing-"), 0);
}

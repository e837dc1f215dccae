/* Tests tuning results: when they are measured, when they are used, and what happens if a
 * measurement fails. */
#include "common/cl_faults.h"
#include "kept.h"
#include "runtime.h"

#include "dispatch/measure.h"
#include "dispatch/nearest.h"
#include "dispatch/select.h"
#include "ops/conv/problem/problem.h"
#include "ops/registry.h"
#include "runtime/context/validation.h"

#include <math.h>
#include <sys/stat.h>

/* A family of three solvers that sleep, with given estimates and durations. */
enum { FIRST, SECOND, THIRD, SOLVERS };
static double estimates[SOLVERS];
static unsigned naps[SOLVERS]; /* microseconds */
static bool is_wrong[SOLVERS], is_unable[SOLVERS], is_never_chosen[SOLVERS];
static tenon_status check_status; /* of the third */
static int runs[SOLVERS];
static bool was_measured, was_nearest; /* the last choice */

static tenon_status sleep_for(const char *operation, cl_command_queue queue, const cl_mem *buffers,
                              const void *args)
{
    int number;
    (void)operation;
    (void)queue;
    (void)buffers;
    memcpy(&number, args, sizeof number);
    const struct timespec time = {.tv_nsec = 1000L * naps[number]};
    nanosleep(&time, NULL);
    runs[number]++;
    return TENON_OK;
}

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    (void)context;
    (void)problem;
    choice->time = estimates[choice->solver->variant];
    choice->never_chosen = is_never_chosen[choice->solver->variant] ? "on purpose" : NULL;
    return is_unable[choice->solver->variant] ? "cannot serve" : NULL;
}

static tenon_status launch(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const tn_choice *choice)
{
    (void)problem;
    return tn_record(operation, recording,
                     &(tn_launch){.foreign = sleep_for,
                                  .kernel = "sleep",
                                  .args = &choice->solver->variant,
                                  .args_size = sizeof choice->solver->variant});
}

static tenon_status check(tenon_stream *stream, const tn_problem *problem, const tn_choice *choice,
                          bool *right, char why[256])
{
    (void)stream;
    (void)problem;
    *right = !is_wrong[choice->solver->variant];
    snprintf(why, 256, "wrong on purpose");
    return check_status == TENON_OK || choice->solver->variant != THIRD
               ? TENON_OK
               : tn_fail(check_status, "fake: does not fit");
}

#define SOLVER(text, number)                                                                       \
    {                                                                                              \
        .name = text, .variant = number, .configure = configure, .launch = launch                  \
    }
static const tn_solver first = SOLVER("first", FIRST), second = SOLVER("second", SECOND),
                       third = SOLVER("third", THIRD);
static const tn_solver *const all[] = {&first, &second, &third};
static const tn_family family = {.name = "fake", TN_SOLVERS(all), .self_check = check};
static const tn_problem open = {.size = sizeof open, .forced = -1};

/* The first solver has the best estimate, the second is fastest, and the third has a bad estimate.
 */
static void reset(void)
{
    for (int i = 0; i < SOLVERS; i++) {
        estimates[i] = i == THIRD ? 10 : 1 + 0.2 * i;
        naps[i] = i == FIRST ? 3000 : 100;
        is_wrong[i] = is_unable[i] = is_never_chosen[i] = false;
        runs[i] = 0;
    }
    check_status = TENON_OK;
}

static void hear_choice(void *user, const tn_request *request, const tn_choice *choice)
{
    (void)user;
    (void)request;
    was_measured = choice != NULL && choice->basis == TN_BY_MEASUREMENT;
    was_nearest = choice != NULL && choice->basis == TN_BY_NEAREST;
}

static tenon_context *make_context(const char *folder, tenon_measurements measurements)
{
    tenon_context *context =
        test_context_with(.store = kept_folder(folder), .measurements = measurements,
                          .log_level = TENON_LOG_ERROR);
    tn_dispatch_of(context)->listener = hear_choice;
    return context;
}

/* Plans a call with the operands of a copy or another operation. */
static tenon_status plan_for(tenon_context *context, const tn_operation *operation, char *name)
{
    static const int64_t shape[] = {16};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tn_call call = {"tenon_fake", operation, context, operation->defaults};
    tenon_plan *plan;
    call.operand_count = 2;
    for (uint32_t i = 0; i < 2; i++)
        call.operands[i] =
            (tn_argument){operation->operands[i].name, &view, operation->operands[i].role};
    const tenon_status status =
        tn_plan_create(&(tn_request){"tenon_fake", context, &family, &open, &call}, &plan);
    if (status != TENON_OK)
        return status;
    snprintf(name, TN_SOLVER_NAME_SIZE, "%s", plan->name);
    tenon_plan_release(plan);
    return TENON_OK;
}

static void assert_plan(tenon_context *context, const char *wanted)
{
    char name[TN_SOLVER_NAME_SIZE];
    assert_ok(plan_for(context, &tn_operation_copy, name));
    assert_string_equal(name, wanted);
}

static void assert_plan_again(const char *folder, tenon_measurements measurements,
                              const char *wanted)
{
    tenon_context *context = make_context(folder, measurements);
    assert_plan(context, wanted);
    tenon_context_release(context);
}

static void keep(tenon_context *context, const char *solver)
{
    tn_tuned tuned = {.nanoseconds = 5, .candidates = 2, .call = "tenon check fake"};
    snprintf(tuned.solver, sizeof tuned.solver, "%s", solver);
    tn_tuning_keep(context, &family, &open, &tuned);
}

static int total_runs(void)
{
    return runs[FIRST] + runs[SECOND] + runs[THIRD];
}

TEST_WITH(a_stored_outcome_comes_before_estimates, reset, NULL)
{
    char *folder = temporary_make();
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_USUAL);
    assert_plan(context, "fake/first");
    assert_false(was_measured);
    keep(context, "fake/third");
    assert_plan(context, "fake/third");
    assert_true(was_measured);
    tenon_context_release(context);
    assert_plan_again(folder, TENON_MEASUREMENTS_USUAL, "fake/third");
    assert_plan_again(folder, TENON_MEASUREMENTS_MADE, "fake/third");
    assert_plan_again(folder, TENON_MEASUREMENTS_NONE, "fake/first");
    assert_int_equal(total_runs(), 0);
    temporary_remove(folder);
}

/* An operation within another one is chosen by estimates: a measured product must not change the
 * bits of a convolution that uses it. */
TEST_WITH(what_an_operation_asks_of_another_goes_by_estimates, reset, NULL)
{
    char *folder = temporary_make();
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_MADE);
    tn_choice choice;
    keep(context, "fake/third");
    assert_ok(tn_select(&(tn_request){"tenon_fake", context, &family, &open, NULL}, &choice));
    assert_ptr_equal(choice.solver, &first);
    assert_plan(context, "fake/third");
    assert_int_equal(total_runs(), 0);
    tenon_context_release(context);
    temporary_remove(folder);
}

/* Stored results may come from an untrusted file. */
TEST_WITH(what_is_never_chosen_is_not_by_an_outcome, reset, NULL)
{
    char *folder = temporary_make();
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_USUAL);
    is_never_chosen[THIRD] = true;
    keep(context, "fake/third");
    assert_plan(context, "fake/first");
    assert_false(was_measured);
    tenon_context_release(context);
    temporary_remove(folder);
}

TEST_WITH(what_cannot_serve_leaves_estimates, reset, NULL)
{
    static const char *const names[] = {"fake/none", "other/first", "fake/second:mr4",
                                        "fake",      "fake/second", "fake/third"};
    char *folder = temporary_make();
    is_unable[SECOND] = is_wrong[THIRD] = true;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        tenon_context *context = make_context(folder, TENON_MEASUREMENTS_USUAL);
        keep(context, names[i]);
        fail_before();
        assert_plan(context, "fake/first");
        assert_as_before();
        assert_false(was_measured);
        tenon_context_release(context);
    }
    temporary_remove(folder);
}

/* A temporary failure fails the call; the stored result stays in use. */
TEST_WITH(a_failure_that_passes_does_not_change_the_decision, reset, NULL)
{
    char *folder = temporary_make(), name[TN_SOLVER_NAME_SIZE];
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_MADE);
    keep(context, "fake/third");
    check_status = TENON_ERROR_OUT_OF_MEMORY;
    assert_int_equal(plan_for(context, &tn_operation_copy, name), TENON_ERROR_OUT_OF_MEMORY);
    check_status = TENON_OK;
    assert_plan(context, "fake/third");
    assert_int_equal(total_runs(), 0);
    tenon_context_release(context);
    temporary_remove(folder);
}

TEST_WITH(the_faster_one_is_found_once, reset, NULL)
{
    char *folder = temporary_make();
    assert_plan_again(folder, TENON_MEASUREMENTS_MADE, "fake/second");
    assert_true(was_measured);
    assert_true(runs[FIRST] > 0 && runs[SECOND] > 0);
    assert_int_equal(runs[THIRD], 0); /* its estimate is too far from the first one's */
    assert_int_equal(kept_count(folder, TN_STORE_TUNING), 1);
    const int before = total_runs();
    naps[SECOND] = 6000;
    for (int i = 0; i < 2; i++)
        assert_plan_again(folder, i == 0 ? TENON_MEASUREMENTS_MADE : TENON_MEASUREMENTS_USUAL,
                          "fake/second");
    assert_int_equal(total_runs(), before);
    assert_int_equal(kept_count(folder, TN_STORE_TUNING), 1);
    temporary_remove(folder);
}

TEST_WITH(what_is_far_apart_is_believed, reset, NULL)
{
    char *folder = temporary_make();
    estimates[SECOND] = 1.6;
    assert_plan_again(folder, TENON_MEASUREMENTS_MADE, "fake/first");
    assert_false(was_measured);
    estimates[SECOND] = 1.4;
    assert_plan_again(folder, TENON_MEASUREMENTS_NONE, "fake/first");
    assert_plan_again(folder, TENON_MEASUREMENTS_USUAL, "fake/first");
    assert_int_equal(total_runs(), 0);
    assert_int_equal(kept_count(folder, TN_STORE_TUNING), 0);
    temporary_remove(folder);
}

TEST_WITH(what_values_decide_is_not_measured, reset, NULL)
{
    tn_operation operation = tn_operation_copy;
    char *folder = temporary_make(), name[TN_SOLVER_NAME_SIZE];
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_MADE);
    operation.fill_valid = tn_operation_cross_entropy.fill_valid;
    assert_non_null(operation.fill_valid);
    assert_ok(plan_for(context, &operation, name));
    assert_string_equal(name, "fake/first");
    assert_int_equal(total_runs(), 0);
    tenon_context_release(context);
    temporary_remove(folder);
}

TEST_WITH(what_is_barred_is_not_timed, reset, NULL)
{
    char *folder = temporary_make();
    estimates[THIRD] = 1.1;
    naps[THIRD] = 0;
    is_wrong[THIRD] = true;
    assert_plan_again(folder, TENON_MEASUREMENTS_MADE, "fake/second");
    assert_int_equal(runs[THIRD], 0);
    temporary_remove(folder);
}

TEST_WITH(a_call_goes_on_where_measuring_fails, reset, NULL)
{
    static const char *const functions[] = {"clCreateBuffer", "clEnqueueFillBuffer"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        char *folder = temporary_make();
        tenon_context *context = make_context(folder, TENON_MEASUREMENTS_MADE);
        fail_before();
        faults_fail_all(functions[i], CL_MEM_OBJECT_ALLOCATION_FAILURE);
        assert_plan(context, "fake/first");
        assert_true(faults_end() > 0);
        assert_as_before();
        assert_false(was_measured);
        assert_int_equal(kept_count(folder, TN_STORE_TUNING), 0);
        assert_plan(context, "fake/second");
        tenon_context_release(context);
        temporary_remove(folder);
    }
}

/* Stores a result of `tenon tune` for a copy of this size. */
static void keep_like(tenon_context *context, int elements, const char *solver, bool is_searched)
{
    tn_tuned tuned = {.nanoseconds = 5, .candidates = 2, .is_searched = is_searched};
    char problem[TN_TUNING_KEY_SIZE];
    snprintf(problem, sizeof problem, "fake %d", elements);
    snprintf(tuned.solver, sizeof tuned.solver, "%s", solver);
    snprintf(tuned.call, sizeof tuned.call, "tenon check copy x=f32:%d y=f32:%d --seed 1", elements,
             elements);
    tn_tuning_put(context, problem, &tuned);
}

/* All plans are for 16 elements. */
TEST_WITH(the_nearest_outcome_comes_before_estimates, reset, NULL)
{
    static const struct {
        int elements;
        const char *solver;
        bool is_searched, is_taken;
    } outcomes[] = {{16, "fake/third", true, true},   {20, "fake/third", true, true},
                    {20, "fake/third", false, false}, {23, "fake/third", true, false},
                    {12, "fake/second", true, true},  {17, "other/third", true, false},
                    {17, "fake/none", true, false}};
    for (size_t i = 0; i < sizeof outcomes / sizeof *outcomes; i++) {
        char *folder = temporary_make();
        tenon_context *context = make_context(folder, TENON_MEASUREMENTS_USUAL);
        keep_like(context, outcomes[i].elements, outcomes[i].solver, outcomes[i].is_searched);
        assert_plan(context, outcomes[i].is_taken ? outcomes[i].solver : "fake/first");
        assert_int_equal(was_nearest, outcomes[i].is_taken);
        tenon_context_release(context);
        assert_plan_again(folder, TENON_MEASUREMENTS_NONE, "fake/first");
        temporary_remove(folder);
    }
    assert_int_equal(total_runs(), 0);
}

TEST_WITH(of_several_the_nearest_and_never_before_its_own, reset, NULL)
{
    char *folder = temporary_make();
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_USUAL);
    keep_like(context, 20, "fake/second", true);
    keep_like(context, 18, "fake/third", true);
    assert_plan(context, "fake/third");
    keep(context, "fake/first");
    assert_plan(context, "fake/first");
    assert_true(was_measured && !was_nearest);
    tenon_context_release(context);
    temporary_remove(folder);
}

/* Counts log messages, and those during which the lock of the context's choices is held. */
typedef struct lock_probe {
    tenon_context *context;
    int lines, held;
} lock_probe;

static void probe_lock(void *user, tenon_log_level level, const char *message)
{
    lock_probe *probe = user;
    (void)level;
    (void)message;
    pthread_mutex_t *lock = &tn_dispatch_of(probe->context)->checked_lock;
    probe->lines++;
    if (pthread_mutex_trylock(lock) != 0)
        probe->held++;
    else
        pthread_mutex_unlock(lock);
}

/* A store in a folder that others can write to causes a warning at its first use. */
TEST_WITH(no_lock_is_held_where_outcomes_are_listed, reset, NULL)
{
    char *folder = temporary_make();
    lock_probe probe = {NULL, 0, 0};
    assert_int_equal(chmod(folder, 0777), 0);
    probe.context =
        test_context_with(.store = kept_folder(folder), .log = probe_lock, .log_user = &probe);
    probe.context->device.is_cpu = false; /* a CPU's constants would use the store earlier */
    assert_plan(probe.context, "fake/first");
    assert_int_equal(probe.lines, 1);
    assert_int_equal(probe.held, 0);
    tenon_context_release(probe.context);
    temporary_remove(folder);
}

TEST_WITH(a_call_to_be_measured_is_not_taken_for_another, reset, NULL)
{
    char *folder = temporary_make();
    tenon_context *context = make_context(folder, TENON_MEASUREMENTS_USUAL);
    keep_like(context, 20, "fake/third", true);
    tenon_context_release(context);
    assert_plan_again(folder, TENON_MEASUREMENTS_MADE, "fake/second");
    assert_true(was_measured);
    temporary_remove(folder);
}

/* Products that were selected, and those of the kernel that builds fastest. */
static int products, plain_products;

static void hear_product(void *user, const tn_request *request, const tn_choice *choice)
{
    (void)user;
    if (choice == NULL || strcmp(request->family->name, "gemm") != 0)
        return;
    products++;
    plain_products += strcmp(choice->solver->name, "plain") == 0;
}

static const tn_solver *pointwise_solver(void)
{
    const tn_family *conv = tn_operation_conv.family;
    for (uint32_t i = 0; i < conv->solver_count; i++)
        if (strcmp(conv->solvers[i]->name, "pointwise") == 0)
            return conv->solvers[i];
    return NULL;
}

/* Choices are measured with the children of a plan, not with those of a self-check. */
TEST(children_of_measured_choices_are_selected)
{
    static const int64_t x_shape[] = {1, 64, 28, 28}, w_shape[] = {64, 64, 1, 1};
    const tenon_tensor x = tenon_tensor_view(TENON_DTYPE_F32, 4, x_shape),
                       w = tenon_tensor_view(TENON_DTYPE_F32, 4, w_shape);
    const tenon_conv_params params = TENON_CONV_PARAMS_INIT;
    tenon_context *context = test_new_context(NULL);
    tn_call call = {"test", &tn_operation_conv, context, &params};
    tn_choice choice = {.solver = pointwise_solver()}, *const choices[] = {&choice};
    tn_any_problem problem;
    tenon_stream *validation;
    bool empty = false;
    double nanoseconds = 0;
    call.operand_count = CONV_OPERANDS;
    for (uint32_t i = 0; i < CONV_OPERANDS; i++)
        call.operands[i] = (tn_argument){tn_operation_conv.operands[i].name,
                                         i == CONV_X || i == CONV_Y ? &x
                                         : i == CONV_W              ? &w
                                                                    : NULL,
                                         tn_operation_conv.operands[i].role};
    assert_ok(tn_operation_try(&params, &call, &problem.head, &empty));
    problem.head.workspace_limit = 1 << 30;
    assert_null(tn_configure(context, &problem.head, &choice));
    assert_ok(tn_validation_enter(context, &validation));
    tn_dispatch_of(validation->context)->listener = hear_product;
    tn_validation_leave(context);
    products = plain_products = 0;
    assert_ok(tn_measure(context, &problem.head, &call, choices, 1, &nanoseconds));
    assert_true(nanoseconds > 0 && nanoseconds < (double)INFINITY);
    assert_int_equal(products, 1);
    assert_int_equal(plain_products, 0);
    tenon_context_release(context);
}

TEST_WITH(calls_are_written_down_once, reset, NULL)
{
    char *folder = temporary_make();
    const char *path = temporary_path(folder, "calls");
    size_t size;
    tn_case c;
    setenv("TENON_RECORD", path, 1);
    tenon_context *context = test_new_context(NULL);
    unsetenv("TENON_RECORD");
    tenon_stream *stream = test_new_stream(context);
    tenon_tensor x = make_tensor(context, 1000), y = make_tensor(context, 999);
    for (int i = 0; i < 3; i++)
        assert_ok(relu(stream, &x, &x, NULL));
    assert_ok(relu(stream, &y, &y, NULL));
    assert_ok(tenon_stream_finish(stream));
    char *text = (char *)temporary_read(path, &size), *rest = text;
    for (int i = 0; i < 2; i++) {
        char *line = strtok_r(rest, "\n", &rest);
        assert_non_null(line);
        assert_ok(tn_case_parse_line(line + strlen("tenon check "), TENON_DTYPE_INVALID, &c));
        assert_true(c.operation == &tn_operation_activation);
        assert_int_equal(c.views[0].shape[0], i == 0 ? 1000 : 999);
    }
    assert_null(strtok_r(rest, "\n", &rest));
    free(text);
    test_destroy(&x, &y);
    tenon_stream_destroy(stream);
    tenon_context_release(context);
    temporary_remove(folder);
}

/* Tests the log, failing builds and wrong solvers. */
#include "runtime.h"

#include "dispatch/select.h"

typedef struct logged {
    tenon_context *context;
    int count;
    tenon_log_level level;
    char text[4096];
} logged;

/* A callback may call back into the library, and this one does. */
static void keep_log(void *user, tenon_log_level level, const char *message)
{
    logged *log = user;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    uint32_t available;
    log->count++;
    log->level = level;
    snprintf(log->text, sizeof log->text, "%s", message);
    if (log->context != NULL) {
        assert_ok(tenon_context_device(log->context, &info));
        assert_ok(
            tenon_context_capability(log->context, TENON_CAPABILITY_F64, &available, NULL, 0));
    }
}

static tenon_context *make_logged_context(logged *log, uint32_t level)
{
    log->context = test_context_with(.log = keep_log, .log_user = log, .log_level = level);
    return log->context;
}

TEST(failed_builds_show_their_log)
{
    logged log = {0};
    tenon_context *context = make_logged_context(&log, 0);
    tn_recording recording = {.context = context};
    const tn_launch launch = {.source = "tensor/fill",
                              .options = "-cl-std=CL1.2 -DELEMENT_SIZE=oops(",
                              .kernel = "fill",
                              .dimensions = 1,
                              .global = {1}};
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_BUILD_FAILED);
    assert_contains(tenon_last_error(), "tensor/fill");
    assert_contains(tenon_last_error(), "oops");
    assert_int_not_equal(tenon_last_cl_error(), CL_SUCCESS);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.level, TENON_LOG_ERROR);
    assert_contains(log.text, "oops");
    /* The second attempt must also fail, and not treat the failed build as one in progress. */
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_BUILD_FAILED);
    tn_recording_destroy(&recording);
    tenon_context_release(context);
}

TEST(unknown_kernels_are_refused)
{
    tn_recording recording = {.context = test_context};
    tn_launch launch = {.source = "tensor/nothing",
                        .options = "",
                        .kernel = "fill",
                        .dimensions = 1,
                        .global = {1}};
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_UNSUPPORTED);
    assert_contains(tenon_last_error(), "tensor/nothing");
    launch.source = "tensor/fill";
    launch.options = "-cl-std=CL1.2 -DELEMENT_SIZE=4";
    launch.kernel = "nothing";
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_OPENCL);
    launch.kernel = "fill";
    launch.local[0] = launch.global[0] = (size_t)1 << 40;
    assert_int_equal(tn_record("tenon_test", &recording, &launch), TENON_ERROR_UNSUPPORTED_DEVICE);
    tn_recording_destroy(&recording);
}

/* A family whose first solver is wrong but has the best estimate. */
static const tn_solver wrong_solver, right_solver;

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    (void)context;
    (void)problem;
    choice->time = choice->solver == &wrong_solver ? 1 : 2;
    return NULL;
}

static const tn_solver wrong_solver = {
    .name = "wrong", .configure = configure, .launch = test_launch_nothing};
static const tn_solver right_solver = {
    .name = "right", .configure = configure, .launch = test_launch_nothing};
static int checks;

static tenon_status check_by_name(tenon_stream *stream, const tn_problem *problem,
                                  const tn_choice *choice, bool *right, char why[256])
{
    (void)stream;
    (void)problem;
    checks++;
    *right = choice->solver == &right_solver;
    snprintf(why, 256, "%s", *right ? "" : "element 3 is 7, must be 8");
    return TENON_OK;
}

TEST(wrong_solvers_are_barred)
{
    static const tn_solver *const both[] = {&wrong_solver, &right_solver};
    const tn_family mixed = {.name = "fake",
                             .solvers = both,
                             .solver_count = 2,
                             .self_check = check_by_name},
                    hopeless = {.name = "fake",
                                .solvers = both,
                                .solver_count = 1,
                                .self_check = check_by_name};
    const tn_problem open = {.size = sizeof open, .forced = -1};
    const tn_problem forced = {.size = sizeof forced, .forced = 0};
    logged log = {0};
    tenon_context *context = make_logged_context(&log, 0);
    tn_choice choice;
    checks = 0;
    context->device.miscompiles_at_random =
        false; /* otherwise code would be built and checked more often */
    assert_ok(tn_select(&(tn_request){"tenon_fake", context, &mixed, &open, NULL}, &choice));
    assert_ptr_equal(choice.solver, &right_solver);
    assert_int_equal(checks, 2);
    assert_int_equal(log.count, 1);
    assert_int_equal(log.level, TENON_LOG_WARNING);
    assert_contains(log.text, "fake/wrong");
    assert_contains(log.text, "barred");
    assert_contains(log.text, "element 3");
    assert_refused(tn_select(&(tn_request){"tenon_fake", context, &mixed, &forced, NULL}, &choice),
                   TENON_ERROR_SOLVER_BARRED, "tenon_fake", "fake/wrong");
    assert_contains(tenon_last_error(), "element 3 is 7");
    assert_refused(tn_select(&(tn_request){"tenon_fake", context, &hopeless, &open, NULL}, &choice),
                   TENON_ERROR_SOLVER_BARRED, "tenon_fake", "element 3");
    assert_int_equal(checks, 2); /* the verdicts are remembered */
    tenon_context_release(context);
}

TEST(the_log_follows_its_level)
{
    logged quiet = {0}, chatty = {0};
    tenon_context *contexts[] = {make_logged_context(&quiet, TENON_LOG_WARNING),
                                 make_logged_context(&chatty, TENON_LOG_DEBUG)};
    for (int i = 0; i < 2; i++) {
        tenon_tensor x = make_tensor(contexts[i], 10);
        tenon_stream *stream;
        assert_ok(tenon_stream_create(contexts[i], NULL, &stream));
        assert_ok(relu(stream, &x, &x, NULL));
        assert_ok(tenon_stream_finish(stream));
        tenon_memory_destroy(&x.memory);
        tenon_stream_destroy(stream);
        tenon_context_release(contexts[i]);
    }
    assert_int_equal(quiet.count, 0);
    assert_true(chatty.count > 0);
    assert_int_equal(chatty.level, TENON_LOG_DEBUG);
}

/* Started and completed builds, as reported to a progress callback. */
typedef struct building {
    pthread_mutex_t lock;
    int begun, done, most_at_once;
} building;

static void follow(void *user, const tenon_progress *progress)
{
    building *b = user;
    pthread_mutex_lock(&b->lock);
    *(progress->is_done ? &b->done : &b->begun) += 1;
    b->most_at_once = b->begun - b->done > b->most_at_once ? b->begun - b->done : b->most_at_once;
    pthread_mutex_unlock(&b->lock);
}

/* Launches of three programs, one of which is used twice; optionally the last does not compile. */
static bool last_is_wrong;
static tenon_status launch_four(const char *operation, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    static const char *const options[] = {
        "-cl-std=CL1.2 -DELEMENT_SIZE=1", "-cl-std=CL1.2 -DELEMENT_SIZE=2",
        "-cl-std=CL1.2 -DELEMENT_SIZE=1", "-cl-std=CL1.2 -DELEMENT_SIZE=4"};
    (void)problem;
    (void)choice;
    for (int i = 0; i < 4; i++)
        TN_TRY(tn_record(operation, recording,
                         &(tn_launch){.source = "tensor/fill",
                                      .options = i == 3 && last_is_wrong
                                                     ? "-cl-std=CL1.2 -DELEMENT_SIZE=oops("
                                                     : options[i],
                                      .kernel = "fill",
                                      .dimensions = 1,
                                      .global = {1}}));
    return TENON_OK;
}

static void assert_built(bool driver_has_a_lock, bool wrong, int builds, int most_at_once)
{
    static const tn_solver solver = {.name = "four", .launch = launch_four};
    const tn_problem problem = {.size = sizeof problem, .forced = -1};
    const tn_choice choice = {.solver = &solver};
    building b = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tenon_context *context = test_context_with(.progress = follow, .progress_user = &b);
    context->device.keeps_builds = driver_has_a_lock;
    last_is_wrong = wrong;
    tn_recording recording = {.context = context};
    assert_int_equal(tn_choice_record("tenon_fake", &recording, &problem, &choice),
                     wrong ? TENON_ERROR_BUILD_FAILED : TENON_OK);
    assert_int_equal(recording.step_count, wrong ? 3 : 4);
    assert_int_equal(b.begun, builds);
    assert_int_equal(b.done, builds);
    assert_int_equal(b.most_at_once, most_at_once);
    tn_recording_destroy(&recording);
    tenon_context_release(context);
}

TEST(programs_of_a_call_are_built_side_by_side)
{
    assert_built(true, false, 3, 1);
    assert_built(false, false, 3, 3);
    assert_built(false, true, 4, 3); /* a failed build fails again when it is requested */
    assert_contains(tenon_last_error(), "oops");
}

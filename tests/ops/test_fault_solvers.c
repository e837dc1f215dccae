/* Tests the choice of a solver while a part of it fails. */
#include "common/cl_faults.h"
#include "runtime.h"

#include "dispatch/plan.h"
#include "dispatch/state.h"
#include "runtime/queue/stream.h"
#include "runtime/context/validation.h"

/* A family of two solvers that do nothing. The self-check of the faster one fails with `reason`. A
 * trial can be made to fail when that solver is configured or checked. */
static tenon_status reason;
static cl_int reason_error;
static bool no_trial_when_asked, no_trial_when_checked;
/* A stream that accepts no more commands, and its queue, which is restored before it is destroyed.
 */
typedef struct spoilt_stream {
    tenon_stream *stream;
    cl_command_queue queue;
} spoilt_stream;

/* Set during the check of the faster solver, which then breaks its stream; NULL if it should not.
 */
static spoilt_stream *spoilt;
static int checks;

static spoilt_stream spoil(tenon_stream *stream)
{
    const spoilt_stream spoilt_now = {.stream = stream, .queue = stream->queue};
    stream->queue = NULL;
    return spoilt_now;
}

static bool try_without_memory(tenon_context *context)
{
    faults_fail_next("clCreateBuffer", CL_OUT_OF_RESOURCES, 1);
    const bool has = tn_context_has(context, TENON_CAPABILITY_HARDWARE_FMA);
    faults_end();
    return has;
}

static const tn_solver fast, slow;

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    (void)problem;
    choice->time = choice->solver == &fast ? 1 : 2;
    return choice->solver == &fast && no_trial_when_asked && !try_without_memory(context)
               ? "cannot be tried"
               : NULL;
}

static const tn_solver fast = {
    .name = "fast", .configure = configure, .launch = test_launch_nothing};
static const tn_solver slow = {
    .name = "slow", .configure = configure, .launch = test_launch_nothing};

static tenon_status check_fake(tenon_stream *stream, const tn_problem *problem,
                               const tn_choice *choice, bool *right, char why[256])
{
    (void)problem;
    checks++;
    *right = true;
    why[0] = '\0';
    if (no_trial_when_checked)
        try_without_memory(stream->context);
    if (choice->solver == &fast && spoilt != NULL)
        *spoilt = spoil(stream);
    if (choice->solver == &fast && reason != TENON_OK)
        return tn_fail_cl(reason, reason_error, "fake self-check: does not fit");
    return TENON_OK;
}

static const tn_solver *const both[] = {&slow, &fast};
static const tn_family family = {
    .name = "fake", .solvers = both, .solver_count = 2, .self_check = check_fake};
static const tn_problem open = {.size = sizeof open, .forced = -1};
static const tn_problem forced = {.size = sizeof forced, .forced = 1};

static void assert_plan(tenon_context *context, const char *name)
{
    tenon_plan *plan;
    fail_before();
    assert_ok(tn_plan_create(&(tn_request){"tenon_fake", context, &family, &open, NULL}, &plan));
    assert_as_before();
    assert_string_equal(plan->name, name);
    tenon_plan_release(plan);
}

static void assert_no_plan(tenon_context *context, const tn_problem *problem)
{
    tenon_plan *plan;
    assert_int_equal(
        tn_plan_create(&(tn_request){"tenon_fake", context, &family, problem, NULL}, &plan),
        reason);
    assert_contains(tenon_last_error(), "fake self-check: does not fit");
    assert_int_equal(tenon_last_cl_error(), reason_error);
}

typedef struct failure {
    tenon_status status;
    cl_int error;
} failure;

/* If the check of a solver can never succeed on this device, another solver is chosen. A forced
 * solver has no alternative. */
TEST(checks_that_this_device_cannot_make_pass_on)
{
    static const failure lasting[] = {
        {TENON_ERROR_UNSUPPORTED, CL_SUCCESS},
        {TENON_ERROR_UNSUPPORTED_DEVICE, CL_SUCCESS},
        {TENON_ERROR_WORKSPACE_TOO_SMALL, CL_SUCCESS},
        {TENON_ERROR_BUILD_FAILED, CL_BUILD_PROGRAM_FAILURE},
        {TENON_ERROR_OPENCL, CL_INVALID_WORK_GROUP_SIZE},
        {TENON_ERROR_INCOMPLETE, CL_INVALID_WORK_GROUP_SIZE},
    };
    for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++) {
        tenon_context *context = test_new_context(NULL);
        reason = lasting[i].status;
        reason_error = lasting[i].error;
        assert_plan(context, "fake/slow");
        assert_no_plan(context, &forced);
        tenon_context_release(context);
    }
}

/* A check that fails temporarily fails the call, and the next call gets the faster solver. */
TEST(checks_that_fail_once_fail_the_call)
{
    static const failure passing[] = {
        {TENON_ERROR_OUT_OF_MEMORY, CL_SUCCESS},
        {TENON_ERROR_OUT_OF_MEMORY, CL_OUT_OF_RESOURCES},
        {TENON_ERROR_OPENCL, CL_INVALID_COMMAND_QUEUE},
        {TENON_ERROR_INCOMPLETE, CL_OUT_OF_RESOURCES},
        {TENON_ERROR_DEVICE_LOST, CL_DEVICE_NOT_AVAILABLE},
    };
    for (size_t i = 0; i < sizeof passing / sizeof *passing; i++) {
        tenon_context *context = test_new_context(NULL);
        reason = passing[i].status;
        reason_error = passing[i].error;
        assert_no_plan(context, &open);
        assert_no_plan(context, &forced);
        reason = TENON_OK;
        assert_plan(context, "fake/fast");
        tenon_context_release(context);
    }
}

static void hear(void *user, tenon_log_level level, const char *text)
{
    if (level == TENON_LOG_WARNING)
        snprintf(user, 512, "%s", text);
}

/* Applications may skip checks to have a faster first call. */
TEST(checks_can_be_left_out)
{
    tenon_context *context = test_context_with(.unchecked = 1);
    checks = 0;
    reason = TENON_ERROR_UNSUPPORTED;
    assert_plan(context, "fake/fast");
    assert_int_equal(checks, 0);
    reason = TENON_OK;
    tenon_context_release(context);
}

static void list_barred(void *user, const char *solver, const char *why)
{
    snprintf(user, 512, "%s: %s", solver, why);
}

/* A kernel that breaks its context bars its own variant. The next solver is checked in a new
 * context, and trials run there. */
TEST(a_spoilt_context_costs_nothing_else)
{
    char heard[512] = "";
    spoilt_stream broken = {.stream = NULL};
    tenon_context *context = test_context_with(.log = hear, .log_user = heard);
    reason = TENON_ERROR_OPENCL;
    reason_error = CL_INVALID_COMMAND_QUEUE;
    spoilt = &broken;
    assert_plan(context, "fake/slow");
    assert_contains(heard, "solver fake/fast is barred");
    assert_contains(heard, "it makes its context unusable: fake self-check: does not fit");
    reason = TENON_OK;
    spoilt = NULL;
    assert_plan(context, "fake/slow");
    assert_int_equal(tn_context_has(context, TENON_CAPABILITY_HARDWARE_FMA),
                     tn_context_has(test_context, TENON_CAPABILITY_HARDWARE_FMA));
    assert_int_equal(tn_capabilities_untested(context), 0);
    const tenon_statistics counts = test_statistics(context);
    assert_int_equal(counts.checks, 2);
    assert_int_equal(counts.checks_wrong, 1);
    assert_ok(tenon_context_barred(context, list_barred, heard));
    assert_contains(heard, "fake/fast");
    assert_contains(heard, ": it makes its context unusable: fake self-check");
    assert_non_null(broken.stream);
    broken.stream->queue = broken.queue;
    tenon_context_release(context);
}

/* A trial that breaks its context makes the capability count as absent, and affects no other trial.
 */
TEST(a_spoilt_trial_costs_nothing_else)
{
    char why[256];
    uint32_t available = 1;
    tenon_stream *stream;
    tenon_context *context = test_new_context(NULL);
    assert_ok(tn_validation_enter(context, &stream));
    const spoilt_stream broken = spoil(stream);
    tn_validation_leave(context);
    assert_ok(tenon_context_capability(context, TENON_CAPABILITY_HARDWARE_FMA, &available, why,
                                       sizeof why));
    assert_int_equal(available, 0);
    assert_contains(why, "the trial made its context unusable: ");
    assert_int_equal(tn_context_has(context, TENON_CAPABILITY_NONTEMPORAL_STORE),
                     tn_context_has(test_context, TENON_CAPABILITY_NONTEMPORAL_STORE));
    assert_int_equal(tn_capabilities_untested(context), 0);
    broken.stream->queue = broken.queue;
    tenon_context_release(context);
}

/* Gets the plan of `open` from the table and checks its name; returns the number of plans in the
 * table. */
static uint32_t use_table(tenon_context *context, const char *name)
{
    tenon_plan *plan;
    assert_ok(tn_plan_table_get(&(tn_request){"tenon_fake", context, &family, &open, NULL}, &plan));
    assert_string_equal(plan->name, name);
    tenon_plan_release(plan);
    return tn_dispatch_of(context)->plans.count;
}

/* A choice made without the result of a trial is made again. */
TEST(nothing_is_kept_that_came_of_a_trial_not_made)
{
    tenon_context *context = test_new_context(NULL);
    no_trial_when_asked = true;
    assert_int_equal(use_table(context, "fake/slow"), 0);
    no_trial_when_asked = false;
    checks = 0;
    no_trial_when_checked = true;
    assert_int_equal(use_table(context, "fake/fast"), 0);
    assert_int_equal(use_table(context, "fake/fast"), 0);
    no_trial_when_checked = false;
    assert_int_equal(use_table(context, "fake/fast"), 1);
    assert_int_equal(checks, 3);
    assert_plan(context, "fake/fast");
    assert_int_equal(checks, 3);
    tenon_context_release(context);
}

/* True if contexts compile from source instead of loading binaries. */
static bool from_source;

/* A context, and the stream and tensor of the tests' call. */
typedef struct place {
    tenon_context *context;
    tenon_stream *stream;
    tenon_tensor x;
} place;

static place make_place(void)
{
    place p;
    fail_before();
    p.context = test_new_context(NULL);
    p.context->device.keeps_builds |= from_source;
    p.stream = test_new_stream(p.context);
    p.x = make_tensor(p.context, 1000);
    assert_as_before();
    return p;
}

static void leave(place *p)
{
    assert_ok(tenon_stream_finish(p->stream));
    tenon_memory_destroy(&p->x.memory);
    tenon_stream_destroy(p->stream);
    tenon_context_release(p->context);
}

static tenon_status call(place *p)
{
    return relu(p->stream, &p->x, &p->x, NULL);
}

static const tn_plan_table *plans_of(place *p)
{
    return &tn_dispatch_of(p->context)->plans;
}

/* Describes the chosen plan and its build options; the driver may not know those of a binary. */
static void describe(place *p, char text[1024])
{
    cl_kernel last = NULL;
    cl_program program;
    assert_int_equal(plans_of(p)->count, 1);
    size_t used = tenon_plan_describe(plans_of(p)->newest, text, 1024);
    if (!p->context->device.keeps_builds)
        return;
    for (uint32_t i = 0; i < p->stream->kernel_count; i++)
        last = p->stream->kernels[i] != NULL ? p->stream->kernels[i] : last;
    assert_int_equal(
        clGetKernelInfo(last, CL_KERNEL_PROGRAM, sizeof program, (void *)&program, NULL),
        CL_SUCCESS);
    assert_int_equal(clGetProgramBuildInfo(program, p->context->device.info.device,
                                           CL_PROGRAM_BUILD_OPTIONS, 1024 - used, text + used,
                                           NULL),
                     CL_SUCCESS);
    assert_contains(text + used, "-DTENON");
}

/* Copies the results of trials, which would take most of the time. */
static void copy_capabilities(tenon_context *to)
{
    for (int i = 0; i < TN_CAPABILITY_COUNT; i++)
        tn_capability_set(to, (tenon_capability)i,
                          tn_capability_form(test_context, (tenon_capability)i));
}

/* Fails each call of a function in turn during the first call. */
static void fail_each(const char *function, cl_int error, bool trials, const char *wanted)
{
    bool struck = true;
    for (unsigned nth = 1; struck; nth++) {
        place p = make_place();
        char text[1024];
        if (!trials)
            copy_capabilities(p.context);
        faults_fail_next(function, error, nth);
        tenon_status status = call(&p);
        struck = faults_end() == 1;
        if (status == TENON_OK) {
            assert_as_before();
        } else {
            assert_int_equal(status, TENON_ERROR_OUT_OF_MEMORY);
            assert_string_not_equal(tenon_last_error(), "mine");
        }
        assert_ok(call(&p));
        describe(&p, text);
        assert_string_equal(text, wanted);
        leave(&p);
    }
}

static void fail_all(void)
{
    place p = make_place();
    char wanted[1024];
    assert_ok(call(&p));
    describe(&p, wanted);
    leave(&p);
    fail_each("clBuildProgram", CL_OUT_OF_HOST_MEMORY, true, wanted);
    fail_each("clBuildProgram", CL_OUT_OF_RESOURCES, false, wanted);
    fail_each("clCreateProgramWithSource", CL_OUT_OF_HOST_MEMORY, true, wanted);
    fail_each("clCreateKernel", CL_OUT_OF_HOST_MEMORY, false, wanted);
    fail_each("clCreateBuffer", CL_MEM_OBJECT_ALLOCATION_FAILURE, false, wanted);
    fail_each("clGetKernelWorkGroupInfo", CL_OUT_OF_RESOURCES, false, wanted);
    fail_each("clEnqueueNDRangeKernel", CL_OUT_OF_RESOURCES, false, wanted);
    fail_each("malloc", CL_OUT_OF_HOST_MEMORY, false, wanted);
    fail_each("calloc", CL_OUT_OF_HOST_MEMORY, false, wanted);
    fail_each("realloc", CL_OUT_OF_HOST_MEMORY, false, wanted);
}

TEST(no_lesser_plan_is_kept)
{
    if (!test_context->device.keeps_builds)
        fail_all();
    from_source = true;
    fail_all();
    from_source = false;
}

/* Variants that the driver does not compile are skipped without an error. */
TEST(refused_programs_are_passed_over)
{
    unsigned served = 0, failed = 0;
    bool struck = true;
    for (unsigned nth = 1; struck; nth++) {
        place p = make_place();
        faults_fail_next("clBuildProgram", CL_BUILD_PROGRAM_FAILURE, nth);
        tenon_status status = call(&p);
        struck = faults_end() == 1;
        if (status == TENON_OK) {
            assert_as_before();
            served++;
        } else {
            /* The program compiled for its check, and then failed to build in the context. */
            assert_int_equal(status, TENON_ERROR_BUILD_FAILED);
            assert_int_equal(tenon_last_cl_error(), CL_BUILD_PROGRAM_FAILURE);
            failed++;
        }
        leave(&p);
    }
    assert_true(served > 1 && failed <= 1);
}

/* A program built in the validation context is loaded as a binary; if that fails, it is compiled
 * without an error. */
TEST(binaries_that_are_refused_are_built_again)
{
    static const char *const functions[] = {"clGetProgramInfo", "clCreateProgramWithBinary",
                                            "clRetainProgram"};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        place p = make_place();
        p.context->device.keeps_builds = false;
        faults_fail_all(functions[i], CL_INVALID_BINARY);
        assert_ok(call(&p));
        faults_end();
        assert_as_before();
        leave(&p);
    }
}

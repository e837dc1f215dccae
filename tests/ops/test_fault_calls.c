/*
 * Tests every operation while each of its allocations and OpenCL calls fails once: in plans,
 * immediate calls and self-checks. A failure must have the correct status and a message, and leave
 * outputs unchanged or report that they are undefined. If the call succeeds, the result must be
 * correct. Nothing may leak.
 */
#include "common/cl_faults.h"
#include "offer.h"
#include "quick.h"

#include "dispatch/state.h"
#include "ops/registry.h"
#include "runtime/context/context.h"

/* A kind of failure. */
typedef struct failing {
    const char *name, *functions;
    cl_int error; /* CL_SUCCESS for allocations */
    tenon_status status;
} failing;

static const failing ways[] = {
    {"allocation", FAULTS_MEMORY, CL_SUCCESS, TENON_ERROR_OUT_OF_MEMORY},
    {"OpenCL call", FAULTS_OPENCL, CL_OUT_OF_RESOURCES, TENON_ERROR_OUT_OF_MEMORY},
    {"OpenCL call", FAULTS_OPENCL, CL_DEVICE_NOT_AVAILABLE, TENON_ERROR_DEVICE_LOST},
};
enum { WAYS = sizeof ways / sizeof *ways };

/* A call of an operation's first example, and its correct result. */
typedef struct subject {
    offer o;
    unsigned char *right[TN_MAX_OPERANDS];
    char plan[4096];
    char where[256]; /* the operation and the failing call, for messages */
} subject;

static tenon_status make_plan(const subject *s, tenon_plan **plan)
{
    return tn_operation_call_plan(s->o.op, test_context, &s->o.params, s->o.arguments, plan);
}

static void upload_all(const subject *s)
{
    for (uint32_t i = 0; i < s->o.op->operand_count; i++)
        if (s->o.arguments[i] != NULL)
            test_upload(&s->o.tensors[i]);
}

static void download_all(const subject *s, unsigned char *bits[TN_MAX_OPERANDS])
{
    for (uint32_t i = 0; i < s->o.op->operand_count; i++)
        bits[i] = s->o.arguments[i] != NULL ? test_download_bits(&s->o.tensors[i]) : NULL;
}

static void begin(subject *s, const tn_operation *op)
{
    tenon_plan *plan;
    memset(s, 0, sizeof *s);
    prepare(&s->o, op);
    assert_ok(make_plan(s, &plan));
    tenon_plan_describe(plan, s->plan, sizeof s->plan);
    tenon_plan_release(plan);
    assert_ok(tn_operation_call(op, test_stream, &s->o.params, s->o.arguments, NULL));
    download_all(s, s->right);
}

static void end(subject *s)
{
    upload_all(s);
    for (uint32_t i = 0; i < s->o.op->operand_count; i++)
        free(s->right[i]);
    dismiss(&s->o);
}

/* Makes the nth call from now on fail. */
static void fail_next(subject *s, const failing *way, unsigned nth)
{
    snprintf(s->where, sizeof s->where, "%s, %s %u", s->o.op->name, way->name, nth);
    tn_fail_cl(TENON_ERROR_OPENCL, CL_MAP_FAILURE, "mine");
    faults_fail_next(way->functions, way->error, nth);
}

/* Checks that a failure reports the call that failed, and that a success leaves the last error
 * unchanged. */
static void assert_told(const subject *s, tenon_status status, const failing *way)
{
    const char *message = tenon_last_error();
    if (status == TENON_OK) {
        if (strcmp(message, "mine") != 0 || tenon_last_cl_error() != CL_MAP_FAILURE)
            fail_msg("%s: succeeds, and leaves \"%s\"", s->where, message);
        return;
    }
    /* A device counts as lost if clFinish fails, whatever its error. */
    const bool is_lost = status == TENON_ERROR_DEVICE_LOST && strstr(message, "clFinish") != NULL;
    if ((status != way->status && status != TENON_ERROR_INCOMPLETE && !is_lost) ||
        tenon_last_cl_error() != way->error || strstr(message, ": ") == NULL ||
        strcmp(message, "mine") == 0)
        fail_msg("%s: %s, OpenCL's error %d: %s", s->where, tenon_status_string(status),
                 tenon_last_cl_error(), message);
}

static unsigned plan_while_each_fails(subject *s, const failing *way)
{
    const faults_alive before = faults_count();
    char text[4096];
    for (unsigned nth = 1;; nth++) {
        tenon_plan *plan = (tenon_plan *)(uintptr_t)1;
        fail_next(s, way, nth);
        const tenon_status status = make_plan(s, &plan);
        const bool struck = faults_end() > 0;
        assert_told(s, status, way);
        if (status == TENON_OK) {
            tenon_plan_describe(plan, text, sizeof text);
            assert_string_equal(text, s->plan);
            tenon_plan_release(plan);
        } else if (plan != NULL) {
            fail_msg("%s: fails, and gives a plan", s->where);
        }
        faults_assert_alive(&before, s->where);
        if (!struck)
            return nth - 1;
    }
}

/* Empties the table of plans, as before the first call. */
static void forget_plans(tenon_context *context)
{
    tn_plan_table *table = &tn_dispatch_of(context)->plans;
    tn_plan_table_destroy(table);
    assert_true(tn_plan_table_init(table));
}

/* Checks that outputs have the complete result, are unchanged, or were reported as undefined. */
static void assert_left(const subject *s, tenon_status status)
{
    for (uint32_t i = 0; i < s->o.op->operand_count; i++) {
        if (s->o.arguments[i] == NULL)
            continue;
        if (!tn_operation_writes(s->o.op, i) ||
            (status != TENON_OK && status != TENON_ERROR_INCOMPLETE)) {
            if (!test_untouched(&s->o.tensors[i]))
                fail_msg("%s: %s was overwritten", s->where, s->o.op->operands[i].name);
        } else if (status == TENON_OK) {
            unsigned char *bits = test_download_bits(&s->o.tensors[i]);
            const size_t size = (size_t)tenon_tensor_elements(&s->o.tensors[i].view) *
                                tenon_dtype_size(s->o.tensors[i].view.dtype);
            if (memcmp(bits, s->right[i], size) != 0)
                fail_msg("%s: succeeds, and %s is wrong", s->where, s->o.op->operands[i].name);
            free(bits);
        }
    }
}

/* Kinds of streams, which make different OpenCL calls in addition to the launches. */
typedef struct kind_of_stream {
    cl_command_queue queue; /* NULL: the library creates one */
    bool with_event;
} kind_of_stream;

static kind_of_stream streams[] = {{NULL, false}, {NULL, true}};
enum { STREAMS = sizeof streams / sizeof *streams };

static void open_queues(void)
{
    streams[1].queue = test_queue(test_context, true); /* NULL if not supported */
}

static void close_queues(void)
{
    for (int k = 0; k < STREAMS; k++)
        if (streams[k].queue != NULL)
            clReleaseCommandQueue(streams[k].queue);
}

static unsigned call_while_each_fails(subject *s, const failing *way, const kind_of_stream *kind)
{
    for (unsigned nth = 1;; nth++) {
        cl_event event = NULL;
        const tenon_sync sync = {.event = &event}, *wanted = kind->with_event ? &sync : NULL;
        forget_plans(test_context);
        upload_all(s);
        const faults_alive before = faults_count();
        tenon_stream *stream;
        assert_ok(tenon_stream_create(test_context, kind->queue, &stream));
        fail_next(s, way, nth);
        const tenon_status status =
            tn_operation_call(s->o.op, stream, &s->o.params, s->o.arguments, wanted);
        const bool struck = faults_end() > 0;
        assert_told(s, status, way);
        if ((event != NULL) != (status == TENON_OK && kind->with_event))
            fail_msg("%s: %s, event %p", s->where, tenon_status_string(status), (void *)event);
        assert_ok(tenon_stream_finish(stream));
        if (event != NULL)
            clReleaseEvent(event);
        tenon_stream_destroy(stream);
        forget_plans(test_context);
        faults_assert_alive(&before, s->where);
        assert_left(s, status);
        if (!struck)
            return nth - 1;
    }
}

TEST(plans_are_made_whole_or_not_at_all)
{
    unsigned failed = 0;
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        subject s;
        begin(&s, tn_operations[i]);
        for (int w = 0; w < WAYS; w++)
            failed += plan_while_each_fails(&s, &ways[w]);
        end(&s);
    }
    printf("%u calls failed\n", failed);
    assert_true(failed > 5 * tn_operation_count);
}

TEST(calls_that_fail_leave_their_outputs)
{
    unsigned failed = 0;
    test_context->policy.unchecked = true;
    open_queues();
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        subject s;
        begin(&s, tn_operations[i]);
        for (int w = 0; w < WAYS; w++)
            for (int k = 0; k < STREAMS; k++)
                failed += call_while_each_fails(&s, &ways[w], &streams[k]);
        end(&s);
    }
    close_queues();
    test_context->policy.unchecked = false;
    printf("%u calls failed\n", failed);
    assert_true(failed > 10 * tn_operation_count);
}

/* Clears the results of self-checks, as before the first one. */
static void forget_verdicts(tenon_context *context)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    for (uint32_t i = 0; i < dispatch->checked_count; i++)
        free(dispatch->checked[i].key);
    dispatch->checked_count = 0;
}

/* Checks that a self-check that could not run has barred no solver. */
static void assert_none_is_barred(const subject *s)
{
    const tn_dispatch *dispatch = tn_dispatch_of(test_context);
    for (uint32_t i = 0; i < dispatch->checked_count; i++)
        if (!dispatch->checked[i].right)
            fail_msg("%s: bars %s: %s", s->where, dispatch->checked[i].key,
                     dispatch->checked[i].why);
}

/* Returns the next call to fail: each of the first ones, and a random selection of the others. */
static unsigned next_to_fail(unsigned nth, test_random *random)
{
    return nth < 12 ? nth + 1 : nth + 1 + (unsigned)test_between(random, 0, nth / 2);
}

static unsigned check_while_some_fail(subject *s, const failing *way, test_random *random)
{
    unsigned failed = 0;
    forget_verdicts(test_context);
    const faults_alive before = faults_count();
    for (unsigned nth = 1;; nth = next_to_fail(nth, random)) {
        char text[4096];
        tenon_plan *plan = NULL;
        fail_next(s, way, nth);
        const tenon_status status = make_plan(s, &plan);
        const bool struck = faults_end() > 0;
        assert_told(s, status, way);
        assert_none_is_barred(s);
        if (status == TENON_OK) {
            tenon_plan_describe(plan, text, sizeof text);
            assert_string_equal(text, s->plan);
            tenon_plan_release(plan);
        }
        forget_verdicts(test_context);
        faults_assert_alive(&before, s->where);
        if (!struck)
            return failed;
        failed++;
    }
}

TEST(checks_that_fail_conclude_nothing)
{
    test_random random = test_random_for(71);
    unsigned failed = 0, tried = 0;
    for (uint32_t i = 0; i < tn_operation_count; i++) {
        subject s;
        if (!quick_draws(tn_operations[i]->name, 3))
            continue;
        tried++;
        begin(&s, tn_operations[i]);
        for (int w = 0; w < 2; w++)
            failed += check_while_some_fail(&s, &ways[w], &random);
        end(&s);
    }
    printf("%u calls failed\n", failed);
    assert_true(failed >= 20 * tried);
}

/* Requests a plan that another thread prepares: it is created, or the call fails. */
static tenon_status ask_for_plan(tenon_context *context, uint64_t asked[2])
{
    tenon_activation_params params = TENON_ACTIVATION_PARAMS_INIT;
    const int64_t shape[] = {3};
    const tenon_tensor view = tenon_tensor_view(TENON_DTYPE_F32, 1, shape);
    tenon_plan *plan = NULL;
    TN_TRY(tenon_prepare_begin(context));
    tenon_status status = tenon_activation_forward_plan(context, &params, &view, &view, &plan);
    assert_ok(tenon_prepare_end(context));
    if (status == TENON_OK)
        status = tenon_prepare_progress(context, &asked[0], &asked[1]);
    if (status == TENON_OK)
        status = tenon_plan_wait(plan);
    tenon_plan_release(plan);
    return status;
}

TEST(plans_are_made_later_or_not_at_all)
{
    bool struck = true;
    unsigned nth = 0;
    while (struck) {
        const faults_alive before = faults_count();
        uint64_t asked[2] = {0};
        tenon_context *context = test_context_with(.unchecked = 1);
        faults_fail_next(FAULTS_MEMORY, CL_SUCCESS, ++nth);
        const tenon_status status = ask_for_plan(context, asked);
        struck = faults_end() > 0;
        if (status != TENON_OK) {
            assert_true(struck);
            assert_int_equal(status, TENON_ERROR_OUT_OF_MEMORY);
            const char *message = tenon_last_error();
            if (strstr(message, ": no memory") == NULL &&
                strstr(message, ": cannot create a thread") == NULL)
                fail_msg("allocation %u: %s", nth, message);
            assert_ok(ask_for_plan(context, asked)); /* the next request succeeds */
        }
        assert_int_equal(asked[1], 1);
        tenon_context_release(context);
        faults_assert_alive(&before, "a plan that is made later");
    }
    assert_true(nth > 5);
}

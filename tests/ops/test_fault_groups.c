/*
 * Tests groups of two processes while each allocation and OpenCL call of one of them fails once,
 * from the creation of the group to its end. A failure has a status and a message, the other
 * process is told, every event completes, results are right if a call succeeds, and nothing leaks.
 * The process with the faults makes progress by polling, because a fault applies to one thread.
 */
#include "common/cl_faults.h"
#include "group_case.h"
#include "quick.h"

#include "base/platform.h"
#include "group/staging_choice.h"

#include <string.h>

enum { COUNT = 20000, PARTS = 2 };

typedef struct process {
    test_net *net;
    uint32_t number;
    tenon_stream *stream;
    tenon_tensor x, y, packed; /* x has gaps, y has none */
    tenon_status status;
    char message[512];
    tn_thread thread;
} process;

static tenon_status make_group(const process *p, tenon_group **group)
{
    tenon_transport transport;
    test_net_transport(p->net, p->number, 0, &transport);
    const tenon_group_params params =
        tenon_group_params(.transport = &transport, .deadline_s = 100, .chunk_bytes = 16384);
    return tenon_group_create(&p->stream, 1, &params, group);
}

/* Collectives with every kind of step. */
static tenon_status call(const process *p, tenon_group *group)
{
    const tenon_tensor in[PARTS] = {p->y, p->packed}, out[PARTS] = {p->y, p->packed};
    tenon_status status = tenon_group_all_reduce(group, TENON_GROUP_SUM, &p->x, &p->y, NULL);
    if (status == TENON_OK)
        status = tenon_group_all_reduce_many(group, TENON_GROUP_MAX, PARTS, in, out, NULL);
    if (status == TENON_OK && p->number == 0)
        status = tenon_group_send(group, 0, 1, &p->x, NULL);
    if (status == TENON_OK && p->number == 1)
        status = tenon_group_receive(group, 0, 1, &p->packed, NULL);
    return status != TENON_OK ? status : tenon_group_wait(group);
}

static tenon_status run(process *p, tenon_group **group)
{
    *group = NULL;
    p->status = make_group(p, group);
    if (p->status == TENON_OK)
        p->status = call(p, *group);
    snprintf(p->message, sizeof p->message, "%s", p->status != TENON_OK ? tenon_last_error() : "");
    return p->status;
}

static void *run_other(void *data)
{
    process *p = data;
    tenon_group *group;
    if (run(p, &group) != TENON_OK) /* the other may wait for calls that are not made */
        test_net_kill(p->net, p->number);
    tenon_group_destroy(group);
    return NULL;
}

/* The context of both processes. */
static tenon_context *used_context;

static void open_process(process *p, uint32_t number)
{
    const int64_t shape[] = {COUNT / 2, 2}, wide[] = {COUNT / 2, 3};
    p->number = number;
    assert_ok(tenon_stream_create(used_context, NULL, &p->stream));
    assert_ok(tenon_tensor_create(used_context, TENON_DTYPE_F32, 2, wide, &p->x));
    assert_ok(tenon_tensor_create(used_context, TENON_DTYPE_F32, 2, shape, &p->y));
    assert_ok(tenon_tensor_create(used_context, TENON_DTYPE_F32, 2, shape, &p->packed));
    p->x = tenon_tensor_slice(p->x, 1, 0, 2);
    assert_ok(tenon_tensor_fill(p->stream, &p->x, number + 1, NULL));
    assert_ok(tenon_tensor_fill(p->stream, &p->packed, number + 5, NULL));
    assert_ok(tenon_stream_finish(p->stream));
}

static void close_process(process *p)
{
    assert_ok(tenon_stream_finish(p->stream)); /* all events are complete */
    tenon_stream_destroy(p->stream);
    tenon_memory_destroy(&p->x.memory);
    tenon_tensor_destroy(&p->y);
    tenon_tensor_destroy(&p->packed);
}

static void assert_values(const process *p, const tenon_tensor *t, float expected)
{
    static float got[COUNT];
    assert_ok(tenon_tensor_download(p->stream, t, got, sizeof got, NULL));
    for (int i = 0; i < COUNT; i++)
        assert_true(got[i] == expected);
}

/* Runs both processes, the first one with a fault at its nth call. Returns false if there are fewer
 * calls. */
static bool check(const char *functions, cl_int error, unsigned nth)
{
    process p[2];
    tenon_group *group;
    char where[64];
    const faults_alive before = faults_count();
    memset(p, 0, sizeof p);
    for (uint32_t i = 0; i < 2; i++)
        open_process(&p[i], i);
    snprintf(where, sizeof where, "fault %u of %s", nth, functions);
    p[0].net = p[1].net = test_net_create(2, &(test_net_faults){0});
    assert_true(tn_thread_create(&p[1].thread, run_other, &p[1]));
    if (nth > 0)
        faults_fail_next(functions, error, nth);
    run(&p[0], &group);
    const bool had_fault = nth > 0 && faults_end() > 0;
    if (p[0].status != TENON_OK)
        test_net_kill(p[0].net, 0);
    tenon_group_destroy(group);
    tn_thread_join(p[1].thread);
    for (uint32_t i = 0; i < 2; i++) {
        if (p[i].status == TENON_OK) {
            assert_values(&p[i], &p[i].y, 3);
            assert_values(&p[i], &p[i].packed, i == 0 ? 6 : 1);
        } else if (!had_fault || strncmp(p[i].message, "tenon_group_", 12) != 0) {
            fail_msg("%s: process %u: %s: %s", where, (unsigned)i, tenon_status_string(p[i].status),
                     p[i].message);
        }
    }
    assert_int_equal(test_net_errors(p[0].net), 0);
    test_net_destroy(p[0].net);
    for (uint32_t i = 0; i < 2; i++)
        close_process(&p[i]);
    if (nth > 0)
        faults_assert_alive(&before, where);
    return had_fault;
}

static void check_all(const char *functions, cl_int error, uint64_t stream)
{
    test_random random = test_random_for(stream);
    used_context = test_context;
    for (int i = 0; i < 3; i++) /* compiles kernels, and fills the caches */
        check(functions, error, 0);
    for (unsigned nth = 1; check(functions, error, nth);) {
        /* Late calls are mostly queries of events, as many as time allows. */
        const unsigned step = quick_is_on() ? 8 + nth / 5 : 1 + nth / 50;
        nth += (unsigned)test_between(&random, 1, 2 * step - 1);
    }
}

TEST(allocations)
{
    check_all(FAULTS_MEMORY, CL_SUCCESS, 3401);
}

/* A context of a device with memory of its own. */
static tenon_context *context_of_a_card(void)
{
    const cl_bool is_unified = CL_FALSE;
    const cl_device_type type = CL_DEVICE_TYPE_GPU; /* a CPU's memory is always the host's */
    const faults_answer answers[] = {
        {CL_DEVICE_HOST_UNIFIED_MEMORY, &is_unified, sizeof is_unified},
        {CL_DEVICE_TYPE, &type, sizeof type}};
    tenon_context *context;
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &info));
    const tenon_context_params params =
        tenon_context_params(.device = info.selector, .measurements = TENON_MEASUREMENTS_MADE);
    faults_give_device(answers, sizeof answers / sizeof *answers);
    const tenon_status status = tenon_context_create(&params, &context);
    faults_give_device(NULL, 0);
    assert_ok(status);
    assert_ok(tenon_context_device(context, &info));
    assert_int_equal(info.unified_memory, 0);
    return context;
}

/* Messages whose contents are copied to and from the device: in the kind of memory that is
 * measured as faster, and in both kinds. */
TEST(device_with_its_own_memory)
{
    used_context = context_of_a_card();
    tn_staging_choice *choice = tn_staging_choice_of(used_context);
    assert_non_null(choice);
    assert_false(choice->is_made);
    check("none", CL_SUCCESS, 0);
    assert_true(choice->is_made);
    for (int is_pinned = 0; is_pinned < 2; is_pinned++) {
        choice->is_pinned = is_pinned != 0;
        for (int i = 0; i < 2; i++)
            check("none", CL_SUCCESS, 0);
        /* Only pinned memory is mapped. */
        assert_int_equal(check("clEnqueueMapBuffer", CL_OUT_OF_RESOURCES, 1), is_pinned);
        assert_int_equal(choice->is_pinned, is_pinned); /* not measured again */
    }
    tenon_context_release(used_context);
}

/* A device that shares the host's memory needs no choice. */
TEST(device_with_the_hosts_memory)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT;
    assert_ok(tenon_context_device(test_context, &info));
    if (!info.unified_memory) {
        print_message("the device has memory of its own\n");
        skip();
    }
    used_context = test_context;
    check("none", CL_SUCCESS, 0);
    assert_false(tn_staging_choice_of(test_context)->is_made);
}

/* A measurement that fails has no effect: memory is pinned, and the message is kept. */
TEST(measurement_of_memory)
{
    static const struct {
        const char *functions;
        cl_int error;
    } kinds[] = {{FAULTS_MEMORY, CL_SUCCESS}, {FAULTS_OPENCL, CL_OUT_OF_RESOURCES}};
    tenon_context *context = context_of_a_card();
    tn_staging_choice *choice = tn_staging_choice_of(context);
    tn_staging_is_pinned(context); /* fills the caches */
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        unsigned nth = 0, failed = 1;
        while (failed > 0) {
            choice->is_made = false;
            assert_int_not_equal(tenon_context_create(NULL, NULL), TENON_OK);
            char message[256], where[64];
            snprintf(message, sizeof message, "%s", tenon_last_error());
            snprintf(where, sizeof where, "fault %u of %s", ++nth, kinds[k].functions);
            const faults_alive before = faults_count();
            faults_fail_next(kinds[k].functions, kinds[k].error, nth);
            const bool is_pinned = tn_staging_is_pinned(context);
            failed = faults_end();
            faults_assert_alive(&before, where);
            assert_string_equal(tenon_last_error(), message);
            assert_true(choice->is_made ? choice->is_pinned == is_pinned : is_pinned);
        }
        assert_true(nth > 2);
    }
    tenon_context_release(context);
}

/* Nothing is measured where the application forbids it. */
TEST(forbidden_measurement)
{
    const tenon_context_params params =
        tenon_context_params(.measurements = TENON_MEASUREMENTS_NONE);
    tenon_context *context;
    assert_ok(tenon_context_create(&params, &context));
    assert_true(tn_staging_is_pinned(context));
    assert_false(tn_staging_choice_of(context)->is_made);
    tenon_context_release(context);
}

TEST(opencl_calls)
{
    check_all(FAULTS_OPENCL, CL_OUT_OF_RESOURCES, 3402);
}

/* Creates both groups, one in another thread. */
typedef struct creation {
    const process *p;
    tenon_group **group;
    tenon_status status;
} creation;

static void *create_other(void *data)
{
    creation *c = data;
    c->status = make_group(c->p, c->group);
    return NULL;
}

static void create_both(const process *p, tenon_group **groups)
{
    tn_thread thread;
    creation other = {.p = &p[1], .group = &groups[1]};
    assert_true(tn_thread_create(&thread, create_other, &other));
    const tenon_status status = make_group(&p[0], &groups[0]);
    tn_thread_join(thread);
    assert_ok(status);
    assert_ok(other.status);
}

/* Polls both groups until neither is busy. */
static void poll_both(tenon_group **groups, tenon_status *statuses, char messages[2][512])
{
    int busy[2] = {1, 1};
    statuses[0] = statuses[1] = TENON_OK;
    while (busy[0] || busy[1])
        for (uint32_t i = 0; i < 2; i++) {
            const tenon_status status = tenon_group_poll(groups[i], &busy[i]);
            if (status != TENON_OK) {
                statuses[i] = status;
                snprintf(messages[i], 512, "%s", tenon_last_error());
            }
        }
}

/* Breaks a group while the earlier work of a member, and the copy of its input after it, wait. */
static void break_while_waiting(void)
{
    process p[2];
    tenon_group *groups[2] = {NULL};
    memset(p, 0, sizeof p);
    for (uint32_t i = 0; i < 2; i++)
        open_process(&p[i], i);
    p[0].net = p[1].net = test_net_create(2, &(test_net_faults){0});
    create_both(p, groups);
    cl_event gate = test_gate(used_context);
    const tenon_sync wait = {.wait_list = &gate, .wait_count = 1};
    assert_ok(tenon_tensor_fill(p[0].stream, &p[0].y, 1, &wait));
    assert_ok(tenon_group_all_reduce(groups[0], TENON_GROUP_SUM, &p[0].y, &p[0].packed, NULL));
    test_net_kill(p[0].net, 1);
    assert_int_equal(tenon_group_wait(groups[0]), TENON_ERROR_PEER_LOST);
    for (uint32_t i = 0; i < 2; i++)
        tenon_group_destroy(groups[i]);
    assert_int_equal(clSetUserEventStatus(gate, CL_COMPLETE), CL_SUCCESS);
    clReleaseEvent(gate);
    for (uint32_t i = 0; i < 2; i++)
        close_process(&p[i]);
    assert_int_equal(test_net_errors(p[0].net), 0);
    test_net_destroy(p[0].net);
}

/* The memory of the copy is freed when the copy has ended, after the group. */
TEST(broken_while_earlier_work_is_unfinished)
{
    used_context = test_context;
    break_while_waiting(); /* compiles kernels, and fills the caches */
    const faults_alive before = faults_count();
    break_while_waiting();
    faults_assert_alive(&before, "a broken group");
}

/* The earlier work of a member has failed: all processes are told which one, and the group can be
 * used again. */
TEST(failed_stream)
{
    process p[2];
    tenon_group *groups[2] = {NULL};
    tenon_status statuses[2];
    char messages[2][512];
    const cl_int failed = CL_OUT_OF_RESOURCES;
    memset(p, 0, sizeof p);
    used_context = test_context;
    for (uint32_t i = 0; i < 2; i++)
        open_process(&p[i], i);
    p[0].net = p[1].net = test_net_create(2, &(test_net_faults){0});
    create_both(p, groups);
    for (uint32_t i = 0; i < 2; i++) {
        if (i == 1) /* the first poll is part of the call */
            faults_answer_query("clGetEventInfo", CL_EVENT_COMMAND_EXECUTION_STATUS, &failed,
                                sizeof failed);
        assert_ok(tenon_group_all_reduce(groups[i], TENON_GROUP_SUM, &p[i].x, &p[i].y, NULL));
        if (i == 1)
            assert_true(faults_end() > 0);
    }
    poll_both(groups, statuses, messages);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(statuses[i], TENON_ERROR_ASYNCHRONOUS);
        if (strstr(messages[i], "rank 1") == NULL || strstr(messages[i], "call 1") == NULL)
            fail_msg("%s", messages[i]);
    }
    for (uint32_t i = 0; i < 2; i++)
        assert_ok(tenon_group_all_reduce(groups[i], TENON_GROUP_SUM, &p[i].x, &p[i].y, NULL));
    poll_both(groups, statuses, messages);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(statuses[i], TENON_OK);
        assert_values(&p[i], &p[i].y, 3);
        tenon_group_destroy(groups[i]);
        close_process(&p[i]);
    }
    assert_int_equal(test_net_errors(p[0].net), 0);
    test_net_destroy(p[0].net);
}

/* A member's device is lost while the group waits for it: its process reports it with the rank and
 * the call, the other one is told, and every later call fails. */
TEST(lost_device)
{
    process p[2];
    tenon_group *groups[2] = {NULL};
    tenon_status statuses[2];
    char messages[2][512] = {"", ""};
    memset(p, 0, sizeof p);
    used_context = test_context;
    for (uint32_t i = 0; i < 2; i++)
        open_process(&p[i], i);
    p[0].net = p[1].net = test_net_create(2, &(test_net_faults){0});
    create_both(p, groups);
    for (uint32_t i = 0; i < 2; i++)
        assert_ok(tenon_group_all_reduce(groups[i], TENON_GROUP_SUM, &p[i].x, &p[i].y, NULL));
    faults_fail_next("clFinish", CL_OUT_OF_RESOURCES, 1);
    poll_both(groups, statuses, messages);
    assert_int_equal(faults_end(), 1);
    const int victim = strstr(messages[0], "the device is lost") != NULL &&
                               strstr(messages[0], "has failed") == NULL
                           ? 0
                           : 1;
    assert_int_equal(statuses[victim], TENON_ERROR_DEVICE_LOST);
    if (strstr(messages[victim], victim == 0 ? "rank 0" : "rank 1") == NULL ||
        strstr(messages[victim], "call 1") == NULL)
        fail_msg("%s", messages[victim]);
    if (statuses[1 - victim] == TENON_OK) { /* it had its result before */
        assert_ok(tenon_group_barrier(groups[1 - victim], NULL));
        poll_both(groups, statuses, messages);
    }
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(statuses[i], TENON_ERROR_DEVICE_LOST);
        assert_int_equal(tenon_group_barrier(groups[i], NULL), TENON_ERROR_DEVICE_LOST);
        assert_int_equal(tenon_group_wait(groups[i]), TENON_ERROR_DEVICE_LOST);
    }
    for (uint32_t i = 0; i < 2; i++) {
        tenon_group_destroy(groups[i]);
        close_process(&p[i]);
    }
    assert_int_equal(test_net_errors(p[0].net), 0);
    test_net_destroy(p[0].net);
}

/* Tests of groups whose processes are killed, or whose messages are lost: every process gets a
 * failure, none hangs, and survivors continue in a smaller group. */
#include "group_work.h"
#include "quick.h"

#include "group/group.h"

#include <string.h>

/* Shrinks the group of a process and reduces in the smaller one. */
typedef struct shrinking {
    group_work *k;
    uint32_t killed; /* process, or GROUP_MOST */
    uint32_t sizes[GROUP_MOST];
    bool refuses[GROUP_MOST]; /* the old group cannot be used */
} shrinking;

static tenon_status shrink_and_reduce(group_world *w, uint32_t process, void *data)
{
    shrinking *s = data;
    tenon_group *smaller = NULL;
    const uint32_t first = w->first[process];
    if (process == s->killed)
        return TENON_OK;
    w->groups[process]->deadline_s = GROUP_PATIENCE_S; /* that of the smaller group */
    tenon_status status = tenon_group_shrink(w->groups[process], &smaller);
    if (status != TENON_OK)
        return status;
    s->sizes[process] = tenon_group_size(smaller);
    s->refuses[process] = tenon_group_wait(w->groups[process]) != TENON_OK;
    status =
        tenon_group_all_reduce(smaller, TENON_GROUP_MAX, &s->k->x[first], &s->k->y[first], NULL);
    if (status == TENON_OK)
        status = tenon_group_wait(smaller);
    tenon_group_destroy(smaller);
    return status;
}

static void check_shrink(group_world *w, group_work *k, uint32_t killed)
{
    shrinking s = {.k = k, .killed = killed};
    group_result results[GROUP_MOST];
    uint32_t survivors = w->count, greatest = 0;
    group_in_processes(w, shrink_and_reduce, &s, results);
    if (killed < w->processes)
        survivors -= w->first[killed + 1] - w->first[killed];
    for (uint32_t p = 0; p < w->processes; p++)
        if (p != killed)
            greatest = w->first[p + 1];
    for (uint32_t p = 0; p < w->processes; p++) {
        if (results[p].status != TENON_OK)
            fail_msg("process %u: %s", (unsigned)p, results[p].message);
        for (uint32_t m = w->first[p]; m < w->first[p + 1] && p != killed; m++) {
            float got[GROUP_WORK_COUNT];
            assert_int_equal(s.sizes[p], survivors);
            assert_true(s.refuses[p]);
            assert_ok(tenon_tensor_download(w->streams[m], &k->y[m], got, sizeof got, NULL));
            for (int i = 0; i < GROUP_WORK_COUNT; i++)
                assert_true(got[i] == (float)greatest);
        }
    }
}

/* The first deadline of tests in which a failure is found when it ends. A wait for a busy process
 * that lasts longer ends with the same failure. */
#define SHORT_DEADLINE_S 0.2

/* Compiles the kernels of the tests. */
static void warm_up(void)
{
    for (uint32_t members = 1; members <= 4; members++) {
        group_world w;
        group_work k;
        group_world_open(&w, members, &(group_division){.is_plain = true});
        group_open_work(&w, &k);
        assert_ok(tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, k.x, k.y, NULL));
        assert_ok(tenon_group_all_reduce(w.groups[0], TENON_GROUP_MAX, k.x, k.y, NULL));
        assert_ok(tenon_group_wait(w.groups[0]));
        group_close_work(&w, &k);
        group_world_close(&w);
    }
}

/* Returns the number of messages of a process, or of sends of all if it is GROUP_MOST. */
static uint64_t count_messages(uint32_t process)
{
    group_world w;
    group_work k;
    group_result results[GROUP_MOST];
    group_world_open(&w, 4, &group_work_base);
    group_open_work(&w, &k);
    test_net_set_faults(w.net, &(test_net_faults){0});
    group_in_processes(&w, group_do_work, &k, results);
    assert_int_equal(group_assert_ends(&w, &k, results, TENON_OK, GROUP_MOST, 0), 0);
    const uint64_t count =
        process < w.processes ? test_net_messages(w.net, process) : test_net_sends(w.net);
    group_close_work(&w, &k);
    group_world_close(&w);
    return count;
}

static bool has_struck(const group_world *w, const test_net_faults *faults)
{
    return faults->kill_at > 0 ? test_net_messages(w->net, faults->killed) >= faults->kill_at
                               : test_net_sends(w->net) >= faults->drop_at;
}

/* Runs the work with a fault, and continues in a smaller group. Returns false if the deadline ended
 * before the fault: the machine is busy, and the process that was to be killed is alive. */
static bool work_with(const test_net_faults *faults, double deadline_s, bool has_threads)
{
    group_world w;
    group_work k;
    group_result results[GROUP_MOST];
    group_division division = group_work_base;
    const uint32_t killed = faults->kill_at > 0 ? faults->killed : GROUP_MOST;
    division.deadline_s = deadline_s;
    division.has_threads = has_threads;
    group_world_open(&w, 4, &division);
    group_open_work(&w, &k);
    test_net_set_faults(w.net, faults);
    group_in_processes(&w, group_do_work, &k, results);
    const bool struck = has_struck(&w, faults);
    if (struck) {
        const tenon_status expected = faults->is_told ? TENON_ERROR_PEER_LOST : TENON_ERROR_TIMEOUT;
        assert_true(group_assert_ends(&w, &k, results, expected, killed, deadline_s) > 0);
        assert_true(killed == GROUP_MOST || results[killed].status != TENON_OK);
        check_shrink(&w, &k, killed);
    }
    group_close_work(&w, &k);
    group_world_close(&w);
    return struck;
}

/* Checks the failures that a fault causes. Without a notice they are found by a deadline, which is
 * doubled until the processes reach the fault in time. */
static void check_fault(const test_net_faults *faults, bool has_threads)
{
    double deadline_s = faults->is_told ? GROUP_PATIENCE_S : SHORT_DEADLINE_S;
    for (; !work_with(faults, deadline_s, has_threads); deadline_s *= 2)
        if (deadline_s > GROUP_PATIENCE_S)
            fail_msg("message %llu was not reached within %g s",
                     (unsigned long long)(faults->kill_at + faults->drop_at), deadline_s);
}

static void check_kill(uint64_t at, uint32_t killed, bool is_told)
{
    check_fault(&(test_net_faults){.kill_at = at, .killed = killed, .is_told = is_told, .delay = 1},
                at % 2 == 0);
}

/* Messages at which a process is killed or that are lost: all, or some in the quick set. */
static uint64_t next_message(test_random *random, uint64_t at)
{
    return at + (quick_is_on() ? (uint64_t)test_between(random, 1, 16) : 1);
}

TEST(killed_and_told)
{
    test_random random = test_random_for(3301);
    warm_up();
    for (uint32_t killed = 0; killed < group_work_base.processes; killed++) {
        const uint64_t messages = count_messages(killed);
        for (uint64_t at = 1; at <= messages; at = next_message(&random, at))
            check_kill(at, killed, true);
    }
}

TEST(killed_and_silent)
{
    test_random random = test_random_for(3302);
    warm_up();
    const uint32_t killed = (uint32_t)test_between(&random, 0, group_work_base.processes - 1);
    const uint64_t messages = count_messages(killed);
    for (uint64_t at = 1; at <= messages; at = next_message(&random, at))
        check_kill(at, killed, false);
}

TEST(lost_messages)
{
    test_random random = test_random_for(3303);
    warm_up();
    const uint64_t sends = count_messages(GROUP_MOST);
    for (uint64_t at = 1; at <= sends; at = next_message(&random, at))
        check_fault(&(test_net_faults){.drop_at = at}, at % 2 == 0);
}

/* One process does not call: the others end at their deadline, and destroy does not hang. It is the
 * first, which messages name even if another one is late. */
static tenon_status usual(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, x, y, NULL);
}

static tenon_status call_except_first(group_world *w, uint32_t process, void *data)
{
    group_work *k = data;
    const uint32_t first = w->first[process];
    if (process == 0)
        return TENON_OK;
    const tenon_status status = usual(w->groups[process], &k->x[first], &k->y[first]);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

static bool was_notified(const group_result *result)
{
    return strstr(result->message, "has failed") != NULL;
}

/* The process whose deadline ends first notifies the other one. */
TEST(deadlines)
{
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        group_world w;
        group_work k;
        group_result results[GROUP_MOST];
        group_division division = group_work_base;
        division.deadline_s = 0.3;
        division.has_threads = has_threads;
        group_world_open(&w, 3, &division);
        group_open_work(&w, &k);
        group_in_processes(&w, call_except_first, &k, results);
        assert_false(was_notified(&results[1]) && was_notified(&results[2]));
        for (uint32_t p = 1; p < w.processes; p++) {
            assert_int_equal(results[p].status, TENON_ERROR_TIMEOUT);
            assert_true(was_notified(&results[p]) || results[p].seconds >= division.deadline_s);
            assert_true(results[p].seconds < GROUP_PATIENCE_S);
            if (strstr(results[p].message, "nothing from rank 0") == NULL ||
                strstr(results[p].message, "call 1") == NULL)
                fail_msg("%s", results[p].message);
            assert_int_equal(tenon_group_barrier(w.groups[p], NULL), TENON_ERROR_TIMEOUT);
            assert_int_equal(tenon_group_wait(w.groups[p]), TENON_ERROR_TIMEOUT);
        }
        group_close_work(&w, &k);
        group_world_close(&w);
    }
}

/* A process whose deadline is over notifies the others: they do not wait for their own deadlines.
 */
TEST(notified)
{
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        group_world w;
        group_work k;
        group_result results[GROUP_MOST];
        group_division division = group_work_base;
        division.deadline_s = 10 * GROUP_PATIENCE_S;
        division.has_threads = has_threads;
        group_world_open(&w, 3, &division);
        w.groups[1]->deadline_s = SHORT_DEADLINE_S;
        group_open_work(&w, &k);
        group_in_processes(&w, call_except_first, &k, results);
        for (uint32_t p = 1; p < 3; p++) {
            assert_int_equal(results[p].status, TENON_ERROR_TIMEOUT);
            assert_true(results[p].seconds < SHORT_DEADLINE_S + GROUP_PATIENCE_S);
            if (strstr(results[p].message, "nothing from rank 0") == NULL)
                fail_msg("%s", results[p].message);
        }
        if (strstr(results[2].message, "the process of rank 1 has failed") == NULL)
            fail_msg("%s", results[2].message);
        group_close_work(&w, &k);
        group_world_close(&w);
    }
}

/* Destroying a group with an unfinished collective waits for its deadline only. */
TEST(destroy_ends)
{
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        group_world w;
        group_work k;
        group_division division = group_work_base;
        division.deadline_s = 0.3;
        division.has_threads = has_threads;
        group_world_open(&w, 3, &division);
        group_open_work(&w, &k);
        assert_ok(usual(w.groups[0], &k.x[0], &k.y[0]));
        tenon_group_destroy(w.groups[0]);
        w.groups[0] = NULL;
        group_close_work(&w, &k);
        group_world_close(&w);
    }
}

/* In one process: a receive without a send fails when nothing can be called any more, and a send
 * without a receive is dropped. */
TEST(unmatched)
{
    group_world w;
    group_work k;
    group_world_open(&w, 2, NULL);
    group_open_work(&w, &k);
    assert_ok(tenon_group_send(w.groups[0], 1, 0, &k.x[1], NULL));
    assert_ok(tenon_group_wait(w.groups[0]));
    assert_ok(tenon_group_receive(w.groups[0], 0, 1, &k.y[1], NULL));
    assert_int_equal(tenon_group_wait(w.groups[0]), TENON_ERROR_MISMATCH);
    assert_ok(tenon_group_receive(w.groups[0], 1, 0, &k.y[0], NULL));
    assert_ok(tenon_group_wait(w.groups[0]));
    assert_ok(tenon_group_send(w.groups[0], 0, 1, &k.x[0], NULL));
    tenon_group *none = NULL;
    assert_int_equal(tenon_group_shrink(w.groups[0], &none), TENON_ERROR_UNSUPPORTED);
    assert_null(none);
    group_close_work(&w, &k);
    group_world_close(&w);
}

/* Parameters that differ: no group. */
static tenon_status create_differently(group_world *w, uint32_t process, void *data)
{
    tenon_transport transport;
    test_net_transport(data, process, 0, &transport);
    const tenon_group_params params =
        tenon_group_params(.transport = &transport, .deadline_s = GROUP_PATIENCE_S,
                           .chunk_bytes = process == 1 ? 128 : 0);
    return tenon_group_create(&w->streams[process], 1, &params, &w->groups[process]);
}

static tenon_status create_except_last(group_world *w, uint32_t process, void *data)
{
    tenon_transport transport;
    if (process == 2)
        return TENON_ERROR_TIMEOUT;
    test_net_transport(data, process, 0, &transport);
    const tenon_group_params params =
        tenon_group_params(.transport = &transport, .deadline_s = 0.2);
    return tenon_group_create(&w->streams[process], 1, &params, &w->groups[process]);
}

TEST(failed_creation)
{
    for (int i = 0; i < 2; i++) {
        group_result results[GROUP_MOST];
        group_world w = {.processes = 3};
        test_net *net = test_net_create(3, &(test_net_faults){0});
        for (uint32_t p = 0; p < 3; p++)
            assert_ok(tenon_stream_create(test_context, NULL, &w.streams[p]));
        group_in_processes(&w, i == 0 ? create_differently : create_except_last, net, results);
        for (uint32_t p = 0; p < 3; p++) {
            assert_int_equal(results[p].status,
                             i == 0 ? TENON_ERROR_MISMATCH : TENON_ERROR_TIMEOUT);
            assert_null(w.groups[p]);
            tenon_stream_destroy(w.streams[p]);
        }
        test_net_destroy(net);
    }
}

/* A transport whose shrink gives wrong old ranks. */
static tenon_status (*right_shrink)(void *state, tenon_transport *survivors, uint32_t *old_ranks);

static tenon_status swap_ranks(void *state, tenon_transport *survivors, uint32_t *old_ranks)
{
    const tenon_status status = right_shrink(state, survivors, old_ranks);
    const uint32_t first = old_ranks[0];
    old_ranks[0] = old_ranks[1];
    old_ranks[1] = first;
    return status;
}

static tenon_status unknown_ranks(void *state, tenon_transport *survivors, uint32_t *old_ranks)
{
    const tenon_status status = right_shrink(state, survivors, old_ranks);
    old_ranks[survivors->size - 1] = survivors->size;
    return status;
}

TEST(wrong_old_ranks)
{
    tenon_status (*const wrong[])(void *, tenon_transport *, uint32_t *) = {swap_ranks,
                                                                            unknown_ranks};
    for (int i = 0; i < 2; i++) {
        group_world w;
        group_world_open(&w, 3, &group_work_base);
        for (uint32_t p = 0; p < w.processes; p++) {
            tenon_group *none = NULL;
            right_shrink = w.groups[p]->transport.shrink;
            w.groups[p]->transport.shrink = wrong[i];
            assert_invalid(tenon_group_shrink(w.groups[p], &none), "old ranks");
            assert_null(none);
        }
        group_world_close(&w);
    }
}

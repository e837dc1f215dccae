/* Tests of groups whose processes are killed, whose messages are lost, or that make different
 * calls: every process gets a failure, none hangs, and survivors continue in a smaller group. */
#include "group_case.h"
#include "quick.h"

#include <math.h>
#include <string.h>

/* Longer than a wait should last: the machine may be busy. */
#define PATIENCE_S 20.0

enum { COUNT = 3000, ROUNDS = 2 };

/* The same calls in every process, until one fails. */
typedef struct work {
    tenon_tensor x[GROUP_MOST], y[GROUP_MOST], all[GROUP_MOST];
} work;

static tenon_status do_work(group_world *w, uint32_t process, void *data)
{
    work *k = data;
    tenon_group *group = w->groups[process];
    const uint32_t first = w->first[process], last = w->count - 1;
    tenon_status status = TENON_OK;
    for (int round = 0; round < ROUNDS && status == TENON_OK; round++) {
        status = tenon_group_all_reduce(group, TENON_GROUP_SUM, &k->x[first], &k->y[first], NULL);
        if (status == TENON_OK && first == 0)
            status = tenon_group_send(group, 0, last, &k->x[0], NULL);
        if (status == TENON_OK && w->first[process + 1] == w->count)
            status = tenon_group_receive(group, 0, last, &k->y[last], NULL);
        if (status == TENON_OK)
            status = tenon_group_all_gather(group, &k->x[first], &k->all[first], NULL);
    }
    return status != TENON_OK ? status : tenon_group_wait(group);
}

static void open_work(const group_world *w, work *k)
{
    const int64_t one[] = {COUNT}, all[] = {COUNT * (int64_t)w->count};
    for (uint32_t m = 0; m < w->count; m++) {
        tenon_context *context = tenon_stream_context(w->streams[m]);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, one, &k->x[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, one, &k->y[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 1, all, &k->all[m]));
        assert_ok(tenon_tensor_fill(w->streams[m], &k->x[m], m + 1, NULL));
    }
}

static void close_work(const group_world *w, work *k)
{
    for (uint32_t m = 0; m < w->count; m++) {
        assert_ok(tenon_stream_finish(w->streams[m])); /* every event is complete */
        tenon_tensor_destroy(&k->x[m]);
        tenon_tensor_destroy(&k->y[m]);
        tenon_tensor_destroy(&k->all[m]);
    }
}

/* A process that succeeded has the right results. */
static void assert_work(const group_world *w, const work *k, uint32_t process)
{
    float *got = malloc(COUNT * w->count * sizeof *got);
    assert_non_null(got);
    for (uint32_t m = w->first[process]; m < w->first[process + 1]; m++) {
        const uint32_t sum = w->count * (w->count + 1) / 2;
        assert_ok(tenon_tensor_download(w->streams[m], &k->y[m], got, COUNT * sizeof *got, NULL));
        for (int i = 0; i < COUNT; i++)
            assert_true(got[i] == (float)(m + 1 == w->count ? 1 : sum));
        assert_ok(tenon_tensor_download(w->streams[m], &k->all[m], got,
                                        COUNT * w->count * sizeof *got, NULL));
        for (uint32_t i = 0; i < COUNT * w->count; i++) {
            const uint32_t from = i / COUNT;
            assert_true(got[i] == (float)(from + 1));
        }
    }
    free(got);
}

/* Shrinks the group of a process and reduces in the smaller one. */
typedef struct shrinking {
    work *k;
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

static void check_shrink(group_world *w, work *k, uint32_t killed)
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
            float got[COUNT];
            assert_int_equal(s.sizes[p], survivors);
            assert_true(s.refuses[p]);
            assert_ok(tenon_tensor_download(w->streams[m], &k->y[m], got, sizeof got, NULL));
            for (int i = 0; i < COUNT; i++)
                assert_true(got[i] == (float)greatest);
        }
    }
}

/* Every process ends, with success or with one of two statuses. Returns the number that failed. */
static uint32_t assert_ends(const group_world *w, const work *k, const group_result *results,
                            tenon_status expected, uint32_t killed, double deadline_s)
{
    uint32_t failures = 0;
    for (uint32_t p = 0; p < w->processes; p++) {
        const group_result *r = &results[p];
        if (r->seconds > deadline_s + PATIENCE_S)
            fail_msg("process %u took %g s", (unsigned)p, r->seconds);
        failures += r->status != TENON_OK;
        if (r->status == TENON_OK)
            assert_work(w, k, p);
        else if (p != killed && r->status != expected)
            fail_msg("process %u: %s, expected %s", (unsigned)p, r->message,
                     tenon_status_string(expected));
        if (p != killed && r->status != TENON_OK && strstr(r->message, "rank") == NULL)
            fail_msg("the message does not name a rank: %s", r->message);
    }
    return failures;
}

static const group_division base = {
    .processes = 3, .is_plain = true, .chunk_bytes = 4096, .deadline_s = PATIENCE_S};

/* Where a lost message ends in a wait. Longer than processes wait for each other otherwise: the
 * kernels are compiled beforehand. */
#define SHORT_DEADLINE_S 2.0

/* Compiles the kernels of the tests. */
static void warm_up(void)
{
    for (uint32_t members = 1; members <= 4; members++) {
        group_world w;
        work k;
        group_world_open(&w, members, &(group_division){.is_plain = true});
        open_work(&w, &k);
        assert_ok(tenon_group_all_reduce(w.groups[0], TENON_GROUP_SUM, k.x, k.y, NULL));
        assert_ok(tenon_group_all_reduce(w.groups[0], TENON_GROUP_MAX, k.x, k.y, NULL));
        assert_ok(tenon_group_wait(w.groups[0]));
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* Returns the number of messages of a process, or of sends of all if it is GROUP_MOST. */
static uint64_t count_messages(uint32_t process)
{
    group_world w;
    work k;
    group_result results[GROUP_MOST];
    group_world_open(&w, 4, &base);
    open_work(&w, &k);
    test_net_set_faults(w.net, &(test_net_faults){0});
    group_in_processes(&w, do_work, &k, results);
    assert_int_equal(assert_ends(&w, &k, results, TENON_OK, GROUP_MOST, 0), 0);
    const uint64_t count =
        process < w.processes ? test_net_messages(w.net, process) : test_net_sends(w.net);
    close_work(&w, &k);
    group_world_close(&w);
    return count;
}

static void check_kill(uint64_t at, uint32_t killed, bool is_told, bool has_threads)
{
    group_world w;
    work k;
    group_result results[GROUP_MOST];
    group_division division = base;
    division.deadline_s = is_told ? PATIENCE_S : SHORT_DEADLINE_S;
    division.has_threads = has_threads;
    group_world_open(&w, 4, &division);
    open_work(&w, &k);
    test_net_set_faults(
        w.net, &(test_net_faults){.kill_at = at, .killed = killed, .is_told = is_told, .delay = 1});
    group_in_processes(&w, do_work, &k, results);
    const uint32_t failures =
        assert_ends(&w, &k, results, is_told ? TENON_ERROR_PEER_LOST : TENON_ERROR_TIMEOUT, killed,
                    division.deadline_s);
    if (failures == 0 || results[killed].status == TENON_OK)
        fail_msg("process %u was killed at message %llu, but nothing failed", (unsigned)killed,
                 (unsigned long long)at);
    check_shrink(&w, &k, killed);
    close_work(&w, &k);
    group_world_close(&w);
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
    for (uint32_t killed = 0; killed < base.processes; killed++) {
        const uint64_t messages = count_messages(killed);
        for (uint64_t at = 1; at <= messages; at = next_message(&random, at))
            check_kill(at, killed, true, at % 2 == 0);
    }
}

TEST(killed_and_silent)
{
    test_random random = test_random_for(3302);
    warm_up();
    const uint32_t killed = (uint32_t)test_between(&random, 0, base.processes - 1);
    const uint64_t messages = count_messages(killed);
    for (uint64_t at = 1; at <= messages; at = next_message(&random, at))
        check_kill(at, killed, false, at % 2 == 0);
}

TEST(lost_messages)
{
    test_random random = test_random_for(3303);
    warm_up();
    const uint64_t sends = count_messages(GROUP_MOST);
    for (uint64_t at = 1; at <= sends; at = next_message(&random, at)) {
        group_world w;
        work k;
        group_result results[GROUP_MOST];
        group_division division = base;
        division.deadline_s = SHORT_DEADLINE_S;
        division.has_threads = at % 2 == 0;
        group_world_open(&w, 4, &division);
        open_work(&w, &k);
        test_net_set_faults(w.net, &(test_net_faults){.drop_at = at});
        group_in_processes(&w, do_work, &k, results);
        assert_true(
            assert_ends(&w, &k, results, TENON_ERROR_TIMEOUT, GROUP_MOST, SHORT_DEADLINE_S) > 0);
        check_shrink(&w, &k, GROUP_MOST);
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* A call of one process that the others do not make. */
typedef struct difference {
    const char *name, *text; /* part of the message */
    tenon_status (*call)(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y);
} difference;

static tenon_status usual(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, x, y, NULL);
}

static tenon_status other_kind(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_reduce(group, TENON_GROUP_MAX, x, y, NULL);
}

static tenon_status other_call(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    return tenon_group_all_to_all(group, x, y, NULL);
}

static tenon_status other_shape(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    const tenon_tensor a = tenon_tensor_slice(*x, 0, 0, COUNT - 1),
                       b = tenon_tensor_slice(*y, 0, 0, COUNT - 1);
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, &a, &b, NULL);
}

static tenon_status other_type(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    tenon_tensor a = *x, b = *y;
    a.dtype = b.dtype = TENON_DTYPE_I32;
    return tenon_group_all_reduce(group, TENON_GROUP_SUM, &a, &b, NULL);
}

static tenon_status no_data(tenon_group *group, const tenon_tensor *x, const tenon_tensor *y)
{
    (void)x, (void)y;
    return tenon_group_barrier(group, NULL);
}

static const difference differences[] = {{"kind", "kind 3", other_kind},
                                         {"call", "tenon_group_all_to_all", other_call},
                                         {"shape", "of f32 2999", other_shape},
                                         {"type", "of i32 3000", other_type},
                                         {"barrier", "tenon_group_barrier", no_data}};

typedef struct different_work {
    work *k;
    const difference *difference;
    uint32_t process; /* which makes the other call */
} different_work;

static tenon_status call_differently(group_world *w, uint32_t process, void *data)
{
    const different_work *d = data;
    const uint32_t first = w->first[process];
    const tenon_status status = (process == d->process ? d->difference->call : usual)(
        w->groups[process], &d->k->x[first], &d->k->y[first]);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

static void assert_names(const group_result *r, const char *text)
{
    if (r->status != TENON_ERROR_MISMATCH || strstr(r->message, text) == NULL ||
        strstr(r->message, "call 1") == NULL || strstr(r->message, "rank") == NULL)
        fail_msg("%s: \"%s\" should be a mismatch and name \"%s\"", tenon_status_string(r->status),
                 r->message, text);
}

/* All processes report the same mismatch, nothing is written, and the group can be used again. */
TEST(mismatches)
{
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        group_world w;
        work k;
        group_result results[GROUP_MOST];
        group_division division = base;
        division.has_threads = i % 2 == 0;
        group_world_open(&w, 3, &division);
        open_work(&w, &k);
        for (uint32_t m = 0; m < w.count; m++)
            assert_ok(tenon_tensor_fill(w.streams[m], &k.y[m], 77, NULL));
        different_work d = {&k, &differences[i], (uint32_t)i % w.processes};
        group_in_processes(&w, call_differently, &d, results);
        for (uint32_t p = 0; p < w.processes; p++) {
            float got[COUNT];
            assert_names(&results[p], differences[i].text);
            assert_ok(tenon_tensor_download(w.streams[p], &k.y[p], got, sizeof got, NULL));
            for (int e = 0; e < COUNT; e++)
                assert_true(got[e] == 77);
        }
        group_in_processes(&w, do_work, &k, results);
        assert_int_equal(assert_ends(&w, &k, results, TENON_OK, GROUP_MOST, PATIENCE_S), 0);
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* Process 0 sends f32, the last one receives another type. */
static tenon_status receive_other(group_world *w, uint32_t process, void *data)
{
    work *k = data;
    const uint32_t last = w->count - 1;
    tenon_tensor y = k->y[last];
    tenon_status status = TENON_OK;
    y.dtype = TENON_DTYPE_I32;
    if (process == 0)
        status = tenon_group_send(w->groups[process], 0, last, &k->x[0], NULL);
    if (status == TENON_OK && process == w->processes - 1)
        status = tenon_group_receive(w->groups[process], 0, last, &y, NULL);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

TEST(mismatched_sends)
{
    for (uint32_t processes = 1; processes <= 3; processes++) {
        group_world w;
        work k;
        group_result results[GROUP_MOST];
        group_division division = base;
        division.processes = processes;
        group_world_open(&w, 3, &division);
        open_work(&w, &k);
        group_in_processes(&w, receive_other, &k, results);
        for (uint32_t p = 0; p < processes; p++) {
            const bool takes_part = p == 0 || p + 1 == processes;
            assert_int_equal(results[p].status, takes_part ? TENON_ERROR_MISMATCH : TENON_OK);
            if (takes_part && strstr(results[p].message, "i32") == NULL)
                fail_msg("%s", results[p].message);
        }
        group_in_processes(&w, do_work, &k, results);
        assert_int_equal(assert_ends(&w, &k, results, TENON_OK, GROUP_MOST, PATIENCE_S), 0);
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* One process does not call: the others end at their deadline, and destroy does not hang. */
static tenon_status call_except_last(group_world *w, uint32_t process, void *data)
{
    work *k = data;
    const uint32_t first = w->first[process];
    if (process == w->processes - 1)
        return TENON_OK;
    const tenon_status status = usual(w->groups[process], &k->x[first], &k->y[first]);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

TEST(deadlines)
{
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        group_world w;
        work k;
        group_result results[GROUP_MOST];
        group_division division = base;
        division.deadline_s = 0.3;
        division.has_threads = has_threads;
        group_world_open(&w, 3, &division);
        open_work(&w, &k);
        group_in_processes(&w, call_except_last, &k, results);
        for (uint32_t p = 0; p + 1 < w.processes; p++) {
            assert_int_equal(results[p].status, TENON_ERROR_TIMEOUT);
            assert_true(results[p].seconds >= 0.29 && results[p].seconds < PATIENCE_S);
            if (strstr(results[p].message, "rank 2") == NULL ||
                strstr(results[p].message, "call 1") == NULL)
                fail_msg("%s", results[p].message);
            assert_int_equal(tenon_group_barrier(w.groups[p], NULL), TENON_ERROR_TIMEOUT);
            assert_int_equal(tenon_group_wait(w.groups[p]), TENON_ERROR_TIMEOUT);
        }
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* A process whose deadline is over notifies the others: they do not wait for their own deadlines.
 */
TEST(notified)
{
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        group_world w;
        work k;
        group_result results[GROUP_MOST];
        group_division division = base;
        division.deadline_s = 10 * PATIENCE_S;
        division.first_deadline_s = SHORT_DEADLINE_S;
        division.has_threads = has_threads;
        group_world_open(&w, 3, &division);
        open_work(&w, &k);
        group_in_processes(&w, call_except_last, &k, results);
        for (uint32_t p = 0; p < 2; p++) {
            assert_int_equal(results[p].status, TENON_ERROR_TIMEOUT);
            assert_true(results[p].seconds < SHORT_DEADLINE_S + PATIENCE_S);
            if (strstr(results[p].message, "nothing from rank 2") == NULL)
                fail_msg("%s", results[p].message);
        }
        if (strstr(results[1].message, "the process of rank 0 has failed") == NULL)
            fail_msg("%s", results[1].message);
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* Destroying a group with an unfinished collective waits for its deadline only. */
TEST(destroy_ends)
{
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        group_world w;
        work k;
        group_division division = base;
        division.deadline_s = 0.3;
        division.has_threads = has_threads;
        group_world_open(&w, 3, &division);
        open_work(&w, &k);
        assert_ok(usual(w.groups[0], &k.x[0], &k.y[0]));
        tenon_group_destroy(w.groups[0]);
        w.groups[0] = NULL;
        close_work(&w, &k);
        group_world_close(&w);
    }
}

/* In one process: a receive without a send fails when nothing can be called any more, and a send
 * without a receive is dropped. */
TEST(unmatched)
{
    group_world w;
    work k;
    group_world_open(&w, 2, NULL);
    open_work(&w, &k);
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
    close_work(&w, &k);
    group_world_close(&w);
}

/* Parameters that differ: no group. */
static tenon_status create_differently(group_world *w, uint32_t process, void *data)
{
    tenon_transport transport;
    test_net_transport(data, process, 0, &transport);
    const tenon_group_params params = tenon_group_params(.transport = &transport, .deadline_s = 5,
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

/* Tests of collectives between processes that a transport connects: the same as in one process,
 * with messages that arrive late and in another order, in threads or by polling. */
#include "group_case.h"

#include "group/group.h"

#include <string.h>

static const group_collective collectives[] = {
    group_all_reduce, group_reduce_scatter, group_all_gather, group_all_to_all,
    group_broadcast,  group_reduce,         group_send};
enum { COLLECTIVES = sizeof collectives / sizeof *collectives };

static group_division random_division(test_random *random, uint32_t members)
{
    static const uint64_t chunks[] = {0, 64, 256, 1000, 4096, 65536};
    return (group_division){
        .processes = (uint32_t)test_between(random, members > 1 ? 2 : 1, members),
        .has_threads = test_one_in(random, 2),
        .chunk_bytes = chunks[test_between(random, 0, sizeof chunks / sizeof *chunks - 1)],
        .deadline_s = 100,
        .faults = {.seed = test_next(random),
                   .delay = (unsigned)test_between(random, 0, 3),
                   .waits_for_receive = test_one_in(random, 2)}};
}

/* Sizes at the edges of ranges and of small all-reduces, besides those of random problems. */
static void choose_size(group_problem *p, const group_division *d, test_random *random)
{
    const int64_t size = (int64_t)tenon_dtype_size(p->dtype),
                  chunk = (int64_t)(d->chunk_bytes > 0 ? d->chunk_bytes : 1024) / size,
                  edge = test_between(random, -1, 1);
    if (test_one_in(random, 3))
        p->shape[1] = chunk * test_between(random, 1, 4) + edge;
    else if (test_one_in(random, 3))
        p->shape[1] = (p->members == 2 ? 1 << 20 : 32768) / size / p->shape[0] + edge;
}

static void check_some(bool polls, uint64_t stream, int problems)
{
    test_random random = test_random_for(stream);
    for (uint32_t members = 1; members <= GROUP_MOST; members++) {
        group_world w;
        group_division division = random_division(&random, members);
        division.polls = polls;
        division.has_threads &= !polls;
        group_world_open(&w, members, &division);
        for (int i = 0; i < problems * COLLECTIVES; i++) {
            const group_collective call = collectives[i % COLLECTIVES];
            group_problem p = random_problem_of(call, members, &random);
            choose_size(&p, &division, &random);
            group_check(&w, call, p, &random);
        }
        group_world_close(&w);
    }
}

TEST(processes)
{
    check_some(false, 3201, test_problems(1));
}

TEST(polling)
{
    check_some(true, 3202, test_problems(1));
}

/* Small dense tensors of two processes with a member each, whose inputs are copied ahead. */
TEST(two_members)
{
    test_random random = test_random_for(3207);
    for (int i = 0; i < test_problems(6); i++) {
        group_world w;
        const group_division division = random_division(&random, 2);
        group_problem p = random_problem_of(group_all_reduce, 2, &random);
        group_world_open(&w, 2, &division);
        p.x_layout = p.y_layout = TEST_ROW;
        choose_size(&p, &division, &random);
        group_check(&w, group_all_reduce, p, &random);
        group_world_close(&w);
    }
}

enum { ORDER_ROUNDS = 8, ORDER_COUNT = 5000 };

/* In each round every member adds 1 to the sum of the round before, without waiting. */
static tenon_status add_and_sum(group_world *w, uint32_t process, void *data)
{
    tenon_tensor *tensors = data, *x = &tensors[2 * process], *one = &tensors[2 * process + 1];
    tenon_stream *stream = w->streams[process];
    tenon_group *group = w->groups[process];
    tenon_status status = TENON_OK;
    for (int round = 0; round < ORDER_ROUNDS && status == TENON_OK; round++) {
        status = tenon_elementwise(stream, NULL, x, one, x, NULL);
        if (status == TENON_OK)
            status = tenon_group_all_reduce(group, TENON_GROUP_SUM, x, x, NULL);
    }
    return status == TENON_OK ? tenon_group_wait(group) : status;
}

TEST(order_of_two_members)
{
    const int64_t count = ORDER_COUNT;
    for (int has_threads = 0; has_threads < 2; has_threads++) {
        const group_division division = {.processes = 2, .has_threads = has_threads != 0};
        group_result results[GROUP_MOST];
        tenon_tensor tensors[4];
        float expected = 0;
        group_world w;
        group_world_open(&w, 2, &division);
        for (int i = 0; i < 4; i++) {
            tenon_stream *stream = w.streams[i / 2];
            assert_ok(tenon_tensor_create(tenon_stream_context(stream), TENON_DTYPE_F32, 1, &count,
                                          &tensors[i]));
            assert_ok(tenon_tensor_fill(stream, &tensors[i], i % 2, NULL));
        }
        group_in_processes(&w, add_and_sum, tensors, results);
        for (int round = 0; round < ORDER_ROUNDS; round++)
            expected = 2 * (expected + 1);
        for (int m = 0; m < 2; m++) {
            static float got[ORDER_COUNT];
            if (results[m].status != TENON_OK)
                fail_msg("process %d: %s", m, results[m].message);
            assert_ok(tenon_tensor_download(w.streams[m], &tensors[2 * m], got, sizeof got, NULL));
            for (int i = 0; i < ORDER_COUNT; i++)
                assert_float_equal(got[i], expected, 0);
        }
        for (int i = 0; i < 4; i++)
            tenon_tensor_destroy(&tensors[i]);
        group_world_close(&w);
    }
}

/* Equal bits: of all members, and whatever the processes, ranges and messages. */
TEST(equal_bits)
{
    enum { MEMBERS = 5, COUNT = 20001 };
    static const group_division divisions[] = {
        {.processes = 1},
        {.processes = 2, .chunk_bytes = 1024, .faults = {.delay = 3}},
        {.processes = 5, .chunk_bytes = 4000, .has_threads = true, .faults = {.delay = 2}},
        {.processes = 3}};
    float *first = NULL;
    for (size_t i = 0; i < sizeof divisions / sizeof *divisions; i++) {
        test_random random = test_random_for(3203);
        group_world w;
        group_tensors x;
        const int64_t shape[] = {COUNT};
        group_world_open(&w, MEMBERS, &divisions[i]);
        group_make(&w, &x, TENON_DTYPE_F32, 1, shape, TEST_ROW, &random);
        group_call_all(&w, group_all_reduce, &(group_problem){.kind = TENON_GROUP_MEAN}, x.view,
                       x.view);
        for (uint32_t m = 0; m < MEMBERS; m++) {
            float *got = malloc(COUNT * sizeof *got);
            assert_non_null(got);
            assert_ok(
                tenon_tensor_download(w.streams[m], &x.view[m], got, COUNT * sizeof *got, NULL));
            if (first == NULL) {
                first = got;
                continue;
            }
            assert_memory_equal(got, first, COUNT * sizeof *got);
            free(got);
        }
        group_destroy(&x);
        group_world_close(&w);
    }
    free(first);
}

/* The messages with data of process 0, by tag. Used by its thread only. */
static struct {
    tenon_transport transport; /* which it passes them to */
    int sent[2 * TN_TAG_RANGES], received, received_first;
} noted;

static bool is_data(uint32_t tag)
{
    return tag >= TN_TAG_DATA && tag < TN_TAG_DATA + 2 * TN_TAG_RANGES;
}

static tenon_status note_send(void *state, uint32_t to, uint32_t tag, const void *bytes,
                              uint64_t size, void **request)
{
    if (is_data(tag))
        noted.sent[tag - TN_TAG_DATA]++;
    return noted.transport.send(state, to, tag, bytes, size, request);
}

static tenon_status note_receive(void *state, uint32_t from, uint32_t tag, void *bytes,
                                 uint64_t size, void **request)
{
    if (is_data(tag)) {
        noted.received++;
        noted.received_first += --noted.sent[tag - TN_TAG_DATA] < 0;
    }
    return noted.transport.receive(state, from, tag, bytes, size, request);
}

/* MPI may copy a large message within the call that receives it. If a process called that before it
 * has sent its own message, two processes would copy one after the other. */
TEST(sends_precede_receives)
{
    static const int64_t sizes[] = {1000, 5000}; /* in one and in several ranges */
    test_random random = test_random_for(3206);
    group_world w;
    group_world_open(&w, 2, &(group_division){.processes = 2, .chunk_bytes = 4096});
    noted.transport = w.groups[0]->transport;
    w.groups[0]->transport.send = note_send;
    w.groups[0]->transport.receive = note_receive;
    for (int small = 0; small < 2; small++) {
        w.groups[0]->is_uniform = w.groups[1]->is_uniform = small != 0; /* one phase, or two */
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            const group_problem p = {.dtype = TENON_DTYPE_F32,
                                     .kind = TENON_GROUP_SUM,
                                     .members = 2,
                                     .rank = 1,
                                     .shape = {sizes[i]}};
            noted.received = 0;
            group_check(&w, group_all_reduce, p, &random);
            assert_true(noted.received > 0);
            assert_int_equal(noted.received_first, 0);
        }
    }
    group_world_close(&w);
}

/* Tensors of a bucket: two per member and shape, in and out of place. */
enum { BUCKET = 5 };
typedef struct bucket {
    tenon_tensor x[GROUP_MOST * BUCKET], y[GROUP_MOST * BUCKET];
} bucket;

static tenon_status reduce_bucket(group_world *w, uint32_t process, void *data)
{
    bucket *b = data;
    const uint32_t first = w->first[process] * BUCKET;
    const tenon_status status = tenon_group_all_reduce_many(
        w->groups[process], TENON_GROUP_SUM, BUCKET, &b->x[first], &b->y[first], NULL);
    return status != TENON_OK ? status : tenon_group_wait(w->groups[process]);
}

static void check_bucket(const group_division *division, uint32_t members, int64_t unit)
{
    group_world w;
    bucket b;
    group_result results[GROUP_MOST];
    group_world_open(&w, members, division);
    for (uint32_t i = 0; i < members * BUCKET; i++) {
        const uint32_t m = i / BUCKET;
        const int64_t t = i % BUCKET, shape[] = {t, 3 * unit + t}; /* the first one is empty */
        tenon_context *context = tenon_stream_context(w.streams[i / BUCKET]);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &b.x[i]));
        b.y[i] = b.x[i];
        if (t % 2 == 1)
            assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, shape, &b.y[i]));
        assert_ok(tenon_tensor_fill(w.streams[i / BUCKET], &b.x[i], (double)(t + 1 + m), NULL));
    }
    group_in_processes(&w, reduce_bucket, &b, results);
    for (uint32_t p = 0; p < w.processes; p++)
        assert_ok(results[p].status);
    for (uint32_t i = 0; i < members * BUCKET; i++) {
        const int64_t t = i % BUCKET, count = tenon_tensor_elements(&b.y[i]),
                      sum = members * (t + 1) + members * (members - 1) / 2;
        float *got = calloc((size_t)count + 1, sizeof *got);
        assert_non_null(got);
        assert_ok(tenon_tensor_download(w.streams[i / BUCKET], &b.y[i], got,
                                        (size_t)count * sizeof *got, NULL));
        for (int64_t e = 0; e < count; e++)
            assert_true(got[e] == (float)sum);
        free(got);
        if (t % 2 == 1)
            tenon_tensor_destroy(&b.y[i]);
        tenon_tensor_destroy(&b.x[i]);
    }
    group_world_close(&w);
}

TEST(buckets)
{
    test_random random = test_random_for(3204);
    for (uint32_t members = 1; members <= 4; members++)
        for (int64_t unit = 1; unit <= 3001; unit += 3000) {
            const group_division division = random_division(&random, members),
                                 one = {.processes = 1};
            check_bucket(&one, members, unit);
            check_bucket(&division, members, unit);
        }
}

/* A pipeline in which every process sends to the next before it receives from it: sends do not wait
 * for their receivers. */
enum { STEPS = 6 };
typedef struct pipeline {
    tenon_tensor x[GROUP_MOST], y[GROUP_MOST];
} pipeline;

static tenon_status pass_around(group_world *w, uint32_t process, void *data)
{
    pipeline *line = data;
    tenon_group *group = w->groups[process];
    tenon_status status = TENON_OK;
    for (int step = 0; step < STEPS && status == TENON_OK; step++)
        for (uint32_t m = w->first[process]; m < w->first[process + 1] && status == TENON_OK; m++) {
            const uint32_t next = (m + 1) % w->count, last = (m + w->count - 1) % w->count;
            status = tenon_tensor_fill(w->streams[m], &line->x[m], 100.0 * step + m, NULL);
            if (status == TENON_OK)
                status = tenon_group_send(group, m, next, &line->x[m], NULL);
            if (status == TENON_OK)
                status = tenon_group_send(group, m, last, &line->x[m], NULL);
        }
    for (int step = 0; step < STEPS && status == TENON_OK; step++)
        for (uint32_t m = w->first[process]; m < w->first[process + 1] && status == TENON_OK; m++) {
            const uint32_t next = (m + 1) % w->count, last = (m + w->count - 1) % w->count;
            const tenon_tensor row[] = {tenon_tensor_slice(line->y[m], 0, 2 * step, 1),
                                        tenon_tensor_slice(line->y[m], 0, 2 * step + 1, 1)};
            status = tenon_group_receive(group, next, m, &row[0], NULL);
            if (status == TENON_OK)
                status = tenon_group_receive(group, last, m, &row[1], NULL);
        }
    return status != TENON_OK ? status : tenon_group_wait(group);
}

static void check_pipeline(const group_division *division, uint32_t members)
{
    enum { COUNT = 700 };
    const int64_t one[] = {1, COUNT}, all[] = {2 * STEPS, COUNT};
    float got[2 * STEPS * COUNT];
    group_world w;
    pipeline line;
    group_result results[GROUP_MOST];
    group_world_open(&w, members, division);
    for (uint32_t m = 0; m < members; m++) {
        tenon_context *context = tenon_stream_context(w.streams[m]);
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, one, &line.x[m]));
        assert_ok(tenon_tensor_create(context, TENON_DTYPE_F32, 2, all, &line.y[m]));
    }
    group_in_processes(&w, pass_around, &line, results);
    for (uint32_t p = 0; p < w.processes; p++)
        if (results[p].status != TENON_OK)
            fail_msg("%s", results[p].message);
    for (uint32_t m = 0; m < members; m++) {
        assert_ok(tenon_tensor_download(w.streams[m], &line.y[m], got, sizeof got, NULL));
        for (int i = 0; i < 2 * STEPS * COUNT; i++) {
            const int row = i / COUNT, step = row / 2;
            const uint32_t from = (m + (row % 2 == 0 ? 1 : members - 1)) % members;
            assert_true(got[i] == (float)(100 * step + (int)from));
        }
        tenon_tensor_destroy(&line.x[m]);
        tenon_tensor_destroy(&line.y[m]);
    }
    group_world_close(&w);
}

TEST(pipelines)
{
    test_random random = test_random_for(3205);
    for (uint32_t members = 1; members <= 5; members++) {
        const group_division division = random_division(&random, members), one = {.processes = 1};
        check_pipeline(&one, members);
        check_pipeline(&division, members);
    }
}

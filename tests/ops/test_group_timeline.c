/* Records when the kernels, copies, reductions and messages of a data-parallel step run, and tests
 * that messages and reductions overlap the kernels of the backward pass. Two processes, which are
 * threads, train a part of a batch each; gradients are added in buckets. With TENON_TIMELINE the
 * times are written to that file, from which scripts/timeline.py draws docs/images/timeline.svg. */
#include "group_case.h"
#include "timeline.h"

#include "group/group.h"
#include "runtime/queue/stream.h"

enum { PROCESSES = TIMELINE_PROCESSES, LAYERS = 32, BUCKET = 4, BUCKETS = LAYERS / BUCKET };
enum { WIDTH = 512, BATCH = 256, ATTEMPTS = 8 };

static const char *const kind_names[TIMELINE_KINDS] = {"kernel", "reduction", "copy", "message"};

/* A process of the test. */
typedef struct trainer {
    tenon_context *context;
    tenon_stream *compute, *sums;
    tenon_tensor x[LAYERS], d[LAYERS], w[LAYERS], dx[LAYERS];
    tenon_tensor sums_of[BUCKETS]; /* the gradients of the weights of BUCKET layers, in rows */
    tenon_group *group;
    float *values[LAYERS][2]; /* of x and d */
    int64_t offset;           /* of this process's clock of events from tn_now, in ns */
} trainer;

static trainer trainers[PROCESSES];

/* Creates the tensors of a layer. Their values are small integers, so that sums are exact. */
static void make(trainer *t, int layer, test_random *random)
{
    const int64_t rows[] = {BATCH, WIDTH}, square[] = {WIDTH, WIDTH},
                  bucket[] = {BUCKET * WIDTH, WIDTH};
    const size_t bytes = sizeof(float) * BATCH * WIDTH;
    tenon_tensor *made[] = {&t->x[layer], &t->d[layer]};
    for (int i = 0; i < 2; i++) {
        t->values[layer][i] = malloc(bytes);
        assert_non_null(t->values[layer][i]);
        for (int e = 0; e < BATCH * WIDTH; e++)
            t->values[layer][i][e] = (float)test_between(random, 0, 4) - 2;
        assert_ok(tenon_tensor_create(t->context, TENON_DTYPE_F32, 2, rows, made[i]));
        assert_ok(tenon_tensor_upload(t->compute, t->values[layer][i], bytes, made[i], NULL));
    }
    assert_ok(tenon_tensor_create(t->context, TENON_DTYPE_F32, 2, rows, &t->dx[layer]));
    assert_ok(tenon_tensor_create(t->context, TENON_DTYPE_F32, 2, square, &t->w[layer]));
    assert_ok(tenon_tensor_fill(t->compute, &t->w[layer], 1, NULL));
    if (layer < BUCKETS)
        assert_ok(tenon_tensor_create(t->context, TENON_DTYPE_F32, 2, bucket, &t->sums_of[layer]));
}

/* Opens the context of a process: on a part of the device if it can be divided. */
static void open_context(trainer *t, uint32_t process)
{
    tenon_device_info info = TENON_DEVICE_INFO_INIT, part = TENON_DEVICE_INFO_INIT;
    char selector[64];
    assert_ok(tenon_context_device(test_context, &info));
    snprintf(selector, sizeof selector, "%s/%d:%u", info.selector, PROCESSES, (unsigned)process);
    if (info.compute_units < PROCESSES || tenon_device_select(selector, &part) != TENON_OK)
        snprintf(selector, sizeof selector, "%s", info.selector);
    const tenon_context_params params = tenon_context_params(.device = selector, .profiling = 1);
    assert_ok(tenon_context_create(&params, &t->context));
    assert_ok(tenon_stream_create(t->context, NULL, &t->compute));
    assert_ok(tenon_stream_create(t->context, NULL, &t->sums));
}

static uint64_t time_of(cl_event event, cl_profiling_info which)
{
    cl_ulong time = 0;
    assert_int_equal(clGetEventProfilingInfo(event, which, sizeof time, &time, NULL), CL_SUCCESS);
    return time;
}

/* Sets the offset of the device's clock: the least distance between the end of a command and the
 * time at which the host knows of it. */
static void compare_clocks(trainer *t)
{
    t->offset = INT64_MAX;
    for (int i = 0; i < 20; i++) {
        const uint32_t at = timeline.count;
        assert_ok(tenon_copy(t->compute, NULL, &t->x[0], &t->dx[0], NULL));
        assert_ok(tenon_stream_finish(t->compute));
        const uint64_t now = tn_now();
        if (timeline.count == at || timeline.spans[at].event == NULL)
            continue;
        const int64_t offset =
            (int64_t)(now - time_of(timeline.spans[at].event, CL_PROFILING_COMMAND_END));
        t->offset = offset < t->offset ? offset : t->offset;
    }
    assert_true(t->offset != INT64_MAX);
}

static tenon_status open_group(trainer *t, tenon_transport *w)
{
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    const tenon_transport table = timeline_transport(w);
    params.transport = &table;
    return tenon_group_create(&t->sums, 1, &params, &t->group);
}

/* Runs the backward pass: the gradients of each layer's weights and input. The former are added
 * while the pass goes on. */
static tenon_status step(trainer *t)
{
    for (int i = LAYERS; i-- > 0;) {
        const tenon_tensor x = tenon_tensor_transpose(t->x[i], 0, 1),
                           w = tenon_tensor_transpose(t->w[i], 0, 1),
                           *bucket = &t->sums_of[i / BUCKET],
                           dw = tenon_tensor_slice(*bucket, 0, i % BUCKET * WIDTH, WIDTH);
        TN_TRY(tenon_gemm(t->compute, NULL, &x, &t->d[i], NULL, NULL, &dw, NULL));
        if (i % BUCKET == 0) {
            TN_TRY(tenon_stream_wait(t->sums, t->compute));
            TN_TRY(tenon_group_all_reduce(t->group, TENON_GROUP_SUM, bucket, bucket, NULL));
        }
        TN_TRY(tenon_gemm(t->compute, NULL, &t->d[i], &w, NULL, NULL, &t->dx[i], NULL));
        TN_TRY(tenon_stream_flush(t->compute));
    }
    TN_TRY(tenon_group_wait(t->group));
    return tenon_stream_finish(t->compute);
}

/* What a process does in its thread: opens its group, or a step. */
typedef struct part {
    tn_thread thread;
    trainer *trainer;
    tenon_transport *wire; /* NULL: a step */
    tenon_status status;
    char message[256];
} part;

static void *run_part(void *data)
{
    part *p = data;
    p->status = p->wire != NULL ? open_group(p->trainer, p->wire) : step(p->trainer);
    snprintf(p->message, sizeof p->message, "%s", p->status != TENON_OK ? tenon_last_error() : "");
    return NULL;
}

static void in_all_processes(tenon_transport *wires)
{
    part parts[PROCESSES];
    for (uint32_t p = 0; p < PROCESSES; p++) {
        parts[p] = (part){.trainer = &trainers[p], .wire = wires != NULL ? &wires[p] : NULL};
        assert_true(tn_thread_create(&parts[p].thread, run_part, &parts[p]));
    }
    for (uint32_t p = 0; p < PROCESSES; p++)
        tn_thread_join(parts[p].thread);
    for (uint32_t p = 0; p < PROCESSES; p++)
        if (parts[p].status != TENON_OK)
            fail_msg("process %u: %s", (unsigned)p, parts[p].message);
}

/* Starts to record the commands of all processes. */
static void start_record(void)
{
    for (uint32_t p = 0; p < PROCESSES; p++) {
        timeline.compute[p] = trainers[p].compute->queue;
        timeline.own[p] = trainers[p].group->members[0].own->queue;
    }
    timeline_start();
    for (uint32_t p = 0; p < PROCESSES; p++)
        compare_clocks(&trainers[p]);
}

/* Sets the times of commands, on the clock of tn_now. */
static void read_times(void)
{
    for (uint32_t i = 0; i < timeline.count; i++) {
        timeline_span *s = &timeline.spans[i];
        if (s->event == NULL)
            continue;
        const uint64_t offset = (uint64_t)trainers[s->process].offset;
        s->begin = time_of(s->event, CL_PROFILING_COMMAND_START) + offset;
        s->end = time_of(s->event, CL_PROFILING_COMMAND_END) + offset;
    }
}

/* Returns how many intervals of a kind overlap a kernel of the backward pass of their process. */
static uint32_t overlapping(timeline_kind what)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < timeline.count; i++) {
        const timeline_span *a = &timeline.spans[i];
        bool overlaps = false;
        for (uint32_t j = 0; j < timeline.count && a->kind == what && !overlaps; j++) {
            const timeline_span *b = &timeline.spans[j];
            overlaps = b->kind == TIMELINE_KERNEL && b->process == a->process &&
                       a->begin < b->end && b->begin < a->end;
        }
        count += overlaps;
    }
    return count;
}

/* Returns how many intervals of a kind begin before the last kernel of the backward pass has ended:
 * a device that runs one kernel at a time runs them between those of the pass. */
static uint32_t during_pass(timeline_kind what)
{
    uint64_t last[PROCESSES] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < timeline.count; i++) {
        const timeline_span *s = &timeline.spans[i];
        if (s->kind == TIMELINE_KERNEL && s->end > last[s->process])
            last[s->process] = s->end;
    }
    for (uint32_t i = 0; i < timeline.count; i++)
        count += timeline.spans[i].kind == what &&
                 timeline.spans[i].begin < last[timeline.spans[i].process];
    return count;
}

static void write_record(const char *path)
{
    uint64_t first = UINT64_MAX;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint32_t i = 0; i < timeline.count; i++)
        first = timeline.spans[i].begin < first ? timeline.spans[i].begin : first;
    fprintf(file, "[\n");
    for (uint32_t i = 0; i < timeline.count; i++) {
        const timeline_span *s = &timeline.spans[i];
        fprintf(file,
                "{\"process\": %u, \"kind\": \"%s\", \"name\": \"%s\", \"begin\": %.6f, "
                "\"end\": %.6f}%s\n",
                (unsigned)s->process, kind_names[s->kind], s->name,
                (double)(s->begin - first) * 1e-6, (double)(s->end - first) * 1e-6,
                i + 1 < timeline.count ? "," : "");
    }
    fprintf(file, "]\n");
    assert_int_equal(fclose(file), 0);
}

/* The sum of an element of a bucket over both processes. */
static double expected_at(int bucket, int64_t row, int64_t column)
{
    const int64_t layer = bucket * BUCKET + row / WIDTH;
    double sum = 0;
    for (uint32_t p = 0; p < PROCESSES; p++)
        for (int64_t b = 0; b < BATCH; b++)
            sum += (double)trainers[p].values[layer][0][b * WIDTH + row % WIDTH] *
                   trainers[p].values[layer][1][b * WIDTH + column];
    return sum;
}

static void check_sums(void)
{
    static float got[BUCKET * WIDTH * WIDTH];
    for (uint32_t p = 0; p < PROCESSES; p++)
        for (int bucket = 0; bucket < BUCKETS; bucket++) {
            assert_ok(tenon_tensor_download(trainers[p].sums, &trainers[p].sums_of[bucket], got,
                                            sizeof got, NULL));
            for (int64_t i = 0; i < BUCKET * WIDTH * WIDTH; i += 1009)
                assert_true(got[i] == expected_at(bucket, i / WIDTH, i % WIDTH));
        }
}

static void close_trainer(trainer *t)
{
    tenon_group_destroy(t->group);
    for (int i = 0; i < BUCKETS; i++)
        tenon_tensor_destroy(&t->sums_of[i]);
    for (int layer = 0; layer < LAYERS; layer++) {
        tenon_tensor *all[] = {&t->x[layer], &t->d[layer], &t->w[layer], &t->dx[layer]};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            tenon_tensor_destroy(all[i]);
        free(t->values[layer][0]);
        free(t->values[layer][1]);
    }
    tenon_stream_destroy(t->compute);
    tenon_stream_destroy(t->sums);
    tenon_context_release(t->context);
}

TEST(messages_and_reductions_overlap_kernels)
{
    const test_net_faults none = {0};
    test_net *net = test_net_create(PROCESSES, &none);
    tenon_transport wires[PROCESSES];
    test_random random = test_random_for(3401);
    const char *path = getenv("TENON_TIMELINE");
    for (uint32_t p = 0; p < PROCESSES; p++) {
        open_context(&trainers[p], p);
        for (int layer = 0; layer < LAYERS; layer++)
            make(&trainers[p], layer, &random);
        test_net_transport(net, p, TENON_TRANSPORT_THREADS, &wires[p]);
    }
    in_all_processes(wires);
    in_all_processes(NULL); /* selects and compiles the kernels */
    start_record();
    bool is_seen = false;
    for (int i = 0; i < ATTEMPTS && !is_seen; i++) { /* other programs may delay the threads */
        timeline_clear();
        in_all_processes(NULL);
        read_times();
        check_sums();
        print_message(
            "overlapping kernels: %u messages, %u reductions, %u copies; before the last "
            "kernel's end: %u reductions\n",
            (unsigned)overlapping(TIMELINE_MESSAGE), (unsigned)overlapping(TIMELINE_REDUCTION),
            (unsigned)overlapping(TIMELINE_COPY), (unsigned)during_pass(TIMELINE_REDUCTION));
        is_seen = overlapping(TIMELINE_MESSAGE) > 0 && during_pass(TIMELINE_REDUCTION) > 0;
    }
    timeline_stop();
    assert_true(is_seen);
    if (path != NULL)
        write_record(path);
    timeline_clear();
    for (uint32_t p = 0; p < PROCESSES; p++)
        close_trainer(&trainers[p]);
    assert_int_equal(test_net_errors(net), 0);
    test_net_destroy(net);
}

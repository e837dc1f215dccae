/* Records when the kernels, copies, reductions and messages of a data-parallel step run, and tests
 * that messages and reductions overlap the kernels of the backward pass. Two processes, which are
 * threads, train a part of a batch each; gradients are added layer by layer. With TENON_TIMELINE
 * the times are written to that file, from which scripts/timeline.py draws
 * docs/images/timeline.svg.
 */
#define TN_OPENCL_BY_NAME
#include "group_case.h"

#include "base/platform.h"
#include "group/group.h"
#include "runtime/opencl/opencl.h"
#include "runtime/queue/stream.h"

enum { PROCESSES = 2, LAYERS = 6, WIDTH = 1024, BATCH = 256, MOST_SPANS = 4096, ATTEMPTS = 8 };

typedef enum kind { KERNEL, REDUCTION, COPY, MESSAGE, KINDS } kind;
static const char *const kind_names[KINDS] = {"kernel", "reduction", "copy", "message"};

/* An interval of tn_now. */
typedef struct span {
    kind kind;
    uint32_t process;
    char name[64];
    cl_event event; /* NULL: a message */
    uint64_t begin, end;
} span;

/* A message that has been sent and has not been received. */
typedef struct sent {
    uint32_t from, to, tag;
    uint64_t begin;
    bool is_received;
} sent;

/* What is recorded, by several threads. */
static struct {
    tn_mutex lock;
    bool is_on;
    span spans[MOST_SPANS];
    uint32_t count;
    sent sends[MOST_SPANS];
    uint32_t send_count;
    cl_command_queue compute[PROCESSES], own[PROCESSES]; /* of the step and of the group */
    tn_opencl_functions next;
} record;

/* A process of the test. */
typedef struct trainer {
    tenon_context *context;
    tenon_stream *compute, *sums;
    tenon_tensor x[LAYERS], d[LAYERS], w[LAYERS], dw[LAYERS], dx[LAYERS];
    tenon_group *group;
    float *values[LAYERS][2]; /* of x and d */
    int64_t offset;           /* of this process's clock of events from tn_now, in ns */
} trainer;

static trainer trainers[PROCESSES];

static void add(kind what, uint32_t process, const char *name, cl_event event, uint64_t begin,
                uint64_t end)
{
    tn_mutex_lock(&record.lock);
    if (record.is_on && record.count < MOST_SPANS) {
        span *s = &record.spans[record.count++];
        *s = (span){.kind = what, .process = process, .begin = begin, .end = end};
        snprintf(s->name, sizeof s->name, "%s", name);
        if (event != NULL && clRetainEvent(event) == CL_SUCCESS)
            s->event = event;
    }
    tn_mutex_unlock(&record.lock);
}

/* Records a command of a queue of the processes. Copies of the group may be kernels, too. */
static void add_command(cl_command_queue queue, bool is_kernel, const char *name, cl_event event)
{
    for (uint32_t p = 0; p < PROCESSES; p++)
        if (queue == record.compute[p])
            add(is_kernel ? KERNEL : COPY, p, name, event, 0, 0);
        else if (queue == record.own[p])
            add(is_kernel && strstr(name, "copy") == NULL ? REDUCTION : COPY, p, name, event, 0, 0);
}

/* The driver's functions, with an event that is recorded. */
static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                     const cl_event *wait_list, cl_event *event)
{
    char name[64] = "";
    cl_event made = NULL;
    const cl_int status = record.next.clEnqueueNDRangeKernel(
        queue, kernel, dimensions, offset, global, local, waits, wait_list, &made);
    if (status != CL_SUCCESS)
        return status;
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    add_command(queue, true, name, made);
    if (event != NULL)
        *event = made;
    else
        clReleaseEvent(made);
    return status;
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                          size_t size, void *to, cl_uint waits, const cl_event *wait_list,
                          cl_event *event)
{
    cl_event made = NULL;
    const cl_int status = record.next.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to,
                                                          waits, wait_list, &made);
    if (status != CL_SUCCESS)
        return status;
    add_command(queue, false, "read", made);
    if (event != NULL)
        *event = made;
    else
        clReleaseEvent(made);
    return status;
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, const void *from, cl_uint waits, const cl_event *wait_list,
                           cl_event *event)
{
    cl_event made = NULL;
    const cl_int status = record.next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size,
                                                           from, waits, wait_list, &made);
    if (status != CL_SUCCESS)
        return status;
    add_command(queue, false, "write", made);
    if (event != NULL)
        *event = made;
    else
        clReleaseEvent(made);
    return status;
}

/* A transport that notes when messages are sent and have arrived. */
typedef struct wire {
    tenon_transport next;
} wire;

typedef struct request {
    void *next;
    uint64_t begin, size;
    uint32_t peer, tag;
    bool is_receive;
} request;

static tenon_status begin_message(const wire *w, bool is_receive, request made, const void *bytes,
                                  void *room, void **out)
{
    request *r = malloc(sizeof *r);
    if (r == NULL)
        return TENON_ERROR_OUT_OF_MEMORY;
    *r = made;
    r->is_receive = is_receive;
    r->begin = tn_now();
    tn_mutex_lock(&record.lock);
    if (!is_receive && record.send_count < MOST_SPANS)
        record.sends[record.send_count++] = (sent){w->next.rank, r->peer, r->tag, r->begin, false};
    tn_mutex_unlock(&record.lock);
    const tenon_status status =
        is_receive ? w->next.receive(w->next.state, r->peer, r->tag, room, r->size, &r->next)
                   : w->next.send(w->next.state, r->peer, r->tag, bytes, r->size, &r->next);
    if (status == TENON_OK)
        *out = r;
    else
        free(r);
    return status;
}

static tenon_status wire_send(void *state, uint32_t to, uint32_t tag, const void *bytes,
                              uint64_t size, void **out)
{
    return begin_message(state, false, (request){.peer = to, .tag = tag, .size = size}, bytes, NULL,
                         out);
}

static tenon_status wire_receive(void *state, uint32_t from, uint32_t tag, void *bytes,
                                 uint64_t size, void **out)
{
    return begin_message(state, true, (request){.peer = from, .tag = tag, .size = size}, NULL,
                         bytes, out);
}

/* Returns when the message that has been received was sent, or its receive was started if that was
 * later. */
static uint64_t begin_of(const request *r, uint32_t process)
{
    uint64_t begin = r->begin;
    tn_mutex_lock(&record.lock);
    for (uint32_t i = 0; i < record.send_count; i++) {
        sent *s = &record.sends[i];
        if (s->is_received || s->from != r->peer || s->to != process || s->tag != r->tag)
            continue;
        s->is_received = true;
        begin = s->begin > begin ? s->begin : begin;
        break;
    }
    tn_mutex_unlock(&record.lock);
    return begin;
}

static tenon_status wire_test(void *state, void *data, int *done)
{
    const wire *w = state;
    request *r = data;
    char name[64];
    const tenon_status status = w->next.test(w->next.state, r->next, done);
    if (status == TENON_OK && !*done)
        return status;
    if (status == TENON_OK && r->is_receive) {
        snprintf(name, sizeof name, "%llu bytes", (unsigned long long)r->size);
        add(MESSAGE, w->next.rank, name, NULL, begin_of(r, w->next.rank), tn_now());
    }
    free(r);
    return status;
}

static tenon_status wire_cancel(void *state, void *data)
{
    const wire *w = state;
    request *r = data;
    const tenon_status status = w->next.cancel(w->next.state, r->next);
    free(r);
    return status;
}

/* Creates the tensors of a layer. Their values are small integers, so that sums are exact. */
static void make(trainer *t, int layer, test_random *random)
{
    const int64_t rows[] = {BATCH, WIDTH}, square[] = {WIDTH, WIDTH};
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
    assert_ok(tenon_tensor_create(t->context, TENON_DTYPE_F32, 2, square, &t->dw[layer]));
    assert_ok(tenon_tensor_fill(t->compute, &t->w[layer], 1, NULL));
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
        const uint32_t at = record.count;
        assert_ok(tenon_copy(t->compute, NULL, &t->x[0], &t->dx[0], NULL));
        assert_ok(tenon_stream_finish(t->compute));
        const uint64_t now = tn_now();
        if (record.count == at || record.spans[at].event == NULL)
            continue;
        const int64_t offset =
            (int64_t)(now - time_of(record.spans[at].event, CL_PROFILING_COMMAND_END));
        t->offset = offset < t->offset ? offset : t->offset;
    }
    assert_true(t->offset != INT64_MAX);
}

static tenon_status open_group(trainer *t, wire *w)
{
    tenon_group_params params = TENON_GROUP_PARAMS_INIT;
    const tenon_transport table = {.struct_size = sizeof table,
                                   .size = w->next.size,
                                   .rank = w->next.rank,
                                   .flags = w->next.flags,
                                   .state = w,
                                   .send = wire_send,
                                   .receive = wire_receive,
                                   .test = wire_test,
                                   .cancel = wire_cancel};
    params.transport = &table;
    params.chunk_bytes = 1 << 20;
    return tenon_group_create(&t->sums, 1, &params, &t->group);
}

/* Enqueues the backward pass: the gradients of a layer's weights and input. The former are added
 * while the pass goes on. */
static tenon_status step(trainer *t)
{
    tenon_status status = TENON_OK;
    for (int i = LAYERS; i-- > 0 && status == TENON_OK;) {
        const tenon_tensor x = tenon_tensor_transpose(t->x[i], 0, 1),
                           w = tenon_tensor_transpose(t->w[i], 0, 1);
        status = tenon_gemm(t->compute, NULL, &x, &t->d[i], NULL, NULL, &t->dw[i], NULL);
        if (status == TENON_OK)
            status = tenon_stream_wait(t->sums, t->compute);
        if (status == TENON_OK)
            status = tenon_group_all_reduce(t->group, TENON_GROUP_SUM, &t->dw[i], &t->dw[i], NULL);
        if (status == TENON_OK)
            status = tenon_gemm(t->compute, NULL, &t->d[i], &w, NULL, NULL, &t->dx[i], NULL);
        if (status == TENON_OK)
            status = tenon_stream_flush(t->compute);
    }
    if (status == TENON_OK)
        status = tenon_group_wait(t->group);
    return status == TENON_OK ? tenon_stream_finish(t->compute) : status;
}

/* What a process does in its thread: opens its group, or a step. */
typedef struct part {
    tn_thread thread;
    trainer *trainer;
    wire *wire; /* NULL: a step */
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

static void in_all_processes(wire *wires)
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
    assert_true(tn_mutex_init(&record.lock));
    for (uint32_t p = 0; p < PROCESSES; p++) {
        record.compute[p] = trainers[p].compute->queue;
        record.own[p] = trainers[p].group->members[0].own->queue;
    }
    record.next = tn_opencl;
    tn_opencl.clEnqueueNDRangeKernel = launch;
    tn_opencl.clEnqueueReadBuffer = read_buffer;
    tn_opencl.clEnqueueWriteBuffer = write_buffer;
    record.is_on = true;
    for (uint32_t p = 0; p < PROCESSES; p++)
        compare_clocks(&trainers[p]);
}

static void clear_record(void)
{
    for (uint32_t i = 0; i < record.count; i++)
        if (record.spans[i].event != NULL)
            clReleaseEvent(record.spans[i].event);
    record.count = record.send_count = 0;
}

/* Sets the times of commands, on the clock of tn_now. */
static void read_times(void)
{
    for (uint32_t i = 0; i < record.count; i++) {
        span *s = &record.spans[i];
        if (s->event == NULL)
            continue;
        const uint64_t offset = (uint64_t)trainers[s->process].offset;
        s->begin = time_of(s->event, CL_PROFILING_COMMAND_START) + offset;
        s->end = time_of(s->event, CL_PROFILING_COMMAND_END) + offset;
    }
}

/* Returns how many intervals of a kind overlap a kernel of the backward pass of their process. */
static uint32_t overlapping(kind what)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < record.count; i++) {
        const span *a = &record.spans[i];
        bool overlaps = false;
        for (uint32_t j = 0; j < record.count && a->kind == what && !overlaps; j++) {
            const span *b = &record.spans[j];
            overlaps = b->kind == KERNEL && b->process == a->process && a->begin < b->end &&
                       b->begin < a->end;
        }
        count += overlaps;
    }
    return count;
}

/* Returns how many intervals of a kind begin before the last kernel of the backward pass has ended:
 * a device that runs one kernel at a time runs them between those of the pass. */
static uint32_t during_pass(kind what)
{
    uint64_t last[PROCESSES] = {0};
    uint32_t count = 0;
    for (uint32_t i = 0; i < record.count; i++) {
        const span *s = &record.spans[i];
        if (s->kind == KERNEL && s->end > last[s->process])
            last[s->process] = s->end;
    }
    for (uint32_t i = 0; i < record.count; i++)
        count +=
            record.spans[i].kind == what && record.spans[i].begin < last[record.spans[i].process];
    return count;
}

static void write_record(const char *path)
{
    uint64_t first = UINT64_MAX;
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (uint32_t i = 0; i < record.count; i++)
        first = record.spans[i].begin < first ? record.spans[i].begin : first;
    fprintf(file, "[\n");
    for (uint32_t i = 0; i < record.count; i++) {
        const span *s = &record.spans[i];
        fprintf(file,
                "{\"process\": %u, \"kind\": \"%s\", \"name\": \"%s\", \"begin\": %.6f, "
                "\"end\": %.6f}%s\n",
                (unsigned)s->process, kind_names[s->kind], s->name,
                (double)(s->begin - first) * 1e-6, (double)(s->end - first) * 1e-6,
                i + 1 < record.count ? "," : "");
    }
    fprintf(file, "]\n");
    assert_int_equal(fclose(file), 0);
}

/* The sum of the gradient of an element of a layer's weights over both processes. */
static double expected_at(int layer, int64_t row, int64_t column)
{
    double sum = 0;
    for (uint32_t p = 0; p < PROCESSES; p++)
        for (int64_t b = 0; b < BATCH; b++)
            sum += (double)trainers[p].values[layer][0][b * WIDTH + row] *
                   trainers[p].values[layer][1][b * WIDTH + column];
    return sum;
}

static void check_sums(void)
{
    float *got = malloc(sizeof *got * WIDTH * WIDTH);
    assert_non_null(got);
    for (uint32_t p = 0; p < PROCESSES; p++)
        for (int layer = 0; layer < LAYERS; layer++) {
            assert_ok(tenon_tensor_download(trainers[p].sums, &trainers[p].dw[layer], got,
                                            sizeof *got * WIDTH * WIDTH, NULL));
            for (int64_t i = 0; i < WIDTH * WIDTH; i += 1009)
                assert_true(got[i] == expected_at(layer, i / WIDTH, i % WIDTH));
        }
    free(got);
}

static void close_trainer(trainer *t)
{
    tenon_group_destroy(t->group);
    for (int layer = 0; layer < LAYERS; layer++) {
        tenon_tensor *all[] = {&t->x[layer], &t->d[layer], &t->w[layer], &t->dw[layer],
                               &t->dx[layer]};
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
    wire wires[PROCESSES];
    test_random random = test_random_for(3401);
    const char *path = getenv("TENON_TIMELINE");
    for (uint32_t p = 0; p < PROCESSES; p++) {
        open_context(&trainers[p], p);
        for (int layer = 0; layer < LAYERS; layer++)
            make(&trainers[p], layer, &random);
        test_net_transport(net, p, TENON_TRANSPORT_THREADS, &wires[p].next);
    }
    in_all_processes(wires);
    in_all_processes(NULL); /* selects and compiles the kernels */
    start_record();
    bool is_seen = false;
    for (int i = 0; i < ATTEMPTS && !is_seen; i++) { /* other programs may delay the threads */
        clear_record();
        in_all_processes(NULL);
        read_times();
        check_sums();
        print_message("overlapping kernels: %u messages, %u reductions, %u copies; before the last "
                      "kernel's end: %u reductions\n",
                      (unsigned)overlapping(MESSAGE), (unsigned)overlapping(REDUCTION),
                      (unsigned)overlapping(COPY), (unsigned)during_pass(REDUCTION));
        is_seen = overlapping(MESSAGE) >= LAYERS && during_pass(REDUCTION) >= LAYERS;
    }
    tn_opencl = record.next;
    assert_true(is_seen);
    if (path != NULL)
        write_record(path);
    clear_record();
    for (uint32_t p = 0; p < PROCESSES; p++)
        close_trainer(&trainers[p]);
    assert_int_equal(test_net_errors(net), 0);
    test_net_destroy(net);
    tn_mutex_destroy(&record.lock);
}

#define TN_OPENCL_BY_NAME
#include "timeline.h"

#include "runtime/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

timeline_record timeline;

/* A message that has been sent. */
typedef struct sent {
    uint32_t from, to, tag;
    uint64_t begin;
    bool is_received;
} sent;

static struct {
    tn_mutex lock; /* of `timeline` and of all that follows */
    bool has_lock;
    sent sends[TIMELINE_MOST];
    uint32_t send_count;
    tn_opencl_functions next; /* the driver's */
} hidden;

static void add(timeline_kind what, uint32_t process, const char *name, cl_event event,
                uint64_t begin, uint64_t end)
{
    tn_mutex_lock(&hidden.lock);
    if (timeline.is_on && timeline.count < TIMELINE_MOST) {
        timeline_span *s = &timeline.spans[timeline.count++];
        *s = (timeline_span){.kind = what, .process = process, .begin = begin, .end = end};
        snprintf(s->name, sizeof s->name, "%s", name);
        if (event != NULL && clRetainEvent(event) == CL_SUCCESS)
            s->event = event;
    }
    tn_mutex_unlock(&hidden.lock);
}

/* Records a command of a queue of the processes. Copies of the group may be kernels, too. */
static void add_command(cl_command_queue queue, bool is_kernel, const char *name, cl_event event)
{
    for (uint32_t p = 0; p < TIMELINE_PROCESSES; p++)
        if (queue == timeline.compute[p])
            add(is_kernel ? TIMELINE_KERNEL : TIMELINE_COPY, p, name, event, 0, 0);
        else if (queue == timeline.own[p])
            add(is_kernel && strstr(name, "copy") == NULL ? TIMELINE_REDUCTION : TIMELINE_COPY, p,
                name, event, 0, 0);
}

/* Records an enqueued command, and passes its event to the caller if it wants it. */
static cl_int pass(cl_int status, cl_command_queue queue, bool is_kernel, const char *name,
                   cl_event made, cl_event *event)
{
    if (status != CL_SUCCESS)
        return status;
    add_command(queue, is_kernel, name, made);
    if (event != NULL)
        *event = made;
    else
        clReleaseEvent(made);
    return status;
}

/* The driver's functions, with an event that is recorded. */
static cl_int launch(cl_command_queue queue, cl_kernel kernel, cl_uint dimensions,
                     const size_t *offset, const size_t *global, const size_t *local, cl_uint waits,
                     const cl_event *wait_list, cl_event *event)
{
    char name[64] = "";
    cl_event made = NULL;
    const cl_int status = hidden.next.clEnqueueNDRangeKernel(
        queue, kernel, dimensions, offset, global, local, waits, wait_list, &made);
    clGetKernelInfo(kernel, CL_KERNEL_FUNCTION_NAME, sizeof name, name, NULL);
    return pass(status, queue, true, name, made, event);
}

static cl_int read_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                          size_t size, void *to, cl_uint waits, const cl_event *wait_list,
                          cl_event *event)
{
    cl_event made = NULL;
    const cl_int status = hidden.next.clEnqueueReadBuffer(queue, buffer, blocking, offset, size, to,
                                                          waits, wait_list, &made);
    return pass(status, queue, false, "read", made, event);
}

static cl_int write_buffer(cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
                           size_t size, const void *from, cl_uint waits, const cl_event *wait_list,
                           cl_event *event)
{
    cl_event made = NULL;
    const cl_int status = hidden.next.clEnqueueWriteBuffer(queue, buffer, blocking, offset, size,
                                                           from, waits, wait_list, &made);
    return pass(status, queue, false, "write", made, event);
}

/* A message of a transport that notes when messages are sent and have arrived. Its state is the
 * transport that it uses. */
typedef struct request {
    void *next;
    uint64_t begin, size;
    uint32_t peer, tag;
    bool is_receive;
} request;

static tenon_status begin_message(const tenon_transport *w, bool is_receive, request made,
                                  const void *bytes, void *room, void **out)
{
    request *r = malloc(sizeof *r);
    if (r == NULL)
        return TENON_ERROR_OUT_OF_MEMORY;
    *r = made;
    r->is_receive = is_receive;
    r->begin = tn_now();
    tn_mutex_lock(&hidden.lock);
    if (!is_receive && hidden.send_count < TIMELINE_MOST)
        hidden.sends[hidden.send_count++] = (sent){w->rank, r->peer, r->tag, r->begin, false};
    tn_mutex_unlock(&hidden.lock);
    const tenon_status status = is_receive
                                    ? w->receive(w->state, r->peer, r->tag, room, r->size, &r->next)
                                    : w->send(w->state, r->peer, r->tag, bytes, r->size, &r->next);
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
    tn_mutex_lock(&hidden.lock);
    for (uint32_t i = 0; i < hidden.send_count; i++) {
        sent *s = &hidden.sends[i];
        if (s->is_received || s->from != r->peer || s->to != process || s->tag != r->tag)
            continue;
        s->is_received = true;
        begin = s->begin > begin ? s->begin : begin;
        break;
    }
    tn_mutex_unlock(&hidden.lock);
    return begin;
}

static tenon_status wire_test(void *state, void *data, int *done)
{
    const tenon_transport *w = state;
    request *r = data;
    char name[64];
    const tenon_status status = w->test(w->state, r->next, done);
    if (status == TENON_OK && !*done)
        return status;
    if (status == TENON_OK && r->is_receive) {
        snprintf(name, sizeof name, "%llu bytes", (unsigned long long)r->size);
        add(TIMELINE_MESSAGE, w->rank, name, NULL, begin_of(r, w->rank), tn_now());
    }
    free(r);
    return status;
}

static tenon_status wire_cancel(void *state, void *data)
{
    const tenon_transport *w = state;
    request *r = data;
    const tenon_status status = w->cancel(w->state, r->next);
    free(r);
    return status;
}

void timeline_start(void)
{
    hidden.next = tn_opencl;
    tn_opencl.clEnqueueNDRangeKernel = launch;
    tn_opencl.clEnqueueReadBuffer = read_buffer;
    tn_opencl.clEnqueueWriteBuffer = write_buffer;
    timeline.is_on = true;
}

void timeline_clear(void)
{
    for (uint32_t i = 0; i < timeline.count; i++)
        if (timeline.spans[i].event != NULL)
            clReleaseEvent(timeline.spans[i].event);
    timeline.count = hidden.send_count = 0;
}

void timeline_stop(void)
{
    timeline.is_on = false;
    tn_opencl = hidden.next;
}

tenon_transport timeline_transport(tenon_transport *next)
{
    if (!hidden.has_lock)
        hidden.has_lock = tn_mutex_init(&hidden.lock);
    return (tenon_transport){.struct_size = sizeof(tenon_transport),
                             .size = next->size,
                             .rank = next->rank,
                             .flags = next->flags,
                             .state = next,
                             .send = wire_send,
                             .receive = wire_receive,
                             .test = wire_test,
                             .cancel = wire_cancel};
}

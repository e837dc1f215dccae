/*
 * Tests commands that wait for a failing event and therefore fail themselves. PoCL 3.1 releases the
 * event of such a command and then locks it once more. If no caller holds a reference at that
 * moment, it ends the process, although the event's state has already reported the failure.
 */
#include "driver.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

typedef struct waiting {
    cl_command_queue queue;
    cl_event gate, event;
} waiting;

static void sleep_milliseconds(int count)
{
    const struct timespec moment = {.tv_nsec = 1000000};
    for (int i = 0; i < count; i++)
        nanosleep(&moment, NULL);
}

/* Enqueues a command that waits for the gate: a kernel or a marker. */
static bool enqueue(const driver *d, cl_command_queue queue, bool marker, waiting *w)
{
    static const char source[] = "__kernel void nothing(__global int *x) { x[0] = 1; }\n";
    const size_t one = 1;
    cl_int error;
    w->queue = queue;
    if (marker) {
        error = clEnqueueMarkerWithWaitList(queue, 1, &w->gate, &w->event);
    } else {
        cl_kernel kernel = driver_kernel(d, source, "nothing");
        driver_set_buffer(kernel, 0, driver_buffer(d, sizeof(int), NULL));
        error = clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 1, &w->gate, &w->event);
    }
    return error == CL_SUCCESS && clFlush(queue) == CL_SUCCESS;
}

/* Creates a queue with one such command, whose gate is a user event. */
static bool begin(const driver *d, bool unordered, bool marker, waiting *w)
{
    const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES,
                                        unordered ? CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE : 0, 0};
    cl_int error;
    cl_command_queue queue =
        clCreateCommandQueueWithProperties(d->context, d->device, list, &error);
    if (error != CL_SUCCESS)
        return false;
    w->gate = clCreateUserEvent(d->context, &error);
    return error == CL_SUCCESS && enqueue(d, queue, marker, w);
}

static void fail_gate(const waiting *w)
{
    clSetUserEventStatus(w->gate, CL_OUT_OF_RESOURCES);
    clReleaseEvent(w->gate);
}

static cl_int state_of(cl_event event)
{
    cl_int state = CL_QUEUED;
    clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    return state;
}

static bool wait_until_failed(cl_event event)
{
    for (int i = 0; i < TEST_LOOKS && state_of(event) >= 0; i++)
        sleep_milliseconds(1);
    return state_of(event) < 0;
}

static driver_outcome by_holder(const driver *d, bool unordered, bool marker, bool held)
{
    waiting w;
    if (!begin(d, unordered, marker, &w))
        return DRIVER_UNTRIED;
    if (!held)
        clReleaseEvent(w.event);
    fail_gate(&w);
    if (held && !wait_until_failed(w.event))
        return DRIVER_WRONG;
    sleep_milliseconds(200);
    return DRIVER_RIGHT;
}

static driver_outcome a_kernel_held(const driver *d)
{
    return by_holder(d, false, false, true);
}

static driver_outcome a_kernel_unheld(const driver *d)
{
    return by_holder(d, false, false, false);
}

static driver_outcome a_marker_held(const driver *d)
{
    return by_holder(d, true, true, true);
}

static driver_outcome a_marker_unheld(const driver *d)
{
    return by_holder(d, true, true, false);
}

static void *fail_gate_elsewhere(void *gate)
{
    clSetUserEventStatus(gate, CL_OUT_OF_RESOURCES);
    return NULL;
}

/* Tests releasing the last reference as soon as the state reports the failure, while another thread
 * may still process it. */
static driver_outcome released_at_once(const driver *d)
{
    for (int i = 0; i < 2000; i++) {
        waiting w;
        pthread_t thread;
        if (!begin(d, i % 2 != 0, true, &w) ||
            pthread_create(&thread, NULL, fail_gate_elsewhere, w.gate) != 0)
            return DRIVER_UNTRIED;
        while (state_of(w.event) >= 0)
            ;
        clReleaseEvent(w.event);
        pthread_join(thread, NULL);
        clReleaseEvent(w.gate);
        clReleaseCommandQueue(w.queue);
    }
    return DRIVER_RIGHT;
}

/* Enqueues a second command that waits for the first, whose event has been released. */
static driver_outcome chain(const driver *d, bool marker)
{
    waiting w, next = {.queue = NULL};
    if (!begin(d, true, false, &w))
        return DRIVER_UNTRIED;
    next.gate = w.event;
    if (!enqueue(d, w.queue, marker, &next))
        return DRIVER_UNTRIED;
    clReleaseEvent(w.event);
    fail_gate(&w);
    if (!wait_until_failed(next.event))
        return DRIVER_WRONG;
    sleep_milliseconds(200);
    return DRIVER_RIGHT;
}

static driver_outcome a_chain_of_kernels(const driver *d)
{
    return chain(d, false);
}

static driver_outcome a_chain_to_a_marker(const driver *d)
{
    return chain(d, true);
}

static atomic_int told;

static void CL_CALLBACK hear(cl_event event, cl_int state, void *user)
{
    (void)event;
    (void)user;
    atomic_store(&told, state < 0 ? 1 : 2);
}

static driver_outcome callbacks(const driver *d)
{
    waiting w;
    if (!begin(d, false, false, &w) ||
        clSetEventCallback(w.event, CL_COMPLETE, hear, NULL) != CL_SUCCESS)
        return DRIVER_UNTRIED;
    fail_gate(&w);
    if (!wait_until_failed(w.event))
        return DRIVER_WRONG;
    for (int i = 0; i < TEST_LOOKS / 10 && atomic_load(&told) == 0; i++)
        sleep_milliseconds(1);
    printf("the callback was %s\n", told == 0   ? "not called"
                                    : told == 1 ? "told of the failure"
                                                : "told of success");
    fflush(stdout);
    return atomic_load(&told) == 1 ? DRIVER_RIGHT : DRIVER_WRONG;
}

int main(void)
{
    driver_try("a kernel that fails, its event held", NULL, a_kernel_held);
    driver_try("a kernel that fails, its event released", NULL, a_kernel_unheld);
    driver_try("a marker that fails, its event held", NULL, a_marker_held);
    driver_try("a marker that fails, its event released", NULL, a_marker_unheld);
    driver_try("a kernel that waits for one that fails", NULL, a_chain_of_kernels);
    driver_try("a marker that waits for a kernel that fails", NULL, a_chain_to_a_marker);
    driver_try("the event of a failed command, released at once", NULL, released_at_once);
    driver_try("the callback of an event that fails", NULL, callbacks);
    return 0;
}

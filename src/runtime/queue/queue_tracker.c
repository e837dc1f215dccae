#include "runtime/queue/queue_tracker.h"

#include "runtime/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

tenon_status tn_queue_tracker_init(const char *caller, tn_queue_tracker *tracker)
{
    memset(tracker, 0, sizeof *tracker);
    if (!tn_mutex_init(&tracker->lock))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create a lock", caller);
    return TENON_OK;
}

void tn_queue_tracker_destroy(tn_queue_tracker *tracker)
{
    tn_events_release(tracker->left, tracker->left_count);
    free(tracker->queues);
    tn_mutex_destroy(&tracker->lock);
}

void tn_events_release(cl_event *events, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        clReleaseEvent(events[i]);
    free(events);
}

bool tn_event_is_over(cl_event event)
{
    cl_int status = CL_QUEUED;
    return clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof status, &status, NULL) ==
               CL_SUCCESS &&
           status <= CL_COMPLETE;
}

/* Makes room for one more pointer. */
static void *grow(void *pointers, uint32_t count, uint32_t *capacity)
{
    if (count < *capacity)
        return pointers;
    void *grown = realloc(pointers, (2 * (size_t)count + 4) * sizeof(void *));
    if (grown != NULL)
        *capacity = 2 * count + 4;
    return grown;
}

tenon_status tn_queue_tracker_begin(const char *caller, tn_queue_tracker *tracker,
                                    cl_command_queue queue)
{
    tn_mutex_lock(&tracker->lock);
    cl_command_queue *queues =
        grow(tracker->queues, tracker->queue_count, &tracker->queue_capacity);
    if (queues != NULL) {
        tracker->queues = queues;
        queues[tracker->queue_count++] = queue;
    }
    tn_mutex_unlock(&tracker->lock);
    return queues != NULL ? TENON_OK : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
}

/* Returns an event that completes with all work in the queue. If the driver provides none, waits
 * and returns NULL. */
static cl_event end_of(cl_command_queue queue)
{
    cl_event end = NULL;
    if (clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) == CL_SUCCESS &&
        clFlush(queue) == CL_SUCCESS)
        return end;
    if (end != NULL)
        clReleaseEvent(end);
    /* If this fails the device is lost and no longer uses any memory. */
    clFinish(queue);
    return NULL;
}

/* Drops completed events. The caller holds the lock. */
static void forget(tn_queue_tracker *tracker)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < tracker->left_count; i++)
        if (tn_event_is_over(tracker->left[i]))
            clReleaseEvent(tracker->left[i]);
        else
            tracker->left[kept++] = tracker->left[i];
    tracker->left_count = kept;
}

/* The caller holds the lock. */
static void remove_queue(tn_queue_tracker *tracker, cl_command_queue queue)
{
    uint32_t at = 0;
    while (tracker->queues[at] != queue)
        at++;
    tracker->queues[at] = tracker->queues[--tracker->queue_count];
}

void tn_queue_tracker_drop(tn_queue_tracker *tracker, cl_command_queue queue)
{
    tn_mutex_lock(&tracker->lock);
    remove_queue(tracker, queue);
    tn_mutex_unlock(&tracker->lock);
}

void tn_queue_tracker_end(tn_queue_tracker *tracker, cl_command_queue queue)
{
    tn_mutex_lock(&tracker->lock);
    remove_queue(tracker, queue);
    forget(tracker);
    cl_event *left = grow(tracker->left, tracker->left_count, &tracker->left_capacity);
    cl_event end = left != NULL ? end_of(queue) : NULL;
    if (left != NULL)
        tracker->left = left;
    else
        clFinish(queue);
    if (end != NULL)
        left[tracker->left_count++] = end;
    tn_mutex_unlock(&tracker->lock);
}

/* The caller holds the lock. */
static void wait_for_all(tn_queue_tracker *tracker)
{
    for (uint32_t i = 0; i < tracker->queue_count; i++)
        clFinish(tracker->queues[i]);
    if (tracker->left_count > 0)
        clWaitForEvents(tracker->left_count, tracker->left);
}

uint32_t tn_queue_tracker_mark(tn_queue_tracker *tracker, cl_event **events)
{
    uint32_t count = 0;
    tn_mutex_lock(&tracker->lock);
    forget(tracker);
    const size_t most = (size_t)tracker->queue_count + tracker->left_count;
    *events = most > 0 ? malloc(most * sizeof **events) : NULL;
    if (*events == NULL) {
        wait_for_all(tracker);
    } else {
        for (uint32_t i = 0; i < tracker->queue_count; i++) {
            cl_event end = end_of(tracker->queues[i]);
            if (end != NULL)
                (*events)[count++] = end;
        }
        for (uint32_t i = 0; i < tracker->left_count; i++)
            if (clRetainEvent(tracker->left[i]) == CL_SUCCESS)
                (*events)[count++] = tracker->left[i];
            else
                clWaitForEvents(1, &tracker->left[i]);
    }
    tn_mutex_unlock(&tracker->lock);
    return count;
}

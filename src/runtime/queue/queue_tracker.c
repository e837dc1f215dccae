#include "runtime/queue/queue_tracker.h"

#include "runtime/opencl/opencl.h"

#include <stdlib.h>
#include <string.h>

tenon_status tn_queue_tracker_init(const char *caller, tn_queue_tracker *followed)
{
    memset(followed, 0, sizeof *followed);
    if (!tn_mutex_init(&followed->lock))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create a lock", caller);
    return TENON_OK;
}

void tn_queue_tracker_destroy(tn_queue_tracker *followed)
{
    tn_events_release(followed->left, followed->left_count);
    free(followed->queues);
    tn_mutex_destroy(&followed->lock);
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

tenon_status tn_queue_tracker_begin(const char *caller, tn_queue_tracker *followed,
                                    cl_command_queue queue)
{
    tn_mutex_lock(&followed->lock);
    cl_command_queue *queues =
        grow(followed->queues, followed->queue_count, &followed->queue_capacity);
    if (queues != NULL) {
        followed->queues = queues;
        queues[followed->queue_count++] = queue;
    }
    tn_mutex_unlock(&followed->lock);
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
static void forget(tn_queue_tracker *followed)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < followed->left_count; i++)
        if (tn_event_is_over(followed->left[i]))
            clReleaseEvent(followed->left[i]);
        else
            followed->left[kept++] = followed->left[i];
    followed->left_count = kept;
}

/* The caller holds the lock. */
static void remove_queue(tn_queue_tracker *followed, cl_command_queue queue)
{
    uint32_t at = 0;
    while (followed->queues[at] != queue)
        at++;
    followed->queues[at] = followed->queues[--followed->queue_count];
}

void tn_queue_tracker_drop(tn_queue_tracker *followed, cl_command_queue queue)
{
    tn_mutex_lock(&followed->lock);
    remove_queue(followed, queue);
    tn_mutex_unlock(&followed->lock);
}

void tn_queue_tracker_end(tn_queue_tracker *followed, cl_command_queue queue)
{
    tn_mutex_lock(&followed->lock);
    remove_queue(followed, queue);
    forget(followed);
    cl_event *left = grow(followed->left, followed->left_count, &followed->left_capacity);
    cl_event end = left != NULL ? end_of(queue) : NULL;
    if (left != NULL)
        followed->left = left;
    else
        clFinish(queue);
    if (end != NULL)
        left[followed->left_count++] = end;
    tn_mutex_unlock(&followed->lock);
}

/* The caller holds the lock. */
static void wait_for_all(tn_queue_tracker *followed)
{
    for (uint32_t i = 0; i < followed->queue_count; i++)
        clFinish(followed->queues[i]);
    if (followed->left_count > 0)
        clWaitForEvents(followed->left_count, followed->left);
}

uint32_t tn_queue_tracker_mark(tn_queue_tracker *followed, cl_event **events)
{
    uint32_t count = 0;
    tn_mutex_lock(&followed->lock);
    forget(followed);
    const size_t most = (size_t)followed->queue_count + followed->left_count;
    *events = most > 0 ? malloc(most * sizeof **events) : NULL;
    if (*events == NULL) {
        wait_for_all(followed);
    } else {
        for (uint32_t i = 0; i < followed->queue_count; i++) {
            cl_event end = end_of(followed->queues[i]);
            if (end != NULL)
                (*events)[count++] = end;
        }
        for (uint32_t i = 0; i < followed->left_count; i++)
            if (clRetainEvent(followed->left[i]) == CL_SUCCESS)
                (*events)[count++] = followed->left[i];
            else
                clWaitForEvents(1, &followed->left[i]);
    }
    tn_mutex_unlock(&followed->lock);
    return count;
}

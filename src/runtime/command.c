/*
 * Commands of a queue that runs them out of order are a chain: each waits for the one before, so
 * that a stream keeps its order and takes nothing from other users of the queue, as barriers would.
 *
 * Events that there are anyway are asked for failures at the next call. A context with a callback
 * for failures has one for each command, and is told of them (runtime/watch.h).
 */
#include "runtime/command.h"

#include "runtime/cl_error.h"
#include "runtime/opencl.h"
#include "runtime/watch.h"

static void release_past(tenon_stream *stream)
{
    while (stream->past_count > 0)
        clReleaseEvent(stream->past[--stream->past_count]);
}

/* PoCL 3.1 is not done with an event when its state says that it has failed, and ends the process
 * where nobody else holds it (tests/drivers/test_failed_events.c). */
static void forget(tenon_stream *stream)
{
    release_past(stream);
    for (; stream->past_count < stream->last_count; stream->past_count++)
        stream->past[stream->past_count] = stream->last[stream->past_count];
    stream->last_count = 0;
}

void tn_commands_release(tenon_stream *stream)
{
    forget(stream);
    release_past(stream);
}

/* One event in the place of the caller's list, so that it goes into a list with the stream's own.
 * It stays with the stream, so that it is not lost where the command is not enqueued after all. */
static tenon_status gather_waits(const char *operation, tenon_stream *stream,
                                 const tn_command *command)
{
    cl_event waited;
    TN_CL_TRY(operation, "clEnqueueMarkerWithWaitList",
              clEnqueueMarkerWithWaitList(stream->queue, command->wait_count, command->wait_list,
                                          &waited));
    if (stream->last_count == 2)
        clReleaseEvent(stream->last[1]);
    stream->last[1] = waited;
    stream->last_count = 2;
    return TENON_OK;
}

tenon_status tn_command_follow(const char *operation, tenon_stream *stream, tn_command *command)
{
    command->event = &command->made;
    if (!stream->is_unordered || stream->last_count == 0)
        return TENON_OK;
    if (command->wait_count > 0)
        TN_TRY(gather_waits(operation, stream, command));
    command->wait_count = stream->last_count;
    command->wait_list = stream->last;
    return TENON_OK;
}

void tn_command_keep(const char *operation, const char *label, tenon_stream *stream,
                     tn_command *command, cl_event *given)
{
    const bool is_asked = stream->watch == NULL && given != NULL;
    if (stream->watch != NULL)
        tn_watch_event(stream->watch, command->made, operation, label);
    if (stream->is_unordered || is_asked) {
        clRetainEvent(command->made);
        forget(stream);
        stream->last[0] = command->made;
        stream->last_count = 1;
        stream->last_operation = operation;
    }
    if (given != NULL)
        *given = command->made;
    else
        clReleaseEvent(command->made);
}

tenon_status tn_command_failure(const char *operation, tenon_stream *stream)
{
    cl_int state = CL_COMPLETE;
    if (stream->watch != NULL) {
        const tenon_status status = tn_watch_take(operation, stream->watch);
        if (status != TENON_OK)
            forget(stream); /* what waits for it would fail as well */
        return status;
    }
    if (stream->last_count == 0 ||
        clGetEventInfo(stream->last[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                       NULL) != CL_SUCCESS ||
        state > CL_COMPLETE)
        return TENON_OK;
    forget(stream); /* nothing is left to wait for */
    return state == CL_COMPLETE ? TENON_OK
                                : tn_fail_earlier(operation, stream->last_operation, state);
}

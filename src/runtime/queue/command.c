/*
 * Commands in an out-of-order queue form a chain: each waits for the previous one. A stream thus
 * keeps its order without barriers, which would delay other users of the queue.
 *
 * If commands have events anyway, the next call queries them for failures. A context with a
 * failure callback has an event per command and reports each failure (runtime/queue/watch.h).
 */
#include "runtime/queue/command.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/opencl.h"
#include "runtime/queue/watch.h"

static void release_past(tenon_stream *stream)
{
    while (stream->past_count > 0)
        clReleaseEvent(stream->past[--stream->past_count]);
}

/* PoCL 3.1 still uses an event after its status says that it has failed, and crashes if nobody
 * else holds a reference (tests/drivers/test_failed_events.c). So the event is kept until the next
 * command. */
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

/* Replaces the caller's wait list by one event, so that it fits into a list with the stream's own.
 * The stream holds the event, so it is not lost if the command is not enqueued after all. */
static tenon_status gather_waits(const char *caller, tenon_stream *stream,
                                 const tn_command *command)
{
    cl_event waited;
    TN_CL_TRY(caller, "clEnqueueMarkerWithWaitList",
              clEnqueueMarkerWithWaitList(stream->queue, command->wait_count, command->wait_list,
                                          &waited));
    if (stream->last_count == 2)
        clReleaseEvent(stream->last[1]);
    stream->last[1] = waited;
    stream->last_count = 2;
    return TENON_OK;
}

tenon_status tn_command_begin_with_event(const char *caller, tenon_stream *stream,
                                         tn_command *command)
{
    if (stream->watch != NULL && !tn_watch_reserve(stream->watch))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory to track its commands", caller);
    command->event = &command->made;
    if (!stream->is_unordered || stream->last_count == 0)
        return TENON_OK;
    if (command->wait_count > 0)
        TN_TRY(gather_waits(caller, stream, command));
    command->wait_count = stream->last_count;
    command->wait_list = stream->last;
    return TENON_OK;
}

/* Sets the stream's last event and takes ownership of a reference to it. */
static void chain(const char *caller, tenon_stream *stream, cl_event made)
{
    forget(stream);
    stream->last[0] = made;
    stream->last_count = 1;
    stream->last_operation = caller;
}

/* The stream, its watch and the caller each need a reference. If the driver grants too few, they
 * are given out in this order: the stream's next command must wait for this one, and the caller
 * learns from the status that the event is missing. */
tenon_status tn_command_keep(const char *caller, const char *label, tenon_stream *stream,
                             tn_command *command, cl_event *given)
{
    const bool is_chained = stream->is_unordered || (stream->watch == NULL && given != NULL);
    const int holders = is_chained + (stream->watch != NULL) + (given != NULL);
    int references = 1;
    cl_int error = CL_SUCCESS;
    while (references < holders && (error = clRetainEvent(command->made)) == CL_SUCCESS)
        references++;
    if (is_chained && references-- > 0)
        chain(caller, stream, command->made);
    if (stream->watch != NULL && references-- > 0)
        tn_watch_event(stream->watch, command->made, caller, label);
    if (given != NULL && references-- > 0)
        *given = command->made;
    if (references > 0)
        clReleaseEvent(command->made);
    return error == CL_SUCCESS
               ? TENON_OK
               : tn_fail_cl(TENON_ERROR_INCOMPLETE, error,
                            "%s: clRetainEvent returned %s (%d): the work is enqueued, but its "
                            "completion cannot be tracked",
                            caller, tn_cl_error_string(error), error);
}

tenon_status tn_command_failure(const char *caller, tenon_stream *stream)
{
    cl_int state = CL_COMPLETE;
    if (stream->watch != NULL) {
        const tenon_status status = tn_watch_take(caller, stream->watch);
        if (status != TENON_OK)
            forget(stream); /* any command that waits for it would fail as well */
        return status;
    }
    if (stream->last_count == 0 ||
        clGetEventInfo(stream->last[0], CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state,
                       NULL) != CL_SUCCESS ||
        state > CL_COMPLETE)
        return TENON_OK;
    forget(stream); /* completed: nothing is left to wait for */
    return state == CL_COMPLETE ? TENON_OK : tn_fail_earlier(caller, stream->last_operation, state);
}

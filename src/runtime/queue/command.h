/* A command that is being enqueued in a stream: its wait list, and the handling of its event. */
#ifndef TN_RUNTIME_QUEUE_COMMAND_H
#define TN_RUNTIME_QUEUE_COMMAND_H

#include "runtime/queue/stream.h"

/* Arguments for OpenCL's enqueue function. */
typedef struct tn_command {
    cl_uint wait_count;
    const cl_event *wait_list;
    cl_event *event; /* receives the command's event; NULL: no event is needed */
    cl_event made;   /* the event */
} tn_command;

/* The part of tn_command_begin for streams in which every command has an event. */
tenon_status tn_command_begin_with_event(const char *caller, tenon_stream *stream,
                                         tn_command *command);

/* Prepares a command before it is enqueued. `sync` (or NULL) has the wait list in addition to what
 * the stream itself waits for; its `event` is not read. A command that was begun need not be
 * enqueued. */
static inline tenon_status tn_command_begin(const char *caller, tenon_stream *stream,
                                            const tenon_sync *sync, bool wants_event,
                                            tn_command *command)
{
    command->wait_count = sync != NULL ? sync->wait_count : 0;
    command->wait_list = sync != NULL ? sync->wait_list : NULL;
    command->made = NULL;
    command->event = wants_event ? &command->made : NULL;
    return stream->has_events ? tn_command_begin_with_event(caller, stream, command) : TENON_OK;
}

/* Keeps the event of an enqueued command as far as the stream needs it. `given`, unless NULL,
 * receives the event with a reference for the caller. Returns TENON_ERROR_INCOMPLETE if the driver
 * grants too few references; `given` may then be unchanged. */
tenon_status tn_command_keep(const char *caller, const char *label, tenon_stream *stream,
                             tn_command *command, cl_event *given);

/* Finishes a command after it was enqueued. `operation` must live as long as the stream. `label`
 * is the solver's name, or NULL. */
static inline tenon_status tn_command_end(const char *caller, const char *label,
                                          tenon_stream *stream, tn_command *command,
                                          cl_event *given)
{
    return command->made != NULL ? tn_command_keep(caller, label, stream, command, given)
                                 : TENON_OK;
}

/* Fails if a command of the stream has failed on the device since the last call of this function.
 * The calling operation then fails with that error. */
tenon_status tn_command_failure(const char *caller, tenon_stream *stream);

/* Releases the events that the stream holds. */
void tn_commands_release(tenon_stream *stream);

#endif

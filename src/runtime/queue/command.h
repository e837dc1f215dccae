/* A command on its way into a stream's queue: what it waits for, and what becomes of its event. */
#ifndef TN_RUNTIME_QUEUE_COMMAND_H
#define TN_RUNTIME_QUEUE_COMMAND_H

#include "runtime/queue/stream.h"

/* What OpenCL is to be given with the command. */
typedef struct tn_command {
    cl_uint wait_count;
    const cl_event *wait_list;
    cl_event *event; /* where the command's event goes; NULL: it has none */
    cl_event made;   /* which is here */
} tn_command;

/* The part of it that streams need whose commands all have events. */
tenon_status tn_command_follow(const char *caller, tenon_stream *stream, tn_command *command);

/* Before it is enqueued. `sync` is what it waits for beside what the stream itself makes it wait
 * for, or NULL; its event is not looked at. A command that is begun need not be enqueued. */
static inline tenon_status tn_command_begin(const char *caller, tenon_stream *stream,
                                            const tenon_sync *sync, bool wants_event,
                                            tn_command *command)
{
    command->wait_count = sync != NULL ? sync->wait_count : 0;
    command->wait_list = sync != NULL ? sync->wait_list : NULL;
    command->made = NULL;
    command->event = wants_event ? &command->made : NULL;
    return stream->is_followed ? tn_command_follow(caller, stream, command) : TENON_OK;
}

/* Keeps the event of a command that was enqueued, as far as the stream needs it; `given` receives
 * it with a reference for the caller, unless it is NULL. TENON_ERROR_INCOMPLETE where the driver
 * gives too few references: then `given` may be left as it was. */
tenon_status tn_command_keep(const char *caller, const char *label, tenon_stream *stream,
                             tn_command *command, cl_event *given);

/* After it was enqueued. `operation` must last as long as the stream; `label` is the solver, or
 * NULL. */
static inline tenon_status tn_command_end(const char *caller, const char *label,
                                          tenon_stream *stream, tn_command *command,
                                          cl_event *given)
{
    return command->made != NULL ? tn_command_keep(caller, label, stream, command, given)
                                 : TENON_OK;
}

/* Whether a command of the stream has failed on the device since it was asked the last time: the
 * call that asks fails for it. */
tenon_status tn_command_failure(const char *caller, tenon_stream *stream);

/* Lets go of the events that the stream holds. */
void tn_commands_release(tenon_stream *stream);

#endif

/* Streams: a queue with its kernel objects and its workspace. */
#ifndef TN_RUNTIME_QUEUE_STREAM_H
#define TN_RUNTIME_QUEUE_STREAM_H

#include "runtime/context/context.h"
#include "runtime/queue/watch.h"

#include <tenon/tensor.h>

/* Memory that launches use as workspace. */
typedef struct tn_arena {
    tenon_memory memory;
    uint64_t offset, size; /* the range of `memory` in bytes */
    uint64_t limit;        /* maximum of `size` */
    bool borrowed;         /* provided by the caller: never grown or freed */
} tn_arena;

struct tenon_stream {
    tenon_context *context;
    cl_command_queue queue;
    cl_kernel *kernels; /* indexed by the number in the program cache; NULL until first used */
    uint32_t kernel_count;
    bool is_unordered; /* an out-of-order queue: each command waits for the previous one */
    bool has_events;   /* each command has an event, since the queue is out of order or there is a
                        * watch */
    tn_watch *watch;   /* NULL if the application set no failure callback */
    /* Events that the next command waits for: that of the last command with an event, and the wait
     * list that the caller gave for it (runtime/queue/command.h). */
    cl_event last[2];
    cl_uint last_count;
    /* Events that nothing waits for any more, kept until the next command. */
    cl_event past[2];
    cl_uint past_count;
    bool awaits_host; /* work may wait for an event that a thread of the host completes */
    const char *last_operation;
    tn_arena arena;
    tenon_trace_callback trace;
    void *trace_user;
};

/* Fails if the stream is NULL, or if earlier work of it is known to have failed; each failure is
 * reported once. */
tenon_status tn_stream_check(const char *caller, tenon_stream *stream);

/* Fails if the wait list is invalid. */
tenon_status tn_sync_check(const char *caller, const tenon_sync *sync);

/* Members of `sync`, which may be NULL. */
cl_uint tn_sync_wait_count(const tenon_sync *sync);
const cl_event *tn_sync_wait_list(const tenon_sync *sync);
cl_event *tn_sync_event(const tenon_sync *sync);

/* Flushes the queue if the caller asked for an event; a call that gave one ends with this. Errors
 * of the queue are reported by a later tenon_stream_finish. */
void tn_sync_flush(tenon_stream *stream, const tenon_sync *sync);

/* After a failure: waits until no enqueued command uses the caller's memory. */
void tn_stream_settle(tenon_stream *stream);

/* Implements a call without work: a marker waits for the wait list and provides the event. */
tenon_status tn_sync_marker(const char *caller, tenon_stream *stream, const tenon_sync *sync);

/* Returns the stream's own cl_kernel object of a kernel, created at its first use. */
tenon_status tn_stream_kernel(const char *caller, tenon_stream *stream, uint32_t number,
                              cl_kernel *kernel);

/* Grows the arena to at least `bytes`. */
tenon_status tn_arena_require(const char *caller, tenon_stream *stream, uint64_t bytes);

/* Releases an arena that the stream owns. The caller sets its successor. */
void tn_arena_release(tenon_stream *stream);

#endif

/* What a stream holds: its queue, its kernel objects, its workspace. */
#ifndef TN_RUNTIME_QUEUE_STREAM_H
#define TN_RUNTIME_QUEUE_STREAM_H

#include "runtime/context/context.h"
#include "runtime/queue/watch.h"

#include <tenon/tensor.h>

/* The memory that launches get as workspace. */
typedef struct tn_arena {
    tenon_memory memory;
    uint64_t offset, size; /* which bytes of it */
    uint64_t limit;        /* what size may grow to */
    bool borrowed;         /* the caller's: never grown, never freed */
} tn_arena;

struct tenon_stream {
    tenon_context *context;
    cl_command_queue queue;
    cl_kernel *kernels; /* by the number of the program cache; NULL until first used */
    uint32_t kernel_count;
    bool is_unordered; /* the queue runs commands in any order: each waits for the one before */
    bool is_followed;  /* each command has an event: for that, or for the watch */
    tn_watch *watch;   /* NULL where the application does not ask */
    /* Of the last command whose event was had, and of what the caller wanted the next one to wait
     * for (runtime/queue/command.h). */
    cl_event last[2];
    cl_uint last_count;
    /* What nothing waits for any more, until the next command is there. */
    cl_event past[2];
    cl_uint past_count;
    const char *last_operation;
    tn_arena arena;
    tenon_trace_callback trace;
    void *trace_user;
};

/* Refuses a NULL stream, and one whose earlier work is known to have failed: once for each time. */
tenon_status tn_stream_check(const char *caller, tenon_stream *stream);

/* Refuses a wait list that is not one. */
tenon_status tn_sync_check(const char *caller, const tenon_sync *sync);

/* The parts of a sync, which may be NULL. */
cl_uint tn_sync_wait_count(const tenon_sync *sync);
const cl_event *tn_sync_wait_list(const tenon_sync *sync);
cl_event *tn_sync_event(const tenon_sync *sync);

/* Asking for an event flushes: the call that gave one ends with this. What is wrong with the queue
 * a later finish reports. */
void tn_sync_flush(tenon_stream *stream, const tenon_sync *sync);

/* After a failure: waits until nothing that was enqueued uses the caller's memory. */
void tn_stream_settle(tenon_stream *stream);

/* What a call without any work does: a marker waits for what it was to wait for, and gives its
 * event. */
tenon_status tn_sync_marker(const char *caller, tenon_stream *stream, const tenon_sync *sync);

/* The stream's own object of a kernel, made at the first use. */
tenon_status tn_stream_kernel(const char *caller, tenon_stream *stream, uint32_t number,
                              cl_kernel *kernel);

/* Sees to it that the arena has `bytes`. */
tenon_status tn_arena_require(const char *caller, tenon_stream *stream, uint64_t bytes);

/* Lets go of an arena of the stream's own; the caller sets what comes after it. */
void tn_arena_release(tenon_stream *stream);

#endif

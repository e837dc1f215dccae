/*
 * Writing built programs to the store.
 *
 * Most drivers return a binary immediately, and it is written after the build. PoCL compiles every
 * kernel again for it; meanwhile no kernel of the process can start, and a running one may crash
 * the process (docs/drivers.md). With PoCL a program is therefore written while the gate
 * (runtime/opencl/gate.h) is closed and all streams are idle: by a background thread once the
 * process has been idle for a while; when the only context is released or the process ends (for at
 * most a second plus one program); and when the application asks for it (tenon_context_keep).
 *
 * Kernels that the application itself enqueues are unknown to the library. Nothing is written
 * automatically while the process has a second context or an imported one; nor, before its
 * release, if the application has received the OpenCL context or one of its queues.
 */
#ifndef TN_RUNTIME_PROGRAM_BINARY_WRITER_H
#define TN_RUNTIME_PROGRAM_BINARY_WRITER_H

#include "runtime/queue/queue_tracker.h"

#include <tenon/context.h>

#include <stdatomic.h>

/* The binary writer's state in a context, guarded by the lock in binary_writer.c. */
typedef struct tn_binary_writer {
    tenon_context *next; /* list of all contexts with a device */
    tn_queue_tracker streams;
    cl_event *markers; /* markers of the work enqueued when the gate had counted `marked_entries`;
                        * or NULL */
    uint32_t mark_count;
    uint64_t marked_entries;
    bool is_imported;
    atomic_bool
        is_shared; /* the application has received the OpenCL context or one of its queues */
} tn_binary_writer;

/* Registers a new context with a device. */
void tn_binary_writer_enter(tenon_context *context);

/* Unregisters a context whose streams are destroyed, after writing what time allows. */
void tn_binary_writer_leave(tenon_context *context);

/* Registers a new stream; unregisters a destroyed one, whose work may still be running. Streams of
 * a validation context count as its owner's. */
tenon_status tn_binary_writer_stream_begins(const char *caller, tenon_context *context,
                                            cl_command_queue queue);
void tn_binary_writer_stream_ends(tenon_context *context, cl_command_queue queue);

/* Notes that the application may enqueue kernels of its own from now on. */
void tn_binary_writer_shares(const tenon_context *context);

/* Notes that a program was used for the first time and may have to be written. */
void tn_binary_writer_wake(tenon_context *context);

/* Between the two calls, nothing is written in the background. For self-checks, whose next kernel
 * would wait, and for measurements. Several threads may hold. */
void tn_binary_writer_hold(void);
void tn_binary_writer_release(void);

/* For the end of the process, after the gate was drained. The first waits for work that still runs
 * on CPU devices; the second writes programs. Both return by the given time of tn_now(). */
void tn_binary_writer_finish_streams(uint64_t until);
void tn_binary_writer_write(uint64_t until);

#endif

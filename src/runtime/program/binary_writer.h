/*
 * Writing built programs to the store.
 *
 * Most drivers hand out a binary at once, and it is written when it is built. PoCL compiles every
 * kernel anew for it; while it does so, no kernel of the process starts, and one that is running
 * may end the process (docs/drivers.md). There a program is written while the gate
 * (runtime/opencl/gate.h) is closed and all streams are idle: by a thread of the library's once the
 * process has been idle for a while, when the only context is released or the process ends (for no
 * longer than a second and a program), and when the application asks (tenon_context_keep).
 *
 * Kernels that the application enqueues by itself are not known. Nothing is written without being
 * asked for while the process has a second context, or one that was imported; nor, before its
 * release, where the application has had the OpenCL context or a queue of it.
 */
#ifndef TN_RUNTIME_PROGRAM_BINARY_WRITER_H
#define TN_RUNTIME_PROGRAM_BINARY_WRITER_H

#include "runtime/queue/queue_tracker.h"

#include <tenon/context.h>

#include <stdatomic.h>

/* What writes programs to the store knows of a context (runtime/program/binary_writer.c, whose lock
 * guards it). */
typedef struct tn_binary_writer {
    tenon_context *next; /* of all contexts of devices */
    tn_queue_tracker streams;
    cl_event *marks; /* of what was enqueued when the gate had seen so many entries; or NULL */
    uint32_t mark_count;
    uint64_t marked_entries;
    bool is_imported;
    atomic_bool is_shared; /* the application has had the OpenCL context, or a queue of it */
} tn_binary_writer;

/* A context of a device begins. */
void tn_binary_writer_enter(tenon_context *context);

/* A context ends, whose streams have: writes what there is time for. */
void tn_binary_writer_leave(tenon_context *context);

/* A stream begins, or ends; what was enqueued there may go on. The streams of a validation context
 * count as its owner's. */
tenon_status tn_binary_writer_stream_begins(const char *caller, tenon_context *context,
                                            cl_command_queue queue);
void tn_binary_writer_stream_ends(tenon_context *context, cl_command_queue queue);

/* The application may enqueue kernels of its own from now on. */
void tn_binary_writer_shares(const tenon_context *context);

/* A program has been used for the first time: there may be something to write. */
void tn_binary_writer_wake(tenon_context *context);

/* At the end of the process, after the gate was drained: waits for what streams still run on
 * processors, and writes programs, both until times of tn_now(). */
void tn_binary_writer_finish_streams(uint64_t until);
void tn_binary_writer_write(uint64_t until);

#endif

/** @file
 * A stream: one OpenCL queue, with the kernel objects and workspace of the calls made on it.
 *
 * Calls on a stream take effect in the order in which they were made, on in-order and out-of-order
 * queues. On an out-of-order queue each command of a stream waits for the event of the stream's
 * previous command. Other work in the queue (another stream's, the application's own) is neither
 * waited for nor delayed, with two exceptions: gemm/clblast enqueues a barrier, and blocking
 * transfers (upload, download, map) wait for the whole queue on some drivers, for example PoCL.
 *
 * Events order work between queues; a tenon_sync passes them. An event may be waited for in any
 * queue of the same OpenCL context once its own queue has been flushed. A call that returns an
 * event flushes, so tenon_stream_flush is not needed. The application must flush the queues of
 * events that it created itself. Otherwise both queues may wait forever.
 *
 * Work can fail on the device after its call has returned. The next call on the stream that detects
 * the failure returns TENON_ERROR_ASYNCHRONOUS or TENON_ERROR_DEVICE_LOST and does nothing else.
 * Every function that takes a stream may return them, even if its list of statuses does not include
 * them. Failures are detected through events of commands: the events that calls returned, the event
 * of every command on an out-of-order queue, and the event of every command in a context with a
 * failure callback (tenon_context_params.failure), which is called immediately.
 */
#ifndef TENON_STREAM_H
#define TENON_STREAM_H

#include <tenon/context.h>

TENON_BEGIN_C

/** Opaque. Calls on one stream must not overlap in time: use it from one thread at a time. Any
 * number of streams may be used at once, each from its own thread. A stream holds a reference to
 * its context. */
typedef struct tenon_stream tenon_stream;

struct tenon_memory;

/** Events that a call waits for and an event that it signals. Every operation takes one, or NULL.
 * Zero-initialize it. */
typedef struct tenon_sync {
    /** Events of the same OpenCL context that the call's first command waits for */
    const cl_event *wait_list;
    uint32_t wait_count; /**< number of events in wait_list */
    uint32_t reserved; /**< must be 0; otherwise every call returns TENON_ERROR_INVALID_ARGUMENT */
    /** Receives an event that completes with the call's last command, also for an empty tensor; the
     * caller releases it. Requesting an event flushes the queue. NULL: no event. Not written if the
     * call fails. If the work is enqueued but the driver gives no event for it, the call returns
     * TENON_ERROR_INCOMPLETE. */
    cl_event *event;
} tenon_sync;

/** Creates a stream.
 *  @param queue  an in-order or out-of-order queue of the context's OpenCL context and device,
 *                which is retained; NULL creates an in-order queue
 *  @param out    receives the stream, to be freed with tenon_stream_destroy; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a queue of another context or device) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_create(tenon_context *context, cl_command_queue queue,
                                            tenon_stream **out);

/** Frees a stream. Enqueued work continues. Using the stream afterwards is undefined behavior and
 * is not detected. NULL is allowed. */
TENON_API void tenon_stream_destroy(tenon_stream *stream);

/** Returns the OpenCL queue. The caller does not own a reference. NULL for NULL. */
TENON_API cl_command_queue tenon_stream_cl(const tenon_stream *stream);
/** Returns the stream's context. The caller does not own a reference. NULL for NULL. */
TENON_API tenon_context *tenon_stream_context(const tenon_stream *stream);

/** Submits the enqueued work to the device.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_ASYNCHRONOUS ·
 *          TENON_ERROR_DEVICE_LOST · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_flush(tenon_stream *stream);

/** Waits until all enqueued work is done. Statuses as tenon_stream_flush. Reports a lost device and
 * failed work. */
TENON_CALL tenon_status tenon_stream_finish(tenon_stream *stream);

/** Makes later work of a stream wait for the earlier work of another one. Returns without waiting.
 * Flushes `other`. Neither stream may be used by another thread during the call.
 *  @param other  a stream of the same OpenCL context; has no effect if it is `stream`
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; another OpenCL context) ·
 *          TENON_ERROR_ASYNCHRONOUS · TENON_ERROR_DEVICE_LOST · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_wait(tenon_stream *stream, tenon_stream *other);

/** Allocates workspace in advance: later runs of plans that need at most `bytes` do not allocate.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_WORKSPACE_TOO_SMALL (above the
 *          stream's limit) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_reserve_workspace(tenon_stream *stream, uint64_t bytes);

/** Replaces the stream's workspace by memory of the caller, who keeps ownership and must keep it
 * valid until the work that uses it is done. The stream's limit becomes `bytes`. NULL restores the
 * stream's own workspace.
 *  @param memory  a buffer or shared virtual memory of the stream's OpenCL context
 *  @param offset  bytes, a multiple of 128
 *  @param bytes   usable bytes from the offset on
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_set_workspace(tenon_stream *stream,
                                                   const struct tenon_memory *memory,
                                                   uint64_t offset, uint64_t bytes);

/** A kernel launch, passed to the trace callback. Pointers are valid only during the call. */
typedef struct tenon_trace_record {
    uint32_t struct_size; /**< sizeof(tenon_trace_record) in the library */
    uint32_t dimensions;  /**< 0 for a routine of another library, which may launch any number of
                             kernels */
    const char *solver;   /**< solver name in full, with the operation before the slash (plan.h) */
    const char *kernel;   /**< name of the kernel function */
    size_t global[3];     /**< work-items in each dimension */
    size_t local[3];      /**< 0 if the driver chooses */
    cl_event event;       /**< event of this launch; retain it to keep it */
} tenon_trace_record;

/** Called after each kernel launch of a stream, on the thread of the call, with no lock held. The
 * callback must not use the same stream. */
typedef void (*tenon_trace_callback)(void *user, const tenon_trace_record *record);

/** Sets the trace callback; NULL stops tracing.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT */
TENON_CALL tenon_status tenon_stream_set_trace(tenon_stream *stream, tenon_trace_callback callback,
                                               void *user);

TENON_END_C

#endif

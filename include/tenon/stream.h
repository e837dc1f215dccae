/** @file
 * A stream: one OpenCL queue, with the kernel objects and the workspace of the calls made on it.
 *
 * Calls on one stream take effect in their order, whether the queue keeps one or not. On an
 * out-of-order queue each command of the stream waits for the stream's last one by its event; what
 * else is in the queue (another stream's work, the application's own) is neither waited for nor
 * held up. Two exceptions: gemm/clblast puts a barrier into the queue, and drivers may have calls
 * that return when data is there (upload, download, map) wait for all of it, as PoCL does.
 *
 * Between queues events say the order, in a tenon_sync. An event may be waited for in any queue of
 * the same OpenCL context once its own queue has been flushed: a call that gives one flushes, and
 * so does not have to be followed by tenon_stream_flush; the application flushes the queues of
 * events that it has made itself. Otherwise both queues may wait for ever.
 *
 * Work can fail on the device after its call has returned. The next call on the stream that finds
 * it out returns TENON_ERROR_ASYNCHRONOUS or TENON_ERROR_DEVICE_LOST and does nothing else: every
 * function that takes a stream may, whether its list of statuses says so or not. It is found out by
 * the events of commands that have one anyway: the last one that a call was asked for, every
 * command on an out-of-order queue, and every command of a context that has a callback for failures
 * (tenon_context_params.failure), which is told at once.
 */
#ifndef TENON_STREAM_H
#define TENON_STREAM_H

#include <tenon/context.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque. Calls on one stream must not overlap in time: one thread at a time. As many streams as
 * you like may be used at once, each from its own thread. A stream holds a reference to its
 * context. */
typedef struct tenon_stream tenon_stream;

struct tenon_memory;

/** What a call waits for and what it signals; every operation takes one, or NULL. Zero-initialise
 * it. */
typedef struct tenon_sync {
    const cl_event
        *wait_list; /**< events of the same OpenCL context that precede the call's first command */
    uint32_t wait_count; /**< how many events wait_list has */
    uint32_t reserved;   /**< 0, or every call refuses it */
    /** Receives an event that completes with the call's last command, for an empty tensor too; the
     * caller releases it. Asking for one flushes the queue. NULL when not wanted. Not written when
     * the call fails. Where the work is enqueued but the driver gives no event for it, any call
     * returns TENON_ERROR_INCOMPLETE. */
    cl_event *event;
} tenon_sync;

/** Makes a stream.
 *  @param queue  a queue of the context's OpenCL context and device, in order or out of order,
 * which is retained; NULL makes a new one, in order
 *  @param out    receives the stream, which the caller gives back with tenon_stream_destroy; NULL
 *                on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a queue of another context or device) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_create(tenon_context *context, cl_command_queue queue,
                                            tenon_stream **out);

/** Frees a stream. Work already enqueued goes on. The stream must not be used any more, by any
 * call: nothing is left that could tell, and what such a call does is undefined. NULL is allowed.
 */
TENON_API void tenon_stream_destroy(tenon_stream *stream);

/** The OpenCL queue; the caller does not own a reference. NULL for NULL. */
TENON_API cl_command_queue tenon_stream_cl(const tenon_stream *stream);
/** The stream's context; the caller does not own a reference. NULL for NULL. */
TENON_API tenon_context *tenon_stream_context(const tenon_stream *stream);

/** Sends what is enqueued to the device.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_ASYNCHRONOUS ·
 *          TENON_ERROR_DEVICE_LOST · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_flush(tenon_stream *stream);

/** Waits until all that is enqueued is done; statuses as tenon_stream_flush. A device that was
 * lost, and work that failed, meanwhile is reported here. */
TENON_CALL tenon_status tenon_stream_finish(tenon_stream *stream);

/** Allocates workspace in advance, so that no later run of a plan that needs up to `bytes`
 * allocates.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_WORKSPACE_TOO_SMALL (above the
 *          stream's limit) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_reserve_workspace(tenon_stream *stream, uint64_t bytes);

/** Replaces the stream's workspace by the caller's memory, which stays the caller's and must
 * outlive the work that uses it. The stream's limit becomes `bytes`. Memory NULL goes back to the
 * stream's own workspace.
 *  @param memory  a buffer or shared virtual memory of the stream's OpenCL context
 *  @param offset  bytes, a multiple of 128
 *  @param bytes   how much of it may be used from there
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_stream_set_workspace(tenon_stream *stream,
                                                   const struct tenon_memory *memory,
                                                   uint64_t offset, uint64_t bytes);

/** One kernel launch, as the trace callback sees it. Pointers are valid during the call only. */
typedef struct tenon_trace_record {
    uint32_t struct_size; /**< sizeof(tenon_trace_record) as the library has it */
    uint32_t dimensions;  /**< 0 for a routine of another library, which launches what it will */
    const char *solver; /**< by the grammar of solver names, with the operation before the slash */
    const char *kernel; /**< the kernel function */
    size_t global[3];   /**< work-items in each dimension */
    size_t local[3];    /**< zeros where the driver chooses */
    cl_event event;     /**< of this launch; retain it to keep it */
} tenon_trace_record;

/** Is called after each kernel launch of a stream, on the thread of the call, with no lock held. It
 * must not make calls on the same stream. */
typedef void (*tenon_trace_callback)(void *user, const tenon_trace_record *record);

/** Sets the trace callback; NULL ends tracing.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT */
TENON_CALL tenon_status tenon_stream_set_trace(tenon_stream *stream, tenon_trace_callback callback,
                                               void *user);

#ifdef __cplusplus
}
#endif

#endif

/** @file
 * A context: one device, what is known of it, and the programs and plans made for it. */
#ifndef TENON_CONTEXT_H
#define TENON_CONTEXT_H

#include <tenon/device.h>
#include <tenon/store.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque and reference counted. Every function that takes one may be called from any thread. */
typedef struct tenon_context tenon_context;

/** The workspace limit that stands for the smaller of 256 MiB and an eighth of the device's global
 * memory. */
#define TENON_WORKSPACE_DEFAULT UINT64_MAX

/** What takes its time at a first use. */
typedef enum tenon_progress_stage {
    TENON_PROGRESS_BUILD, /**< the driver compiles a kernel */
    TENON_PROGRESS_TRIAL, /**< a capability is tried */
    TENON_PROGRESS_CHECK  /**< a kernel variant is compared with its reference; this builds kernels
                             too */
} tenon_progress_stage;

/** A step of it, told when it begins and when it has ended. */
typedef struct tenon_progress {
    uint32_t struct_size; /**< sizeof(tenon_progress) as the library has it */
    uint32_t stage;       /**< a tenon_progress_stage */
    uint32_t is_done;     /**< 0: it begins; 1: it has ended */
    uint32_t reserved;    /**< 0 */
    const char *name;    /**< of the kernel, the capability or the solver; valid in the call only */
    double milliseconds; /**< that it took; 0 where it begins */
} tenon_progress;

/** Called on the thread that needs it, which waits, or on one that builds for it beside others: it
 * must be short, may be called by several at once, and must not call the library. */
typedef void (*tenon_progress_callback)(void *user, const tenon_progress *progress);

/** Work that has failed. Pointers are valid during the call only. */
typedef struct tenon_failure {
    uint32_t struct_size;  /**< sizeof(tenon_failure) as the library has it */
    uint32_t status;       /**< the tenon_status that the stream's next call returns; of what the
                              driver reports of its context, which no call need return,
                              TENON_ERROR_OPENCL */
    cl_int cl_error;       /**< what the event has as its status; 0 in a driver's report */
    uint32_t reserved;     /**< 0 */
    const char *operation; /**< "tenon_gemm"; NULL in a driver's report */
    const char *solver;    /**< "gemm/tiled"; "" for what is no kernel; NULL in a driver's report */
    const char *message;   /**< the same as a sentence, or what the driver says */
} tenon_failure;

/** Is told of work that failed on the device after the call that enqueued it had returned, and of
 * what the driver reports of a context that the library has made. Called on a thread of the
 * driver's, or where the driver tells nothing by the stream's next call on the thread of that, and
 * by several at once: it must be short, and must call neither the library nor OpenCL. */
typedef void (*tenon_failure_callback)(void *user, const tenon_failure *failure);

/** What part measurements have in choosing solvers. An outcome that is stored stands until `tenon
 * tune` replaces it, so that equal calls have equal bits, in later processes too. */
typedef enum tenon_measurements {
    /** Stored measurements are used: those of the call, else those that `tenon tune` has made of a
     * call that differs a little in its sizes alone. On a CPU, where there is a store, estimates go
     * by the speed of the processor, which is measured at the first choice and stored. TENON_TUNE=1
     * in the environment: TENON_MEASUREMENTS_MADE, TENON_TUNE=0: TENON_MEASUREMENTS_NONE. */
    TENON_MEASUREMENTS_USUAL = 0,
    TENON_MEASUREMENTS_NONE, /**< estimates alone, which are the same on equal devices */
    /** Where a plan is made of a problem that was not measured, the solvers that should be the
     * fastest, up to three whose estimates are within 1.5 of each other, are timed in the
     * validation context, and the outcome is stored. That takes some milliseconds a plan, and as
     * much memory as the operands. */
    TENON_MEASUREMENTS_MADE
} tenon_measurements;

/** Where a context's buffers come from in place of clCreateBuffer: what tenon_memory_create,
 * tenon_tensor_create and packing make, and the workspace of streams. Both functions may be called
 * by any thread that uses the context, or that gives memory back, and by several at once; no lock
 * is held. They must not call the library with the context. Start from TENON_ALLOCATOR_INIT. */
typedef struct tenon_allocator {
    uint32_t struct_size; /**< sizeof(tenon_allocator) */
    uint32_t reserved;    /**< 0 */
    void *user;           /**< the first argument of both; must last as long as the context and all
                             memory that was made in it */
    /** Gives a buffer of `cl` of at least `bytes` bytes (never 0) that kernels may read and write,
     * whose bytes may be anything; a sub-buffer is one as well. NULL where there is none: the call
     * that needs it fails with TENON_ERROR_OUT_OF_MEMORY. What does not fit is refused
     * (TENON_ERROR_INVALID_ARGUMENT) and goes back to `destroy`. */
    cl_mem (*create)(void *user, cl_context cl, uint64_t bytes);
    /** Takes back a buffer that `create` gave; called once for each. Work that was enqueued in the
     * context's streams may still be using it: it may be used again after these events, which are
     * valid during the call (clRetainEvent keeps one); clReleaseMemObject is right at once. */
    void (*destroy)(void *user, cl_mem buffer, uint32_t event_count, const cl_event *events);
} tenon_allocator;

/** Initialises a tenon_allocator: set both functions. */
#define TENON_ALLOCATOR_INIT                                                                       \
    {                                                                                              \
        sizeof(tenon_allocator), 0, NULL, NULL, NULL                                               \
    }

/** The pool's limit that stands for the smaller of 1 GiB and an eighth of the device's global
 * memory. */
#define TENON_POOL_DEFAULT UINT64_MAX

/** How a context is made. Start from TENON_CONTEXT_PARAMS_INIT. */
typedef struct tenon_context_params {
    uint32_t struct_size; /**< sizeof(tenon_context_params) */
    uint32_t log_level;   /**< messages above this tenon_log_level are not sent; 0 means
                             TENON_LOG_WARNING */
    const char *device;   /**< as tenon_device_select takes it; not used by tenon_context_import */
    /** The most bytes of device memory that a stream may use for workspace; 0 is allowed: every
     * operation has a solver that needs none. */
    uint64_t workspace_limit;
    tenon_log_callback log; /**< or NULL */
    void *log_user;         /**< handed to log */
    uint32_t profiling;     /**< 1: queues that the library creates record times
                               (CL_QUEUE_PROFILING_ENABLE) */
    uint32_t measurements;  /**< a tenon_measurements */
    uint32_t unchecked;     /**< 1: kernels are used without a self-check before their first use */
    uint32_t reserved;      /**< 0 */
    tenon_store store; /**< what is kept between processes, and where; zeroed: the usual folder */
    tenon_progress_callback progress; /**< or NULL */
    void *progress_user;              /**< handed to progress */
    /** The most bytes of device memory that has been given back (tenon_memory_destroy,
     * tenon_tensor_destroy) and is kept to be handed out again; 0: none is kept;
     * TENON_POOL_DEFAULT.
     *
     * With a limit, what is enqueued in the context's streams still has the memory that it uses:
     * none is handed out before that is done. Work on queues that are no stream of the context is
     * not known to Tenon, so that it must have finished before the memory that it uses is given
     * back; nor may the application go on using a cl_mem that it has retained, or cut a sub-buffer
     * from. That is why 0 is the default. Sizes are rounded up by up to an eighth, at least to 1
     * KiB, so that a buffer may be larger than what was asked for. */
    uint64_t pool_limit;
    /** NULL: clCreateBuffer. Read during the call only; pool_limit must be 0 with it. */
    const tenon_allocator *allocator;
    /** With it every command of the context's streams has an OpenCL event, which is followed; NULL:
     * no event is made for that, and failures show in those that there are (tenon/stream.h). A call
     * without memory to follow a command does not enqueue it and returns TENON_ERROR_OUT_OF_MEMORY,
     * or TENON_ERROR_INCOMPLETE where it has enqueued others before; one whose command the driver
     * gives no reference to the event of returns TENON_ERROR_INCOMPLETE. */
    tenon_failure_callback failure;
    void *failure_user; /**< must last as long as the context and its streams; nothing is told of
                           after that */
} tenon_context_params;

/** The defaults of tenon_context_params, without braces. */
#define TENON_CONTEXT_PARAMS_DEFAULTS                                                              \
    sizeof(tenon_context_params), 0, NULL, TENON_WORKSPACE_DEFAULT, NULL, NULL, 0, 0, 0, 0,        \
        {0, 0, NULL, 0, NULL, NULL, NULL}, NULL, NULL, 0, NULL, NULL, NULL
/** Initialises a tenon_context_params with the defaults. */
#define TENON_CONTEXT_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_CONTEXT_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_context_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_context_params(...)                                                                  \
    TENON_LITERAL(tenon_context_params, TENON_CONTEXT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_context_params) */
TENON_API void tenon_context_params_default(tenon_context_params *params, uint32_t size);

/** Makes a context on a device, with an OpenCL context of its own.
 *  @param params  NULL means the defaults; read during the call only
 *  @param out     receives the context, with one reference that the caller owns; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_NO_OPENCL (there is no loader) ·
 *          TENON_ERROR_DEVICE_NOT_FOUND · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_DEVICE_LOST. Where what Tenon needs to know of the device cannot be read,
 *          the message names the query */
TENON_CALL tenon_status tenon_context_create(const tenon_context_params *params,
                                             tenon_context **out);

/** Makes a context on the application's own OpenCL context, which is retained.
 *  @param cl      an OpenCL context that `device` belongs to
 *  @param device  a device of it
 *  @return as tenon_context_create; TENON_ERROR_INVALID_ARGUMENT too where the device is not of the
 *          context */
TENON_CALL tenon_status tenon_context_import(cl_context cl, cl_device_id device,
                                             const tenon_context_params *params,
                                             tenon_context **out);

/** Adds a reference. NULL is allowed and does nothing. */
TENON_API void tenon_context_retain(tenon_context *context);

/** Drops a reference; the last one frees the context. Streams and plans hold references of their
 * own, so the order in which they are released does not matter. The caller's pointer must not be
 * used any more. NULL is allowed. */
TENON_API void tenon_context_release(tenon_context *context);

/** Gives what the context's pool keeps back to OpenCL, except for so many bytes. Nothing waits:
 * work that is enqueued keeps what it needs. Also done where the device is short of memory.
 *  @param bytes  0: all of it
 *  @return TENON_OK, also where there is no pool · TENON_ERROR_INVALID_ARGUMENT (NULL) */
TENON_CALL tenon_status tenon_context_trim(tenon_context *context, uint64_t bytes);

/** The OpenCL context; the caller does not own a reference. NULL for NULL. */
TENON_API cl_context tenon_context_cl(const tenon_context *context);

/** The device.
 *  @param info  its struct_size must be set; receives the rest
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL pointer, a struct_size that cannot be)
 */
TENON_CALL tenon_status tenon_context_device(const tenon_context *context, tenon_device_info *info);

/** Whether the device has a capability, and the reason. Runs the trial at the first request
 * (milliseconds to a second).
 *  @param available    receives 1 or 0
 *  @param reason       receives what the trial found, cut to `reason_size` bytes and terminated;
 *                      may be NULL with size 0
 *  @return TENON_OK, also where the capability is absent · TENON_ERROR_INVALID_ARGUMENT ·
 *          TENON_ERROR_OUT_OF_MEMORY, TENON_ERROR_OPENCL or TENON_ERROR_DEVICE_LOST (the trial
 *          could not be made: nothing is known, and the next request tries again) */
TENON_CALL tenon_status tenon_context_capability(tenon_context *context,
                                                 tenon_capability capability, uint32_t *available,
                                                 char *reason, size_t reason_size);

#ifdef __cplusplus
}
#endif

#endif

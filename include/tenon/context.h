/** @file
 * A context: one device, its capabilities, and the programs and plans built for it.
 */
#ifndef TENON_CONTEXT_H
#define TENON_CONTEXT_H

#include <tenon/device.h>
#include <tenon/store.h>

TENON_BEGIN_C

/** Opaque and reference-counted. Every function that takes a context may be called from any thread.
 */
typedef struct tenon_context tenon_context;

/** Workspace limit: the smaller of 256 MiB and an eighth of the device's global memory. */
#define TENON_WORKSPACE_DEFAULT UINT64_MAX

/** The slow steps of a first use. */
typedef enum tenon_progress_stage {
    TENON_PROGRESS_BUILD, /**< the driver compiles a kernel */
    TENON_PROGRESS_TRIAL, /**< a capability is probed */
    TENON_PROGRESS_CHECK  /**< a kernel variant is compared with its reference; this includes
                             building its kernels */
} tenon_progress_stage;

/** A progress report, sent when a step begins and when it ends. */
typedef struct tenon_progress {
    uint32_t struct_size; /**< sizeof(tenon_progress) in the library */
    uint32_t stage;       /**< a tenon_progress_stage */
    uint32_t is_done;     /**< 0: the step begins; 1: it has ended */
    uint32_t reserved;    /**< 0 */
    const char *name;     /**< of the kernel, capability or solver; valid only during the call */
    double milliseconds;  /**< duration of the step; 0 when it begins */
} tenon_progress;

/** Called on the thread that waits for the step, or on a worker thread that builds for it. The
 * callback must be short and must not call the library. It may be called by several threads at
 * once. */
typedef void (*tenon_progress_callback)(void *user, const tenon_progress *progress);

/** A failure of enqueued work. Pointers are valid only during the call. */
typedef struct tenon_failure {
    uint32_t struct_size; /**< sizeof(tenon_failure) in the library */
    uint32_t status;   /**< the tenon_status that the stream's next call returns. For an error that
                          the driver reports for its context, and that no later call may return:
                          TENON_ERROR_OPENCL */
    cl_int cl_error;   /**< execution status of the event; 0 in a driver's report */
    uint32_t reserved; /**< 0 */
    const char *operation; /**< for example "tenon_gemm"; NULL in a driver's report */
    const char *solver;  /**< for example "gemm/tiled"; "" if the command is not a kernel; NULL in a
                            driver's report */
    const char *message; /**< the failure as a sentence, or the driver's message */
} tenon_failure;

/** Called when work fails on the device after the call that enqueued it has returned, and when the
 * driver reports an error of a context created by the library. Called on a thread of the driver or,
 * if the driver does not report failures, by the stream's next call on that call's thread. Several
 * threads may call it at once. It must be short and must call neither the library nor OpenCL. */
typedef void (*tenon_failure_callback)(void *user, const tenon_failure *failure);

/** How measurements are used to choose solvers. A stored measurement is only replaced by `tenon
 * tune`, so equal calls give the same bits in later processes too. */
typedef enum tenon_measurements {
    /** Stored measurements are used: those of the same call, otherwise those that `tenon tune` made
     * for a call that differs slightly, in its sizes only. On a CPU with a store, estimates also
     * use the speed of the processor, which is measured at the first choice and stored.
     * TENON_TUNE=1 in the environment selects TENON_MEASUREMENTS_MADE, TENON_TUNE=0 selects
     * TENON_MEASUREMENTS_NONE. */
    TENON_MEASUREMENTS_USUAL = 0,
    TENON_MEASUREMENTS_NONE, /**< estimates only, which are the same on equal devices */
    /** When a plan is made for a problem without measurements, the solvers with the best estimates
     * (up to three, within a factor of 1.5 of each other) are timed in the validation context, and
     * the result is stored. This takes a few milliseconds per plan and as much memory as the
     * operands. */
    TENON_MEASUREMENTS_MADE
} tenon_measurements;

/** A custom allocator for the context's buffers, used instead of clCreateBuffer: by
 * tenon_memory_create, tenon_tensor_create, packing, and the workspace of streams. Both functions
 * may be called from any thread that uses the context or frees its memory, by several at once, with
 * no lock held. They must not call the library with this context. Start from TENON_ALLOCATOR_INIT.
 */
typedef struct tenon_allocator {
    uint32_t struct_size; /**< sizeof(tenon_allocator) */
    uint32_t reserved;    /**< 0 */
    void *user; /**< first argument of both functions; must outlive the context and all memory made
                   in it */
    /** Returns a buffer of `cl` with at least `bytes` bytes (never 0) that kernels may read and
     * write. Its contents may be anything, and it may be a sub-buffer. NULL: no memory; the call
     * that needs it fails with TENON_ERROR_OUT_OF_MEMORY. An unsuitable buffer is rejected
     * (TENON_ERROR_INVALID_ARGUMENT) and passed to `destroy`. */
    cl_mem (*create)(void *user, cl_context cl, uint64_t bytes);
    /** Takes back a buffer returned by `create`; called once for each. Work enqueued in the
     * context's streams may still use the buffer: reuse it only after these events have completed.
     * The events are valid during the call (clRetainEvent keeps one). clReleaseMemObject may be
     * called immediately. */
    void (*destroy)(void *user, cl_mem buffer, uint32_t event_count, const cl_event *events);
} tenon_allocator;

/** Initializes a tenon_allocator: set both functions. */
#define TENON_ALLOCATOR_INIT                                                                       \
    {                                                                                              \
        sizeof(tenon_allocator), 0, NULL, NULL, NULL                                               \
    }

/** Pool limit: the smaller of 1 GiB and an eighth of the device's global memory. */
#define TENON_POOL_DEFAULT UINT64_MAX

/** A flag of tenon_context_params, for debugging: reports the call that turns finite numbers into
 * NaN or infinity. Each immediate call and each run of a plan waits for its inputs, and then for
 * its outputs. If all inputs of types f64, f32, f16 and bf16 are finite and an output is not, one
 * line with the operation, the output, the index of its first such element (in row-major order) and
 * the solver is sent to the log as a TENON_LOG_WARNING. The call returns TENON_OK all the same,
 * because infinity may be the intended result. Later calls that only pass on the NaN are not
 * reported. A run of a sequence is not checked, since its steps share memory; run its plans
 * instead. The environment variable TENON_CHECK_NUMERICS=1 does the same for every context, and
 * also prints the line to standard error. */
#define TENON_CONTEXT_CHECK_NUMERICS 1u

/** Parameters of a context. Start from TENON_CONTEXT_PARAMS_INIT. */
typedef struct tenon_context_params {
    uint32_t struct_size; /**< sizeof(tenon_context_params) */
    uint32_t
        log_level; /**< the least severe tenon_log_level that is sent; 0 means TENON_LOG_WARNING */
    const char
        *device; /**< selector, as for tenon_device_select; ignored by tenon_context_import */
    /** The largest workspace of a stream, in bytes of device memory. 0 is allowed: every operation
     * has a solver that needs no workspace. */
    uint64_t workspace_limit;
    tenon_log_callback log; /**< may be NULL */
    void *log_user;         /**< passed to log */
    uint32_t
        profiling; /**< 1: queues created by the library record times (CL_QUEUE_PROFILING_ENABLE) */
    uint32_t measurements; /**< a tenon_measurements */
    uint32_t unchecked;    /**< 1: kernels are used without a self-check before their first use */
    uint32_t reserved;     /**< 0 */
    tenon_store store;     /**< the persistent cache and its location; zeros: the default folder */
    tenon_progress_callback progress; /**< may be NULL */
    void *progress_user;              /**< passed to progress */
    /** The most bytes of freed device memory (tenon_memory_destroy, tenon_tensor_destroy) that are
     * kept for reuse. 0: none; TENON_POOL_DEFAULT: the default limit.
     *
     * Memory is reused only after the work enqueued on the context's streams that uses it has
     * completed. Tenon does not know about work on other queues: that work must have completed
     * before the memory it uses is freed. The application must also stop using any cl_mem of freed
     * memory that it has retained or made a sub-buffer of. This is why 0 is the default. Sizes are
     * rounded up by up to an eighth, to at least 1 KiB, so a buffer may be larger than requested.
     */
    uint64_t pool_limit;
    /** NULL: clCreateBuffer. Read only during the call. With an allocator, pool_limit must be 0. */
    const tenon_allocator *allocator;
    /** Called when enqueued work fails. With a callback, every command of the context's streams has
     * an OpenCL event whose completion is tracked. NULL: no events are added, and failures are
     * found only through events that exist anyway (tenon/stream.h). A call that cannot allocate the
     * tracking of a command does not enqueue the command and returns TENON_ERROR_OUT_OF_MEMORY, or
     * TENON_ERROR_INCOMPLETE if it has already enqueued others. A call whose command has an event
     * that the driver fails to retain returns TENON_ERROR_INCOMPLETE. */
    tenon_failure_callback failure;
    void *failure_user; /**< passed to failure; must outlive the context and its streams, after
                           which there are no more calls */
    uint64_t flags;     /**< 0 or TENON_CONTEXT_CHECK_NUMERICS */
} tenon_context_params;

/** The defaults of tenon_context_params, without braces. */
#define TENON_CONTEXT_PARAMS_DEFAULTS                                                              \
    sizeof(tenon_context_params), 0, NULL, TENON_WORKSPACE_DEFAULT, NULL, NULL, 0, 0, 0, 0,        \
        {0, 0, NULL, 0, NULL, NULL, NULL}, NULL, NULL, 0, NULL, NULL, NULL, 0
/** Initializes a tenon_context_params with the defaults. */
#define TENON_CONTEXT_PARAMS_INIT                                                                  \
    {                                                                                              \
        TENON_CONTEXT_PARAMS_DEFAULTS                                                              \
    }
#ifndef __cplusplus
/** A const tenon_context_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_context_params(...)                                                                  \
    TENON_LITERAL(tenon_context_params, TENON_CONTEXT_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_context_params) */
TENON_API void tenon_context_params_default(tenon_context_params *params, uint32_t size);

/** Creates a context on a device, with an OpenCL context of its own.
 *  @param params  NULL means the defaults; read only during the call
 *  @param out     receives the context, with one reference owned by the caller; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_NO_OPENCL (no loader) ·
 *          TENON_ERROR_DEVICE_NOT_FOUND · TENON_ERROR_UNSUPPORTED_DEVICE (a part of a device that
 *          the driver cannot divide) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_DEVICE_LOST. If a required property of the device cannot be queried, the
 *          message names the query */
TENON_CALL tenon_status tenon_context_create(const tenon_context_params *params,
                                             tenon_context **out);

/** Creates a context on the application's own OpenCL context, which is retained.
 *  @param cl      an OpenCL context that contains `device`
 *  @param device  a device of that context
 *  @return as tenon_context_create; also TENON_ERROR_INVALID_ARGUMENT if the device is not in the
 *          context */
TENON_CALL tenon_status tenon_context_import(cl_context cl, cl_device_id device,
                                             const tenon_context_params *params,
                                             tenon_context **out);

/** Adds a reference. Does nothing for NULL. */
TENON_API void tenon_context_retain(tenon_context *context);

/** Drops a reference; the last one frees the context. Streams and plans hold references of their
 * own, so they may be released in any order. The caller must not use its pointer afterwards. NULL
 * is allowed. */
TENON_API void tenon_context_release(tenon_context *context);

/** Frees memory kept in the context's pool, except for `bytes` bytes. Does not wait: enqueued work
 * keeps the memory it uses. The library also does this when the device runs out of memory.
 *  @param bytes  how much to keep; 0 frees everything
 *  @return TENON_OK, also without a pool · TENON_ERROR_INVALID_ARGUMENT (NULL) */
TENON_CALL tenon_status tenon_context_trim(tenon_context *context, uint64_t bytes);

/** Returns the OpenCL context. The caller does not own a reference. NULL for NULL. */
TENON_API cl_context tenon_context_cl(const tenon_context *context);

/** Describes the device of a context.
 *  @param info  its struct_size must be set; receives the description
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (a NULL pointer or an invalid struct_size) */
TENON_CALL tenon_status tenon_context_device(const tenon_context *context, tenon_device_info *info);

/** Tells if the device has a capability, and why. The first request runs the probe (milliseconds to
 * a second).
 *  @param available  receives 1 or 0
 *  @param reason     receives the result of the probe, truncated to `reason_size` bytes and
 *                    null-terminated; may be NULL with size 0
 *  @return TENON_OK, also if the capability is absent · TENON_ERROR_INVALID_ARGUMENT ·
 *          TENON_ERROR_OUT_OF_MEMORY, TENON_ERROR_OPENCL or TENON_ERROR_DEVICE_LOST (the probe
 *          could not run: nothing is known, and the next request tries again) */
TENON_CALL tenon_status tenon_context_capability(tenon_context *context,
                                                 tenon_capability capability, uint32_t *available,
                                                 char *reason, size_t reason_size);

TENON_END_C

#endif

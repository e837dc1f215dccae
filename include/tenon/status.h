/** @file
 * Statuses, the message of the last failure, and the log.
 *
 * Rules for every function of the library:
 *  - A function that can fail returns a tenon_status. A call that fails validation does not modify
 *    its outputs.
 *  - The library prints nothing unless TENON_VERBOSE=1 is set in the environment. The reason for a
 *    failure is kept per thread (tenon_last_error). Information for developers is sent to the log
 *    callback of the context.
 *  - The library never exits or aborts the process, never changes the environment and installs no
 *    signal handler unless the application asks for it (tenon_termination_watch).
 */
#ifndef TENON_STATUS_H
#define TENON_STATUS_H

#include <tenon/export.h>

TENON_BEGIN_C

/** The result of a call. The values are part of the ABI and never change their meaning. */
typedef enum tenon_status {
    TENON_OK = 0, /**< success: done, or enqueued */
    /** An argument is invalid on every device: NULL, rank, shape, stride, size, overlap, unknown
     * struct_size. */
    TENON_ERROR_INVALID_ARGUMENT = 1,
    /** The arguments are valid, but this combination (of types, layouts, a forced solver) is not
     * implemented. */
    TENON_ERROR_UNSUPPORTED = 2,
    /** The device lacks a required feature, for example f64 arithmetic. */
    TENON_ERROR_UNSUPPORTED_DEVICE = 3,
    /** No device matches the selector. The message lists the available devices, or says that no
     * driver is installed and which ones could be. */
    TENON_ERROR_DEVICE_NOT_FOUND = 4,
    /** Host or device memory is exhausted, or a buffer exceeds the device's largest allocation. */
    TENON_ERROR_OUT_OF_MEMORY = 5,
    /** The workspace given by the caller is smaller than the plan requires. */
    TENON_ERROR_WORKSPACE_TOO_SMALL = 6,
    /** The driver failed to compile or link a kernel. The message ends with the build log. A driver
     * that runs out of memory gives TENON_ERROR_OUT_OF_MEMORY instead. */
    TENON_ERROR_BUILD_FAILED = 7,
    /** No solver can be used: each one that supports the call gave wrong results on this device and
     * driver in its self-check, or cannot be checked. Or the solver named by the call is barred, or
     * is not retried yet because a process died during its self-check. The message says which. */
    TENON_ERROR_SOLVER_BARRED = 8,
    /** An OpenCL call failed; tenon_last_cl_error() returns its code. */
    TENON_ERROR_OPENCL = 9,
    /** The device is lost or hangs. The context cannot be used any more. */
    TENON_ERROR_DEVICE_LOST = 10,
    /** The call failed after it had enqueued part of its work. The contents of its outputs are
     * undefined. tenon_last_cl_error() returns the code of the failed OpenCL call, if one failed.
     */
    TENON_ERROR_INCOMPLETE = 11,
    /** No OpenCL loader: libOpenCL.so.1 is not installed or cannot be used. The message has the
     * reason and what to install. Returned only by calls that may be the first to use OpenCL in a
     * process (tenon_device_list, tenon_device_select, tenon_context_create, tenon_context_import),
     * and never if the library was built with -Dopencl=link. A loader without drivers does not give
     * this status: it has no devices. */
    TENON_ERROR_NO_OPENCL = 12,
    /** Work of an earlier call on the stream failed on the device. The message names that call; its
     * outputs, and results computed from them, are undefined. The call that returns this status has
     * done nothing (tenon_stream_finish has waited). Each failure is reported once; later calls
     * proceed. */
    TENON_ERROR_ASYNCHRONOUS = 13,
    /** This process must not use the driver: it was forked after Tenon's first use, or its exit
     * handlers are running. Every call that would use the driver returns this immediately;
     * functions that release an object do nothing. */
    TENON_ERROR_PROCESS = 14,
    /** A process of a group has ended or cannot be reached (tenon/group.h). The message has the
     * rank and the call. Every later call on the group fails until tenon_group_shrink. */
    TENON_ERROR_PEER_LOST = 15,
    /** A collective of a group did not end within its deadline. The message has the rank that was
     * waited for, and the call. Later calls on the group fail, as after TENON_ERROR_PEER_LOST. */
    TENON_ERROR_TIMEOUT = 16,
    /** The processes of a group made different calls: another function, type, shape, root or kind.
     * The message has the rank, the call and both values. Nothing was moved. */
    TENON_ERROR_MISMATCH = 17,
    /** A file cannot be read or written, is damaged, or has other contents than expected. The
     * message names the file, the place or the tensor, and the values. */
    TENON_ERROR_FILE = 18
} tenon_status;

/** Returns the name of a status, for example "TENON_OK", or "unknown status" for an unknown value.
 * Never NULL. The string is static. Callable from any thread. */
TENON_API const char *tenon_status_string(tenon_status status);

/** Returns the message of the last call that failed on the calling thread. It names the operation,
 * the argument and its value. The string belongs to the library, is overwritten by the next failure
 * on the same thread, and has at most 16 KiB (a longer build log is cut in the middle). "" before
 * the first failure. Successful calls leave it unchanged, even if a step failed inside them. */
TENON_API const char *tenon_last_error(void);

/** Returns the OpenCL error code of the last failure on the calling thread, or CL_SUCCESS if no
 * OpenCL call failed. Successful calls leave it unchanged. */
TENON_API cl_int tenon_last_cl_error(void);

/** The severity of a log message; lower values are more severe. */
typedef enum tenon_log_level {
    TENON_LOG_ERROR = 1,   /**< a kernel cannot be built or checked */
    TENON_LOG_WARNING = 2, /**< a kernel is barred, or the store cannot be used */
    TENON_LOG_INFO = 3,    /**< a kernel was built, loaded, checked or measured; with
                                TENON_VERBOSE=1, also that another layout is much faster */
    TENON_LOG_DEBUG = 4    /**< a plan was made */
} tenon_log_level;

/** Receives a log message of one or more lines without a final newline. The string is valid only
 * during the call. Called on the thread on which the event occurred, with no lock held, so the
 * callback may call the library. */
typedef void (*tenon_log_callback)(void *user, tenon_log_level level, const char *message);

TENON_END_C

#endif

/** @file
 * Statuses, the message that goes with the last failure, and the log.
 *
 * Rules that hold for every function of the library:
 *  - A function that can fail returns a tenon_status. A call that is refused leaves its outputs as
 * they were.
 *  - Nothing is ever printed, unless TENON_VERBOSE=1 in the environment asks for it. The reason of
 * a failure is kept for the calling thread (tenon_last_error), and what may interest a developer
 * goes to the log callback of the context.
 *  - The library never exits or aborts the process, never changes the environment and installs no
 * signal handler.
 */
#ifndef TENON_STATUS_H
#define TENON_STATUS_H

#include <tenon/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/** What came of a call. Values are part of the ABI and never change their meaning. */
typedef enum tenon_status {
    TENON_OK = 0, /**< done, or enqueued */
    /** An argument is wrong whatever the device: NULL, rank, shape, stride, size, overlap, unknown
       struct_size. */
    TENON_ERROR_INVALID_ARGUMENT = 1,
    /** The arguments are sound, but this combination (of types, layouts, a forced solver) is not
       implemented. */
    TENON_ERROR_UNSUPPORTED = 2,
    /** The device lacks what the call needs, f64 arithmetic for example. */
    TENON_ERROR_UNSUPPORTED_DEVICE = 3,
    /** No device matches the selector; the message lists those there are, or says that no driver is
       installed and which could be. */
    TENON_ERROR_DEVICE_NOT_FOUND = 4,
    /** Host or device memory is exhausted, or a buffer would be larger than the device allows. */
    TENON_ERROR_OUT_OF_MEMORY = 5,
    /** The workspace that the caller gave is smaller than the plan needs. */
    TENON_ERROR_WORKSPACE_TOO_SMALL = 6,
    /** The driver refused to compile or link a kernel; the message ends with its build log. A
       driver that is short of memory gives TENON_ERROR_OUT_OF_MEMORY. */
    TENON_ERROR_BUILD_FAILED = 7,
    /** Every solver that could serve was found to give wrong results on this device and driver, or
       cannot be checked; or the solver that the call names was, or is not tried for some time since
       a process ended while it was checked. The message says which. */
    TENON_ERROR_SOLVER_BARRED = 8,
    /** An OpenCL call failed; tenon_last_cl_error() has its code. */
    TENON_ERROR_OPENCL = 9,
    /** The device is gone or hung; nothing more will come from this context. */
    TENON_ERROR_DEVICE_LOST = 10,
    /** The call failed after part of its work was enqueued: the contents of its output are
       undefined. tenon_last_cl_error() has the code of the OpenCL call that failed, if one did. */
    TENON_ERROR_INCOMPLETE = 11,
    /** There is no OpenCL here: its loader (libOpenCL.so.1) is not installed or cannot be used; the
       message has the reason, and what to install. Only calls that may be a process's first of
       OpenCL return it (tenon_device_list, tenon_device_select, tenon_context_create,
       tenon_context_import), and none where the library was built with -Dopencl=link. A loader
       without any driver is none of these: it has no devices. */
    TENON_ERROR_NO_OPENCL = 12,
    /** Work of an earlier call on the stream, which the message names, has failed on the device:
       its outputs, and what was made of them, are undefined. The call that returns this has done
       nothing (tenon_stream_finish has waited). Told once; calls after it go on. */
    TENON_ERROR_ASYNCHRONOUS = 13,
    /** This process must not use the driver: it was forked after Tenon's first use, or its exit
       handlers run. Every call that would use the driver returns it at once; functions that release
       something do nothing. */
    TENON_ERROR_PROCESS = 14
} tenon_status;

/** The name of a status, "TENON_OK" for example; "unknown status" for a value that is none. Never
 * NULL, static, callable from any thread. */
TENON_API const char *tenon_status_string(tenon_status status);

/** The message of the last call that failed on the calling thread: the operation, the argument and
 * its value. The string belongs to the library and is overwritten by the next failure on the same
 * thread; it holds at most 16 KiB (a longer build log loses its middle). "" before the first
 * failure. Calls that succeed leave it as it is, whatever failed within them. */
TENON_API const char *tenon_last_error(void);

/** The OpenCL error code behind the last failure on the calling thread, CL_SUCCESS when there was
 * none behind it. Calls that succeed leave it as it is. */
TENON_API cl_int tenon_last_cl_error(void);

/** How much a log message matters; the lower, the more. */
typedef enum tenon_log_level {
    TENON_LOG_ERROR = 1,   /**< a kernel cannot be built or checked */
    TENON_LOG_WARNING = 2, /**< a kernel is barred, or the store cannot be used */
    TENON_LOG_INFO = 3,    /**< a kernel was built, loaded, checked or measured */
    TENON_LOG_DEBUG = 4    /**< a plan was made */
} tenon_log_level;

/** Receives a log message: one line or several, without a final newline, valid during the call
 * only. Called from whichever thread the event happened on, with no lock held: it may call back
 * into the library. */
typedef void (*tenon_log_callback)(void *user, tenon_log_level level, const char *message);

#ifdef __cplusplus
}
#endif

#endif

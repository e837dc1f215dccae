/* OpenCL's error codes: their names, and the statuses they become. */
#ifndef TN_RUNTIME_OPENCL_CL_ERROR_H
#define TN_RUNTIME_OPENCL_CL_ERROR_H

#include "base/status.h"

/* "CL_INVALID_VALUE" for example; "unknown OpenCL error" for a code that is none. */
const char *tn_cl_error_string(cl_int error);

/* Whether the error says that the device is gone. */
bool tn_cl_loses_device(cl_int error);

/* Fails with the status that `error` means, and a message naming the operation and the OpenCL
 * function that gave it. */
tenon_status tn_fail_opencl(const char *caller, const char *function, cl_int error);

/* Whether the error of a build says that the driver does not take the program. It may as well be
 * short of something, and then take it the next time. */
bool tn_cl_refuses_program(cl_int error);

/* Whether the failure that the thread's message tells of would come again however often the call is
 * made: the device or its driver refuses what it is given. All others may be of the moment (memory
 * that is short, a call that failed), and nothing must be concluded from them. */
bool tn_failure_lasts(tenon_status status);

/* Leaves with a failure status unless the OpenCL call named gave CL_SUCCESS. */
#define TN_CL_TRY(caller, function, error)                                                         \
    do {                                                                                           \
        cl_int tn_cl_try_error = (error);                                                          \
        if (tn_cl_try_error != CL_SUCCESS)                                                         \
            return tn_fail_opencl(caller, function, tn_cl_try_error);                              \
    } while (0)

#endif

/* OpenCL error codes: their names, and the Tenon statuses that they map to. */
#ifndef TN_RUNTIME_OPENCL_CL_ERROR_H
#define TN_RUNTIME_OPENCL_CL_ERROR_H

#include "base/status.h"

/* Returns a name such as "CL_INVALID_VALUE", or "unknown OpenCL error" for an unknown code. */
const char *tn_cl_error_string(cl_int error);

/* Returns true if the error means that the device is lost. */
bool tn_cl_loses_device(cl_int error);

/* Fails with the status that `error` maps to and a message that names the operation and the OpenCL
 * function. */
tenon_status tn_fail_opencl(const char *caller, const char *function, cl_int error);

/* Returns true if a build error means that the driver rejects the program. Other errors may be a
 * temporary lack of resources. */
bool tn_cl_refuses_program(cl_int error);

/* Returns true if the failure described by the thread's message would recur with every attempt,
 * because the device or its driver rejects the input. Any other failure may be temporary (short of
 * memory, a failed call), and no conclusion may be drawn from it. */
bool tn_failure_lasts(tenon_status status);

/* Returns from the caller with a failure status unless the named OpenCL call returned CL_SUCCESS.
 */
#define TN_CL_TRY(caller, function, error)                                                         \
    do {                                                                                           \
        cl_int tn_cl_try_error = (error);                                                          \
        if (tn_cl_try_error != CL_SUCCESS)                                                         \
            return tn_fail_opencl(caller, function, tn_cl_try_error);                              \
    } while (0)

#endif

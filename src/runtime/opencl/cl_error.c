#include "runtime/opencl/cl_error.h"

typedef struct error_name {
    cl_int error;
    const char *name;
} error_name;

#define NAME(error)                                                                                \
    {                                                                                              \
        error, #error                                                                              \
    }
static const error_name names[] = {
    NAME(CL_SUCCESS),
    NAME(CL_DEVICE_NOT_FOUND),
    NAME(CL_DEVICE_NOT_AVAILABLE),
    NAME(CL_COMPILER_NOT_AVAILABLE),
    NAME(CL_MEM_OBJECT_ALLOCATION_FAILURE),
    NAME(CL_OUT_OF_RESOURCES),
    NAME(CL_OUT_OF_HOST_MEMORY),
    NAME(CL_PROFILING_INFO_NOT_AVAILABLE),
    NAME(CL_MEM_COPY_OVERLAP),
    NAME(CL_BUILD_PROGRAM_FAILURE),
    NAME(CL_MAP_FAILURE),
    NAME(CL_MISALIGNED_SUB_BUFFER_OFFSET),
    NAME(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
    NAME(CL_COMPILE_PROGRAM_FAILURE),
    NAME(CL_LINKER_NOT_AVAILABLE),
    NAME(CL_LINK_PROGRAM_FAILURE),
    NAME(CL_DEVICE_PARTITION_FAILED),
    NAME(CL_INVALID_VALUE),
    NAME(CL_INVALID_DEVICE_TYPE),
    NAME(CL_INVALID_PLATFORM),
    NAME(CL_INVALID_DEVICE),
    NAME(CL_INVALID_CONTEXT),
    NAME(CL_INVALID_QUEUE_PROPERTIES),
    NAME(CL_INVALID_COMMAND_QUEUE),
    NAME(CL_INVALID_HOST_PTR),
    NAME(CL_INVALID_MEM_OBJECT),
    NAME(CL_INVALID_BINARY),
    NAME(CL_INVALID_BUILD_OPTIONS),
    NAME(CL_INVALID_PROGRAM),
    NAME(CL_INVALID_PROGRAM_EXECUTABLE),
    NAME(CL_INVALID_KERNEL_NAME),
    NAME(CL_INVALID_KERNEL_DEFINITION),
    NAME(CL_INVALID_KERNEL),
    NAME(CL_INVALID_ARG_INDEX),
    NAME(CL_INVALID_ARG_VALUE),
    NAME(CL_INVALID_ARG_SIZE),
    NAME(CL_INVALID_KERNEL_ARGS),
    NAME(CL_INVALID_WORK_DIMENSION),
    NAME(CL_INVALID_WORK_GROUP_SIZE),
    NAME(CL_INVALID_WORK_ITEM_SIZE),
    NAME(CL_INVALID_GLOBAL_OFFSET),
    NAME(CL_INVALID_EVENT_WAIT_LIST),
    NAME(CL_INVALID_EVENT),
    NAME(CL_INVALID_OPERATION),
    NAME(CL_INVALID_BUFFER_SIZE),
    NAME(CL_INVALID_GLOBAL_WORK_SIZE),
    NAME(CL_INVALID_PROPERTY),
    NAME(CL_INVALID_DEVICE_PARTITION_COUNT),
    NAME(CL_INVALID_COMPILER_OPTIONS),
    NAME(CL_INVALID_LINKER_OPTIONS),
    {-1001, "CL_PLATFORM_NOT_FOUND_KHR"},
    {-9999, "NVIDIA: illegal access or a fault in a kernel"},
};

const char *tn_cl_error_string(cl_int error)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].error == error)
            return names[i].name;
    return "unknown OpenCL error";
}

bool tn_cl_loses_device(cl_int error)
{
    return error == CL_DEVICE_NOT_AVAILABLE || error == -9999;
}

static tenon_status status_of(cl_int error)
{
    if (tn_cl_loses_device(error))
        return TENON_ERROR_DEVICE_LOST;
    switch (error) {
    case CL_MEM_OBJECT_ALLOCATION_FAILURE:
    case CL_OUT_OF_RESOURCES:
    case CL_OUT_OF_HOST_MEMORY:
        return TENON_ERROR_OUT_OF_MEMORY;
    case CL_INVALID_EVENT_WAIT_LIST:
        return TENON_ERROR_INVALID_ARGUMENT;
    default:
        return TENON_ERROR_OPENCL;
    }
}

tenon_status tn_fail_opencl(const char *caller, const char *function, cl_int error)
{
    return tn_fail_cl(status_of(error), error, "%s: %s returned %s (%d)", caller, function,
                      tn_cl_error_string(error), error);
}

bool tn_cl_refuses_program(cl_int error)
{
    switch (error) {
    case CL_BUILD_PROGRAM_FAILURE:
    case CL_COMPILE_PROGRAM_FAILURE:
    case CL_LINK_PROGRAM_FAILURE:
    case CL_COMPILER_NOT_AVAILABLE:
    case CL_LINKER_NOT_AVAILABLE:
    case CL_INVALID_BUILD_OPTIONS:
    case CL_INVALID_COMPILER_OPTIONS:
    case CL_INVALID_LINKER_OPTIONS:
    case CL_INVALID_BINARY:
    case CL_INVALID_PROGRAM:
        return true;
    default:
        return false;
    }
}

/* Like tn_cl_refuses_program, for a kernel and its launch: some drivers compile only then. */
static bool refuses_kernel(cl_int error)
{
    switch (error) {
    case CL_INVALID_PROGRAM_EXECUTABLE:
    case CL_INVALID_KERNEL_NAME:
    case CL_INVALID_KERNEL_DEFINITION:
    case CL_INVALID_KERNEL_ARGS:
    case CL_INVALID_ARG_INDEX:
    case CL_INVALID_ARG_VALUE:
    case CL_INVALID_ARG_SIZE:
    case CL_INVALID_WORK_DIMENSION:
    case CL_INVALID_WORK_GROUP_SIZE:
    case CL_INVALID_WORK_ITEM_SIZE:
    case CL_INVALID_GLOBAL_WORK_SIZE:
        return true;
    default:
        return tn_cl_refuses_program(error);
    }
}

bool tn_failure_lasts(tenon_status status)
{
    switch (status) {
    case TENON_ERROR_INVALID_ARGUMENT:
    case TENON_ERROR_UNSUPPORTED:
    case TENON_ERROR_UNSUPPORTED_DEVICE:
    case TENON_ERROR_WORKSPACE_TOO_SMALL:
    case TENON_ERROR_BUILD_FAILED:
        return true;
    case TENON_ERROR_OPENCL:
    case TENON_ERROR_INCOMPLETE:
        return refuses_kernel(tenon_last_cl_error());
    default:
        return false;
    }
}

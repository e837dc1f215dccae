/* Platform and device information of the driver. PTX_DEVICE selects the device: "sm_80" or
 * "sm_90a". */
#include "driver.h"

#include <CL/cl_ext.h>

#include <stdlib.h>
#include <string.h>

struct _cl_platform_id {
    int nothing;
};
struct _cl_device_id {
    int nothing;
};

static struct _cl_platform_id the_platform;
static struct _cl_device_id the_device;

cl_int ptx_answer(const void *value, size_t length, size_t size, void *to, size_t *size_ret)
{
    if (size_ret != NULL)
        *size_ret = length;
    if (to == NULL)
        return CL_SUCCESS;
    if (size < length)
        return CL_INVALID_VALUE;
    memcpy(to, value, length);
    return CL_SUCCESS;
}

cl_int ptx_answer_text(const char *text, size_t size, void *to, size_t *size_ret)
{
    return ptx_answer(text, strlen(text) + 1, size, to, size_ret);
}

static uint64_t setting(const char *name, uint64_t usual)
{
    const char *text = getenv(name);
    return text != NULL ? strtoull(text, NULL, 0) : usual;
}

/* Returns the compute capability as in sm_80: 80. */
static cl_uint capability(void)
{
    const char *name = getenv("PTX_DEVICE");
    return name != NULL && strncmp(name, "sm_", 3) == 0 ? (cl_uint)atoi(name + 3) : 80;
}

EXPORT cl_int clGetPlatformIDs(cl_uint num_entries, cl_platform_id *platforms,
                               cl_uint *num_platforms)
{
    if (platforms != NULL && num_entries > 0)
        platforms[0] = &the_platform;
    if (num_platforms != NULL)
        *num_platforms = 1;
    return CL_SUCCESS;
}

EXPORT cl_int clGetPlatformInfo(cl_platform_id platform, cl_platform_info param_name,
                                size_t param_value_size, void *param_value,
                                size_t *param_value_size_ret)
{
    (void)platform;
    switch (param_name) {
    case CL_PLATFORM_NAME:
        return ptx_answer_text("PTX interpreter", param_value_size, param_value,
                               param_value_size_ret);
    case CL_PLATFORM_VERSION:
        return ptx_answer_text("OpenCL 1.2", param_value_size, param_value, param_value_size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

EXPORT cl_int clGetDeviceIDs(cl_platform_id platform, cl_device_type device_type,
                             cl_uint num_entries, cl_device_id *devices, cl_uint *num_devices)
{
    (void)platform;
    if ((device_type & (CL_DEVICE_TYPE_GPU | CL_DEVICE_TYPE_DEFAULT)) == 0)
        return CL_DEVICE_NOT_FOUND;
    if (devices != NULL && num_entries > 0)
        devices[0] = &the_device;
    if (num_devices != NULL)
        *num_devices = 1;
    return CL_SUCCESS;
}

EXPORT cl_int clCreateSubDevices(cl_device_id in_device,
                                 const cl_device_partition_property *properties,
                                 cl_uint num_devices, cl_device_id *out_devices,
                                 cl_uint *num_devices_ret)
{
    (void)in_device;
    (void)properties;
    (void)num_devices;
    (void)out_devices;
    (void)num_devices_ret;
    return CL_INVALID_VALUE;
}

static cl_int text_info(cl_device_info what, size_t size, void *to, size_t *size_ret)
{
    switch (what) {
    case CL_DEVICE_NAME:
        return ptx_answer_text("interpreted GPU", size, to, size_ret);
    case CL_DEVICE_VENDOR:
    case CL_DRIVER_VERSION:
        return ptx_answer_text("PTX interpreter", size, to, size_ret);
    case CL_DEVICE_VERSION:
        return ptx_answer_text("OpenCL 1.2", size, to, size_ret);
    case CL_DEVICE_EXTENSIONS:
        return ptx_answer_text("cl_khr_fp64 cl_nv_device_attribute_query cl_nv_compiler_options",
                               size, to, size_ret);
    default:
        return CL_INVALID_VALUE;
    }
}

static cl_int number_info(cl_device_info what, size_t size, void *to, size_t *size_ret)
{
    cl_uint number;
    switch (what) {
    case CL_DEVICE_MAX_COMPUTE_UNITS:
        number = (cl_uint)setting("PTX_UNITS", 4);
        break;
    case CL_DEVICE_MEM_BASE_ADDR_ALIGN:
        number = 4096;
        break;
    case CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV:
        number = capability() / 10;
        break;
    case CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV:
        number = capability() % 10;
        break;
    case CL_DEVICE_COMPILER_AVAILABLE:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT:
    case CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE:
        number = 1;
        break;
    case CL_DEVICE_HOST_UNIFIED_MEMORY:
        number = 0;
        break;
    default:
        return text_info(what, size, to, size_ret);
    }
    return ptx_answer(&number, sizeof number, size, to, size_ret);
}

EXPORT cl_int clGetDeviceInfo(cl_device_id device, cl_device_info param_name,
                              size_t param_value_size, void *param_value,
                              size_t *param_value_size_ret)
{
    static const size_t most_items[3] = {1024, 1024, 64}, most = 1024;
    const cl_device_type type = CL_DEVICE_TYPE_GPU;
    const cl_platform_id own = &the_platform;
    cl_ulong bytes;
    (void)device;
    switch (param_name) {
    case CL_DEVICE_TYPE:
        return ptx_answer(&type, sizeof type, param_value_size, param_value, param_value_size_ret);
    case CL_DEVICE_PLATFORM:
        return ptx_answer(&own, sizeof own, param_value_size, param_value, param_value_size_ret);
    case CL_DEVICE_MAX_WORK_GROUP_SIZE:
        return ptx_answer(&most, sizeof most, param_value_size, param_value, param_value_size_ret);
    case CL_DEVICE_MAX_WORK_ITEM_SIZES:
        return ptx_answer(most_items, sizeof most_items, param_value_size, param_value,
                          param_value_size_ret);
    case CL_DEVICE_GLOBAL_MEM_SIZE:
    case CL_DEVICE_MAX_MEM_ALLOC_SIZE:
        bytes = (cl_ulong)1 << 30;
        break;
    case CL_DEVICE_LOCAL_MEM_SIZE:
        bytes = setting("PTX_LOCAL_MEMORY", 48 << 10);
        break;
    case CL_DEVICE_GLOBAL_MEM_CACHE_SIZE:
        bytes = 40 << 20;
        break;
    default:
        return number_info(param_name, param_value_size, param_value, param_value_size_ret);
    }
    return ptx_answer(&bytes, sizeof bytes, param_value_size, param_value, param_value_size_ret);
}

EXPORT cl_int clGetContextInfo(cl_context context, cl_context_info param_name,
                               size_t param_value_size, void *param_value,
                               size_t *param_value_size_ret)
{
    const cl_device_id own = &the_device;
    const cl_uint one = 1;
    (void)context;
    if (param_name == CL_CONTEXT_DEVICES)
        return ptx_answer(&own, sizeof own, param_value_size, param_value, param_value_size_ret);
    if (param_name == CL_CONTEXT_NUM_DEVICES)
        return ptx_answer(&one, sizeof one, param_value_size, param_value, param_value_size_ret);
    return CL_INVALID_VALUE;
}

EXPORT cl_int clGetCommandQueueInfo(cl_command_queue command_queue,
                                    cl_command_queue_info param_name, size_t param_value_size,
                                    void *param_value, size_t *param_value_size_ret)
{
    const cl_command_queue_properties none = 0;
    const cl_device_id own = &the_device;
    if (param_name == CL_QUEUE_CONTEXT) /* the context also serves as the queue */
        return ptx_answer(&command_queue, sizeof command_queue, param_value_size, param_value,
                          param_value_size_ret);
    if (param_name == CL_QUEUE_DEVICE)
        return ptx_answer(&own, sizeof own, param_value_size, param_value, param_value_size_ret);
    if (param_name == CL_QUEUE_PROPERTIES)
        return ptx_answer(&none, sizeof none, param_value_size, param_value, param_value_size_ret);
    return CL_INVALID_VALUE;
}

EXPORT void *clGetExtensionFunctionAddressForPlatform(cl_platform_id platform, const char *name)
{
    (void)platform;
    (void)name;
    return NULL;
}

#include "runtime/memory/usm.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/context/context.h"
#include "runtime/opencl/opencl.h"

#include <inttypes.h>
#include <string.h>

/* Values of CL_MEM_ALLOC_*_INTEL, and the results of CL_MEM_ALLOC_TYPE_INTEL. */
enum { ALLOC_TYPE = 0x419A, ALLOC_BASE = 0x419B, ALLOC_SIZE = 0x419C, ALLOC_DEVICE = 0x419D };
enum { TYPE_HOST = 0x4197, TYPE_DEVICE = 0x4198, TYPE_SHARED = 0x4199 };

/* C has no cast from void * to a function pointer. */
static bool usm_find(cl_platform_id platform, const char *name, void *function, size_t size)
{
    void *found = clGetExtensionFunctionAddressForPlatform(platform, name);
    memcpy(function, &found, size);
    return found != NULL;
}

bool tn_usm_find(cl_platform_id platform, tn_usm *usm)
{
    tn_usm found;
    const bool is_whole =
        usm_find(platform, "clSetKernelArgMemPointerINTEL", &found.set_argument,
                 sizeof found.set_argument) &&
        usm_find(platform, "clEnqueueMemcpyINTEL", &found.copy, sizeof found.copy) &&
        usm_find(platform, "clGetMemAllocInfoINTEL", &found.info, sizeof found.info);
    if (is_whole)
        *usm = found;
    return is_whole;
}

static tenon_status ask(const char *caller, tenon_context *context, const void *pointer,
                        cl_uint what, void *value, size_t size)
{
    TN_CL_TRY(caller, "clGetMemAllocInfoINTEL",
              context->device.usm.info(context->cl, pointer, what, size, value, NULL));
    return TENON_OK;
}

static tenon_status find_type(const char *caller, tenon_context *context, const void *pointer,
                              cl_uint *type)
{
    return ask(caller, context, pointer, ALLOC_TYPE, type, sizeof *type);
}

static bool is_type(cl_uint type)
{
    return type == TYPE_HOST || type == TYPE_DEVICE || type == TYPE_SHARED;
}

tenon_status tn_usm_check(const char *caller, const char *argument, tenon_context *context,
                          const void *pointer, uint64_t end)
{
    cl_uint type = 0;
    cl_device_id device = NULL;
    const char *base = NULL;
    size_t size = 0;
    if (context->device.usm.info == NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED_DEVICE,
                       "%s: %s: device %s does not support cl_intel_unified_shared_memory", caller,
                       argument, context->device.info.name);
    TN_TRY(find_type(caller, context, pointer, &type));
    if (!is_type(type))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: %p is not unified shared memory of the OpenCL context", caller,
                       argument, pointer);
    TN_TRY(ask(caller, context, pointer, ALLOC_DEVICE, &device, sizeof device));
    if (type == TYPE_DEVICE && device != context->device.info.device)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: %p is memory of a different device",
                       caller, argument, pointer);
    TN_TRY(ask(caller, context, pointer, ALLOC_BASE, &base, sizeof base));
    TN_TRY(ask(caller, context, pointer, ALLOC_SIZE, &size, sizeof size));
    const uint64_t left = size - (uint64_t)((const char *)pointer - base);
    if (end > left)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: the view ends at byte %" PRIu64
                       " of an allocation that has %" PRIu64 " from there",
                       caller, argument, end, left);
    return TENON_OK;
}

tenon_status tn_usm_is_of_host(const char *caller, tenon_context *context, const void *pointer,
                               bool *result)
{
    cl_uint type = 0;
    TN_TRY(find_type(caller, context, pointer, &type));
    *result = type == TYPE_HOST || type == TYPE_SHARED;
    return TENON_OK;
}

#include "runtime/device.h"

#include "runtime/cl_error.h"

#include <CL/cl_ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Newer than some headers. */
#ifndef CL_DEVICE_IP_VERSION_INTEL
#define CL_DEVICE_IP_VERSION_INTEL 0x4250
#endif
#ifndef CL_DEVICE_SUB_GROUP_SIZES_INTEL
#define CL_DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
#endif

/* Information that a driver does not give stays zero: that must not keep a device from being used.
 */
static void get(cl_device_id id, cl_device_info what, void *value, size_t size)
{
    if (clGetDeviceInfo(id, what, size, value, NULL) != CL_SUCCESS)
        memset(value, 0, size);
}

static uint64_t get_u64(cl_device_id id, cl_device_info what)
{
    cl_ulong value;
    get(id, what, &value, sizeof value);
    return value;
}

static uint32_t get_u32(cl_device_id id, cl_device_info what)
{
    cl_uint value;
    get(id, what, &value, sizeof value);
    return value;
}

static size_t get_size(cl_device_id id, cl_device_info what)
{
    size_t value;
    get(id, what, &value, sizeof value);
    return value;
}

/* A string of any length, or NULL. */
static char *get_long_text(cl_device_id id, cl_device_info what)
{
    size_t size = 0;
    if (clGetDeviceInfo(id, what, 0, NULL, &size) != CL_SUCCESS || size == 0)
        return NULL;
    char *text = malloc(size + 1);
    if (text != NULL && clGetDeviceInfo(id, what, size, text, NULL) != CL_SUCCESS)
        text[0] = '\0';
    if (text != NULL)
        text[size] = '\0';
    return text;
}

static void get_text(cl_device_id id, cl_device_info what, char text[128])
{
    char *whole = get_long_text(id, what);
    snprintf(text, 128, "%s", whole != NULL ? whole : "");
    free(whole);
}

/* Drivers pad names with blanks, and separate extensions by one: a word must match whole. */
static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* The extension says that the device can be asked, and of whom it is. */
static tn_arch read_arch(const tn_device *device, const char *words)
{
    cl_device_id id = device->info.device;
    if (device->is_cpu)
        return TN_ARCH_OTHER;
    if (has_word(words, "cl_nv_device_attribute_query"))
        return tn_arch_of_nvidia(get_u32(id, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV),
                                 get_u32(id, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV));
    if (has_word(words, "cl_intel_device_attribute_query"))
        return tn_arch_of_intel(get_u32(id, CL_DEVICE_IP_VERSION_INTEL));
    return tn_arch_of_amd(device->info.name);
}

/* Of the sizes that a kernel may ask for. */
static uint32_t read_least_sub_group(cl_device_id id)
{
    size_t sizes[16], bytes = 0, least = 0;
    if (clGetDeviceInfo(id, CL_DEVICE_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) !=
        CL_SUCCESS)
        return 0;
    for (size_t i = 0; i < bytes / sizeof *sizes; i++)
        if (least == 0 || sizes[i] < least)
            least = sizes[i];
    return (uint32_t)least;
}

static void read_extensions(tn_device *device)
{
    char *words = get_long_text(device->info.device, CL_DEVICE_EXTENSIONS);
    if (words == NULL)
        return;
    device->speaks_nvidia = has_word(words, "cl_nv_compiler_options");
    device->speaks_amd = has_word(words, "cl_amd_device_attribute_query");
    device->speaks_intel_subgroups = has_word(words, "cl_intel_subgroups");
    device->speaks_khr_subgroups = has_word(words, "cl_khr_subgroups");
    device->speaks_intel_matrix = has_word(words, "cl_intel_subgroup_matrix_multiply_accumulate");
    device->speaks_f16 = has_word(words, "cl_khr_fp16");
    device->speaks_f64 = has_word(words, "cl_khr_fp64");
    device->speaks_int_dot = has_word(words, "cl_khr_integer_dot_product");
    device->arch = read_arch(device, words);
    if (!device->is_cpu && has_word(words, "cl_intel_required_subgroup_size"))
        device->least_sub_group = read_least_sub_group(device->info.device);
    free(words);
}

/* Since version 5 PoCL keeps what it knows of values that are gone, for those that come to lie there. */
static bool errs_by_chance(const tn_device *device)
{
    return device->keeps_builds && strtol(device->info.driver_version, NULL, 10) >= 5;
}

static uint32_t parse_version(const char *text)
{
    unsigned major = 0, minor = 0;
    return sscanf(text, "OpenCL %u.%u", &major, &minor) == 2 ? major * 100 + minor * 10 : 0;
}

static void read_platform(tenon_device_info *info)
{
    get(info->device, CL_DEVICE_PLATFORM, &info->platform, sizeof info->platform);
    if (info->platform == NULL ||
        clGetPlatformInfo(info->platform, CL_PLATFORM_NAME, sizeof info->platform_name,
                          info->platform_name, NULL) != CL_SUCCESS)
        snprintf(info->platform_name, sizeof info->platform_name, "unnamed platform");
}

static void read_info(tenon_device_info *info)
{
    cl_device_id id = info->device;
    cl_bool unified = CL_FALSE;
    get(id, CL_DEVICE_TYPE, &info->type, sizeof info->type);
    get(id, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified, sizeof unified);
    info->compute_units = get_u32(id, CL_DEVICE_MAX_COMPUTE_UNITS);
    info->vector_width_f32 = get_u32(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT);
    if (info->vector_width_f32 == 0)
        info->vector_width_f32 = 1;
    info->global_memory = get_u64(id, CL_DEVICE_GLOBAL_MEM_SIZE);
    info->max_allocation = get_u64(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
    info->local_memory = get_u64(id, CL_DEVICE_LOCAL_MEM_SIZE);
    info->max_work_group = get_size(id, CL_DEVICE_MAX_WORK_GROUP_SIZE);
    /* A CPU shares the host's memory even where the driver says nothing of it. */
    info->unified_memory = unified == CL_TRUE || (info->type & CL_DEVICE_TYPE_CPU) != 0;
    get_text(id, CL_DEVICE_NAME, info->name);
    get_text(id, CL_DEVICE_VENDOR, info->vendor);
    get_text(id, CL_DEVICE_VERSION, info->version);
    get_text(id, CL_DRIVER_VERSION, info->driver_version);
    read_platform(info);
}

tenon_status tn_device_read(const char *operation, cl_device_id id, tn_device *device)
{
    cl_bool compiler = CL_TRUE;
    cl_device_svm_capabilities svm = 0;
    cl_device_type type;
    memset(device, 0, sizeof *device);
    TN_CL_TRY(operation, "clGetDeviceInfo(CL_DEVICE_TYPE)",
              clGetDeviceInfo(id, CL_DEVICE_TYPE, sizeof type, &type, NULL));
    device->info.device = id;
    read_info(&device->info);
    device->opencl_version = parse_version(device->info.version);
    device->vector_width_f64 = get_u32(id, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE);
    if (device->vector_width_f64 == 0)
        device->vector_width_f64 = 1;
    device->cache_size = get_u64(id, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE);
    device->address_align = get_u32(id, CL_DEVICE_MEM_BASE_ADDR_ALIGN) / 8;
    get(id, CL_DEVICE_MAX_WORK_ITEM_SIZES, device->max_work_item, sizeof device->max_work_item);
    get(id, CL_DEVICE_COMPILER_AVAILABLE, &compiler, sizeof compiler);
    if (device->opencl_version >= 200)
        get(id, CL_DEVICE_SVM_CAPABILITIES, &svm, sizeof svm);
    device->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
    device->has_compiler = compiler == CL_TRUE;
    device->keeps_builds = strcmp(device->info.platform_name, "Portable Computing Language") == 0;
    device->errs_by_chance = errs_by_chance(device);
    device->has_builtin_prefetch = device->keeps_builds && device->is_cpu;
    device->svm = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0;
    read_extensions(device);
    return TENON_OK;
}

tenon_status tn_device_of_context(const char *operation, cl_context context, cl_device_id id,
                                  bool *result)
{
    size_t size = 0;
    *result = false;
    TN_CL_TRY(operation, "clGetContextInfo",
              clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size));
    cl_device_id *ids = malloc(size + 1);
    if (ids == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a list of devices", operation);
    cl_int error = clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL);
    for (size_t i = 0; error == CL_SUCCESS && i < size / sizeof *ids; i++)
        *result |= ids[i] == id;
    free(ids);
    return error == CL_SUCCESS ? TENON_OK : tn_fail_opencl(operation, "clGetContextInfo", error);
}

#include "runtime/opencl/device.h"

#include "base/processor.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/opencl.h"

#include <CL/cl_ext.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Missing in some older headers. */
#ifndef CL_DEVICE_IP_VERSION_INTEL
#define CL_DEVICE_IP_VERSION_INTEL 0x4250
#endif
#ifndef CL_DEVICE_SUB_GROUP_SIZES_INTEL
#define CL_DEVICE_SUB_GROUP_SIZES_INTEL 0x4108
#endif

/* There are two kinds of queries.
 *
 * Most are required: every OpenCL 1.2 driver must answer them, and a zero in their place would be
 * taken as the true value. Names and versions identify the device and the driver; sizes of memory
 * and work-groups limit allocations and launches; extensions tell which dialect the compiler
 * accepts. If such a query fails, the device cannot be read.
 *
 * The others are hints that a driver may not know: those that a later version or an extension
 * added, those that a later version removed, and those that only improve estimates.
 * CL_INVALID_VALUE leaves them zero. Any other error says nothing about the query, so the device
 * cannot be read either. */
typedef struct reading {
    const char *caller;
    cl_device_id id;
    tenon_status status; /* of the first query that failed */
} reading;

static void fail(reading *r, const char *query, cl_int error)
{
    char call[96];
    snprintf(call, sizeof call, "clGetDeviceInfo(%s)", query);
    r->status = tn_fail_opencl(r->caller, call, error);
}

static void read_value(reading *r, cl_device_info what, const char *query, bool is_hint,
                       void *value, size_t size)
{
    cl_int error = CL_SUCCESS;
    if (r->status == TENON_OK)
        error = clGetDeviceInfo(r->id, what, size, value, NULL);
    if (r->status != TENON_OK || error != CL_SUCCESS)
        memset(value, 0, size);
    if (error != CL_SUCCESS && !(is_hint && error == CL_INVALID_VALUE))
        fail(r, query, error);
}
#define NEED(r, what, value) read_value(r, what, #what, false, value, sizeof *(value))
#define HINT(r, what, value) read_value(r, what, #what, true, value, sizeof *(value))

/* Reads a required value of variable size, which the caller frees. Returns NULL and sets the
 * status on failure. */
static void *read_whole(reading *r, cl_device_info what, const char *query, size_t *size)
{
    cl_int error;
    if (r->status != TENON_OK)
        return NULL;
    if ((error = clGetDeviceInfo(r->id, what, 0, NULL, size)) != CL_SUCCESS) {
        fail(r, query, error);
        return NULL;
    }
    char *whole = malloc(*size + 1);
    if (whole == NULL) {
        r->status = tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for %s of %zu bytes",
                            r->caller, query, *size);
        return NULL;
    }
    whole[*size] = '\0';
    if (*size == 0 || (error = clGetDeviceInfo(r->id, what, *size, whole, NULL)) == CL_SUCCESS)
        return whole;
    fail(r, query, error);
    free(whole);
    return NULL;
}

static void read_text(reading *r, cl_device_info what, const char *query, char text[128])
{
    size_t size;
    char *whole = read_whole(r, what, query, &size);
    snprintf(text, 128, "%s", whole != NULL ? whole : "");
    free(whole);
}
#define NEED_TEXT(r, what, text) read_text(r, what, #what, text)

/* Drivers reject a buffer that is too short, so a long text is read whole and then truncated. */
static tenon_status read_platform_text(const char *caller, cl_platform_id platform,
                                       cl_platform_info what, const char *query, char text[128])
{
    size_t size = 0;
    TN_CL_TRY(caller, query, clGetPlatformInfo(platform, what, 0, NULL, &size));
    char *whole = malloc(size + 1);
    if (whole == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for %s", caller, query);
    cl_int error = clGetPlatformInfo(platform, what, size, whole, NULL);
    whole[size] = '\0';
    if (error == CL_SUCCESS)
        snprintf(text, 128, "%s", whole);
    free(whole);
    TN_CL_TRY(caller, query, error);
    return TENON_OK;
}

tenon_status tn_platform_read(const char *caller, cl_platform_id platform, char name[128],
                              char version[128])
{
    /* If the application does not use a loader, a device may have no platform. */
    snprintf(name, 128, "unnamed platform");
    if (platform == NULL)
        return TENON_OK;
    TN_TRY(read_platform_text(caller, platform, CL_PLATFORM_NAME,
                              "clGetPlatformInfo(CL_PLATFORM_NAME)", name));
    if (version == NULL)
        return TENON_OK;
    return read_platform_text(caller, platform, CL_PLATFORM_VERSION,
                              "clGetPlatformInfo(CL_PLATFORM_VERSION)", version);
}

/* Returns true if `words` contains `word` as a whole word. Extensions are separated by one blank,
 * and names may be padded with blanks. */
static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

/* An extension tells that the vendor's query is supported, and which vendor it is. */
static const tn_device_kind *read_kind(reading *r, const tn_device *device, const char *words)
{
    cl_uint major, minor;
    if (device->is_cpu)
        return tn_device_kind_of_cpu(device->info.vector_width_f32, device->model.cache_size);
    if (has_word(words, "cl_nv_device_attribute_query")) {
        HINT(r, CL_DEVICE_COMPUTE_CAPABILITY_MAJOR_NV, &major);
        HINT(r, CL_DEVICE_COMPUTE_CAPABILITY_MINOR_NV, &minor);
        return tn_device_kind_of_nvidia(major, minor);
    }
    if (has_word(words, "cl_intel_device_attribute_query")) {
        HINT(r, CL_DEVICE_IP_VERSION_INTEL, &major);
        return tn_device_kind_of_intel(major);
    }
    const tn_device_kind *kind = tn_device_kind_of_extensions(words);
    return kind != NULL ? kind : tn_device_kind_of_amd(device->info.name);
}

/* Returns the smallest sub-group size that a kernel may request. Entries that the driver does not
 * fill in stay 0. */
static uint32_t read_least_sub_group(reading *r)
{
    size_t sizes[16] = {0}, least = 0;
    HINT(r, CL_DEVICE_SUB_GROUP_SIZES_INTEL, &sizes);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i] != 0 && (least == 0 || sizes[i] < least))
            least = sizes[i];
    return (uint32_t)least;
}

static void read_extensions(reading *r, tn_device *device)
{
    size_t size;
    char *words = read_whole(r, CL_DEVICE_EXTENSIONS, "CL_DEVICE_EXTENSIONS", &size);
    if (words == NULL)
        return;
    device->speaks_nvidia = has_word(words, "cl_nv_compiler_options");
    device->speaks_amd = has_word(words, "cl_amd_device_attribute_query");
    device->speaks_intel_subgroups = has_word(words, "cl_intel_subgroups");
    device->speaks_khr_subgroups = has_word(words, "cl_khr_subgroups");
    if (has_word(words, "cl_intel_unified_shared_memory"))
        tn_usm_find(device->info.platform, &device->usm);
    device->speaks_intel_matrix = has_word(words, "cl_intel_subgroup_matrix_multiply_accumulate");
    device->speaks_f16 = has_word(words, "cl_khr_fp16");
    device->speaks_f64 = has_word(words, "cl_khr_fp64");
    device->speaks_int_dot = has_word(words, "cl_khr_integer_dot_product");
    device->model.kind = read_kind(r, device, words);
    if (!device->is_cpu && has_word(words, "cl_intel_required_subgroup_size"))
        device->least_sub_group = read_least_sub_group(r);
    free(words);
}

/* Since version 5, PoCL keeps cached facts about destroyed LLVM values and applies them to new
 * values at the same address. */
static bool miscompiles_at_random(const tn_device *device)
{
    return device->keeps_builds && strtol(device->info.driver_version, NULL, 10) >= 5;
}

static uint32_t parse_version(const char *text)
{
    unsigned major = 0, minor = 0;
    return sscanf(text, "OpenCL %u.%u", &major, &minor) == 2 ? major * 100 + minor * 10 : 0;
}

static uint32_t at_least_one(cl_uint lanes)
{
    return lanes > 0 ? lanes : 1;
}

static void read_memory(reading *r, tn_device *device)
{
    tenon_device_info *info = &device->info;
    cl_ulong global, allocation, local, cache;
    cl_uint align_bits;
    cl_bool unified;
    NEED(r, CL_DEVICE_GLOBAL_MEM_SIZE, &global);
    NEED(r, CL_DEVICE_MAX_MEM_ALLOC_SIZE, &allocation);
    NEED(r, CL_DEVICE_LOCAL_MEM_SIZE, &local);
    NEED(r, CL_DEVICE_MEM_BASE_ADDR_ALIGN, &align_bits);
    HINT(r, CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, &cache);
    HINT(r, CL_DEVICE_HOST_UNIFIED_MEMORY, &unified); /* deprecated since OpenCL 2.0 */
    info->global_memory = global;
    info->max_allocation = allocation;
    info->local_memory = local;
    /* A CPU shares the host's memory even if the driver does not say so. */
    info->unified_memory = unified == CL_TRUE || device->is_cpu;
    device->model.cache_size = device->driver_cache = cache;
    device->address_align = align_bits / 8;
}

static void read_units(reading *r, tn_device *device)
{
    size_t most, size = 0;
    cl_uint lanes_f32, lanes_f64;
    cl_bool compiler;
    NEED(r, CL_DEVICE_MAX_COMPUTE_UNITS, &device->info.compute_units);
    NEED(r, CL_DEVICE_MAX_WORK_GROUP_SIZE, &most);
    NEED(r, CL_DEVICE_COMPILER_AVAILABLE, &compiler);
    HINT(r, CL_DEVICE_NATIVE_VECTOR_WIDTH_FLOAT, &lanes_f32);
    HINT(r, CL_DEVICE_NATIVE_VECTOR_WIDTH_DOUBLE, &lanes_f64);
    device->model.units = device->info.compute_units;
    device->info.max_work_group = most;
    device->info.vector_width_f32 = at_least_one(lanes_f32);
    device->vector_width_f64 = at_least_one(lanes_f64);
    device->has_compiler = compiler == CL_TRUE;
    /* The driver may report more dimensions than the three that kernels use. */
    size_t *sizes =
        read_whole(r, CL_DEVICE_MAX_WORK_ITEM_SIZES, "CL_DEVICE_MAX_WORK_ITEM_SIZES", &size);
    if (sizes != NULL)
        memcpy(device->max_work_item, sizes,
               size < sizeof device->max_work_item ? size : sizeof device->max_work_item);
    free(sizes);
}

static void read_names(reading *r, tn_device *device)
{
    tenon_device_info *info = &device->info;
    NEED_TEXT(r, CL_DEVICE_NAME, info->name);
    NEED_TEXT(r, CL_DEVICE_VENDOR, info->vendor);
    NEED_TEXT(r, CL_DEVICE_VERSION, info->version);
    NEED_TEXT(r, CL_DRIVER_VERSION, info->driver_version);
    NEED(r, CL_DEVICE_PLATFORM, &info->platform);
    if (r->status == TENON_OK)
        r->status = tn_platform_read(r->caller, info->platform, info->platform_name,
                                     device->platform_version);
}

tenon_status tn_device_read(const char *caller, cl_device_id id, tn_device *device)
{
    reading r = {.caller = caller, .id = id};
    cl_device_svm_capabilities svm = 0;
    memset(device, 0, sizeof *device);
    device->info.device = id;
    NEED(&r, CL_DEVICE_TYPE, &device->info.type);
    device->is_cpu = (device->info.type & CL_DEVICE_TYPE_CPU) != 0;
    read_names(&r, device);
    read_units(&r, device);
    read_memory(&r, device);
    device->opencl_version = parse_version(device->info.version);
    if (device->opencl_version >= 200)
        HINT(&r, CL_DEVICE_SVM_CAPABILITIES, &svm);
    device->keeps_builds = strcmp(device->info.platform_name, "Portable Computing Language") == 0;
    device->miscompiles_at_random = miscompiles_at_random(device);
    device->is_host = device->is_cpu && tn_processor_is_in(device->info.name);
    device->has_builtin_prefetch = device->keeps_builds && device->is_cpu;
    device->svm = (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) != 0 && tn_opencl_has_svm();
    read_extensions(&r, device);
    return r.status;
}

int32_t tn_device_number(const tn_device *device)
{
    cl_device_id ids[64], whole = NULL;
    cl_uint count = 0;
    if (clGetDeviceInfo(device->info.device, CL_DEVICE_PARENT_DEVICE, sizeof whole, &whole, NULL) !=
            CL_SUCCESS ||
        whole == NULL)
        whole = device->info.device;
    if (clGetDeviceIDs(device->info.platform, CL_DEVICE_TYPE_ALL, 64, ids, &count) != CL_SUCCESS)
        return 0;
    for (cl_uint i = 0; i < count && i < 64; i++)
        if (ids[i] == whole)
            return (int32_t)i;
    return 0;
}

tenon_status tn_device_of_context(const char *caller, cl_context context, cl_device_id id,
                                  bool *result)
{
    size_t size = 0;
    *result = false;
    TN_CL_TRY(caller, "clGetContextInfo",
              clGetContextInfo(context, CL_CONTEXT_DEVICES, 0, NULL, &size));
    cl_device_id *ids = malloc(size + 1);
    if (ids == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a list of devices", caller);
    cl_int error = clGetContextInfo(context, CL_CONTEXT_DEVICES, size, ids, NULL);
    for (size_t i = 0; error == CL_SUCCESS && i < size / sizeof *ids; i++)
        *result |= ids[i] == id;
    free(ids);
    return error == CL_SUCCESS ? TENON_OK : tn_fail_opencl(caller, "clGetContextInfo", error);
}

/* tenon-bench facts: what is to be known of a device before its first figures are believed. */
#include "ceilings.h"

#include "device.h"
#include "mirror.h"
#include "runtime/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef enum form { TEXT, U32, U64, SIZE } form;

static const struct {
    const char *name;
    cl_device_info query;
    form form;
} queries[] = {
    {"name", CL_DEVICE_NAME, TEXT},
    {"vendor", CL_DEVICE_VENDOR, TEXT},
    {"version", CL_DEVICE_VERSION, TEXT},
    {"c_version", CL_DEVICE_OPENCL_C_VERSION, TEXT},
    {"driver", CL_DRIVER_VERSION, TEXT},
    {"extensions", CL_DEVICE_EXTENSIONS, TEXT},
    {"compute_units", CL_DEVICE_MAX_COMPUTE_UNITS, U32},
    {"clock_mhz", CL_DEVICE_MAX_CLOCK_FREQUENCY, U32},
    {"global_memory", CL_DEVICE_GLOBAL_MEM_SIZE, U64},
    {"global_cache", CL_DEVICE_GLOBAL_MEM_CACHE_SIZE, U64},
    {"global_cache_line", CL_DEVICE_GLOBAL_MEM_CACHELINE_SIZE, U32},
    {"max_allocation", CL_DEVICE_MAX_MEM_ALLOC_SIZE, U64},
    {"local_memory", CL_DEVICE_LOCAL_MEM_SIZE, U64},
    {"max_work_group", CL_DEVICE_MAX_WORK_GROUP_SIZE, SIZE},
    {"max_argument_bytes", CL_DEVICE_MAX_PARAMETER_SIZE, SIZE},
    {"timer_resolution_ns", CL_DEVICE_PROFILING_TIMER_RESOLUTION, SIZE},
    {"address_align_bits", CL_DEVICE_MEM_BASE_ADDR_ALIGN, U32},
    {"half_config", 0x1033 /* CL_DEVICE_HALF_FP_CONFIG */, U64},
    {"single_config", CL_DEVICE_SINGLE_FP_CONFIG, U64},
    {"double_config", CL_DEVICE_DOUBLE_FP_CONFIG, U64},
    {"native_half", CL_DEVICE_NATIVE_VECTOR_WIDTH_HALF, U32},
    {"unified_memory", 0x1035 /* CL_DEVICE_HOST_UNIFIED_MEMORY */, U32},
    {"nv_compute_major", 0x4000, U32},
    {"nv_compute_minor", 0x4001, U32},
    {"nv_registers_per_block", 0x4002, U32},
    {"nv_warp", 0x4003, U32},
    {"nv_copy_engines", 0x4007, U32},
    {"nv_pci_bus", 0x4008, U32},
    {"nv_pci_slot", 0x4009, U32},
    {"amd_board", 0x4038, TEXT},
    {"amd_simd_per_unit", 0x4040, U32},
    {"amd_wavefront", 0x4043, U32},
    {"amd_local_banks", 0x4048, U32},
    {"intel_ip_version", 0x4250, U32},
    {"intel_slices", 0x4252, U32},
    {"intel_units_per_subslice", 0x4254, U32},
    {"intel_threads_per_unit", 0x4255, U32},
};

/* What a query gives, or NULL where the device does not know it. */
static json_t *answer(cl_device_id device, cl_device_info query, form wanted)
{
    char text[16384] = "";
    cl_uint u32 = 0;
    cl_ulong u64 = 0;
    size_t size = 0;
    switch (wanted) {
    case TEXT:
        return clGetDeviceInfo(device, query, sizeof text - 1, text, NULL) == CL_SUCCESS
                   ? json_string(text)
                   : NULL;
    case U32:
        return clGetDeviceInfo(device, query, sizeof u32, &u32, NULL) == CL_SUCCESS
                   ? json_integer((json_int_t)u32)
                   : NULL;
    case U64:
        return clGetDeviceInfo(device, query, sizeof u64, &u64, NULL) == CL_SUCCESS
                   ? json_integer((json_int_t)u64)
                   : NULL;
    case SIZE:
        return clGetDeviceInfo(device, query, sizeof size, &size, NULL) == CL_SUCCESS
                   ? json_integer((json_int_t)size)
                   : NULL;
    }
    return NULL;
}

static json_t *device_answers(const bench_session *session)
{
    json_t *all = json_object();
    json_object_set_new(all, "kind", json_string(session->context->device.model.kind->name));
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++) {
        json_t *value = answer(session->device.device, queries[i].query, queries[i].form);
        if (value != NULL)
            json_object_set_new(all, queries[i].name, value);
    }
    return all;
}

static json_t *capabilities(const bench_session *session)
{
    json_t *all = json_object();
    for (int i = 0; tenon_capability_string((tenon_capability)i) != NULL; i++) {
        const tenon_capability capability = (tenon_capability)i;
        uint32_t available = 0;
        char reason[1024] = "";
        if (tenon_context_capability(session->context, capability, &available, reason,
                                     sizeof reason) != TENON_OK)
            snprintf(reason, sizeof reason, "%s", tenon_last_error());
        json_object_set_new(all, tenon_capability_string(capability),
                            json_pack("{s:b, s:s}", "available", (int)available, "reason", reason));
    }
    return all;
}

/* Calls whose kernels matter most, as the lines of "tenon check" have them. */
static const char *const calls[] = {
    "gemm a=f32:4096x4096 b=f32:4096x4096 d=f32:4096x4096",
    "gemm a=f16:4096x4096 b=f16:4096x4096 d=f16:4096x4096",
    "gemm a=bf16:4096x4096 b=bf16:4096x4096 d=bf16:4096x4096",
    "gemm_int8 a=i8:4096x4096 b=i8:4096x4096 d=i32:4096x4096",
    "gemm a=f32:128x65536 b=f32:65536x128 d=f32:128x128",
    "gemm a=f32:16x4096 b=f32:4096x4096 d=f32:16x4096",
    "conv x=f32:32x256x14x14 w=f32:256x256x3x3 y=f32:32x256x14x14 pad_begin=1,1 "
    "pad_end=1,1",
    "conv x=f16:32x256x14x14 w=f16:256x256x3x3 y=f16:32x256x14x14 pad_begin=1,1 "
    "pad_end=1,1",
    "softmax x=f32:4096x1024 y=f32:4096x1024",
};

/* What the driver's compiler makes of these calls' kernels. */
static json_t *kernels(const bench_session *session)
{
    json_t *all = json_array();
    bench_mirror mirror;
    if (!bench_mirror_open(session, &mirror))
        return all;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (session->options->filter == NULL || strstr(calls[i], session->options->filter) != NULL)
            bench_mirror_plan(&mirror, calls[i], NULL, all, NULL);
    bench_mirror_close(&mirror);
    return all;
}

bool bench_facts(bench_session *session)
{
    json_t *document = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o}", "version", 2, "tenon", tenon_version_string(),
        "date", bench_json_date(), "host", bench_json_host(), "device", device_answers(session),
        "capabilities", capabilities(session), "kernels", kernels(session));
    return bench_json_write(session->options->json, document);
}

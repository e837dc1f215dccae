/* tenon-bench facts: what is to be known of a device before its first figures are believed. */
#include "ceilings.h"

#include "device.h"
#include "check/case.h"
#include "runtime/context.h"
#include "runtime/context_create.h"
#include "runtime/kernel_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 256

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

/* Whether every work-item of a few work-groups finds its local memory whole. */
static bool local_memory_works(const bench_session *session, cl_program program)
{
    float results[4 * GROUP] = {0};
    cl_int error, made;
    cl_kernel kernel = clCreateKernel(program, "local_bytes", &error);
    cl_mem buffer = clCreateBuffer(tenon_context_cl(session->context), CL_MEM_READ_WRITE,
                                   sizeof results, NULL, &made);
    bool right = error == CL_SUCCESS && made == CL_SUCCESS &&
                 bench_arguments(kernel, sizeof buffer, &buffer, (size_t)0) &&
                 bench_launch(session, kernel, 4 * GROUP, GROUP) &&
                 clEnqueueReadBuffer(tenon_stream_cl(session->stream), buffer, CL_TRUE, 0,
                                     sizeof results, results, 0, NULL, NULL) == CL_SUCCESS;
    for (int i = 0; right && i < 4 * GROUP; i++)
        right = results[i] == 1;
    if (made == CL_SUCCESS)
        clReleaseMemObject(buffer);
    if (error == CL_SUCCESS)
        clReleaseKernel(kernel);
    return right;
}

/* How much local memory a work-group gets in truth, whatever the driver says. */
static json_t *local_memory(const bench_session *session)
{
    static const int kilobytes[] = {16, 32, 48, 64, 96, 99, 128, 163, 227};
    json_t *all = json_array();
    for (size_t i = 0; i < sizeof kilobytes / sizeof *kilobytes; i++) {
        char options[64];
        snprintf(options, sizeof options, "-cl-std=CL1.2 -DLOCAL=%d", kilobytes[i] * 1024);
        /* Beyond the driver's own figure PoCL's compiler ends the process. */
        const bool asked = (uint64_t)kilobytes[i] * 1024 <= session->device.local_memory ||
                           session->context->device.speaks_nvidia;
        cl_program program = asked ? bench_build_own(session, "ceilings", options, NULL) : NULL;
        json_array_append_new(all,
                              json_pack("{s:i, s:b, s:b, s:b}", "kilobytes", kilobytes[i], "tried",
                                        asked, "builds", program != NULL, "works",
                                        program != NULL && local_memory_works(session, program)));
        if (program != NULL)
            clReleaseProgram(program);
    }
    return all;
}

/* Lines of PTX that only some targets' assemblers take. They are built, not run. */
static const struct {
    const char *name, *line;
} lines[] = {
    {"cp.async", "cp.async.commit_group;"},
    {"cp.async.bulk", "cp.async.bulk.commit_group;"},
    {"ldmatrix", "{ .reg .b32 r; .shared .align 16 .b8 s[512];"
                 " ldmatrix.sync.aligned.m8n8.x1.shared.b16 {r}, [s]; }"},
    {"mma f16", "{ .reg .b32 a,b; .reg .f32 d<4>; mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32"
                " {d0,d1,d2,d3}, {a,a}, {b}, {d0,d1,d2,d3}; }"},
    {"mma tf32", "{ .reg .b32 a,b; .reg .f32 d<4>;"
                 " mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"
                 " {d0,d1,d2,d3}, {a,a,a,a}, {b,b}, {d0,d1,d2,d3}; }"},
    {"mma s8", "{ .reg .b32 a,b; .reg .s32 d<4>; mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32"
               " {d0,d1,d2,d3}, {a,a,a,a}, {b,b}, {d0,d1,d2,d3}; }"},
    {"wgmma", "{ .reg .b64 a; .reg .f32 d<4>; mov.b64 a, 0; wgmma.fence.sync.aligned;"
              " wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16"
              " {d0,d1,d2,d3}, a, a, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; }"},
    {"setmaxnreg", "setmaxnreg.inc.sync.aligned.u32 232;"},
    {"mbarrier", "{ .reg .b64 t; .shared .align 8 .b64 m; mbarrier.init.shared.b64 [m], 1; }"},
};

static json_t *try_line(const bench_session *session, const char *line)
{
    char source[512], *log;
    snprintf(source, sizeof source,
             "__kernel void trial(__global unsigned *x)\n"
             "{\n    __asm__ volatile(\"%s\");\n    x[0] = 1;\n}\n",
             line);
    cl_program program = bench_build(session, source, strlen(source), "", &log);
    json_t *result = json_pack("{s:b, s:s}", "builds", program != NULL, "log",
                               program == NULL && log != NULL ? log : "");
    free(log);
    if (program != NULL)
        clReleaseProgram(program);
    return result;
}

static json_t *assembler(const bench_session *session)
{
    json_t *all = json_object();
    for (size_t i = 0; session->context->device.speaks_nvidia && i < sizeof lines / sizeof *lines;
         i++)
        json_object_set_new(all, lines[i].name, try_line(session, lines[i].line));
    return all;
}

/* NVIDIA's "binary" is PTX, whose first lines name its version and its target. */
static json_t *first_lines_of_binary(cl_program program)
{
    size_t size = 0;
    unsigned char *binary = NULL;
    json_t *text = NULL;
    if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, NULL) ==
            CL_SUCCESS &&
        size > 0 && (binary = malloc(size + 1)) != NULL &&
        clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) ==
            CL_SUCCESS) {
        binary[size] = '\0';
        const char *at = strstr((const char *)binary, ".version");
        if (at != NULL)
            text =
                json_stringn(at, strcspn(at, "\n") + 1 + strcspn(at + strcspn(at, "\n") + 1, "\n"));
    }
    free(binary);
    return text != NULL ? text : json_null();
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

typedef struct hearing {
    const bench_session *session;
    const char *call;
    json_t *kernels;
} hearing;

static void add_size(json_t *to, const char *name, cl_kernel kernel, cl_device_id device,
                     cl_kernel_work_group_info query)
{
    cl_ulong value = 0;
    if (clGetKernelWorkGroupInfo(kernel, device, query, sizeof value, &value, NULL) == CL_SUCCESS)
        json_object_set_new(to, name, json_integer((json_int_t)value));
}

/* A kernel that a plan would need: built here with the compiler's own account of its registers. */
static void hear(void *user, const char *source, const char *options, const char *kernel,
                 size_t work_group)
{
    hearing *h = user;
    const struct tenon_kernel_file *file = tn_kernel_file(&tenon_kernel_sources, source);
    cl_device_id device = h->session->device.device;
    char verbose[1024], *log = NULL;
    cl_int error = CL_SUCCESS;
    size_t length;
    char *text = file != NULL ? tn_kernel_text(&tenon_kernel_sources, file, &length) : NULL;
    if (text == NULL)
        return;
    snprintf(verbose, sizeof verbose, "%s%s", options,
             h->session->context->device.speaks_nvidia ? " -cl-nv-verbose" : "");
    cl_program program = bench_build(h->session, text, length, verbose, &log);
    free(text);
    json_t *entry =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:b, s:s}", "call", h->call, "source", source,
                  "options", options, "kernel", kernel, "work_group", (int)work_group, "builds",
                  program != NULL, "log", log != NULL ? log : "");
    cl_kernel made = program != NULL ? clCreateKernel(program, kernel, &error) : NULL;
    if (made != NULL && error == CL_SUCCESS) {
        add_size(entry, "max_work_group", made, device, CL_KERNEL_WORK_GROUP_SIZE);
        add_size(entry, "multiple", made, device, CL_KERNEL_PREFERRED_WORK_GROUP_SIZE_MULTIPLE);
        add_size(entry, "local_bytes", made, device, CL_KERNEL_LOCAL_MEM_SIZE);
        add_size(entry, "private_bytes", made, device, CL_KERNEL_PRIVATE_MEM_SIZE);
        add_size(entry, "intel_spilled_bytes", made, device, 0x4109);
        clReleaseKernel(made);
    }
    if (program != NULL)
        json_object_set_new(entry, "binary", first_lines_of_binary(program));
    json_array_append_new(h->kernels, entry);
    free(log);
    if (program != NULL)
        clReleaseProgram(program);
}

/* Makes the plan of a line; one that cannot be made is left out. */
static void plan_line(tenon_context *context, const char *line)
{
    tn_case *c = malloc(sizeof *c);
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    tenon_plan *plan = NULL;
    if (c == NULL || tn_case_parse_line(line, TENON_DTYPE_INVALID, c) != TENON_OK) {
        fprintf(stderr, "tenon-bench: %s\n", tenon_last_error());
        free(c);
        return;
    }
    for (uint32_t i = 0; i < c->operation->operand_count; i++)
        if (c->views[i].dtype != TENON_DTYPE_INVALID)
            views[i] = &c->views[i];
    c->params.head.solver = NULL;
    if (c->operation->plan(context, &c->params, views, &plan) != TENON_OK)
        fprintf(stderr, "tenon-bench: %s: %s\n", line, tenon_last_error());
    tenon_plan_release(plan);
    free(c);
}

/* Plans made for the device in a context without it, which builds nothing by itself. What the
 * device can do has been tried by now. */
static json_t *kernels(const bench_session *session)
{
    hearing h = {session, NULL, json_array()};
    tenon_context *mirror;
    if (!BENCH_WELL(tn_context_without_device("tenon-bench", &session->context->device, &mirror)))
        return h.kernels;
    for (int i = 0; tenon_capability_string((tenon_capability)i) != NULL; i++)
        mirror->capabilities.results[i] = session->context->capabilities.results[i];
    mirror->programs.listener = hear;
    mirror->programs.listener_user = &h;
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        h.call = calls[i];
        if (session->options->filter == NULL || strstr(calls[i], session->options->filter) != NULL)
            plan_line(mirror, calls[i]);
    }
    tenon_context_release(mirror);
    return h.kernels;
}

bool bench_facts(bench_session *session)
{
    json_t *document = json_pack(
        "{s:i, s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "version", 1, "tenon",
        tenon_version_string(), "date", bench_json_date(), "host", bench_json_host(), "device",
        device_answers(session), "capabilities", capabilities(session), "local_memory",
        local_memory(session), "assembler", assembler(session), "kernels", kernels(session));
    return bench_json_write(session->options->json, document);
}

/* tenon-bench ceilings: the limits that a result is to be seen beside. Each is found by a kernel
 * whose result is checked, or by launches of one that does nothing. */
#include "ceilings.h"

#include "device.h"
#include "matrix/layout.h"
#include "runtime/capability.h"
#include "runtime/capability_trials.h"
#include "runtime/context.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define GROUP         256
#define ROUNDS        5
#define ROUND_SECONDS 0.02
#define LAUNCHES      200
#define CHAINS        16 /* as in the kernel */
#define STEPS         8
#define UNIT_PRODUCTS 8                   /* of a warp at once, in matrix_peak.cl */
#define FAR           (UINT64_C(1) << 30) /* bytes beyond any cache */

typedef struct ceilings {
    bench_session *session;
    cl_command_queue queue;
    cl_program program;
    cl_mem x, y;
    uint64_t bytes; /* of each of the two */
    size_t items;   /* work-items that fill the device */
    json_t *list;
    bool well;
} ceilings;

/* Notes a limit; `value` in the unit, which it takes so many nanoseconds to reach. */
static void note(ceilings *c, const char *name, double value, const char *unit, double nanoseconds,
                 bool right)
{
    value = isfinite(value) ? value : 0;
    printf("%-28s %12.4g %-8s %12.1f us%s\n", name, value, unit, nanoseconds * 1e-3,
           right ? "" : "  WRONG");
    fflush(stdout);
    json_array_append_new(c->list,
                          json_pack("{s:s, s:f, s:s, s:f, s:b}", "name", name, "value", value,
                                    "unit", unit, "median_ns", nanoseconds, "verified", right));
    c->well &= right;
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    return error == CL_SUCCESS ? kernel : NULL;
}

/* Seconds of so many launches and the wait for them; negative where one failed. */
static double seconds_of(const ceilings *c, cl_kernel kernel, size_t items, int launches)
{
    const double start = bench_now();
    for (int i = 0; i < launches; i++)
        if (!bench_launch(c->session, kernel, items, GROUP))
            return -1;
    return clFinish(c->queue) == CL_SUCCESS ? bench_now() - start : -1;
}

/* Nanoseconds of a launch among launches back to back, the median of a few rounds; 0 on failure. */
static double time_of(const ceilings *c, cl_kernel kernel, size_t items)
{
    double values[ROUNDS], seconds = seconds_of(c, kernel, items, 1);
    int launches = 1;
    while (seconds >= 0 && launches < 1 << 14 &&
           (seconds = seconds_of(c, kernel, items, launches)) < ROUND_SECONDS / 2)
        launches *= 2;
    for (int i = 0; i < ROUNDS && seconds >= 0; i++) {
        seconds = seconds_of(c, kernel, items, launches);
        values[i] = 1e9 * seconds / launches;
    }
    return seconds < 0 ? 0 : bench_median(values, ROUNDS);
}

/* Whether the first `count` floats of a buffer are all the value. */
static bool all_are(const ceilings *c, cl_mem buffer, size_t count, float value)
{
    float *host = malloc(count * sizeof *host);
    bool right =
        host != NULL && clEnqueueReadBuffer(c->queue, buffer, CL_TRUE, 0, count * sizeof *host,
                                            host, 0, NULL, NULL) == CL_SUCCESS;
    for (size_t i = 0; right && i < count; i++)
        right = host[i] == value;
    free(host);
    return right;
}

static bool fill(const ceilings *c, cl_mem buffer, float value)
{
    cl_kernel kernel = kernel_of(c->program, "write");
    const cl_ulong count = c->bytes / sizeof(cl_float4);
    const bool well = kernel != NULL &&
                      bench_arguments(kernel, sizeof buffer, &buffer, sizeof count, &count,
                                      sizeof value, &value, (size_t)0) &&
                      seconds_of(c, kernel, c->items, 1) >= 0;
    if (kernel != NULL)
        clReleaseKernel(kernel);
    return well;
}

static void measure_write(ceilings *c)
{
    cl_kernel kernel = kernel_of(c->program, "write");
    const cl_ulong count = c->bytes / sizeof(cl_float4);
    const float one = 1;
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->x, &c->x, sizeof count, &count,
                                           sizeof one, &one, (size_t)0)) {
        c->well = false;
        return;
    }
    const double time = time_of(c, kernel, c->items);
    note(c, "write", (double)c->bytes / time, "GB/s", time,
         time > 0 && all_are(c, c->x, (size_t)1 << 16, 1));
    clReleaseKernel(kernel);
}

static void measure_copy(ceilings *c)
{
    cl_kernel kernel = kernel_of(c->program, "copy");
    const cl_ulong count = c->bytes / sizeof(cl_float4);
    double values[ROUNDS];
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->x, &c->x, sizeof c->y, &c->y,
                                           sizeof count, &count, (size_t)0)) {
        c->well = false;
        return;
    }
    double time = time_of(c, kernel, c->items);
    note(c, "copy by a kernel", 2.0 * (double)c->bytes / time, "GB/s", time,
         time > 0 && all_are(c, c->y, (size_t)1 << 16, 1));
    clReleaseKernel(kernel);
    bool right = fill(c, c->y, 0);
    for (int i = -1; i < ROUNDS; i++) { /* the first is not counted */
        const double start = bench_now();
        right &= clEnqueueCopyBuffer(c->queue, c->x, c->y, 0, 0, c->bytes, 0, NULL, NULL) ==
                     CL_SUCCESS &&
                 clFinish(c->queue) == CL_SUCCESS;
        values[i < 0 ? 0 : i] = 1e9 * (bench_now() - start);
    }
    time = bench_median(values, ROUNDS);
    note(c, "copy by the driver", 2.0 * (double)c->bytes / time, "GB/s", time,
         right && all_are(c, c->y, (size_t)1 << 16, 1));
}

/* Reads a window again and again: from memory, or from the caches. */
static void measure_read(ceilings *c, uint64_t window, const char *name)
{
    cl_kernel kernel = kernel_of(c->program, "read");
    window = window < c->bytes ? window : c->bytes;
    const cl_ulong count = window / sizeof(cl_float4);
    /* As many passes as keep a launch long beside what it costs to start. */
    const cl_uint times = (cl_uint)((c->bytes + window - 1) / window);
    const size_t items = c->items < count ? c->items : (size_t)count;
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->x, &c->x, sizeof c->y, &c->y,
                                           sizeof count, &count, sizeof times, &times, (size_t)0)) {
        c->well = false;
        return;
    }
    const double time = time_of(c, kernel, items);
    /* Exact while a work-item's sum stays below 2^24: all shares are the same, of powers of two. */
    const float share = (float)(4.0 * (double)count * times / (double)items);
    note(c, name, (double)window * times / time, "GB/s", time,
         time > 0 && all_are(c, c->y, items, share));
    clReleaseKernel(kernel);
}

/* A kernel of arithmetic alone: its results and then `loops` are its first arguments. */
typedef struct arithmetic {
    const char *name, *source, *kernel, *options;
    double operations, once; /* of a work-item: in a loop, and beside them */
    float result;            /* of each work-item */
} arithmetic;

/* Loops until a launch takes a while; then its time. */
static void measure_loops(ceilings *c, const arithmetic *a, cl_kernel kernel)
{
    cl_uint loops = 16;
    double seconds;
    do {
        loops *= 2;
        seconds = clSetKernelArg(kernel, 1, sizeof loops, &loops) == CL_SUCCESS
                      ? seconds_of(c, kernel, c->items, 1)
                      : -1;
    } while (seconds >= 0 && seconds < ROUND_SECONDS / 4 && loops < 1U << 24);
    const double time = seconds >= 0 ? time_of(c, kernel, c->items) : 0;
    const double all = (a->operations * loops + a->once) * (double)c->items;
    note(c, a->name, all / (time > 0 ? time : 1), "GFLOP/s", time,
         time > 0 && all_are(c, c->y, c->items, a->result));
}

/* The arguments after `loops` are two words, as bits. */
static void measure_arithmetic(ceilings *c, const arithmetic *a, cl_uint first, cl_uint second)
{
    const cl_uint loops = 1;
    char *log;
    cl_program program = bench_build_own(c->session, a->source, a->options, &log);
    cl_kernel kernel = program != NULL ? kernel_of(program, a->kernel) : NULL;
    if (kernel != NULL &&
        bench_arguments(kernel, sizeof c->y, &c->y, sizeof loops, &loops, sizeof first, &first,
                        sizeof second, &second, (size_t)0)) {
        measure_loops(c, a, kernel);
    } else {
        fprintf(stderr, "tenon-bench: %s does not build: %s\n", a->name, log != NULL ? log : "");
        c->well = false;
    }
    free(log);
    if (kernel != NULL)
        clReleaseKernel(kernel);
    if (program != NULL)
        clReleaseProgram(program);
}

static void measure_multiply_add(ceilings *c, const char *name, const char *options, int width)
{
    const float half = 0.5F, one = 1;
    cl_uint first, second;
    memcpy(&first, &half, sizeof first);
    memcpy(&second, &one, sizeof second);
    const arithmetic a = {.name = name,
                          .source = "ceilings",
                          .kernel = "multiply_add",
                          .options = options,
                          .operations = 2.0 * CHAINS * STEPS * width,
                          .result = 2.0F * CHAINS * (float)width};
    measure_arithmetic(c, &a, first, second);
}

static const struct {
    const char *name;
    uint32_t plus, minus; /* a word of elements 1 and -1 */
} unit_types[] = {
    [MATRIX_F16] = {"f16", 0x3c003c00, 0xbc00bc00},
    [MATRIX_BF16] = {"bf16", 0x3f803f80, 0xbf80bf80},
    [MATRIX_TF32] = {"tf32", 0x3f800000, 0xbf800000},
    [MATRIX_I8] = {"i8", 0x01010101, 0xffffffff},
    [MATRIX_F32] = {"f32", 0x3f800000, 0xbf800000},
};

static void measure_unit(ceilings *c, int unit, int type, const char *options)
{
    const int k = MATRIX_K(unit, type), lanes = MATRIX_LANES(unit),
              result = UNIT_PRODUCTS * MATRIX_D_COUNT(unit) * (3 + k);
    const double products = 2.0 * UNIT_PRODUCTS * MATRIX_M(unit) * MATRIX_N(unit) * k / lanes;
    char name[64], all[640];
    snprintf(name, sizeof name, "matrix unit %s", unit_types[type].name);
    snprintf(all, sizeof all, "%s -DTENON_UNIT_TYPE=%d -DTENON_EMULATE=0", options, type);
    const arithmetic a = {.name = name,
                          .source = "matrix_peak",
                          .kernel = "matrix_peak",
                          .options = all,
                          .operations = 2 * products,
                          .once = products,
                          .result = (float)result};
    measure_arithmetic(c, &a, unit_types[type].plus, unit_types[type].minus);
}

/* The unit that the device has, in each type that it multiplies. */
static void measure_units(ceilings *c)
{
    static const struct {
        tenon_capability capability;
        int units[2]; /* of its forms */
    } known[] = {{TENON_CAPABILITY_NVIDIA_MMA, {MATRIX_NVIDIA}},
                 {TENON_CAPABILITY_AMD_MFMA, {MATRIX_MFMA}},
                 {TENON_CAPABILITY_AMD_WMMA, {MATRIX_WMMA_11, MATRIX_WMMA_12}},
                 {TENON_CAPABILITY_INTEL_MATRIX, {MATRIX_XMX_16, MATRIX_XMX_8}}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const int form = tn_capability_form(c->session->context, known[i].capability);
        const int unit = form >= 0 ? known[i].units[form] : 0;
        char options[512];
        if (form < 0)
            continue;
        tn_build_options_with(c->session->context, known[i].capability, options, "-DTENON_UNIT=%d",
                              unit);
        for (int type = MATRIX_F16; type <= MATRIX_F32; type++)
            if (MATRIX_HAS(unit, type))
                measure_unit(c, unit, type, options);
    }
}

/* What a launch costs: in a row, alone with its wait, and alone after a while without work. */
static void measure_launches(ceilings *c)
{
    cl_kernel kernel = kernel_of(c->program, "nothing");
    const struct timespec while_idle = {0, 200000000};
    double alone[ROUNDS * 4], woken[ROUNDS];
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->y, &c->y, (size_t)0) ||
        seconds_of(c, kernel, GROUP, 1) < 0) {
        c->well = false;
        return;
    }
    const double many = seconds_of(c, kernel, GROUP, LAUNCHES) / LAUNCHES;
    for (int i = 0; i < ROUNDS * 4; i++)
        alone[i] = seconds_of(c, kernel, GROUP, 1);
    for (int i = 0; i < ROUNDS; i++) {
        nanosleep(&while_idle, NULL);
        woken[i] = seconds_of(c, kernel, GROUP, 1);
    }
    const bool right = all_are(c, c->y, 1, 1);
    const double one = bench_median(alone, ROUNDS * 4), late = bench_median(woken, ROUNDS);
    note(c, "a launch in a row", 1e6 * many, "us", 1e9 * many, right && many > 0);
    note(c, "a launch and its wait", 1e6 * one, "us", 1e9 * one, right && one > 0);
    note(c, "the same after 0.2 s idle", 1e6 * late, "us", 1e9 * late, right && late > 0);
    clReleaseKernel(kernel);
}

static bool prepare(ceilings *c)
{
    const tenon_device_info *d = &c->session->device;
    const bool is_cpu = (d->type & CL_DEVICE_TYPE_CPU) != 0;
    cl_int first, second;
    char *log;
    c->bytes = is_cpu ? FAR / 64 : FAR; /* where the kernels' order of access is no CPU's */
    while (c->bytes > d->max_allocation || c->bytes > d->global_memory / 4)
        c->bytes /= 2;
    c->items = GROUP;
    while (c->items < (size_t)d->compute_units * (is_cpu ? GROUP : 2048))
        c->items *= 2;
    c->queue = tenon_stream_cl(c->session->stream);
    c->program = bench_build_own(c->session, "ceilings", TN_LEAST_VERSION, &log);
    if (c->program == NULL)
        fprintf(stderr, "tenon-bench: bench/kernels/ceilings.cl does not build:\n%s\n",
                log != NULL ? log : "");
    free(log);
    c->x = clCreateBuffer(tenon_context_cl(c->session->context), CL_MEM_READ_WRITE, c->bytes, NULL,
                          &first);
    c->y = clCreateBuffer(tenon_context_cl(c->session->context), CL_MEM_READ_WRITE, c->bytes, NULL,
                          &second);
    return c->program != NULL && first == CL_SUCCESS && second == CL_SUCCESS && fill(c, c->x, 1) &&
           fill(c, c->y, 0);
}

static bool has(const ceilings *c, tenon_capability capability)
{
    uint32_t available = 0;
    return tenon_context_capability(c->session->context, capability, &available, NULL, 0) ==
               TENON_OK &&
           available;
}

static void measure_all(ceilings *c)
{
    measure_write(c);
    measure_copy(c);
    measure_read(c, c->bytes, "read");
    measure_read(c, UINT64_C(32) << 20, "read 32 MiB again");
    measure_read(c, UINT64_C(8) << 20, "read 8 MiB again");
    measure_read(c, UINT64_C(1) << 20, "read 1 MiB again");
    measure_multiply_add(c, "multiply-add f32", TN_LEAST_VERSION, 1);
    if (has(c, TENON_CAPABILITY_F64))
        measure_multiply_add(c, "multiply-add f64", TN_LEAST_VERSION " -DT=double -DNEEDS=64", 1);
    if (has(c, TENON_CAPABILITY_F16))
        measure_multiply_add(c, "multiply-add f16", TN_LEAST_VERSION " -DT=half2 -DNEEDS=16", 2);
    measure_units(c);
    measure_launches(c);
}

bool bench_ceilings(bench_session *session)
{
    ceilings c = {.session = session, .list = json_array(), .well = true};
    const bool ready = prepare(&c);
    if (ready)
        measure_all(&c);
    if (c.x != NULL)
        clReleaseMemObject(c.x);
    if (c.y != NULL)
        clReleaseMemObject(c.y);
    if (c.program != NULL)
        clReleaseProgram(c.program);
    json_t *document =
        json_pack("{s:i, s:s, s:o, s:o, s:o, s:o}", "version", 1, "tenon", tenon_version_string(),
                  "date", bench_json_date(), "device", bench_json_device(session), "host",
                  bench_json_host(), "ceilings", c.list);
    if (session->options->json != NULL)
        c.well &= bench_json_write(session->options->json, document);
    else
        json_decref(document);
    return ready && c.well;
}

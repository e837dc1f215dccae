/* Measures the device's limits, to which results can be compared. Each limit is measured by a
 * kernel whose result is checked, or by launches of an empty kernel. */
#include "ceilings.h"

#include "device.h"
#include "device_limits.h"
#include "runtime/probe/capability.h"
#include "runtime/probe/capability_trials.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/context/context.h"
#include "timing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROUNDS          5
#define ROUND_SECONDS   0.02
#define LAUNCHES        200
#define CPU_SECONDS     0.001 /* of a launch: a hundred times the cost of starting it */
#define SINGLE_LAUNCHES 40
#define CHAINS          16 /* as in the kernel */
#define CPU_CHAINS      12
#define STEPS           8
#define FAR             (UINT64_C(1) << 30) /* bytes that exceed any cache */

/* Adds the optional members of a limit. */
static json_t *limit_of(const bench_limits *c, json_t *limit)
{
    if (c->dtype != NULL)
        json_object_set_new(limit, "dtype", json_string(c->dtype));
    if (c->level != NULL)
        json_object_set_new(limit, "level", json_string(c->level));
    if (c->window > 0)
        json_object_set_new(limit, "window", json_integer((json_int_t)c->window));
    return limit;
}

/* Sets what the next limits measure. */
static void expect(bench_limits *c, const char *kind, const char *dtype, const char *level,
                   uint64_t window)
{
    c->kind = kind;
    c->dtype = dtype;
    c->level = level;
    c->window = window;
    c->fast = c->slow = 0;
}

/* Sorts the times and keeps their quartiles. Returns the median. */
static double spread_of(bench_limits *c, double *values, int count)
{
    const double median = bench_median(values, count);
    c->fast = values[count / 4];
    c->slow = values[count - 1 - count / 4];
    return median;
}

/* Records a limit: `value` in `unit`, measured over `nanoseconds`. If a call has failed since the
 * last limit, records the failure instead, because the device may be lost. */
static void note(bench_limits *c, const char *name, double value, const char *unit,
                 double nanoseconds, bool right)
{
    if (c->failed != NULL) {
        char why[128];
        snprintf(why, sizeof why, "%s returned %s (%d)", c->failed, tn_cl_error_string(c->error),
                 c->error);
        bench_limit_left_out(c, name, why);
        c->failed = NULL;
        c->well = false;
        return;
    }
    const bool is_time = strcmp(unit, "us") == 0;
    value = isfinite(value) ? value : 0;
    const double fast = c->fast > 0 ? fmin(c->fast, nanoseconds) : nanoseconds,
                 slow = fmax(c->slow, nanoseconds);
    const double low = is_time    ? fast * 1e-3
                       : slow > 0 ? value * nanoseconds / slow
                                  : 0,
                 high = is_time    ? slow * 1e-3
                        : fast > 0 ? value * nanoseconds / fast
                                   : 0;
    printf("%-28s %12.4g %-8s (%.4g to %.4g) %12.1f us%s\n", name, value, unit, low, high,
           nanoseconds * 1e-3, right ? "" : "  WRONG");
    fflush(stdout);
    json_array_append_new(
        c->list, limit_of(c, json_pack("{s:s, s:s, s:f, s:f, s:f, s:s, s:f, s:b}", "name", name,
                                       "kind", c->kind, "value", value, "low", low, "high", high,
                                       "unit", unit, "median_ns", nanoseconds, "verified", right)));
    c->well &= right;
}

bool bench_limit_wanted(const bench_limits *c, const char *name)
{
    const char *filter = c->session->options->filter;
    return filter == NULL || strstr(name, filter) != NULL;
}

void bench_limit_left_out(bench_limits *c, const char *name, const char *why)
{
    printf("%-28s is left out: %.*s\n", name, (int)strcspn(why, "\n"), why);
    json_array_append_new(c->left_out, json_pack("{s:s, s:s}", "name", name, "why", why));
}

static cl_kernel kernel_of(cl_program program, const char *name)
{
    cl_int error;
    cl_kernel kernel = clCreateKernel(program, name, &error);
    return error == CL_SUCCESS ? kernel : NULL;
}

/* Returns true if a call succeeded. A failure is kept for the next limit that is recorded. */
static bool worked(bench_limits *c, const char *function, cl_int error)
{
    if (error != CL_SUCCESS && c->failed == NULL) {
        c->failed = function;
        c->error = error;
    }
    return error == CL_SUCCESS;
}

/* Returns the seconds for `launches` launches and the wait for them; negative if one failed. */
static double seconds_of(bench_limits *c, cl_kernel kernel, size_t items, int launches)
{
    const double start = bench_now();
    for (int i = 0; i < launches; i++)
        if (!worked(c, "clEnqueueNDRangeKernel", bench_launch(c->session, kernel, items, c->group)))
            return -1;
    return worked(c, "clFinish", clFinish(c->queue)) ? bench_now() - start : -1;
}

/* Returns the median nanoseconds of a launch, over a few rounds of back-to-back launches; 0 on
 * failure. */
static double time_in_a_row(bench_limits *c, cl_kernel kernel, size_t items)
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
    return seconds < 0 ? 0 : spread_of(c, values, ROUNDS);
}

/* Returns the nanoseconds of a launch; 0 on failure. On a CPU launches are timed one by one and the
 * minimum is used, because other processes can only make them slower. */
static double time_of(bench_limits *c, cl_kernel kernel, size_t items)
{
    double values[SINGLE_LAUNCHES];
    if (c->lanes == 0)
        return time_in_a_row(c, kernel, items);
    for (int i = 0; i < SINGLE_LAUNCHES; i++) {
        const double seconds = seconds_of(c, kernel, items, 1);
        if (seconds < 0)
            return 0;
        values[i] = 1e9 * seconds;
    }
    (void)spread_of(c, values, SINGLE_LAUNCHES);
    return values[0]; /* they are sorted by now */
}

/* Returns true if the first `count` floats of a buffer all equal the value. */
static bool all_are(bench_limits *c, cl_mem buffer, size_t count, float value)
{
    float *host = malloc(count * sizeof *host);
    bool right =
        host != NULL && worked(c, "clEnqueueReadBuffer",
                               clEnqueueReadBuffer(c->queue, buffer, CL_TRUE, 0,
                                                   count * sizeof *host, host, 0, NULL, NULL));
    for (size_t i = 0; right && i < count; i++)
        right = host[i] == value;
    free(host);
    return right;
}

static bool fill(bench_limits *c, cl_mem buffer, float value)
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

static void measure_write(bench_limits *c)
{
    cl_kernel kernel = kernel_of(c->program, "write");
    const cl_ulong count = c->bytes / sizeof(cl_float4);
    const float one = 1;
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->x, &c->x, sizeof count, &count,
                                           sizeof one, &one, (size_t)0)) {
        if (kernel != NULL)
            clReleaseKernel(kernel);
        c->well = false;
        return;
    }
    expect(c, "bandwidth", NULL, "memory", c->bytes);
    const double time = time_of(c, kernel, c->items);
    const bool right = time > 0 && all_are(c, c->x, (size_t)1 << 16, 1);
    note(c, "write", (double)c->bytes / time, "GB/s", time, right);
    clReleaseKernel(kernel);
}

static void measure_copy(bench_limits *c)
{
    cl_kernel kernel = kernel_of(c->program, "copy");
    const cl_ulong count = c->bytes / sizeof(cl_float4);
    double values[ROUNDS];
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->x, &c->x, sizeof c->y, &c->y,
                                           sizeof count, &count, (size_t)0)) {
        if (kernel != NULL)
            clReleaseKernel(kernel);
        c->well = false;
        return;
    }
    expect(c, "bandwidth", NULL, "memory", c->bytes);
    double time = time_of(c, kernel, c->items);
    bool right = time > 0 && all_are(c, c->y, (size_t)1 << 16, 1);
    note(c, "copy by a kernel", 2.0 * (double)c->bytes / time, "GB/s", time, right);
    clReleaseKernel(kernel);
    right = fill(c, c->y, 0);
    for (int i = -1; i < ROUNDS; i++) { /* the first one is not counted */
        const double start = bench_now();
        right &= worked(c, "clEnqueueCopyBuffer",
                        clEnqueueCopyBuffer(c->queue, c->x, c->y, 0, 0, c->bytes, 0, NULL, NULL)) &&
                 worked(c, "clFinish", clFinish(c->queue));
        values[i < 0 ? 0 : i] = 1e9 * (bench_now() - start);
    }
    expect(c, "other", NULL, NULL, c->bytes);
    time = spread_of(c, values, ROUNDS);
    if (c->lanes > 0)
        time = values[0]; /* values are sorted by now */
    right = right && all_are(c, c->y, (size_t)1 << 16, 1);
    note(c, "copy by the driver", 2.0 * (double)c->bytes / time, "GB/s", time, right);
}

void bench_measure_read(bench_limits *c, const char *name, const char *level, uint64_t window,
                        size_t items)
{
    if (!bench_limit_wanted(c, name))
        return;
    cl_kernel kernel = kernel_of(c->program, "read");
    const cl_ulong count = window / sizeof(cl_float4);
    /* Enough passes to make a launch long compared with its startup. */
    const uint64_t all = c->lanes > 0 && window < c->bytes ? 4 * c->bytes : c->bytes;
    const cl_uint times = (cl_uint)((all + window - 1) / window);
    items = items < count ? items : (size_t)count;
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->x, &c->x, sizeof c->y, &c->y,
                                           sizeof count, &count, sizeof times, &times, (size_t)0)) {
        if (kernel != NULL)
            clReleaseKernel(kernel);
        c->well = false;
        return;
    }
    expect(c, "bandwidth", NULL, level, window);
    const double time = time_of(c, kernel, items);
    /* All shares are equal. The lanes' sums are equal integers below 2^24, and adding equal numbers
     * in pairs is exact. */
    const float share = (float)(4.0 * (double)count * times / (double)items);
    const bool right = time > 0 && all_are(c, c->y, items, share);
    note(c, name, (double)window * times / time, "GB/s", time, right);
    clReleaseKernel(kernel);
}

/* Returns the minimum of three launches, to exclude interference by other processes. */
static double least_seconds_of(bench_limits *c, cl_kernel kernel, size_t items)
{
    double least = seconds_of(c, kernel, items, 1);
    for (int i = 0; i < 2 && least >= 0; i++) {
        const double seconds = seconds_of(c, kernel, items, 1);
        least = seconds < least ? seconds : least;
    }
    return least;
}

/* Increases the loop count until a launch is long enough, and then records the limit. */
static void measure_loops(bench_limits *c, const bench_arithmetic *a, cl_kernel kernel)
{
    cl_uint loops = 16;
    double seconds = 0;
    do {
        loops *= 2;
        seconds = clSetKernelArg(kernel, 1, sizeof loops, &loops) == CL_SUCCESS
                      ? least_seconds_of(c, kernel, c->items)
                      : -1;
    } while (seconds >= 0 && seconds < (c->lanes > 0 ? CPU_SECONDS : ROUND_SECONDS / 4) &&
             loops < 1U << 24);
    expect(c, a->kind, a->dtype, NULL, 0);
    const double time = seconds >= 0 ? time_of(c, kernel, c->items) : 0;
    const double all = (a->operations * loops + a->once) * (double)c->items;
    const bool right = time > 0 && all_are(c, c->y, c->items, a->result);
    note(c, a->name, all / (time > 0 ? time : 1), "GFLOP/s", time, right);
}

void bench_measure_arithmetic(bench_limits *c, const bench_arithmetic *a, cl_uint first,
                              cl_uint second)
{
    const cl_uint loops = 1;
    char *log;
    cl_program program = bench_build_own(c->session, a->source, a->options, &log);
    cl_kernel kernel = program != NULL ? kernel_of(program, a->kernel) : NULL;
    if (kernel != NULL &&
        bench_arguments(kernel, sizeof c->y, &c->y, sizeof loops, &loops, sizeof first, &first,
                        sizeof second, &second, (size_t)0)) {
        measure_loops(c, a, kernel);
    } else if (a->may_lack) {
        bench_limit_left_out(c, a->name, log != NULL && *log != '\0' ? log : "it does not build");
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

/* Measures multiply-adds on `width` elements; `options` define their type T. */
static void measure_multiply_add(bench_limits *c, const char *dtype, const char *options, int width)
{
    char name[32];
    snprintf(name, sizeof name, "multiply-add %s", dtype);
    if (!bench_limit_wanted(c, name))
        return;
    const int chains = c->lanes > 0 ? CPU_CHAINS : CHAINS;
    const float half = 0.5F, one = 1;
    cl_uint first, second;
    memcpy(&first, &half, sizeof first);
    memcpy(&second, &one, sizeof second);
    const bench_arithmetic a = {.name = name,
                                .source = "ceilings",
                                .kernel = "multiply_add",
                                .options = options,
                                .kind = "vector",
                                .dtype = dtype,
                                .operations = 2.0 * chains * STEPS * width,
                                .result = 2.0F * (float)(chains * width)};
    bench_measure_arithmetic(c, &a, first, second);
}

/* Records a limit from nanoseconds: the least on a CPU, otherwise the median. */
static void note_launch(bench_limits *c, const char *kind, const char *name, double *values,
                        int count, bool right)
{
    expect(c, kind, NULL, NULL, 0);
    const double median = spread_of(c, values, count);
    const double time = c->lanes > 0 ? values[0] : median; /* as in time_of */
    note(c, name, 1e-3 * time, "us", time, right && time > 0);
}

/* Measures the cost of a launch: back to back, alone with its wait, and alone after an idle period.
 */
static void measure_launches(bench_limits *c)
{
    cl_kernel kernel = kernel_of(c->program, "nothing");
    const struct timespec while_idle = {0, 200000000};
    double row[ROUNDS], alone[ROUNDS * 4], woken[ROUNDS];
    const size_t items = c->group;
    if (kernel == NULL || !bench_arguments(kernel, sizeof c->y, &c->y, (size_t)0)) {
        c->well = false;
        return;
    }
    if (seconds_of(c, kernel, items, 1) < 0) {
        expect(c, "launch", NULL, NULL, 0);
        note(c, "a launch", 0, "us", 0, false);
        return;
    }
    for (int i = 0; i < ROUNDS; i++)
        row[i] = 1e9 * seconds_of(c, kernel, items, LAUNCHES) / LAUNCHES;
    for (int i = 0; i < ROUNDS * 4; i++)
        alone[i] = 1e9 * seconds_of(c, kernel, items, 1);
    for (int i = 0; i < ROUNDS; i++) {
        nanosleep(&while_idle, NULL);
        woken[i] = 1e9 * seconds_of(c, kernel, items, 1);
    }
    const bool right = all_are(c, c->y, 1, 1);
    note_launch(c, "launch", "a launch in a row", row, ROUNDS, right);
    note_launch(c, "other", "a launch and its wait", alone, ROUNDS * 4, right);
    note_launch(c, "other", "the same after 0.2 s idle", woken, ROUNDS, right);
    clReleaseKernel(kernel);
}

/* Chooses buffers larger than any cache, and enough work-items to fill the device; all powers of
 * two. */
static void size_up(bench_limits *c)
{
    const tenon_device_info *d = &c->session->device;
    const bool is_cpu = (d->type & CL_DEVICE_TYPE_CPU) != 0;
    const uint64_t cache = c->session->context->device.model.cache_size;
    c->lanes = is_cpu ? (int)d->vector_width_f32 : 0;
    c->group = is_cpu ? 1 : BENCH_GROUP;
    c->bytes = is_cpu ? FAR / 16 : FAR;
    while (is_cpu && c->bytes < 4 * cache && c->bytes < FAR)
        c->bytes *= 2;
    while (c->bytes > d->max_allocation || c->bytes > d->global_memory / 4)
        c->bytes /= 2;
    c->items = c->group;
    while (c->items < (size_t)d->compute_units * (is_cpu ? 8 : 2048))
        c->items *= 2;
}

static bool prepare(bench_limits *c)
{
    cl_int first, second;
    char *log;
    size_up(c);
    c->queue = tenon_stream_cl(c->session->stream);
    c->program = bench_build_own(c->session, "ceilings",
                                 c->lanes > 0 ? TN_MIN_VERSION " -DCPU=1" : TN_MIN_VERSION, &log);
    if (c->program == NULL)
        fprintf(stderr, "tenon-bench: bench/kernels/ceilings.cl does not build:\n%s\n",
                log != NULL ? log : "");
    free(log);
    c->x = clCreateBuffer(tenon_context_cl(c->session->context), CL_MEM_READ_WRITE, c->bytes, NULL,
                          &first);
    c->y = clCreateBuffer(tenon_context_cl(c->session->context), CL_MEM_READ_WRITE, c->bytes, NULL,
                          &second);
    return c->program != NULL && worked(c, "clCreateBuffer", first) &&
           worked(c, "clCreateBuffer", second) && fill(c, c->x, 1) && fill(c, c->y, 0);
}

static bool has(const bench_limits *c, tenon_capability capability)
{
    uint32_t available = 0;
    return tenon_context_capability(c->session->context, capability, &available, NULL, 0) ==
               TENON_OK &&
           available;
}

/* Measures multiply-adds with a CPU's vectors, on all processors. */
static void measure_vectors(bench_limits *c)
{
    const int halves = c->lanes / 2;
    char options[128];
    snprintf(options, sizeof options, TN_MIN_VERSION " -DCPU=1 -DT=float%d -DE=float -DLANES=%d",
             c->lanes, c->lanes);
    measure_multiply_add(c, "f32", options, c->lanes);
    snprintf(options, sizeof options,
             TN_MIN_VERSION " -DCPU=1 -DT=double%d -DE=double -DLANES=%d -DNEEDS=64", halves,
             halves);
    if (has(c, TENON_CAPABILITY_F64))
        measure_multiply_add(c, "f64", options, halves);
}

static void measure_scalars(bench_limits *c)
{
    measure_multiply_add(c, "f32", TN_MIN_VERSION, 1);
    if (has(c, TENON_CAPABILITY_F64))
        measure_multiply_add(c, "f64", TN_MIN_VERSION " -DT=double -DNEEDS=64", 1);
    if (has(c, TENON_CAPABILITY_F16))
        measure_multiply_add(c, "f16", TN_MIN_VERSION " -DT=half2 -DNEEDS=16", 2);
}

static void measure_all(bench_limits *c)
{
    if (bench_limit_wanted(c, "write"))
        measure_write(c);
    if (bench_limit_wanted(c, "copy"))
        measure_copy(c);
    bench_measure_read(c, "read", "memory", c->bytes, c->items);
    bench_measure_caches(c);
    if (c->lanes >= 4)
        measure_vectors(c);
    else
        measure_scalars(c);
    bench_measure_units(c);
    if (bench_limit_wanted(c, "launch"))
        measure_launches(c);
}

bool bench_limits_measure(bench_session *session, bench_limits *c)
{
    *c = (bench_limits){
        .session = session, .list = json_array(), .left_out = json_array(), .well = true};
    const bool ready = prepare(c);
    if (ready)
        measure_all(c);
    else if (c->failed != NULL)
        note(c, "everything", 0, "", 0, false);
    if (c->x != NULL)
        clReleaseMemObject(c->x);
    if (c->y != NULL)
        clReleaseMemObject(c->y);
    if (c->program != NULL)
        clReleaseProgram(c->program);
    return ready && c->well;
}

/* tenon-bench questions: what only a trial tells of a driver, beyond what kernels ask by
 * themselves. Any of them may end the process with some driver: what was answered before is in the
 * file. */
#include "questions.h"

#include "ceilings.h"
#include "device.h"
#include "runtime/capability_trials.h"
#include "runtime/context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GROUP 256
#define ITEMS (4 * GROUP)

void bench_answer(bench_asking *a, bench_verdict works, const char *why, const char *format, ...)
{
    char what[128];
    va_list list;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    json_array_append_new(
        a->rows, json_pack("{s:s, s:o, s:s}", "what", what, "works",
                           works == BENCH_UNKNOWN ? json_null() : json_boolean(works == BENCH_YES),
                           "why", why != NULL ? why : ""));
    if (a->session->options->json != NULL)
        a->well &= bench_json_write(a->session->options->json,
                                    json_pack("{s:i, s:O}", "version", 1, "questions", a->all));
}

static bool speaks_nvidia(const bench_asking *a)
{
    return a->session->context->device.speaks_nvidia;
}

cl_kernel bench_kernel_of(cl_program program, const char *name)
{
    cl_int error;
    cl_kernel kernel = program != NULL ? clCreateKernel(program, name, &error) : NULL;
    return kernel != NULL && error == CL_SUCCESS ? kernel : NULL;
}

/* Launches a kernel whose first argument is a buffer of so many words, and reads it. */
static bool run(const bench_asking *a, cl_kernel kernel, const size_t groups[3], size_t group,
                uint32_t *words, size_t count)
{
    const size_t global[3] = {groups[0] * group, groups[1], groups[2]}, local[3] = {group, 1, 1};
    cl_command_queue queue = tenon_stream_cl(a->session->stream);
    cl_int error;
    memset(words, 0, count * sizeof *words);
    cl_mem buffer = clCreateBuffer(tenon_context_cl(a->session->context),
                                   CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR, count * sizeof *words,
                                   words, &error);
    if (error != CL_SUCCESS)
        return false;
    const bool well = clSetKernelArg(kernel, 0, sizeof buffer, &buffer) == CL_SUCCESS &&
                      clEnqueueNDRangeKernel(queue, kernel, 3, NULL, global, local, 0, NULL,
                                             NULL) == CL_SUCCESS &&
                      clEnqueueReadBuffer(queue, buffer, CL_TRUE, 0, count * sizeof *words, words,
                                          0, NULL, NULL) == CL_SUCCESS;
    clReleaseMemObject(buffer);
    return well;
}

const char *bench_all_ones(const bench_asking *a, cl_kernel kernel)
{
    static uint32_t words[ITEMS];
    float value;
    if (!run(a, kernel, (const size_t[]){ITEMS / GROUP, 1, 1}, GROUP, words, ITEMS))
        return "the driver does not launch it, or it did not end well";
    for (int i = 0; i < ITEMS; i++) {
        memcpy(&value, &words[i], sizeof value);
        if (value != 1)
            return "a work-item has found a wrong value";
    }
    return NULL;
}

/* Kilobytes of local memory that are asked for: what GPUs have had, and what the driver says. */
static const int kilobytes[] = {16, 32, 48, 64, 96, 99, 128, 163, 227};
#define SIZES (sizeof kilobytes / sizeof *kilobytes)

/* Beyond its own figure only NVIDIA's driver is asked: PoCL's compiler ends the process. The last
 * one, `SIZES`, is that figure. 0: not to be asked. */
static uint64_t bytes_of(const bench_asking *a, size_t i)
{
    const uint64_t says = a->session->device.local_memory;
    const uint64_t bytes = i < SIZES ? (uint64_t)kilobytes[i] << 10 : says / 4 * 4;
    return bytes < says || i == SIZES || speaks_nvidia(a) ? bytes : 0;
}

static void answer_size(bench_asking *a, size_t i, const char *why)
{
    bench_answer(a, why == NULL ? BENCH_YES : BENCH_NO, why, "%g KiB%s",
                 (double)bytes_of(a, i) / 1024, i == SIZES ? ", what the driver says" : "");
}

static void ask_local_array(bench_asking *a)
{
    for (size_t i = 0; i <= SIZES; i++) {
        char options[64], *log = NULL;
        const char *why = "it does not build";
        if (bytes_of(a, i) == 0)
            continue;
        snprintf(options, sizeof options, "-cl-std=CL1.2 -DLOCAL=%llu",
                 (unsigned long long)bytes_of(a, i));
        cl_program program = bench_build_own(a->session, "questions", options, &log);
        cl_kernel kernel = bench_kernel_of(program, "local_array");
        if (kernel != NULL)
            why = bench_all_ones(a, kernel);
        answer_size(a, i, kernel == NULL && log != NULL && *log != '\0' ? log : why);
        free(log);
        if (kernel != NULL)
            clReleaseKernel(kernel);
        if (program != NULL)
            clReleaseProgram(program);
    }
}

/* Asks by a kernel of this name, or answers that it does not build. */
static void with_kernel(bench_asking *a, const char *name,
                        void (*ask)(bench_asking *a, cl_kernel kernel))
{
    cl_program program = bench_build_own(a->session, "questions", TN_LEAST_VERSION, NULL);
    cl_kernel kernel = bench_kernel_of(program, name);
    if (kernel != NULL)
        ask(a, kernel);
    else
        bench_answer(a, BENCH_NO, "it does not build", "the kernel");
    if (kernel != NULL)
        clReleaseKernel(kernel);
    if (program != NULL)
        clReleaseProgram(program);
}

static void try_arguments(bench_asking *a, cl_kernel kernel)
{
    for (size_t i = 0; i <= SIZES; i++) {
        const size_t bytes = (size_t)bytes_of(a, i);
        const cl_uint words = (cl_uint)(bytes / 4);
        if (bytes == 0)
            continue;
        const bool taken = clSetKernelArg(kernel, 1, bytes, NULL) == CL_SUCCESS &&
                           clSetKernelArg(kernel, 2, sizeof words, &words) == CL_SUCCESS;
        answer_size(a, i, taken ? bench_all_ones(a, kernel) : "the argument is refused");
    }
}

static void ask_local_argument(bench_asking *a)
{
    with_kernel(a, "local_argument", try_arguments);
}

/* CUDA has at most 65,535 blocks in y and z; OpenCL names no limit. */
static void try_groups(bench_asking *a, cl_kernel kernel)
{
    static const size_t counts[] = {65535, 65536, 70000};
    for (int i = 0; i < 6; i++) {
        const size_t count = counts[i / 2];
        const size_t groups[3] = {1, i % 2 == 0 ? count : 1, i % 2 == 0 ? 1 : count};
        uint32_t *seen = malloc(count * sizeof *seen);
        const char *why = NULL;
        if (seen == NULL || !run(a, kernel, groups, 1, seen, count))
            why = "the driver does not launch it, or it did not end well";
        for (size_t n = 0; why == NULL && n < count; n++)
            why = seen[n] == n + 1 ? NULL : "a work-group did not run";
        bench_answer(a, why == NULL ? BENCH_YES : BENCH_NO, why, "%zu in %c", count,
                     i % 2 == 0 ? 'y' : 'z');
        free(seen);
    }
}

static void ask_groups(bench_asking *a)
{
    with_kernel(a, "far_groups", try_groups);
}

/* Bytes of a work-item's stack by NVIDIA's compiler, else its private memory by the driver;
 * negative where neither says. */
static long long stack_of(const bench_asking *a, cl_kernel kernel, const char *log)
{
    const char *at = log != NULL ? strstr(log, " bytes stack frame") : NULL;
    cl_ulong bytes = 0;
    while (at != NULL && at > log && at[-1] >= '0' && at[-1] <= '9')
        at--;
    if (at != NULL)
        return strtoll(at, NULL, 10);
    if ((a->session->device.type & CL_DEVICE_TYPE_CPU) != 0)
        return -1; /* what PoCL says is the same of every kernel */
    return clGetKernelWorkGroupInfo(kernel, a->session->device.device, CL_KERNEL_PRIVATE_MEM_SIZE,
                                    sizeof bytes, &bytes, NULL) == CL_SUCCESS
               ? (long long)bytes
               : -1;
}

static void ask_argument_stack(bench_asking *a)
{
    const struct {
        int64_t stride[8];
        int32_t size[8];
        int32_t rank, again;
    } walk = {{1, 16, 64}, {16, 4, ITEMS}, 3, 0};
    char *log = NULL, why[96];
    cl_program program =
        bench_build_own(a->session, "questions",
                        speaks_nvidia(a) ? "-cl-std=CL1.2 -cl-nv-verbose" : TN_LEAST_VERSION, &log);
    cl_kernel kernel = bench_kernel_of(program, "argument_stack");
    if (kernel == NULL || clSetKernelArg(kernel, 1, sizeof walk, &walk) != CL_SUCCESS) {
        bench_answer(a, BENCH_NO, log, "the kernel");
    } else {
        const char *wrong = bench_all_ones(a, kernel);
        const long long bytes = stack_of(a, kernel, log);
        snprintf(why, sizeof why, "%lld bytes of each work-item's memory", bytes);
        bench_answer(a, wrong == NULL ? BENCH_YES : BENCH_NO, wrong,
                     "a struct of arguments that a variable indexes");
        bench_answer(a,
                     bytes < 0    ? BENCH_UNKNOWN
                     : bytes == 0 ? BENCH_YES
                                  : BENCH_NO,
                     bytes < 0 ? "nobody says" : why, "it is read where it lies");
    }
    free(log);
    if (kernel != NULL)
        clReleaseKernel(kernel);
    if (program != NULL)
        clReleaseProgram(program);
}

static const struct {
    const char *name;
    void (*ask)(bench_asking *a);
    bool of_nvidia;
} questions[] = {
    {"local-array", ask_local_array, false},
    {"local-argument", ask_local_argument, false},
    {"groups", ask_groups, false},
    {"argument-stack", ask_argument_stack, false},
    {"assembler", bench_ask_assembler, true},
    {"target", bench_ask_target, true},
    {"edited-ptx", bench_ask_edited_ptx, true},
};

bool bench_questions(bench_session *session)
{
    bench_asking a = {.session = session, .all = json_object(), .well = true};
    const char *only = session->options->filter;
    for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
        if (only != NULL && strcmp(only, questions[i].name) != 0)
            continue;
        a.rows = json_array();
        json_object_set_new(a.all, questions[i].name, a.rows);
        if (questions[i].of_nvidia && !speaks_nvidia(&a))
            bench_answer(&a, BENCH_UNKNOWN, "not NVIDIA's compiler", "not asked");
        else
            questions[i].ask(&a);
    }
    const bool found = json_object_size(a.all) > 0;
    if (!found)
        fprintf(stderr, "tenon-bench: there is no question \"%s\"\n", only);
    json_t *document = json_pack("{s:i, s:o}", "version", 1, "questions", a.all);
    if (session->options->json == NULL)
        return bench_json_write(NULL, document) && found;
    json_decref(document); /* each answer was written */
    return a.well && found;
}

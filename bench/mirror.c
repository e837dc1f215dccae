#include "mirror.h"

#include "device.h"
#include "check/case.h"
#include "dispatch/plan.h"
#include "dispatch/state.h"
#include "ops/registry.h"
#include "runtime/context/context.h"
#include "runtime/context/context_create.h"
#include "runtime/program/kernel_sources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *bench_first_lines(cl_program program)
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

static void add_size(json_t *to, const char *name, cl_kernel kernel, cl_device_id device,
                     cl_kernel_work_group_info query)
{
    cl_ulong value = 0;
    if (clGetKernelWorkGroupInfo(kernel, device, query, sizeof value, &value, NULL) == CL_SUCCESS)
        json_object_set_new(to, name, json_integer((json_int_t)value));
}

/* Builds a kernel requested by a plan on this device, and records the compiler's report on its
 * registers. */
static void hear(void *user, const char *source, const char *options, const char *kernel,
                 size_t work_group)
{
    bench_mirror *h = user;
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
        json_object_set_new(entry, "binary", bench_first_lines(program));
    json_array_append_new(h->kernels, entry);
    free(log);
    if (program != NULL)
        clReleaseProgram(program);
}

/* Records the model's estimate for the call itself, which includes nested operations. */
static void hear_choice(void *user, const tn_request *request, const tn_choice *choice)
{
    bench_mirror *h = user;
    if (request->call != NULL && choice != NULL && h->predicted < 0 &&
        choice->time < TN_NO_ESTIMATE)
        h->predicted = choice->time;
}

bool bench_mirror_open(const bench_session *session, bench_mirror *mirror)
{
    *mirror = (bench_mirror){.session = session};
    if (!BENCH_WELL(
            tn_context_without_device("tenon-bench", &session->context->device, &mirror->context)))
        return false;
    tn_dispatch *dispatch = tn_dispatch_of(mirror->context);
    if (dispatch == NULL) {
        bench_mirror_close(mirror);
        return false;
    }
    dispatch->listener = hear_choice;
    dispatch->listener_user = mirror;
    for (int i = 0; tenon_capability_string((tenon_capability)i) != NULL; i++)
        mirror->context->capabilities.results[i] = session->context->capabilities.results[i];
    mirror->context->programs.listener = hear;
    mirror->context->programs.listener_user = mirror;
    return true;
}

void bench_mirror_close(bench_mirror *mirror)
{
    tenon_context_release(mirror->context);
    mirror->context = NULL;
}

bool bench_mirror_plan(bench_mirror *mirror, const char *line, const char *solver, json_t *kernels,
                       double *predicted)
{
    tn_case *c = malloc(sizeof *c);
    tenon_plan *plan = NULL;
    mirror->call = line;
    mirror->kernels = kernels;
    mirror->predicted = -1;
    const bool made = c != NULL && tn_case_parse_line(line, TENON_DTYPE_INVALID, c) == TENON_OK &&
                      tn_case_plan(mirror->context, c, solver, &plan) == TENON_OK;
    if (!made)
        fprintf(stderr, "tenon-bench: %s: %s\n", line, tenon_last_error());
    if (predicted != NULL)
        *predicted = mirror->predicted;
    tenon_plan_release(plan);
    free(c);
    return made;
}

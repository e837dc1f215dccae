#include "device.h"

#include "report.h"
#include "runtime/probe/constants.h"
#include "runtime/context/context.h"
#include "runtime/program/kernel_sources.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

extern const struct tenon_kernel_sources bench_kernel_sources; /* the files of bench/kernels */

static char *log_of(cl_program program, cl_device_id device)
{
    size_t size = 0;
    if (clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) != CL_SUCCESS)
        size = 0;
    char *log = calloc(size + 1, 1);
    if (log != NULL && size > 0)
        (void)clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG, size, log, NULL);
    return log;
}

cl_program bench_build(const bench_session *session, const char *source, size_t length,
                       const char *options, char **log)
{
    cl_device_id device = session->device.device;
    cl_int error;
    cl_program program =
        clCreateProgramWithSource(tenon_context_cl(session->context), 1, &source, &length, &error);
    if (log != NULL)
        *log = NULL;
    if (error != CL_SUCCESS)
        return NULL;
    error = clBuildProgram(program, 1, &device, options, NULL, NULL);
    if (log != NULL)
        *log = log_of(program, device);
    if (error == CL_SUCCESS)
        return program;
    clReleaseProgram(program);
    return NULL;
}

cl_program bench_build_own(const bench_session *session, const char *name, const char *options,
                           char **log)
{
    size_t length;
    if (log != NULL)
        *log = NULL;
    char *text =
        tn_kernel_text(&bench_kernel_sources, tn_kernel_file(&bench_kernel_sources, name), &length);
    cl_program program = text != NULL ? bench_build(session, text, length, options, log) : NULL;
    free(text);
    return program;
}

bool bench_arguments(cl_kernel kernel, ...)
{
    va_list list;
    bool well = true;
    va_start(list, kernel);
    for (cl_uint i = 0;; i++) {
        const size_t size = va_arg(list, size_t);
        if (size == 0)
            break;
        well &= clSetKernelArg(kernel, i, size, va_arg(list, const void *)) == CL_SUCCESS;
    }
    va_end(list);
    return well;
}

cl_int bench_launch(const bench_session *session, cl_kernel kernel, size_t global, size_t local)
{
    return clEnqueueNDRangeKernel(tenon_stream_cl(session->stream), kernel, 1, NULL, &global,
                                  &local, 0, NULL, NULL);
}

/* Returns the measured constants of a CPU that estimates use; NULL if the table's constants are
 * used. */
static json_t *json_speed(tenon_context *context)
{
    tn_host_speed speed;
    if (!tn_device_kind_is_cpu(context->device.model.kind) ||
        !tn_constants_measured(context, &speed))
        return NULL;
    return json_pack("{s:f, s:f, s:f, s:I, s:f, s:f}", "rate", speed.rate, "memory", speed.memory,
                     "cache", speed.cache, "cache_size", (json_int_t)speed.cache_size, "pages",
                     speed.pages, "unaligned", speed.unaligned);
}

json_t *bench_json_device(const bench_session *session)
{
    const tenon_device_info *d = &session->device;
    const tn_model *model = &session->context->device.model;
    json_t *device = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:I}", "name", d->name, "vendor", d->vendor,
        "platform", d->platform_name, "version", d->version, "driver", d->driver_version,
        "compute_units", (int)d->compute_units, "vector_width_f32", (int)d->vector_width_f32,
        "kind", model->kind->name, "cache", (json_int_t)session->context->device.driver_cache);
    const char *selector = session->options->device;
    json_object_set_new(device, "selector", json_string(selector != NULL ? selector : ""));
    json_t *speed = json_speed(session->context);
    if (speed != NULL)
        json_object_set_new(device, "speed", speed);
    return device;
}

json_t *bench_json_date(void)
{
    char date[32] = "";
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return json_string(date);
}

const char *bench_json_text(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text != NULL ? text : "";
}

double bench_json_number(const json_t *object, const char *member)
{
    return json_number_value(json_object_get(object, member));
}

bool bench_json_write(const char *path, json_t *document)
{
    const size_t flags = JSON_INDENT(2) | JSON_REAL_PRECISION(8);
    char *text = document != NULL ? json_dumps(document, flags) : NULL;
    bool well = text != NULL;
    json_decref(document);
    if (well && path != NULL)
        well = bench_write_text(path, text);
    else if (well)
        puts(text);
    free(text);
    return well;
}

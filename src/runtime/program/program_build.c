#include "runtime/program/program_build.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/context/identity.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/program/program.h"
#include "runtime/program/ptx_edit.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static char *build_log(cl_program cl, cl_device_id device)
{
    size_t size = 0;
    char *text = NULL;
    if (clGetProgramBuildInfo(cl, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &size) == CL_SUCCESS &&
        (text = calloc(1, size + 1)) != NULL)
        clGetProgramBuildInfo(cl, device, CL_PROGRAM_BUILD_LOG, size, text, NULL);
    return text;
}

/* `call` is the function that failed, for the source or for edited PTX. */
static tenon_status fail_build(tenon_context *context, const tn_program *program, cl_program cl,
                               const char *call, cl_int error)
{
    const char *name = program->source->name, *options = program->options;
    char *text = cl != NULL ? build_log(cl, context->device.info.device) : NULL;
    tn_fail_cl(TENON_ERROR_BUILD_FAILED, error,
               "kernel %s does not build on %s with \"%s\": %s returned %s\n", name,
               context->device.info.name, options, call, tn_cl_error_string(error));
    tn_fail_append(text != NULL ? text : "(no build log)");
    tn_log_send(&context->reports.log, TENON_LOG_ERROR, "kernel %s does not build with \"%s\":\n%s",
                name, options, text != NULL ? text : "(no build log)");
    free(text);
    return TENON_ERROR_BUILD_FAILED;
}

/* Returns the binary of a program for one device, or NULL. */
static unsigned char *get_binary(cl_program cl, size_t *size)
{
    *size = 0;
    if (clGetProgramInfo(cl, CL_PROGRAM_BINARY_SIZES, sizeof *size, size, NULL) != CL_SUCCESS ||
        *size == 0)
        return NULL;
    unsigned char *binary = malloc(*size);
    if (binary != NULL &&
        clGetProgramInfo(cl, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL) != CL_SUCCESS) {
        free(binary);
        return NULL;
    }
    return binary;
}

/* Creates and builds a program from a binary; `*error` has the result. The program may be returned
 * even if its build failed, for its log. */
static cl_program from_binary(const tenon_context *context, const char *options,
                              const unsigned char *binary, size_t size, cl_int *error)
{
    cl_device_id device = context->device.info.device;
    cl_int loaded = CL_SUCCESS;
    cl_program cl =
        clCreateProgramWithBinary(context->cl, 1, &device, &size, &binary, &loaded, error);
    if (*error == CL_SUCCESS)
        *error = loaded;
    if (*error == CL_SUCCESS)
        *error = clBuildProgram(cl, 1, &device, options, NULL, NULL);
    return cl;
}

/* Returns NULL if the driver rejects its own binary. */
static cl_program load_binary(const tenon_context *context, const char *options,
                              const unsigned char *binary, size_t size)
{
    cl_int error;
    cl_program cl = from_binary(context, options, binary, size, &error);
    if (error == CL_SUCCESS || cl == NULL)
        return cl;
    clReleaseProgram(cl);
    return NULL;
}

static tenon_status compile_source(tenon_context *context, tn_program *program, const char *text,
                                   size_t length)
{
    cl_int error;
    cl_device_id device = context->device.info.device;
    cl_program cl = clCreateProgramWithSource(context->cl, 1, &text, &length, &error);
    TN_CL_TRY(program->source->name, "clCreateProgramWithSource", error);
    error = clBuildProgram(cl, 1, &device, program->options, NULL, NULL);
    if (error != CL_SUCCESS) {
        tenon_status status = tn_cl_refuses_program(error)
                                  ? fail_build(context, program, cl, "clBuildProgram", error)
                                  : tn_fail_opencl(program->source->name, "clBuildProgram", error);
        clReleaseProgram(cl);
        return status;
    }
    program->cl = cl;
    return TENON_OK;
}

/* Replaces a program by its edited PTX. */
static tenon_status load_edited(tenon_context *context, tn_program *program,
                                const unsigned char *ptx, size_t size)
{
    static const char call[] = "clBuildProgram of the edited PTX";
    cl_int error;
    cl_program cl = from_binary(context, program->options, ptx, size, &error);
    if (error == CL_SUCCESS) {
        clReleaseProgram(program->cl);
        program->cl = cl;
        return TENON_OK;
    }
    tenon_status status = tn_cl_refuses_program(error)
                              ? fail_build(context, program, cl, call, error)
                              : tn_fail_opencl(program->source->name, call, error);
    if (cl != NULL)
        clReleaseProgram(cl);
    return status;
}

static tenon_status edit(tenon_context *context, tn_program *program, const tn_ptx_edit *wanted)
{
    size_t size, edited_size = 0;
    const char *why = "the driver returns no binary of it", *name = program->source->name;
    unsigned char *binary = get_binary(program->cl, &size);
    char *ptx = NULL;
    if (binary != NULL)
        ptx = tn_ptx_edited((const char *)binary, size, wanted, &edited_size, &why);
    free(binary);
    if (ptx == NULL && why == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the PTX of a program", name);
    if (ptx == NULL)
        return tn_fail(TENON_ERROR_BUILD_FAILED, "kernel %s cannot be edited for sm_90a on %s: %s",
                       name, context->device.info.name, why);
    tenon_status status = load_edited(context, program, (const unsigned char *)ptx, edited_size);
    free(ptx);
    return status;
}

static tenon_status compile_text(tenon_context *context, tn_program *program, const char *text,
                                 size_t length)
{
    tn_ptx_edit wanted;
    TN_TRY(compile_source(context, program, text, length));
    if (!tn_ptx_wanted(program->options, &wanted))
        return TENON_OK;
    tenon_status status = edit(context, program, &wanted);
    if (status != TENON_OK) {
        clReleaseProgram(program->cl);
        program->cl = NULL;
    }
    return status;
}

/* Every report of a build's start is followed by one of its end. */
static tenon_status compile(tenon_context *context, tn_program *program, const char *text,
                            size_t length)
{
    const char *name = program->source->name;
    const uint64_t began = tn_now();
    if (!context->device.has_compiler)
        return tn_fail(TENON_ERROR_UNSUPPORTED_DEVICE, "kernel %s: device %s has no compiler", name,
                       context->device.info.name);
    tn_progress_send(context, TENON_PROGRESS_BUILD, name, program->options, -1);
    tn_process_watch_builds();
    tenon_status status = compile_text(context, program, text, length);
    const double milliseconds = tn_count(context, TN_PROGRAMS_BUILT, began);
    tn_count_only(context, TN_PROGRAMS_BUILT, status == TENON_OK ? 0 : -1);
    tn_progress_send(context, TENON_PROGRESS_BUILD, name,
                     status == TENON_OK ? program->options : "it failed", milliseconds);
    return status;
}

/* Reuses the program that a self-check has built in the validation context. */
static cl_program take_from_validation(tenon_context *context, const tn_program *program)
{
    tenon_context *validation = tn_validation_if_made(context);
    if (validation == NULL || context->device.keeps_builds)
        return NULL;
    cl_program cl = NULL, made = tn_program_retained(validation, program->source, program->options);
    if (made == NULL)
        return NULL;
    size_t size;
    unsigned char *binary = get_binary(made, &size);
    clReleaseProgram(made);
    if (binary != NULL)
        cl = load_binary(context, program->options, binary, size);
    free(binary);
    return cl;
}

static cl_program take_from_store(tenon_context *context, const tn_program *program)
{
    size_t size;
    const uint64_t began = tn_now();
    const tn_log log = tn_context_log(context);
    if (program->key == NULL)
        return NULL;
    unsigned char *binary =
        tn_store_get(context->persistence.store, TN_STORE_PROGRAM, program->key, &size);
    if (binary == NULL)
        return NULL;
    cl_program cl = load_binary(context, program->options, binary, size);
    free(binary);
    if (cl != NULL) {
        const double milliseconds = tn_count(context, TN_PROGRAMS_LOADED, began);
        tn_log_send(&log, TENON_LOG_INFO, "kernel %s was loaded from the store in %.1f ms (%s)",
                    program->source->name, milliseconds, program->options);
        return cl;
    }
    tn_log_send(&log, TENON_LOG_WARNING,
                "the driver rejected its own binary of kernel %s; compiling it again",
                program->source->name);
    tn_store_remove(context->persistence.store, TN_STORE_PROGRAM, program->key);
    return NULL;
}

/* The key contains a hash of the whole source, since any included file may have changed. */
static char *key_of(const tenon_context *context, const tn_program *program, const char *text,
                    size_t length)
{
    const XXH128_hash_t hash = XXH3_128bits(text, length);
    return tn_identity_key(context, "kernel %s, %016" PRIx64 "%016" PRIx64 "\noptions %s",
                           program->source->name, (uint64_t)hash.high64, (uint64_t)hash.low64,
                           program->options);
}

tenon_status tn_program_build(tenon_context *context, tn_program *program)
{
    size_t length;
    tenon_status status = TENON_OK;
    char *text = tn_kernel_text(&tenon_kernel_sources, program->source, &length);
    if (text == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a program",
                       program->source->name);
    program->key = key_of(context, program, text, length);
    if ((program->cl = take_from_validation(context, program)) == NULL) {
        program->cl = take_from_store(context, program);
        program->is_kept = program->cl != NULL;
    }
    if (program->cl == NULL)
        status = compile(context, program, text, length);
    free(text);
    return status;
}

bool tn_program_keep(tenon_context *context, tn_program *program, double *milliseconds)
{
    size_t size;
    const uint64_t began = tn_now();
    if (program->is_kept || program->key == NULL)
        return false;
    program->is_kept = true; /* or never will be */
    if (tn_store_has(context->persistence.store, TN_STORE_PROGRAM, program->key))
        return false;
    unsigned char *binary = get_binary(program->cl, &size);
    if (binary == NULL)
        return false;
    tn_store_put(context->persistence.store, TN_STORE_PROGRAM, program->key, binary, size);
    const double took = tn_count(context, TN_PROGRAMS_KEPT, began);
    if (milliseconds != NULL)
        *milliseconds = took;
    free(binary);
    return true;
}

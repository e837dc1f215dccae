#include "runtime/program/program.h"

#include "base/grow.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/gate.h"
#include "runtime/program/binary_writer.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/program/program_build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

tenon_status tn_program_cache_init(const char *caller, tn_program_cache *cache)
{
    memset(cache, 0, sizeof *cache);
    if (!tn_mutex_init(&cache->lock))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create the lock for programs",
                       caller);
    if (!tn_condition_init(&cache->built)) {
        tn_mutex_destroy(&cache->lock);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: cannot create the lock for programs",
                       caller);
    }
    return TENON_OK;
}

static void free_program(tn_program *program)
{
    if (program->cl != NULL)
        clReleaseProgram(program->cl);
    free(program->options);
    free(program->key);
    free(program);
}

void tn_program_cache_destroy(tn_program_cache *cache)
{
    for (uint32_t i = 0; i < cache->program_count; i++)
        free_program(cache->programs[i]);
    free(cache->programs);
    free(cache->kernels);
    tn_condition_destroy(&cache->built);
    tn_mutex_destroy(&cache->lock);
}

static tenon_status no_memory(const char *source)
{
    tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a program", source);
    return TENON_ERROR_OUT_OF_MEMORY;
}

/* The caller holds the lock. */
static tn_program *find_program(tn_program_cache *cache, const struct tenon_kernel_file *source,
                                const char *options)
{
    for (uint32_t i = 0; i < cache->program_count; i++) {
        tn_program *program = cache->programs[i];
        if (program->source == source && strcmp(program->options, options) == 0)
            return program;
    }
    return NULL;
}

/* Appends an entry that marks the program as being built by this thread. The caller holds the
 * lock. */
static tn_program *append_program(tn_program_cache *cache, const struct tenon_kernel_file *source,
                                  const char *options)
{
    if (!tn_grow(&cache->programs, cache->program_count, &cache->program_capacity,
                 sizeof *cache->programs))
        return NULL;
    tn_program *program = calloc(1, sizeof *program);
    if (program == NULL || (program->options = tn_text_copy(options)) == NULL) {
        free(program);
        return NULL;
    }
    program->source = source;
    return cache->programs[cache->program_count++] = program;
}

/* The caller holds the lock. */
static void remove_program(tn_program_cache *cache, tn_program *program)
{
    for (uint32_t i = 0; i < cache->program_count; i++)
        if (cache->programs[i] == program)
            cache->programs[i] = cache->programs[--cache->program_count];
    free_program(program);
}

bool tn_program_is_there(tenon_context *context, const struct tenon_kernel_file *source,
                         const char *options)
{
    tn_mutex_lock(&context->programs.lock);
    const bool found = find_program(&context->programs, source, options) != NULL;
    tn_mutex_unlock(&context->programs.lock);
    return found;
}

cl_program tn_program_retained(tenon_context *context, const struct tenon_kernel_file *source,
                               const char *options)
{
    cl_program made = NULL;
    tn_mutex_lock(&context->programs.lock);
    const tn_program *program = find_program(&context->programs, source, options);
    if (program != NULL && program->cl != NULL && clRetainProgram(program->cl) == CL_SUCCESS)
        made = program->cl;
    tn_mutex_unlock(&context->programs.lock);
    return made;
}

/* Returns the next program that has been built and used but not stored. */
static tn_program *next_to_keep(tenon_context *context)
{
    tn_program_cache *cache = &context->programs;
    tn_program *found = NULL;
    tn_mutex_lock(&cache->lock);
    for (uint32_t i = 0; found == NULL && i < cache->program_count; i++) {
        tn_program *program = cache->programs[i];
        if (program->cl != NULL && !program->is_kept && program->key != NULL &&
            atomic_load(&program->is_used) &&
            (context->owner == NULL || program->trust == TN_PROGRAM_SOUND))
            found = program;
    }
    tn_mutex_unlock(&cache->lock);
    return found;
}

bool tn_programs_wait(tenon_context *context)
{
    return next_to_keep(context) != NULL;
}

bool tn_programs_keep_next(tenon_context *context, tn_written *written)
{
    tn_program *program;
    while ((program = next_to_keep(context)) != NULL) {
        *written = (tn_written){program->source->name, program->options, 0};
        if (tn_program_keep(context, program, &written->milliseconds))
            return true;
    }
    return false;
}

void tn_programs_judge(tenon_context *validation, bool right)
{
    tn_program_cache *cache = &validation->programs;
    tn_mutex_lock(&cache->lock);
    for (uint32_t i = 0; i < cache->program_count; i++) {
        tn_program *program = cache->programs[i];
        if (program->cl != NULL && program->trust == TN_PROGRAM_NEW)
            program->trust = right ? TN_PROGRAM_SOUND : TN_PROGRAM_SUSPECT;
    }
    tn_mutex_unlock(&cache->lock);
    tn_written written;
    if (!right || validation->device.keeps_builds || tn_gate_enter("tn_programs_judge") != TENON_OK)
        return;
    while (tn_programs_keep_next(validation, &written))
        ;
    tn_gate_leave();
    tn_process_reregister(NULL);
}

static tenon_status get_program(tenon_context *context, const struct tenon_kernel_file *source,
                                const char *options, tn_program **out)
{
    tn_program_cache *cache = &context->programs;
    tn_program *program = NULL;
    tn_mutex_lock(&cache->lock);
    /* Another thread may be building it. If it fails, its entry is removed and this thread builds.
     */
    while ((program = find_program(cache, source, options)) != NULL && program->cl == NULL)
        tn_condition_wait(&cache->built, &cache->lock);
    if (program != NULL) {
        tn_mutex_unlock(&cache->lock);
        *out = program;
        return TENON_OK;
    }
    program = append_program(cache, source, options);
    tn_mutex_unlock(&cache->lock);
    if (program == NULL)
        return no_memory(source->name);
    /* Not under the lock: a build takes long, and a failing one calls the log callback. */
    tn_program built = {.source = source, .options = program->options};
    tenon_status status = tn_gate_enter(source->name);
    if (status == TENON_OK) {
        status = tn_program_build(context, &built);
        /* Programs of a validation context are checked first. If binaries are expensive, the binary
         * writer writes them later (binary_writer.h). */
        if (status == TENON_OK && context->owner == NULL && !context->device.keeps_builds)
            (void)tn_program_keep(context, &built, NULL);
        tn_gate_leave();
        tn_process_reregister(NULL);
    }
    tn_mutex_lock(&cache->lock);
    program->cl = built.cl;
    program->key = built.key;
    program->is_kept = built.is_kept;
    if (status != TENON_OK)
        remove_program(cache, program);
    tn_condition_broadcast(&cache->built);
    tn_mutex_unlock(&cache->lock);
    if (status != TENON_OK)
        return status;
    *out = program;
    return TENON_OK;
}

tenon_status tn_program_build_ahead(tenon_context *context, const struct tenon_kernel_file *source,
                                    const char *options)
{
    tn_program *program;
    return get_program(context, source, options, &program);
}

/* The caller holds the lock. */
static bool find_kernel(const tn_program_cache *cache, const tn_program *program, const char *name,
                        uint32_t *kernel)
{
    for (uint32_t i = 0; i < cache->kernel_count; i++)
        if (cache->kernels[i].program == program && strcmp(cache->kernels[i].name, name) == 0) {
            *kernel = i;
            return true;
        }
    return false;
}

/* The caller holds the lock. */
static bool append_kernel(tn_program_cache *cache, const tn_kernel *entry, uint32_t *kernel)
{
    if (!tn_grow(&cache->kernels, cache->kernel_count, &cache->kernel_capacity,
                 sizeof *cache->kernels))
        return false;
    *kernel = cache->kernel_count;
    cache->kernels[cache->kernel_count++] = *entry;
    return true;
}

static tenon_status read_kernel(tenon_context *context, tn_program *program, const char *name,
                                tn_kernel *entry)
{
    cl_int error;
    cl_kernel object = clCreateKernel(program->cl, name, &error);
    TN_CL_TRY(program->source->name, "clCreateKernel", error);
    *entry = (tn_kernel){.program = program};
    snprintf(entry->name, sizeof entry->name, "%s", name);
    error = clGetKernelWorkGroupInfo(object, context->device.info.device, CL_KERNEL_WORK_GROUP_SIZE,
                                     sizeof entry->max_work_group, &entry->max_work_group, NULL);
    clReleaseKernel(object);
    TN_CL_TRY(program->source->name, "clGetKernelWorkGroupInfo", error);
    return TENON_OK;
}

/* In a context without a device: reports the kernel to the listener. All kernels belong to one
 * dummy program. */
static tenon_status list_kernel(tenon_context *context, const char *source, const char *options,
                                const char *name, size_t work_group, uint32_t *kernel)
{
    static tn_program not_there;
    tn_program_cache *cache = &context->programs;
    tn_kernel entry = {.program = &not_there,
                       .max_work_group = context->device.info.max_work_group};
    snprintf(entry.name, sizeof entry.name, "%s", name);
    cache->listener(cache->listener_user, source, options, name, work_group);
    tn_mutex_lock(&cache->lock);
    bool kept =
        find_kernel(cache, &not_there, name, kernel) || append_kernel(cache, &entry, kernel);
    tn_mutex_unlock(&cache->lock);
    return kept ? TENON_OK : no_memory(source);
}

tenon_status tn_program_kernel(tenon_context *context, const char *source, const char *options,
                               const char *name, size_t work_group, uint32_t *kernel)
{
    tn_program_cache *cache = &context->programs;
    const struct tenon_kernel_file *text = tn_kernel_file(&tenon_kernel_sources, source);
    tn_program *program = NULL;
    tn_kernel entry;
    if (text == NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "kernel %s is not in this library", source);
    if (cache->listener != NULL)
        return list_kernel(context, source, options, name, work_group, kernel);
    TN_TRY(get_program(context, text, options, &program));
    tn_mutex_lock(&cache->lock);
    bool found = find_kernel(cache, program, name, kernel);
    tn_mutex_unlock(&cache->lock);
    if (found)
        return TENON_OK;
    TN_TRY(read_kernel(context, program, name, &entry));
    tn_mutex_lock(&cache->lock);
    found = find_kernel(cache, program, name, kernel) || append_kernel(cache, &entry, kernel);
    tn_mutex_unlock(&cache->lock);
    return found ? TENON_OK : no_memory(source);
}

void tn_program_kernel_info(tenon_context *context, uint32_t kernel, tn_kernel *info)
{
    tn_mutex_lock(&context->programs.lock);
    *info = context->programs.kernels[kernel];
    tn_mutex_unlock(&context->programs.lock);
}

tenon_status tn_program_create_kernel(tenon_context *context, const char *caller, uint32_t kernel,
                                      cl_kernel *out)
{
    tn_kernel info;
    cl_int error;
    tn_program_kernel_info(context, kernel, &info);
    *out = clCreateKernel(info.program->cl, info.name, &error);
    TN_CL_TRY(caller, "clCreateKernel", error);
    if (!atomic_exchange(&info.program->is_used, true))
        tn_binary_writer_wake(context);
    return TENON_OK;
}

/* Wrappers of the allocator, of locks and threads, and of the lookup of functions. */
#include "common/cl_faults_wrap.h"

#include "base/platform.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *hidden; /* name of a function that dlsym does not find */

void faults_hide(const char *function)
{
    hidden = function;
}

void *__real_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name);

/* Used where the library opens OpenCL with dlopen: dlsym returns the wrappers instead of the
 * driver's functions. */
void *__wrap_dlsym(void *library, const char *name)
{
    char wrapped[80];
    if (hidden != NULL && strcmp(hidden, name) == 0)
        return NULL;
    void *program = dlopen(NULL, RTLD_NOW), *found = NULL;
    snprintf(wrapped, sizeof wrapped, "__wrap_%s", name);
    if (program != NULL)
        found = __real_dlsym(program, wrapped);
    return found != NULL ? found : __real_dlsym(library, name);
}

WRAP_MEMORY(malloc, (size_t size), (size))
WRAP_MEMORY(calloc, (size_t count, size_t size), (count, size))
/* A block that has grown counts as the same block. */
WRAP_AS(NULL, void *, realloc, 0, (void *old, size_t size),
        old != NULL ? __real_realloc(old, size)
                    : faults_made(FAULTS_BLOCKS, __real_realloc(NULL, size)))

void __real_free(void *block);
void __wrap_free(void *block);
void __wrap_free(void *block)
{
    if (block != NULL)
        faults_released(FAULTS_BLOCKS, CL_SUCCESS);
    __real_free(block);
}

/* Wraps functions of the library for locks and threads (base/platform.h). */
#define WRAP_SYSTEM(name, parameters, arguments)                                                   \
    WRAP_AS(false, bool, name, 0, parameters, __real_##name arguments)
WRAP_SYSTEM(tn_mutex_init, (tn_mutex * mutex), (mutex))
WRAP_SYSTEM(tn_recursive_mutex_init, (tn_recursive_mutex * mutex), (mutex))
WRAP_SYSTEM(tn_condition_init, (tn_condition * condition), (condition))
WRAP_SYSTEM(tn_thread_create, (tn_thread * thread, void *(*work)(void *), void *data),
            (thread, work, data))

/* Programs: embedded sources built with options, in memory for the life of a context. */
#ifndef TN_RUNTIME_PROGRAM_PROGRAM_H
#define TN_RUNTIME_PROGRAM_PROGRAM_H

#include "base/platform.h"
#include "base/status.h"
#include "runtime/program/kernel_sources.h"

#include <tenon/context.h>

#include <stdatomic.h>

/* Takes a kernel that a plan needs: the embedded source, the options of its build, its name, and
 * the work-items of its work-group (0 where the driver may choose). */
typedef void (*tn_kernel_listener)(void *user, const char *source, const char *options,
                                   const char *kernel, size_t work_group);

typedef struct tn_program tn_program;

/* A kernel function of a built program. Its number is an index that streams keep their cl_kernel
 * objects under. */
typedef struct tn_kernel {
    tn_program *program;
    char name[32];
    size_t max_work_group; /* CL_KERNEL_WORK_GROUP_SIZE */
} tn_kernel;

typedef struct tn_program_cache {
    tn_mutex lock;
    tn_condition built;
    tn_program **programs;
    uint32_t program_count, program_capacity;
    tn_kernel *kernels;
    uint32_t kernel_count, kernel_capacity;
    tn_kernel_listener
        listener; /* where there is no device: told of kernels in place of building */
    void *listener_user;
    /* Part of every kernel's options: another value makes a driver compile again instead of taking
     * what it has cached. The validation context's is ahead while a self-check runs
     * (dispatch/self_check.c). */
    atomic_uint rebuild_salt;
} tn_program_cache;

tenon_status tn_program_cache_init(const char *caller, tn_program_cache *cache);
void tn_program_cache_destroy(tn_program_cache *cache);

/* Finds or builds the kernel `name` of the embedded source `source` with `options`, for work-groups
 * of so many work-items (0: any); several threads may ask at once, one builds. Gives
 * TENON_ERROR_BUILD_FAILED with the whole log in the message. */
tenon_status tn_program_kernel(tenon_context *context, const char *source, const char *options,
                               const char *name, size_t work_group, uint32_t *kernel);

/* Whether it is built, or being built; and the same as above without a kernel of it. */
bool tn_program_is_there(tenon_context *context, const struct tenon_kernel_file *source,
                         const char *options);
tenon_status tn_program_build_ahead(tenon_context *context, const struct tenon_kernel_file *source,
                                    const char *options);

/* A program that has been built, with a reference for the caller; NULL where there is none. */
cl_program tn_program_retained(tenon_context *context, const struct tenon_kernel_file *source,
                               const char *options);

/* What has been built in a validation context since this was last called came out right, or did
 * not: then it is not kept. */
void tn_programs_judge(tenon_context *validation, bool right);

/* A program that has been written to the store; its texts last as long as the context. */
typedef struct tn_written {
    const char *name, *options;
    double milliseconds;
} tn_written;

/* Whether a program that has been used is not in the store yet. */
bool tn_programs_wait(tenon_context *context);

/* Writes the next of them to the store, and says which; false where there is none. */
bool tn_programs_keep_next(tenon_context *context, tn_written *written);

/* What is known of a kernel; the result stays valid as long as the context. */
void tn_program_kernel_info(tenon_context *context, uint32_t kernel, tn_kernel *info);

/* Makes a kernel object of one's own: they keep arguments, so threads must not share them. */
tenon_status tn_program_create_kernel(tenon_context *context, const char *caller, uint32_t kernel,
                                      cl_kernel *out);

#endif

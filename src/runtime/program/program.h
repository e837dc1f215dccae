/* Programs: embedded sources built with options, cached in memory as long as the context lives. */
#ifndef TN_RUNTIME_PROGRAM_PROGRAM_H
#define TN_RUNTIME_PROGRAM_PROGRAM_H

#include "base/platform.h"
#include "base/status.h"
#include "runtime/program/kernel_sources.h"

#include <tenon/context.h>

#include <stdatomic.h>

/* Receives a kernel that a plan needs: the embedded source, the build options, the kernel's name,
 * and the work-group size (0 if the driver chooses it). */
typedef void (*tn_kernel_listener)(void *user, const char *source, const char *options,
                                   const char *kernel, size_t work_group);

typedef struct tn_program tn_program;

/* A kernel function of a built program. Its number is the index under which streams keep their
 * cl_kernel objects. */
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
        listener; /* in a context without a device: receives kernels instead of building them */
    void *listener_user;
    /* Part of every kernel's build options: a new value makes the driver compile again instead of
     * using its cache. During a self-check the validation context's value may be ahead
     * (dispatch/self_check.c). */
    atomic_uint rebuild_salt;
} tn_program_cache;

tenon_status tn_program_cache_init(const char *caller, tn_program_cache *cache);
void tn_program_cache_destroy(tn_program_cache *cache);

/* Finds or builds the kernel `name` of the embedded source `source` with `options`, for
 * work-groups of `work_group` work-items (0: any size). If several threads ask for it at once, one
 * of them builds. Returns TENON_ERROR_BUILD_FAILED with the whole log in the message. */
tenon_status tn_program_kernel(tenon_context *context, const char *source, const char *options,
                               const char *name, size_t work_group, uint32_t *kernel);

/* The first returns true if the program is built or being built; the second builds it without
 * creating a kernel. */
bool tn_program_is_there(tenon_context *context, const struct tenon_kernel_file *source,
                         const char *options);
tenon_status tn_program_build_ahead(tenon_context *context, const struct tenon_kernel_file *source,
                                    const char *options);

/* Returns a built program with a reference for the caller, or NULL if it is not built. */
cl_program tn_program_retained(tenon_context *context, const struct tenon_kernel_file *source,
                               const char *options);

/* Tells whether the programs built in a validation context since the last call computed correct
 * results. Programs that did not are not stored. */
void tn_programs_judge(tenon_context *validation, bool right);

/* A program that was written to the store. Its texts live as long as the context. */
typedef struct tn_written {
    const char *name, *options;
    double milliseconds;
} tn_written;

/* Returns true if a program that has been used is not in the store yet. */
bool tn_programs_wait(tenon_context *context);

/* Writes the next such program to the store and describes it. Returns false if there is none. */
bool tn_programs_keep_next(tenon_context *context, tn_written *written);

/* Returns the properties of a kernel, valid as long as the context. */
void tn_program_kernel_info(tenon_context *context, uint32_t kernel, tn_kernel *info);

/* Creates a separate kernel object. Kernel objects hold arguments, so threads must not share them.
 */
tenon_status tn_program_create_kernel(tenon_context *context, const char *caller, uint32_t kernel,
                                      cl_kernel *out);

#endif

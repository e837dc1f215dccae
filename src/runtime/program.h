/* Programs: embedded sources built with options, kept in memory for the life of a context. The only
 * place that builds. */
#ifndef TN_RUNTIME_PROGRAM_H
#define TN_RUNTIME_PROGRAM_H

#include "runtime/context.h"

tenon_status tn_program_cache_init(const char *operation, tn_program_cache *cache);
void tn_program_cache_destroy(tn_program_cache *cache);

/* Finds or builds the kernel `name` of the embedded source `source` with `options`, for work-groups
 * of so many work-items (0: any); several threads may ask at once, one builds. Gives
 * TENON_ERROR_BUILD_FAILED with the whole log in the message. */
tenon_status tn_program_kernel(tenon_context *context, const char *source, const char *options,
                               const char *name, size_t work_group, uint32_t *kernel);

/* What is known of a kernel; the result stays valid as long as the context. */
void tn_program_kernel_info(tenon_context *context, uint32_t kernel, tn_kernel *info);

/* Makes a kernel object of one's own: they keep arguments, so threads must not share them. */
tenon_status tn_program_create_kernel(tenon_context *context, const char *operation,
                                      uint32_t kernel, cl_kernel *out);

#endif

/* Device memory: allocation, bounds checks of views, and overlap checks. */
#ifndef TN_RUNTIME_MEMORY_MEMORY_H
#define TN_RUNTIME_MEMORY_MEMORY_H

#include "base/shape.h"

#include <tenon/tensor.h>

/* Creates a buffer with OpenCL, without the context's pool or allocator. */
tenon_status tn_memory_make(const char *caller, tenon_context *context, cl_mem_flags flags,
                            void *host, uint64_t bytes, tenon_memory *memory);

/* Like tenon_memory_create, for any caller. */
tenon_status tn_memory_allocate(const char *caller, tenon_context *context, uint64_t bytes,
                                tenon_memory *memory);

/* Creates a buffer with a copy of `bytes` bytes of the host's, which kernels only read. */
tenon_status tn_memory_constants(const char *caller, tenon_context *context, const void *host,
                                 uint64_t bytes, tenon_memory *memory);

/* Returns true if the memory is a pointer, stored in u.svm: SVM and USM share one address space. */
bool tn_memory_is_pointer(const tenon_memory *memory);

/* Quick check: returns true if the memory is a buffer of the context, is long enough for a view
 * that ends at byte `end`, and is not a sub-buffer, so it overlaps no other. If false, the
 * functions below decide. */
bool tn_memory_is_plain(const tenon_context *context, const tenon_memory *memory, uint64_t end);

/* Fails if the memory is absent (unless the view is empty), belongs to another OpenCL context, or
 * is too small for the view. The size of shared virtual memory is unknown and not checked. */
tenon_status tn_memory_check(const char *caller, const char *argument, tenon_context *context,
                             const tenon_tensor *tensor);

/* Returns true if both have the same kind and handle. */
bool tn_memory_is_same(const tenon_memory *a, const tenon_memory *b);

/* Returns true if two views are the same elements of the same memory, or the same struct. Other
 * views without memory are not. */
bool tn_memory_same_view(const tenon_tensor *a, const tenon_tensor *b);

/* Fails if an input may share a byte with the output, also through sub-buffers. If `same_allowed`,
 * identical views are accepted. */
tenon_status tn_memory_check_apart(const char *caller, const char *input_name,
                                   const tenon_tensor *input, const char *output_name,
                                   const tenon_tensor *output, bool same_allowed);

#endif

/* Device memory: whether a view fits in it, and whether two views share some of it. */
#ifndef TN_RUNTIME_MEMORY_MEMORY_H
#define TN_RUNTIME_MEMORY_MEMORY_H

#include "base/shape.h"

#include <tenon/tensor.h>

/* A buffer of OpenCL's own, not of the context's pool or allocator. */
tenon_status tn_memory_make(const char *caller, tenon_context *context, cl_mem_flags flags,
                            void *host, uint64_t bytes, tenon_memory *memory);

/* tenon_memory_create for any operation. */
tenon_status tn_memory_allocate(const char *caller, tenon_context *context, uint64_t bytes,
                                tenon_memory *memory);

/* Whether it is a pointer, which is then in u.svm: SVM and USM lie in one address space. */
bool tn_memory_is_pointer(const tenon_memory *memory);

/* Whether the memory is plainly what a view that ends at byte `end` needs: a buffer of the context,
 * long enough, and cut from no other, so that it overlaps none. Where it is not, there may be
 * nothing wrong: the functions below say. */
bool tn_memory_is_plain(const tenon_context *context, const tenon_memory *memory, uint64_t end);

/* Refuses memory that is absent (unless the view is empty), of another OpenCL context, or too small
 * for the view. The size of shared virtual memory is not known. */
tenon_status tn_memory_check(const char *caller, const char *argument, tenon_context *context,
                             const tenon_tensor *tensor);

/* Refuses an input that may share a byte with the output, also through sub-buffers; views that are
 * the same element by element pass where `same_allowed`. */
tenon_status tn_memory_check_apart(const char *caller, const char *input_name,
                                   const tenon_tensor *input, const char *output_name,
                                   const tenon_tensor *output, bool same_allowed);

#endif

/* Device memory: whether a view fits in it, and whether two views share some of it. */
#ifndef TN_RUNTIME_MEMORY_H
#define TN_RUNTIME_MEMORY_H

#include "base/shape.h"

#include <tenon/tensor.h>

/* Refuses memory that is absent (unless the view is empty), of another OpenCL context, or too small
 * for the view. The size of shared virtual memory is not known. */
tenon_status tn_memory_check(const char *operation, const char *argument, tenon_context *context,
                             const tenon_tensor *tensor);

/* Whether two views, each with its memory, may share a byte; sees through sub-buffers. */
bool tn_memory_overlaps(const tenon_tensor *a, const tenon_tensor *b);

/* Refuses an input that overlaps the output; views that are the same element by element pass where
 * `same_allowed`. */
tenon_status tn_memory_check_apart(const char *operation, const char *input_name,
                                   const tenon_tensor *input, const char *output_name,
                                   const tenon_tensor *output, bool same_allowed);

#endif

/* Intel's unified shared memory (cl_intel_unified_shared_memory): its functions, and what they know
 * of a pointer. The extension's numbers and functions are declared here, since not every OpenCL
 * header has them. */
#ifndef TN_RUNTIME_MEMORY_USM_H
#define TN_RUNTIME_MEMORY_USM_H

#include "base/status.h"

#include <tenon/tensor.h>

typedef cl_int(CL_API_CALL *tn_usm_set_argument)(cl_kernel kernel, cl_uint index,
                                                 const void *pointer);
typedef cl_int(CL_API_CALL *tn_usm_copy)(cl_command_queue queue, cl_bool blocking, void *to,
                                         const void *from, size_t size, cl_uint waits,
                                         const cl_event *list, cl_event *event);
typedef cl_int(CL_API_CALL *tn_usm_info)(cl_context context, const void *pointer, cl_uint what,
                                         size_t size, void *value, size_t *used);

typedef struct tn_usm {
    tn_usm_set_argument set_argument;
    tn_usm_copy copy;
    tn_usm_info info;
} tn_usm;

/* The functions of a platform that has the extension; false where one is missing. */
bool tn_usm_find(cl_platform_id platform, tn_usm *usm);

/* Refuses a pointer that is none of the context's device, and a view that ends beyond its
 * allocation; `end` is the view's, from the pointer. */
tenon_status tn_usm_check(const char *caller, const char *argument, tenon_context *context,
                          const void *pointer, uint64_t end);

/* Whether the host may use the pointer, too. */
tenon_status tn_usm_is_of_host(const char *caller, tenon_context *context, const void *pointer,
                               bool *result);

#endif

/* Intel's unified shared memory (cl_intel_unified_shared_memory): its functions and pointer
 * queries. The extension's constants and functions are declared here, since some OpenCL headers
 * lack them. */
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

/* Looks up the functions of a platform with the extension. Returns false if one is missing. */
bool tn_usm_find(cl_platform_id platform, tn_usm *usm);

/* Fails if the pointer does not belong to the context's device, or if a view that ends `end` bytes
 * after the pointer exceeds its allocation. */
tenon_status tn_usm_check(const char *caller, const char *argument, tenon_context *context,
                          const void *pointer, uint64_t end);

/* Sets `*result` to true if the host may access the pointer as well. */
tenon_status tn_usm_is_of_host(const char *caller, tenon_context *context, const void *pointer,
                               bool *result);

#endif

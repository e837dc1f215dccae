/*
 * The local memory that a work-group really has.
 *
 * CL_DEVICE_LOCAL_MEM_SIZE is only what the driver reports: NVIDIA's reports 48 KiB for devices
 * with up to 227 KiB, which some methods of allocation can reach, and any driver may provide less
 * than it reports. A size that matters is therefore tried with a kernel that fills all of it and
 * reads it back. Results are stored like capabilities.
 */
#ifndef TN_RUNTIME_PROBE_LOCAL_MEMORY_H
#define TN_RUNTIME_PROBE_LOCAL_MEMORY_H

#include "runtime/probe/capability.h"

/* Methods of allocating local memory in a kernel, numbered as in common/local.clh. */
typedef enum tn_local_method {
    TN_LOCAL_ARRAY,    /* an array in the kernel */
    TN_LOCAL_ARGUMENT, /* an array declared in the kernel */
    TN_LOCAL_ENLARGED, /* an array that is enlarged by editing the program's PTX */
    TN_LOCAL_WAYS
} tn_local_method;

enum { TN_LOCAL_SIZES = 5 };

typedef struct tn_local_result {
    bool known, works;
    char reason[256];
} tn_local_result;

/* Trial results per method and size (runtime/probe/local_memory.c), guarded by the lock of the
 * capabilities. */
typedef struct tn_local_memory {
    tn_local_result results[TN_LOCAL_WAYS][TN_LOCAL_SIZES];
} tn_local_memory;

/* Extra bytes of a __local argument beyond its array, since the argument may be less aligned than
 * the array must be (common/local.clh). */
#define TN_LOCAL_SLACK 1024

/* Build option with the number of the method in common/local.clh. */
#define TN_LOCAL_METHOD_OPTION " -DTENON_LOCAL_METHOD="

/* Returns true if a work-group can have `bytes` of local memory, and the method: an array if
 * possible, an argument before an enlarged array. Sizes that every OpenCL device has are not
 * tried, nor are CPUs, whose local memory is ordinary memory; there the reported size is trusted.
 * Sizes beyond the reported one are tried on NVIDIA's drivers only. */
bool tn_local_memory_fits(tenon_context *context, uint64_t bytes, tn_local_method *method);

/* Like tn_local_memory_fits, for kernels that only support an array. */
bool tn_local_array_fits(tenon_context *context, uint64_t bytes);

/* Returns the largest tested size that a method provides, or 0; `reason` has the result for the
 * next larger size, or for this one if it is the largest. */
uint64_t tn_local_memory_most(tenon_context *context, tn_local_method method, char reason[256]);

/* Tries a size with one method, regardless of the reported size. Fails if the trial cannot be
 * carried out. */
tenon_status tn_local_memory_try(tenon_context *context, tn_local_method method, uint64_t bytes,
                                 bool *works, char reason[256]);

/* Returns the trial build of a size: the kernel `trial` of capability/local_memory. */
void tn_local_memory_trial(tn_local_method method, uint64_t bytes, tn_trial_build *out);

/* Sets the size that a method provides, without a trial. */
void tn_local_memory_set(tenon_context *context, tn_local_method method, uint64_t bytes);

/* Copies the results of one context to another without a device. */
void tn_local_memory_copy(tenon_context *to, tenon_context *from);

/* Returns "array", "argument" or "enlarged". */
const char *tn_local_method_name(tn_local_method method);

/* Writes the build options for a kernel's local memory, " -DTENON_LOCAL_METHOD=1" for example;
 * empty for a plain array. */
void tn_local_options(tn_local_method method, uint64_t bytes, char options[96]);

#endif

/*
 * How much local memory a work-group has in truth.
 *
 * CL_DEVICE_LOCAL_MEM_SIZE is what a driver says: NVIDIA's says 48 KiB of devices with up to 227,
 * which some ways of asking may get, and any driver may give less. So a size that matters is tried,
 * by a kernel that fills all of it and reads it again; what came of it is kept as capabilities are.
 */
#ifndef TN_RUNTIME_PROBE_LOCAL_MEMORY_H
#define TN_RUNTIME_PROBE_LOCAL_MEMORY_H

#include "runtime/probe/capability.h"

/* Ways for a kernel to have local memory, as common/local.clh numbers them. */
typedef enum tn_local_way {
    TN_LOCAL_ARRAY,    /* an array in the kernel */
    TN_LOCAL_ARGUMENT, /* a __local argument, whose size the launch gives */
    TN_LOCAL_ENLARGED, /* an array that is enlarged in the program's PTX */
    TN_LOCAL_WAYS
} tn_local_way;

enum { TN_LOCAL_SIZES = 5 };

typedef struct tn_local_result {
    bool known, works;
    char reason[256];
} tn_local_result;

/* What trials found of each way and size (runtime/probe/local_memory.c); the lock is that of
 * capabilities. */
typedef struct tn_local_memory {
    tn_local_result results[TN_LOCAL_WAYS][TN_LOCAL_SIZES];
} tn_local_memory;

/* Bytes of an argument beside those of its array, which need not be aligned as that is
 * (common/local.clh). */
#define TN_LOCAL_SLACK 1024

/* What kernels' options say of a way: a number of common/local.clh. */
#define TN_LOCAL_WAY_OPTION " -DTENON_LOCAL_WAY="

/* Whether a work-group can have so many bytes, and by which way: an array where that will do, an
 * argument before an array that is enlarged. Not tried: what is no more than every OpenCL device
 * has, and CPUs, whose local memory is ordinary memory: there the driver's word counts. Beyond that
 * word NVIDIA's drivers alone are tried. */
bool tn_local_memory_fits(tenon_context *context, uint64_t bytes, tn_local_way *way);

/* Whether an array can have them, for kernels that know no other way. */
bool tn_local_array_fits(tenon_context *context, uint64_t bytes);

/* The largest of the sizes that can be told apart which a way gives, 0 where there is none; and
 * what came of the next larger one, or of this one where there is no larger. */
uint64_t tn_local_memory_most(tenon_context *context, tn_local_way way, char reason[256]);

/* Tries a size by one way, whatever the driver says. Fails where the trial cannot be made. */
tenon_status tn_local_memory_try(tenon_context *context, tn_local_way way, uint64_t bytes,
                                 bool *works, char reason[256]);

/* The trial of a size: a kernel `trial` of capability/local_memory. */
void tn_local_memory_trial(tn_local_way way, uint64_t bytes, tn_trial_build *out);

/* In place of trials: a way gives so many bytes. */
void tn_local_memory_set(tenon_context *context, tn_local_way way, uint64_t bytes);

/* What one context knows of its device, for another without one. */
void tn_local_memory_copy(tenon_context *to, tenon_context *from);

/* "array", "argument", "enlarged". */
const char *tn_local_way_name(tn_local_way way);

/* What a kernel is built with for its array of local memory, " -DTENON_LOCAL_WAY=1" for example;
 * the empty text where the array is a plain one. */
void tn_local_options(tn_local_way way, uint64_t bytes, char options[96]);

#endif

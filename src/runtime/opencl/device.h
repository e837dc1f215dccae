/* All that the library knows of a device before it tries anything; the only place that reads device
 * information. */
#ifndef TN_RUNTIME_OPENCL_DEVICE_H
#define TN_RUNTIME_OPENCL_DEVICE_H

#include "base/status.h"
#include "device/model.h"
#include "runtime/memory/usm.h"

#include <tenon/device.h>

#include <stdbool.h>

typedef struct tn_device {
    tenon_device_info info;
    char platform_version[128];
    uint32_t opencl_version;   /* 120, 200, 300 … */
    uint32_t vector_width_f64; /* native lanes of double, at least 1 */
    size_t max_work_item[3];
    uint32_t address_align; /* bytes: the alignment of sub-buffers */
    tn_model model;
    uint64_t driver_cache;    /* bytes of the last cache as the driver has it; 0: not known. The
                               * model's    size may be measured (runtime/probe/constants.h). */
    uint32_t least_sub_group; /* work-items of the smallest that a kernel may ask for; 0 where it
                               * may not */
    bool is_cpu;
    bool has_compiler;
    /* PoCL finds what it has compiled by the source, on disk; asked for a binary, it compiles every
     * kernel once more, for work-groups of any size. */
    bool keeps_builds;
    /* PoCL: the same source may be compiled rightly or not (docs/drivers.md). */
    bool miscompiles_at_random;
    /* PoCL on a CPU: clang compiles for the processor itself, which has an instruction for
     * __builtin_prefetch; OpenCL's prefetch() does nothing. Other drivers may end the process over
     * the builtin (Mesa), which no trial could find out. */
    bool has_builtin_prefetch;
    tn_usm usm; /* Intel's unified shared memory; info is NULL where the device has none */
    bool svm;   /* coarse-grained shared virtual memory */
    /* Extensions that say which dialect a compiler speaks: they rule a trial out, never in. */
    bool speaks_nvidia, speaks_amd, speaks_intel_subgroups, speaks_khr_subgroups,
        speaks_intel_matrix;
    bool speaks_f16, speaks_f64, speaks_int_dot;
} tn_device;

/* Reads a device. Fails where something that is needed cannot be read, and says what. */
tenon_status tn_device_read(const char *caller, cl_device_id id, tn_device *device);

/* The name of a platform, and its version where it is wanted (NULL: it is not), cut to fit. */
tenon_status tn_platform_read(const char *caller, cl_platform_id platform, char name[128],
                              char version[128]);

/* tenon_device_select for any operation; `info` has its size. */
tenon_status tn_device_select(const char *caller, const char *selector, tenon_device_info *info);

/* Which of its platform's devices it is; 0 where that cannot be found out. */
int32_t tn_device_number(const tn_device *device);

/* Whether `id` is one of the context's devices. */
tenon_status tn_device_of_context(const char *caller, cl_context context, cl_device_id id,
                                  bool *result);

#endif

/* Device properties that are known without a trial. This is the only place that queries device
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
    uint32_t opencl_version;   /* 120, 200, 300, ... */
    uint32_t vector_width_f64; /* native vector width for double, at least 1 */
    size_t max_work_item[3];
    uint32_t address_align; /* alignment of sub-buffers, in bytes */
    tn_model model;
    uint64_t driver_cache;    /* last-level cache size in bytes according to the driver; 0:
                               * unknown. The size in `model` may be a measured one
                               * (runtime/probe/constants.h). */
    uint32_t least_sub_group; /* smallest sub-group size that a kernel may request; 0 if it may not
                               * request any */
    bool is_cpu;
    bool is_host; /* a CPU whose name contains the brand of the processor of this process */
    bool has_compiler;
    /* PoCL caches compiled kernels on disk under a hash of the source. When asked for a binary it
     * compiles every kernel again, for work-groups of any size. */
    bool keeps_builds;
    /* PoCL: the same source may be compiled correctly or not, at random (docs/drivers.md). */
    bool miscompiles_at_random;
    /* PoCL on a CPU: clang compiles for the processor itself, which has an instruction for
     * __builtin_prefetch; OpenCL's prefetch() does nothing. The builtin may end the process on
     * other drivers (Mesa), so no trial can find this out. */
    bool has_builtin_prefetch;
    tn_usm
        usm;  /* Intel's unified shared memory; `info` is NULL if the device does not support it */
    bool svm; /* coarse-grained shared virtual memory */
    /* Extensions that tell which dialect the compiler accepts. They can rule a trial out, never
     * in. */
    bool speaks_nvidia, speaks_amd, speaks_intel_subgroups, speaks_khr_subgroups,
        speaks_intel_matrix;
    bool speaks_f16, speaks_f64, speaks_int_dot;
} tn_device;

/* Reads the properties of a device. If a required one cannot be read, fails with a message that
 * names it. */
tenon_status tn_device_read(const char *caller, cl_device_id id, tn_device *device);

/* Reads a platform's name, and its version unless `version` is NULL, truncated to fit. */
tenon_status tn_platform_read(const char *caller, cl_platform_id platform, char name[128],
                              char version[128]);

/* Like tenon_device_select, for any caller. `info` has its struct_size set. */
tenon_status tn_device_select(const char *caller, const char *selector, tenon_device_info *info);

/* Returns the index of the device, or of the device that it is a part of, within its platform; 0 if
 * it cannot be determined. */
int32_t tn_device_number(const tn_device *device);

/* Sets `*result` to true if `id` is one of the context's devices. */
tenon_status tn_device_of_context(const char *caller, cl_context context, cl_device_id id,
                                  bool *result);

#endif

/** @file
 * The OpenCL devices of this machine, device selection, and device capabilities.
 */
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include <tenon/status.h>

TENON_BEGIN_C

/** A device, or a platform without devices. A plain value; strings are truncated to fit and always
 * null-terminated. Start from TENON_DEVICE_INFO_INIT, which sets the size that the function that
 * fills the struct must know. */
typedef struct tenon_device_info {
    uint32_t struct_size;    /**< sizeof(tenon_device_info) */
    uint32_t unified_memory; /**< 1 if host and device share memory */
    cl_platform_id platform; /**< platform of the device */
    cl_device_id device; /**< NULL if the platform has no device, or has one that cannot be queried:
                            `note` has the reason */
    cl_device_type type; /**< CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU, … */
    uint32_t compute_units;    /**< CL_DEVICE_MAX_COMPUTE_UNITS */
    uint32_t vector_width_f32; /**< native vector width for float, at least 1 */
    uint64_t global_memory;    /**< bytes */
    uint64_t max_allocation;   /**< bytes in the largest single buffer */
    uint64_t local_memory;     /**< bytes per work-group */
    uint64_t max_work_group;   /**< work-items per work-group */
    char selector[24]; /**< "platform:device" by index, for example "1:0", or "1:0/2:1" for part 1
                          of 2; selects exactly this device */
    char platform_name[128];  /**< CL_PLATFORM_NAME */
    char name[128];           /**< CL_DEVICE_NAME */
    char vendor[128];         /**< CL_DEVICE_VENDOR */
    char version[128];        /**< CL_DEVICE_VERSION */
    char driver_version[128]; /**< CL_DRIVER_VERSION */
    char note[128]; /**< why there is no device, or why it cannot be queried; otherwise "" */
} tenon_device_info;

/** Initializes a tenon_device_info, to be passed to a function that fills it. */
#define TENON_DEVICE_INFO_INIT                                                                     \
    {                                                                                              \
        sizeof(tenon_device_info), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, "", "", "", "", "", "", ""  \
    }

/** Lists every device of every platform, and the platforms without devices. The first call of the
 * library that needs OpenCL, this one or another, opens its loader.
 *  @param infos  array of `capacity` entries, or NULL with capacity 0 to only count; struct_size of
 *                the first entry must be set and applies to all
 *  @param count  receives the number of devices, which may exceed `capacity`; 0 if no platform is
 *                installed
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (count is NULL; infos is NULL and capacity is
 *          not 0; invalid struct_size) · TENON_ERROR_NO_OPENCL (no loader) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL. Callable from any thread. Platforms are
 *          in the order of the loader, devices in the order of their platform. */
TENON_CALL tenon_status tenon_device_list(tenon_device_info *infos, uint32_t capacity,
                                          uint32_t *count);

/** Finds the device that matches a selector.
 *
 * A selector followed by "/N" or "/N:K" selects a part of the device that it matches:
 * clCreateSubDevices divides it into N parts with equal numbers of compute units, and K, from 0 to
 * N - 1, is the part ("/N" is part 0). For example, "cpu/2:0" and "cpu/2:1" are the two halves of
 * the first CPU. A part is a device like any other; the same selector always gives the same one. It
 * exists until the process ends. tenon_device_list does not list parts.
 *  @param selector  "gpu", "cpu", "accelerator" (the first device of that type), "P:D" (indices, as
 *                   in tenon_device_info), or part of a platform, vendor or device name, ignoring
 *                   case ("nvidia", "pocl", "arc"). NULL or "": the value of the environment
 *                   variable TENON_DEVICE; if that is unset, the first GPU, else the first
 *                   accelerator, else the first device of any type.
 *  @param info      its struct_size must be set; receives the device
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (info is NULL) · TENON_ERROR_NO_OPENCL (no
 *          loader) · TENON_ERROR_DEVICE_NOT_FOUND (the message lists the available devices; or K is
 *          not below N, or N is larger than the number of compute units) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (the driver cannot divide the device) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL or TENON_ERROR_DEVICE_LOST (no device
 *          matches, but one could not be queried and may be the one requested). Callable from any
 *          thread. */
TENON_CALL tenon_status tenon_device_select(const char *selector, tenon_device_info *info);

/** Optional features of a device. Each is detected by compiling and running a tiny kernel in a
 * private OpenCL context when it is first requested, never from an extension string alone. */
typedef enum tenon_capability {
    TENON_CAPABILITY_F64 = 0, /**< double-precision arithmetic */
    TENON_CAPABILITY_F16 = 1, /**< half-precision arithmetic (f16 storage needs no capability) */
    TENON_CAPABILITY_HARDWARE_FMA =
        2, /**< fma() in f32 is correct and about as fast as a multiplication */
    TENON_CAPABILITY_SUB_GROUPS = 3, /**< sub_group_broadcast and sub_group_reduce_add */
    TENON_CAPABILITY_NONTEMPORAL_STORE =
        4,                           /**< the compiler supports a store that bypasses the caches */
    TENON_CAPABILITY_INT8_DOT = 5,   /**< four-way int8 dot product as one built-in */
    TENON_CAPABILITY_NVIDIA_PTX = 6, /**< inline PTX */
    TENON_CAPABILITY_NVIDIA_MMA = 7, /**< matrix units: mma.sync for f16, bf16, tf32 and i8 by
                                        inline PTX, as in compute capability 8.0 */
    TENON_CAPABILITY_INTEL_MATRIX =
        8, /**< matrix units: intel_sub_group_…_matrix_mad for f16, bf16 and i8 */
    TENON_CAPABILITY_NVIDIA_MMA_TURING =
        9, /**< mma.sync for f16 and i8, as in compute capability 7.5 */
    TENON_CAPABILITY_NVIDIA_LDMATRIX = 10, /**< ldmatrix by inline PTX */
    TENON_CAPABILITY_NVIDIA_CP_ASYNC = 11, /**< cp.async by inline PTX */
    TENON_CAPABILITY_NVIDIA_WGMMA = 12,    /**< wgmma by inline PTX */
    TENON_CAPABILITY_AMD_MFMA = 13, /**< matrix units: 32 x 32 MFMA for f16, bf16, i8 and f32 */
    TENON_CAPABILITY_AMD_WMMA = 14, /**< matrix units: 16 x 16 WMMA for f16, bf16 and i8 */
    TENON_CAPABILITY_X86_DOT =
        15 /**< sums of products of bytes (VNNI), or else of 16-bit integers, by inline assembly */
} tenon_capability;

/** Returns the short name of a capability, for example "f64", or NULL for an unknown value. To
 * enumerate all capabilities, count up from 0 until the result is NULL. The string is static. */
TENON_API const char *tenon_capability_string(tenon_capability capability);

TENON_END_C

#endif

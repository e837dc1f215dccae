/** @file
 * The OpenCL devices of this machine, how one is selected, and what one is found to be capable of.
 */
#ifndef TENON_DEVICE_H
#define TENON_DEVICE_H

#include <tenon/status.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device, or a platform that has none. A plain value; the strings are cut to fit and always
 * terminated. Start from TENON_DEVICE_INFO_INIT: the function that fills it in must know its size.
 */
typedef struct tenon_device_info {
    uint32_t struct_size;      /**< sizeof(tenon_device_info) */
    uint32_t unified_memory;   /**< 1 where host and device share memory */
    cl_platform_id platform;   /**< of the device */
    cl_device_id device;       /**< NULL where the platform has no device, or one that cannot be
                                  read: `note` says why */
    cl_device_type type;       /**< CL_DEVICE_TYPE_GPU, CL_DEVICE_TYPE_CPU, … */
    uint32_t compute_units;    /**< CL_DEVICE_MAX_COMPUTE_UNITS */
    uint32_t vector_width_f32; /**< native lanes of float, at least 1 */
    uint64_t global_memory;    /**< bytes */
    uint64_t max_allocation;   /**< bytes: the largest single buffer */
    uint64_t local_memory;     /**< bytes for a work-group */
    uint64_t max_work_group;   /**< work-items in a work-group */
    char selector[24];         /**< "platform:device" by index, "1:0": selects exactly this one */
    char platform_name[128];   /**< CL_PLATFORM_NAME */
    char name[128];            /**< CL_DEVICE_NAME */
    char vendor[128];          /**< CL_DEVICE_VENDOR */
    char version[128];         /**< CL_DEVICE_VERSION */
    char driver_version[128];  /**< CL_DRIVER_VERSION */
    char note[128];            /**< why there is no device, or why it cannot be read; else "" */
} tenon_device_info;

/** Initialises a tenon_device_info for a function that fills it in. */
#define TENON_DEVICE_INFO_INIT                                                                     \
    {                                                                                              \
        sizeof(tenon_device_info), 0, NULL, NULL, 0, 0, 0, 0, 0, 0, 0, "", "", "", "", "", "", ""  \
    }

/** Lists every device of every platform, and the platforms without a device. OpenCL's loader is
 * opened by the first call that needs it, this or another.
 *  @param infos    room for `capacity` entries, or NULL with capacity 0 to count; the first one's
 *                  struct_size must be set, and is that of all
 *  @param count    receives how many there are, which may be more than were written; 0 where no
 *                  platform is installed
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (count NULL; infos NULL with a capacity; a
 *          struct_size that cannot be) · TENON_ERROR_NO_OPENCL (there is no loader) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL. Callable from any thread. Order:
 *          platforms as the loader gives them, devices as their platform gives them. */
TENON_CALL tenon_status tenon_device_list(tenon_device_info *infos, uint32_t capacity,
                                          uint32_t *count);

/** Finds the device that a selector names.
 *  @param selector  "gpu", "cpu", "accelerator" (the first of that type), "P:D" (indices, as in
 *                   tenon_device_info), or a fragment of a platform's, vendor's or device's name in
 *                   any case ("nvidia", "pocl", "arc"). NULL or "" takes the environment variable
 *                   TENON_DEVICE; where that is unset too, the first GPU, then the first
 *                   accelerator, then the first device of any kind.
 *  @param info      its struct_size must be set; receives the rest
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (info NULL) · TENON_ERROR_NO_OPENCL (there is no
 *          loader) · TENON_ERROR_DEVICE_NOT_FOUND (the message lists what is there) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL or TENON_ERROR_DEVICE_LOST (as
 *          TENON_ERROR_DEVICE_NOT_FOUND, where a device could not be read and so may be the one
 *          that is meant). Callable from any thread. */
TENON_CALL tenon_status tenon_device_select(const char *selector, tenon_device_info *info);

/** What a device may or may not be able to do. Each is found by compiling and running a tiny kernel
 * on it, in a private OpenCL context, the first time that it is asked for; never from an extension
 * string alone. */
typedef enum tenon_capability {
    TENON_CAPABILITY_F64 = 0, /**< double-precision arithmetic */
    TENON_CAPABILITY_F16 = 1, /**< half-precision arithmetic (storage needs no capability) */
    TENON_CAPABILITY_HARDWARE_FMA = 2, /**< fma() in f32 is right and about as fast as a multiply */
    TENON_CAPABILITY_SUB_GROUPS = 3,   /**< sub_group_broadcast and sub_group_reduce_add */
    TENON_CAPABILITY_NONTEMPORAL_STORE =
        4,                             /**< the compiler has a store that bypasses the caches */
    TENON_CAPABILITY_INT8_DOT = 5,     /**< a four-way int8 dot product as one built-in */
    TENON_CAPABILITY_NVIDIA_PTX = 6,   /**< inline PTX */
    TENON_CAPABILITY_NVIDIA_MMA = 7,   /**< matrix units: mma.sync of f16, bf16, tf32 and i8 by
                                            inline PTX, as of compute capability 8.0 */
    TENON_CAPABILITY_INTEL_MATRIX = 8, /**< matrix units: intel_sub_group_…_matrix_mad of f16, bf16
                                            and i8 */
    TENON_CAPABILITY_NVIDIA_MMA_TURING =
        9, /**< mma.sync of f16 and i8 as of compute capability 7.5 */
    TENON_CAPABILITY_NVIDIA_LDMATRIX = 10, /**< ldmatrix by inline PTX */
    TENON_CAPABILITY_NVIDIA_CP_ASYNC = 11, /**< cp.async by inline PTX */
    TENON_CAPABILITY_NVIDIA_WGMMA = 12,    /**< wgmma by inline PTX */
    TENON_CAPABILITY_AMD_MFMA = 13, /**< matrix units: MFMA of f16, bf16, i8 and f32, of 32 x 32 */
    TENON_CAPABILITY_AMD_WMMA = 14  /**< matrix units: WMMA of f16, bf16 and i8, of 16 x 16 */
} tenon_capability;

/** The short name of a capability, "f64" for example; NULL for a value that is none, so that
 * counting up to the first NULL goes through those that the library knows. Static. */
TENON_API const char *tenon_capability_string(tenon_capability capability);

#ifdef __cplusplus
}
#endif

#endif

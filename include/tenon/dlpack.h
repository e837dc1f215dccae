/** @file
 * Exchange of tensors with other libraries by DLPack (https://dmlc.github.io/dlpack), without a
 * copy.
 *
 * DLPack's own header is not required: this header only declares its two structs. To access their
 * members, include <dlpack/dlpack.h> of version 1.0 or later, before or after this header.
 *
 * A tensor of DLPack's device type kDLOpenCL is a buffer: its data pointer is the cl_mem, to which
 * byte_offset is added. device_id is the index of the device among the devices of its platform.
 * DLPack has no means of ordering work of OpenCL queues: the producer must finish its stream before
 * it exports a tensor, or pass an event as well.
 */
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include <tenon/tensor.h>

TENON_BEGIN_C

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** The consumer must not write to the tensor; the same as DLPack's DLPACK_FLAG_BITMASK_READ_ONLY.
 */
#define TENON_DLPACK_READ_ONLY 1

/** Exports a tensor as DLPack's DLManagedTensorVersioned, version 1.0: its shape, strides (in
 * elements, as in Tenon), offset and buffer. The buffer lives until the deleter has been called and
 * `tensor` has been destroyed, in either order. Exported memory does not return to a context's
 * pool, because work on other queues may use it.
 *  @param tensor  in a buffer of the context, or empty; any type but the f8 types
 *  @param flags   0 or TENON_DLPACK_READ_ONLY
 *  @param out     receives the exported tensor. Its owner frees it with its deleter, from any
 *                 thread, even after the context has been released; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (shared virtual or
 *          unified shared memory; a type that DLPack lacks) · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL. Callable from any thread */
TENON_CALL tenon_status tenon_tensor_to_dlpack(tenon_context *context, const tenon_tensor *tensor,
                                               uint32_t flags,
                                               struct DLManagedTensorVersioned **out);

/** Exports a tensor as a DLManagedTensor, the struct used before DLPack 1.0, which has no version
 * and no flags. Otherwise as tenon_tensor_to_dlpack. */
TENON_CALL tenon_status tenon_tensor_to_dlpack_unversioned(tenon_context *context,
                                                           const tenon_tensor *tensor,
                                                           struct DLManagedTensor **out);

/** Imports a tensor exported by another library. The call takes ownership of `managed`, whatever it
 * returns, unless `managed` is NULL. Its deleter, if it has one, is called once: by
 * tenon_tensor_destroy, which does not wait, or by this call if it fails or the tensor is empty.
 * Work that uses the tensor must be done before it is destroyed.
 *  @param context  of the OpenCL context that the buffer belongs to
 *  @param managed  version 1, device kDLOpenCL, one lane, a type of tenon_dtype, at most
 *                  TENON_MAX_RANK dimensions, no negative strides; NULL strides mean row-major.
 *                  Tensors in host memory (kDLCPU) are rejected: copy them with
 *                  tenon_tensor_upload, or use them in place with tenon_memory_wrap
 *  @param flags    receives TENON_DLPACK_READ_ONLY or 0; if NULL, a read-only tensor is rejected
 *  @param tensor   receives the tensor; unchanged on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; an invalid shape; a buffer of another
 *          OpenCL context, or too small for the tensor; a read-only tensor without `flags`) ·
 *          TENON_ERROR_UNSUPPORTED (another major version, device, type, rank or stride) ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL. Callable from any thread */
TENON_CALL tenon_status tenon_tensor_from_dlpack(tenon_context *context,
                                                 struct DLManagedTensorVersioned *managed,
                                                 uint32_t *flags, tenon_tensor *tensor);

/** Imports a DLManagedTensor, which has no version and no flags. Otherwise as
 * tenon_tensor_from_dlpack. */
TENON_CALL tenon_status tenon_tensor_from_dlpack_unversioned(tenon_context *context,
                                                             struct DLManagedTensor *managed,
                                                             tenon_tensor *tensor);

TENON_END_C

#endif

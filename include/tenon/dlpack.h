/** @file
 * Tensors from and to other libraries by DLPack (https://dmlc.github.io/dlpack), without a copy.
 *
 * DLPack's own header is not needed: its two structs are named here and not described. Who looks
 * into them includes <dlpack/dlpack.h> of version 1.0 or later, before or after this one.
 *
 * A tensor of DLPack's device type kDLOpenCL is a buffer: its data pointer is the cl_mem, to which
 * byte_offset is added. device_id is the number of the device among those of its platform. Nothing
 * in DLPack orders work of OpenCL queues: who hands a tensor over finishes his stream before, or
 * hands an event over as well.
 */
#ifndef TENON_DLPACK_H
#define TENON_DLPACK_H

#include <tenon/tensor.h>

#ifdef __cplusplus
extern "C" {
#endif

struct DLManagedTensor;
struct DLManagedTensorVersioned;

/** A tensor that whoever gets it must not write to; DLPack's DLPACK_FLAG_BITMASK_READ_ONLY. */
#define TENON_DLPACK_READ_ONLY 1

/** Hands a tensor out as DLPack's DLManagedTensorVersioned, version 1.0: its shape, its strides (in
 * elements, as Tenon's are), its offset, and its buffer, which lives until the deleter is called
 * and `tensor` has been given back, in either order. Memory that was handed out does not go back to
 * a context's pool, since work on other queues may use it.
 *  @param tensor  in a buffer of the context, or empty; f64, f32, f16, bf16, i8, u8 or i32
 *  @param flags   0 or TENON_DLPACK_READ_ONLY
 *  @param out     receives what its owner gives back by its deleter, from any thread, also after
 *                 the context has been released; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (shared virtual or
 *          unified shared memory; a type that DLPack has not) · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL. Callable from any thread */
TENON_CALL tenon_status tenon_tensor_to_dlpack(tenon_context *context, const tenon_tensor *tensor,
                                               uint32_t flags,
                                               struct DLManagedTensorVersioned **out);

/** The same as a DLManagedTensor, the struct without a version from before DLPack 1.0, which has no
 * flags. */
TENON_CALL tenon_status tenon_tensor_to_dlpack_unversioned(tenon_context *context,
                                                           const tenon_tensor *tensor,
                                                           struct DLManagedTensor **out);

/** Makes a tensor of what another library hands out. `managed` is taken over whatever the call
 * returns, unless it is NULL: its deleter, where it has one, is called once, by
 * tenon_tensor_destroy, which waits for nothing, or by this call where it fails or the tensor is
 * empty. Work that uses the tensor must be done before it is destroyed.
 *  @param context  of the OpenCL context that the buffer is of
 *  @param managed  version 1, on kDLOpenCL, one lane, a type of tenon_dtype, up to TENON_MAX_RANK
 *                  dimensions and no negative stride; strides of NULL are row-major. Tensors in
 *                  host memory (kDLCPU) are refused: tenon_tensor_upload copies them,
 *                  tenon_memory_wrap uses them where they lie
 *  @param flags    receives TENON_DLPACK_READ_ONLY or 0; with NULL a tensor that must not be
 *                  written to is refused
 *  @param tensor   receives the tensor; untouched on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; a shape that cannot be; a buffer of
 *          another OpenCL context, or that ends before the tensor does; a read-only tensor without
 *          `flags`) · TENON_ERROR_UNSUPPORTED (another major version, device, type, rank or
 *          stride) · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL. Callable from any thread */
TENON_CALL tenon_status tenon_tensor_from_dlpack(tenon_context *context,
                                                 struct DLManagedTensorVersioned *managed,
                                                 uint32_t *flags, tenon_tensor *tensor);

/** The same of a DLManagedTensor, which has no flags. */
TENON_CALL tenon_status tenon_tensor_from_dlpack_unversioned(tenon_context *context,
                                                             struct DLManagedTensor *managed,
                                                             tenon_tensor *tensor);

#ifdef __cplusplus
}
#endif

#endif

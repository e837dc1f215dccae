/** @file
 * Element types, memory, and tensors: views that say how memory is read.
 *
 * A tensor's shape is logical: N C H W for images, … M K for matrices. How it lies in memory is in
 * the strides, so NCHW and NHWC, row-major and column-major, slices, transposes and broadcasts need
 * no flag: they are strides.
 */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include <tenon/context.h>
#include <tenon/stream.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Element types. */
typedef enum tenon_dtype {
    TENON_DTYPE_INVALID = 0, /**< of a view that cannot be */
    TENON_DTYPE_F64 = 1,     /**< IEEE 754 binary64 */
    TENON_DTYPE_F32 = 2,     /**< IEEE 754 binary32 */
    TENON_DTYPE_F16 = 3,     /**< IEEE 754 binary16 */
    TENON_DTYPE_BF16 = 4,    /**< the upper half of a binary32 */
    TENON_DTYPE_I8 = 5,      /**< signed, 8 bits */
    TENON_DTYPE_U8 = 6,      /**< unsigned, 8 bits */
    TENON_DTYPE_I32 = 7,     /**< signed, 32 bits */
    TENON_DTYPE_F8_E4M3 = 8, /**< reserved: no operation takes it yet */
    TENON_DTYPE_F8_E5M2 = 9  /**< reserved: no operation takes it yet */
} tenon_dtype;

/** Bytes of an element; 0 for a value that is no type. */
TENON_API size_t tenon_dtype_size(tenon_dtype dtype);
/** "f32" for example; "invalid" for a value that is no type. Static. */
TENON_API const char *tenon_dtype_string(tenon_dtype dtype);

/** What a tenon_memory is. */
typedef enum tenon_memory_kind {
    TENON_MEMORY_NONE =
        0, /**< no memory: enough to plan with, and what an absent operand of a plan is */
    TENON_MEMORY_BUFFER = 1, /**< an OpenCL buffer */
    TENON_MEMORY_SVM =
        2, /**< shared virtual memory; its size is not known to OpenCL, so it cannot be checked */
    TENON_MEMORY_USM = 3 /**< unified shared memory of the host, of the device or shared, where the
                              driver has cl_intel_unified_shared_memory; its size is checked */
} tenon_memory_kind;

/** A handle to device memory; a plain value that owns nothing. */
typedef struct tenon_memory {
    uint32_t kind;     /**< tenon_memory_kind */
    uint32_t reserved; /**< 0, or every call refuses it */
    union {
        cl_mem buffer;   /**< of TENON_MEMORY_BUFFER */
        void *svm;       /**< of TENON_MEMORY_SVM */
        void *usm;       /**< of TENON_MEMORY_USM */
        uint64_t raw[2]; /**< room for other kinds */
    } u;                 /**< the handle, by kind */
} tenon_memory;

/** The largest rank of a tensor. */
#define TENON_MAX_RANK 8

/** A view of memory; a plain value, with nothing to free. Element (i0, i1, …) lies at byte
 *  offset + tenon_dtype_size(dtype) · Σ i_d · stride[d]. */
typedef struct tenon_tensor {
    tenon_memory memory;            /**< what is viewed; not owned */
    uint64_t offset;                /**< bytes, a multiple of the element's size */
    tenon_dtype dtype;              /**< of an element */
    uint32_t rank;                  /**< 0 (a scalar) to TENON_MAX_RANK */
    int64_t shape[TENON_MAX_RANK];  /**< 0 is allowed and makes the tensor empty */
    int64_t stride[TENON_MAX_RANK]; /**< elements, never negative; 0 broadcasts an input */
} tenon_tensor;

/*
 * Functions that return a view have no status to return. One that cannot make its view fails all
 * the same, at once: tenon_last_error() has the message, which names the function, the shape that
 * it was given and its arguments, and the view is an invalid one, of dtype TENON_DTYPE_INVALID.
 * Every call refuses an invalid view, with TENON_ERROR_INVALID_ARGUMENT and that message within its
 * own. A view made of an invalid one is the same invalid view, and is refused again. They need no
 * context, and any thread may call them.
 */

/** A row-major view without memory.
 *  @return the view; TENON_DTYPE_INVALID, and the message, when there is no such type, the rank is
 *          above TENON_MAX_RANK, a size is negative, or the strides overflow */
TENON_API tenon_tensor tenon_tensor_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape);

/** The same view with dimensions d0 and d1 exchanged; TENON_DTYPE_INVALID, and the message,
 * when one of them is not below the rank. */
TENON_API tenon_tensor tenon_tensor_transpose(tenon_tensor tensor, uint32_t d0, uint32_t d1);

/** The view of `size` entries of dimension `dim` from `start`; TENON_DTYPE_INVALID when they are
 * not all there, or lie where the strides overflow. */
TENON_API tenon_tensor tenon_tensor_slice(tenon_tensor tensor, uint32_t dim, int64_t start,
                                          int64_t size);

/** The same elements every `step` entries of dimension `dim` from `start`: `size` of them.
 *  @return the view; TENON_DTYPE_INVALID when they are not all there, step is below 1, or the
 *          stride overflows */
TENON_API tenon_tensor tenon_tensor_slice_step(tenon_tensor tensor, uint32_t dim, int64_t start,
                                               int64_t size, int64_t step);

/** The view whose dimension d is dimension order[d] of `tensor`; a transpose of all dimensions at
 * once.
 *  @param order  tensor.rank numbers, each dimension once
 *  @return the view; TENON_DTYPE_INVALID when order is NULL or leaves a dimension out */
TENON_API tenon_tensor tenon_tensor_permute(tenon_tensor tensor, const uint32_t *order);

/** The same elements, in the same row-major order, as a tensor of another shape; no copy.
 *  @param shape  `rank` sizes, whose product is the number of elements; one of them may be -1:
 *                what is left of the elements
 *  @param view   receives the view; untouched on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL, a bad view or shape, another number of
 *          elements) · TENON_ERROR_UNSUPPORTED where the strides do not allow it: tenon_copy to a
 *          row-major tensor first */
TENON_CALL tenon_status tenon_tensor_reshape(const tenon_tensor *tensor, uint32_t rank,
                                             const int64_t *shape, tenon_tensor *view);

/** The view without dimension `dim`.
 *  @return the view; TENON_DTYPE_INVALID when the dimension is not there or its size is not 1 */
TENON_API tenon_tensor tenon_tensor_squeeze(tenon_tensor tensor, uint32_t dim);

/** The view with one more dimension, of size 1, before dimension `dim`; rank puts it last.
 *  @return the view; TENON_DTYPE_INVALID when dim is above the rank or the rank is TENON_MAX_RANK
 */
TENON_API tenon_tensor tenon_tensor_unsqueeze(tenon_tensor tensor, uint32_t dim);

/** The view read as one of another shape, as NumPy broadcasts: aligned at the last dimension, sizes
 * of 1 and missing dimensions repeat, by a stride of 0. An input only, unless nothing repeats.
 *  @return the view; TENON_DTYPE_INVALID when it does not broadcast */
TENON_API tenon_tensor tenon_tensor_broadcast(tenon_tensor tensor, uint32_t rank,
                                              const int64_t *shape);

/** What lies as N H W C, read as N C H W: the view that the operations on images take. The channels
 * come from the last dimension to the second one, and nothing is copied:
 *
 *     const int64_t sizes[] = {8, 56, 56, 64};                    N H W C, as they lie
 *     tenon_tensor_create(context, TENON_DTYPE_F16, 4, sizes, &lying);
 *     const tenon_tensor x = tenon_tensor_nhwc(lying);            8 x 64 x 56 x 56, N C H W
 *
 * Filters that lie as K R S C become K C R S by it, gradients and outputs N C H W as the images
 * are; of a view without memory (tenon_tensor_view) it makes one to plan with. The way back, for a
 * program that reads the sizes as they lie, is tenon_tensor_permute.
 *  @param tensor  N or K, then 1 to 3 spatial dimensions, then channels; of any strides
 *  @return the view, in the same memory; TENON_DTYPE_INVALID, and the message, when the rank is not
 *          3, 4 or 5 */
TENON_API tenon_tensor tenon_tensor_nhwc(tenon_tensor tensor);

/** How many elements the view has; 0 for an invalid one and for one whose count overflows. */
TENON_API int64_t tenon_tensor_elements(const tenon_tensor *tensor);

/** Whether a view can be one, also where its sizes and strides were filled in by hand.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT: NULL, or impossible whatever the memory; of an
 *          invalid view the message says which function made it, of which shape and with which
 *          arguments */
TENON_CALL tenon_status tenon_tensor_check(const tenon_tensor *tensor);

/** A row-major tensor in a buffer of the application's. It owns nothing: the buffer stays the
 * application's, and must stay valid as long as work that uses the tensor.
 *  @param buffer  of the OpenCL context that the tensor will be used in
 *  @param offset  bytes, a multiple of the element's size
 *  @param tensor  receives the tensor; untouched on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; no such type or shape; an offset that is
 *          no multiple of the element's size; a buffer that ends before the tensor does) ·
 *          TENON_ERROR_NO_OPENCL · TENON_ERROR_OPENCL (what is no buffer) */
TENON_CALL tenon_status tenon_tensor_from_buffer(cl_mem buffer, uint64_t offset, tenon_dtype dtype,
                                                 uint32_t rank, const int64_t *shape,
                                                 tenon_tensor *tensor);

/** The same in shared virtual memory, whose size OpenCL does not know.
 *  @param svm  as clSVMAlloc gives it, or an address within
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (as tenon_tensor_from_buffer) */
TENON_CALL tenon_status tenon_tensor_from_svm(void *svm, uint64_t offset, tenon_dtype dtype,
                                              uint32_t rank, const int64_t *shape,
                                              tenon_tensor *tensor);

/** The same in unified shared memory (cl_intel_unified_shared_memory), which the driver knows the
 * size of.
 *  @param context  of the OpenCL context that the memory was allocated in
 *  @param usm      as clHostMemAllocINTEL, clDeviceMemAllocINTEL or clSharedMemAllocINTEL gives it,
 *                  or an address within
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (as tenon_tensor_from_buffer; memory that is
 *          none of the context's device) · TENON_ERROR_UNSUPPORTED_DEVICE (a driver without the
 *          extension) · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_tensor_from_usm(tenon_context *context, void *usm, uint64_t offset,
                                              tenon_dtype dtype, uint32_t rank,
                                              const int64_t *shape, tenon_tensor *tensor);

/** Allocates device memory.
 *  @param bytes   0 gives memory of kind NONE, which an empty tensor may have
 *  @param memory  receives a buffer that the caller owns and gives back with tenon_memory_destroy
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY (also above the
 *          device's largest allocation, which the message names) · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_memory_create(tenon_context *context, uint64_t bytes,
                                            tenon_memory *memory);

/** Makes device memory of host memory, without a copy where the device shares the host's memory.
 *  @param host   at least `bytes` bytes, which must stay valid until the memory is destroyed and
 *                the work that uses it has finished; to read or write it meanwhile, map a tensor of
 *                it
 *  @return as tenon_memory_create */
TENON_CALL tenon_status tenon_memory_wrap(tenon_context *context, void *host, uint64_t bytes,
                                          tenon_memory *memory);

/** Gives the memory of tenon_memory_create or tenon_memory_wrap back and sets it to kind NONE. Work
 * already enqueued keeps what it needs. NULL, and kind NONE, do nothing. */
TENON_API void tenon_memory_destroy(tenon_memory *memory);

/** A row-major tensor in memory of its own: tenon_tensor_view and tenon_memory_create in one. Give
 * it back with tenon_tensor_destroy.
 *  @return as tenon_memory_create */
TENON_CALL tenon_status tenon_tensor_create(tenon_context *context, tenon_dtype dtype,
                                            uint32_t rank, const int64_t *shape,
                                            tenon_tensor *tensor);

/** Gives the memory of a tensor of tenon_tensor_create back, as tenon_memory_destroy does, and sets
 * the tensor to zeros, which every call refuses. Other views of that memory must not be used any
 * more, nor destroyed. NULL, and zeros, do nothing. */
TENON_API void tenon_tensor_destroy(tenon_tensor *tensor);

/** Copies dense row-major host data into a tensor of any strides (but no broadcast). Returns when
 * the host data may be reused.
 *  @param data   tenon_tensor_elements(tensor) elements of the tensor's type
 *  @param bytes  the size of data, which must be exactly that
 *  @param sync   or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL
 *          · TENON_ERROR_DEVICE_LOST */
TENON_CALL tenon_status tenon_tensor_upload(tenon_stream *stream, const void *data, size_t bytes,
                                            const tenon_tensor *tensor, const tenon_sync *sync);

/** Copies a tensor of any strides into dense row-major host data. Returns when the data is there.
 *  Parameters and statuses as tenon_tensor_upload. */
TENON_CALL tenon_status tenon_tensor_download(tenon_stream *stream, const tenon_tensor *tensor,
                                              void *data, size_t bytes, const tenon_sync *sync);

/** tenon_tensor_upload without waiting: the copy is enqueued. `data` must stay valid, and as it is,
 * until the event of `sync`, or the stream, is done; where the call fails, nothing reads it any
 * more. From pinned memory (tenon_pinned_create) drivers copy while the stream's other work goes
 * on; from other memory some copy it aside first, in the call.
 *
 * A dense tensor is one copy. One with other strides is copied to memory of the device first, as
 * much as its elements have and for as long as it takes, and from there by tenon_copy, which the
 * first call of its kind compiles; the elements between those of the view are not touched.
 *  @return as tenon_tensor_upload; TENON_ERROR_BUILD_FAILED and the others of tenon_copy where the
 *          tensor is not dense; TENON_ERROR_INCOMPLETE occurs only where the driver gives no event
 *          for the copy, which is done then: a tensor is written by one command */
TENON_CALL tenon_status tenon_tensor_upload_async(tenon_stream *stream, const void *data,
                                                  size_t bytes, const tenon_tensor *tensor,
                                                  const tenon_sync *sync);

/** tenon_tensor_download without waiting: `data` is there, and may be used again, when the event of
 * `sync`, or the stream, is done. Where the call fails, nothing is written to it later on. All else
 * as tenon_tensor_upload_async. */
TENON_CALL tenon_status tenon_tensor_download_async(tenon_stream *stream,
                                                    const tenon_tensor *tensor, void *data,
                                                    size_t bytes, const tenon_sync *sync);

/** Host memory that devices reach without a copy aside (page-locked where the driver does that),
 * for tenon_tensor_upload_async and tenon_tensor_download_async. Opaque; it holds a reference to
 * its context. */
typedef struct tenon_pinned tenon_pinned;

/** Allocates pinned host memory.
 *  @param bytes  at least 1
 *  @param out    receives the memory, which the caller gives back with tenon_pinned_destroy; NULL
 * on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY (also above the
 *          device's largest allocation) · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_pinned_create(tenon_context *context, uint64_t bytes,
                                            tenon_pinned **out);

/** Its address, aligned for every element type, as long as it lives; NULL for NULL. Any thread may
 * use the memory, any part of it for any transfer of the context's streams. */
TENON_API void *tenon_pinned_pointer(const tenon_pinned *pinned);

/** Frees pinned memory. Transfers that use it must be done. NULL is allowed. */
TENON_API void tenon_pinned_destroy(tenon_pinned *pinned);

/** Sets every element to `value`, rounded to the tensor's type (to nearest, ties to even; integers
 * saturate, NaN becomes 0). Elements between those of the view are not touched.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED_DEVICE ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_tensor_fill(tenon_stream *stream, const tenon_tensor *tensor,
                                          double value, const tenon_sync *sync);

/** What a mapping is for; may be combined. */
typedef enum tenon_map_flags {
    TENON_MAP_READ = 1,   /**< the host reads */
    TENON_MAP_WRITE = 2,  /**< the host writes */
    TENON_MAP_DISCARD = 4 /**< with WRITE alone: what was there is not needed */
} tenon_map_flags;

/** Makes the bytes of a tensor, from its first element to its last, readable or writable by the
 * host. Waits until they are. Between map and unmap no operation may use them.
 *  @param pointer  receives the address of the tensor's first element; NULL for an empty tensor
 *  @return as tenon_tensor_upload */
TENON_CALL tenon_status tenon_tensor_map(tenon_stream *stream, const tenon_tensor *tensor,
                                         uint32_t flags, void **pointer, const tenon_sync *sync);

/** Ends a mapping.
 *  @param pointer  as tenon_tensor_map gave it
 *  @return as tenon_tensor_upload */
TENON_CALL tenon_status tenon_tensor_unmap(tenon_stream *stream, const tenon_tensor *tensor,
                                           void *pointer, const tenon_sync *sync);

#ifdef __cplusplus
}
#endif

#endif

/** @file
 * Element types, memory, and tensors: views that describe how memory is read.
 *
 * A tensor's shape is logical: N C H W for images, … M K for matrices. The memory layout is given
 * by the strides. NCHW and NHWC, row-major and column-major, slices, transposes and broadcasts
 * therefore need no flag: only their strides differ.
 */
#ifndef TENON_TENSOR_H
#define TENON_TENSOR_H

#include <tenon/context.h>
#include <tenon/stream.h>

TENON_BEGIN_C

/** Element types. */
typedef enum tenon_dtype {
    TENON_DTYPE_INVALID = 0, /**< dtype of an invalid view */
    TENON_DTYPE_F64 = 1,     /**< IEEE 754 binary64 */
    TENON_DTYPE_F32 = 2,     /**< IEEE 754 binary32 */
    TENON_DTYPE_F16 = 3,     /**< IEEE 754 binary16 */
    TENON_DTYPE_BF16 = 4,    /**< bfloat16: the upper half of a binary32 */
    TENON_DTYPE_I8 = 5,      /**< signed, 8 bits */
    TENON_DTYPE_U8 = 6,      /**< unsigned, 8 bits */
    TENON_DTYPE_I32 = 7,     /**< signed, 32 bits */
    TENON_DTYPE_F8_E4M3 = 8, /**< reserved: no operation supports it yet */
    TENON_DTYPE_F8_E5M2 = 9, /**< reserved: no operation supports it yet */
    TENON_DTYPE_I64 = 10,    /**< signed, 64 bits */
    TENON_DTYPE_I16 = 11,    /**< signed, 16 bits */
    TENON_DTYPE_U16 = 12,    /**< unsigned, 16 bits */
    TENON_DTYPE_U32 = 13,    /**< unsigned, 32 bits */
    TENON_DTYPE_BOOL = 14    /**< a byte: false is 0, and operations store true as 1. A byte that is
                                not 0 is read as true */
} tenon_dtype;

/** Returns the size of an element in bytes; 0 for an unknown type. */
TENON_API size_t tenon_dtype_size(tenon_dtype dtype);
/** Returns the name of a type, for example "f32"; "invalid" for an unknown type. The string is
 * static. */
TENON_API const char *tenon_dtype_string(tenon_dtype dtype);

/** The kinds of tenon_memory. */
typedef enum tenon_memory_kind {
    TENON_MEMORY_NONE =
        0, /**< no memory: sufficient to make plans, and used for absent operands of a plan */
    TENON_MEMORY_BUFFER = 1, /**< an OpenCL buffer */
    TENON_MEMORY_SVM =
        2, /**< shared virtual memory; OpenCL does not know its size, so the size is not checked */
    TENON_MEMORY_USM = 3,     /**< unified shared memory (host, device or shared) on drivers with
                                 cl_intel_unified_shared_memory; its size is checked */
    TENON_MEMORY_SEQUENCE = 4 /**< memory of a sequence (sequence.h), which exists only while the
                                 sequence runs: sufficient to make plans, rejected by other calls */
} tenon_memory_kind;

/** A handle to device memory; a plain value that owns nothing. */
typedef struct tenon_memory {
    uint32_t kind;     /**< tenon_memory_kind */
    uint32_t reserved; /**< must be 0; otherwise every call returns TENON_ERROR_INVALID_ARGUMENT */
    union {
        cl_mem buffer;   /**< for TENON_MEMORY_BUFFER */
        void *svm;       /**< for TENON_MEMORY_SVM */
        void *usm;       /**< for TENON_MEMORY_USM */
        uint64_t raw[2]; /**< space for future kinds */
    } u;                 /**< the handle; `kind` selects the member */
} tenon_memory;

/** The largest rank of a tensor. */
#define TENON_MAX_RANK 8

/** A view of memory; a plain value that needs no release. The byte address of element (i0, i1, …)
 * is offset + tenon_dtype_size(dtype) · Σ i_d · stride[d]. */
typedef struct tenon_tensor {
    tenon_memory memory;            /**< the viewed memory; not owned */
    uint64_t offset;                /**< bytes, a multiple of the element's size */
    tenon_dtype dtype;              /**< element type */
    uint32_t rank;                  /**< 0 (a scalar) to TENON_MAX_RANK */
    int64_t shape[TENON_MAX_RANK];  /**< sizes; 0 is allowed and makes the tensor empty */
    int64_t stride[TENON_MAX_RANK]; /**< in elements, never negative; 0 broadcasts an input */
} tenon_tensor;

/* Functions that return a view have no status. On failure, tenon_last_error() has a message that
 * names the function, the shape it was given and its arguments, and the returned view is invalid:
 * its dtype is TENON_DTYPE_INVALID. Every call rejects an invalid view with
 * TENON_ERROR_INVALID_ARGUMENT and includes that message in its own. A view made of an invalid view
 * is the same invalid view. These functions need no context and may be called from any thread. */

/** Returns a row-major view without memory.
 *  @return the view; an invalid view (TENON_DTYPE_INVALID, with a message) if the type is unknown,
 *          the rank is above TENON_MAX_RANK, a size is negative, or the strides overflow */
TENON_API tenon_tensor tenon_tensor_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape);

/** Returns the view with dimensions d0 and d1 exchanged; an invalid view (TENON_DTYPE_INVALID, with
 * a message) if d0 or d1 is not below the rank. */
TENON_API tenon_tensor tenon_tensor_transpose(tenon_tensor tensor, uint32_t d0, uint32_t d1);

/** Returns the view of `size` entries of dimension `dim` from `start` on; TENON_DTYPE_INVALID if
 * the range exceeds the dimension or its offset overflows. */
TENON_API tenon_tensor tenon_tensor_slice(tenon_tensor tensor, uint32_t dim, int64_t start,
                                          int64_t size);

/** Returns the view of `size` entries of dimension `dim`, every `step`-th one from `start` on.
 *  @return the view; TENON_DTYPE_INVALID if an entry is outside the dimension, step is below 1, or
 *          the stride overflows */
TENON_API tenon_tensor tenon_tensor_slice_step(tenon_tensor tensor, uint32_t dim, int64_t start,
                                               int64_t size, int64_t step);

/** Returns the view whose dimension d is dimension order[d] of `tensor`: a transpose of all
 * dimensions at once.
 *  @param order  tensor.rank numbers, each dimension once
 *  @return the view; TENON_DTYPE_INVALID if order is NULL or is not a permutation */
TENON_API tenon_tensor tenon_tensor_permute(tenon_tensor tensor, const uint32_t *order);

/** Reinterprets a view with another shape, without a copy: the same elements in the same row-major
 * order.
 *  @param shape  `rank` sizes whose product is the number of elements; one of them may be -1 and is
 *                then computed from the others
 *  @param view   receives the view; unchanged on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL, an invalid view or shape, a different
 *          number of elements) · TENON_ERROR_UNSUPPORTED (the strides do not allow it: first use
 *          tenon_copy to copy to a row-major tensor) */
TENON_CALL tenon_status tenon_tensor_reshape(const tenon_tensor *tensor, uint32_t rank,
                                             const int64_t *shape, tenon_tensor *view);

/** Returns the view without dimension `dim`.
 *  @return the view; TENON_DTYPE_INVALID if the dimension does not exist or its size is not 1 */
TENON_API tenon_tensor tenon_tensor_squeeze(tenon_tensor tensor, uint32_t dim);

/** Returns the view with an additional dimension of size 1 before dimension `dim`; dim = rank
 * appends it.
 *  @return the view; TENON_DTYPE_INVALID if dim is above the rank or the rank is TENON_MAX_RANK */
TENON_API tenon_tensor tenon_tensor_unsqueeze(tenon_tensor tensor, uint32_t dim);

/** Returns the view broadcast to another shape by NumPy's rules: aligned at the last dimension,
 * dimensions of size 1 and missing dimensions repeat with stride 0. The result can only be used as
 * an input, unless nothing repeats.
 *  @return the view; TENON_DTYPE_INVALID if the shapes are not compatible */
TENON_API tenon_tensor tenon_tensor_broadcast(tenon_tensor tensor, uint32_t rank,
                                              const int64_t *shape);

/** Returns the N C H W view of a tensor stored as N H W C, as the operations on images require it.
 * The channels move from the last dimension to the second; nothing is copied:
 *
 *     const int64_t sizes[] = {8, 56, 56, 64};                    N H W C, as stored
 *     tenon_tensor_create(context, TENON_DTYPE_F16, 4, sizes, &stored);
 *     const tenon_tensor x = tenon_tensor_nhwc(stored);           8 x 64 x 56 x 56, N C H W
 *
 * Filters stored as K R S C become K C R S. Gradients and outputs become N C H W like the images. A
 * view without memory (tenon_tensor_view) gives a view to make plans with. tenon_tensor_permute
 * does the reverse, for a program that needs the sizes in storage order.
 *  @param tensor  N or K, then 1 to 3 spatial dimensions, then channels; any strides
 *  @return the view of the same memory; TENON_DTYPE_INVALID, with a message, if the rank is not 3,
 *          4 or 5 */
TENON_API tenon_tensor tenon_tensor_nhwc(tenon_tensor tensor);

/** Returns the number of elements of the view; 0 for an invalid view and if the number overflows.
 */
TENON_API int64_t tenon_tensor_elements(const tenon_tensor *tensor);

/** Checks that a view is valid, for example one whose sizes and strides were filled in by hand.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT: NULL, or impossible with any memory. For an
 *          invalid view the message names the function that made it, with its shape and arguments
 */
TENON_CALL tenon_status tenon_tensor_check(const tenon_tensor *tensor);

/** Makes a row-major tensor in a buffer owned by the application. The tensor does not retain the
 * buffer, which must stay valid until the work that uses the tensor is done.
 *  @param buffer  a buffer of the OpenCL context in which the tensor will be used
 *  @param offset  bytes, a multiple of the element's size
 *  @param tensor  receives the tensor; unchanged on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (NULL; an invalid type or shape; an offset that
 *          is not a multiple of the element's size; a buffer that is too small) ·
 *          TENON_ERROR_NO_OPENCL · TENON_ERROR_OPENCL (not a buffer) */
TENON_CALL tenon_status tenon_tensor_from_buffer(cl_mem buffer, uint64_t offset, tenon_dtype dtype,
                                                 uint32_t rank, const int64_t *shape,
                                                 tenon_tensor *tensor);

/** Makes a row-major tensor in shared virtual memory, whose size OpenCL does not know.
 *  @param svm  an address returned by clSVMAlloc, or within its allocation
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (as tenon_tensor_from_buffer) */
TENON_CALL tenon_status tenon_tensor_from_svm(void *svm, uint64_t offset, tenon_dtype dtype,
                                              uint32_t rank, const int64_t *shape,
                                              tenon_tensor *tensor);

/** Makes a row-major tensor in unified shared memory (cl_intel_unified_shared_memory), whose size
 * the driver knows.
 *  @param context  of the OpenCL context in which the memory was allocated
 *  @param usm      an address returned by clHostMemAllocINTEL, clDeviceMemAllocINTEL or
 *                  clSharedMemAllocINTEL, or within its allocation
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT (as tenon_tensor_from_buffer; memory that is not
 *          of the context's device) · TENON_ERROR_UNSUPPORTED_DEVICE (a driver without the
 *          extension) · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_tensor_from_usm(tenon_context *context, void *usm, uint64_t offset,
                                              tenon_dtype dtype, uint32_t rank,
                                              const int64_t *shape, tenon_tensor *tensor);

/** Allocates device memory.
 *  @param bytes   0 gives memory of kind NONE, which is valid for empty tensors
 *  @param memory  receives a buffer owned by the caller, to be freed with tenon_memory_destroy
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY (also above the
 *          device's largest allocation, which the message names) · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_memory_create(tenon_context *context, uint64_t bytes,
                                            tenon_memory *memory);

/** Makes device memory from host memory, without a copy if the device shares the host's memory.
 *  @param host  at least `bytes` bytes, which must stay valid until the memory is destroyed and the
 *               work that uses it is done; to access them before that, map a tensor in this memory
 *  @return as tenon_memory_create */
TENON_CALL tenon_status tenon_memory_wrap(tenon_context *context, void *host, uint64_t bytes,
                                          tenon_memory *memory);

/** Frees memory of tenon_memory_create or tenon_memory_wrap and sets it to kind NONE. Enqueued work
 * keeps the memory it uses, except for collectives (tenon/group.h). Does nothing for NULL and for
 * kind NONE. */
TENON_API void tenon_memory_destroy(tenon_memory *memory);

/** Creates a row-major tensor with its own memory: tenon_tensor_view and tenon_memory_create in one
 * call. Free it with tenon_tensor_destroy.
 *  @return as tenon_memory_create */
TENON_CALL tenon_status tenon_tensor_create(tenon_context *context, tenon_dtype dtype,
                                            uint32_t rank, const int64_t *shape,
                                            tenon_tensor *tensor);

/** Frees the memory of a tensor of tenon_tensor_create, as tenon_memory_destroy does, and sets the
 * tensor to zeros, which every call rejects. Other views of that memory must not be used or
 * destroyed afterwards. Does nothing for NULL and for a tensor of zeros. */
TENON_API void tenon_tensor_destroy(tenon_tensor *tensor);

/** Copies dense row-major host data to a tensor with any strides (except broadcasts). Returns when
 * the host data may be reused.
 *  @param data   tenon_tensor_elements(tensor) elements of the tensor's type
 *  @param bytes  the size of data; must match exactly
 *  @param sync   may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_DEVICE_LOST */
TENON_CALL tenon_status tenon_tensor_upload(tenon_stream *stream, const void *data, size_t bytes,
                                            const tenon_tensor *tensor, const tenon_sync *sync);

/** Copies a tensor with any strides to dense row-major host data. Returns when the data has
 * arrived. Parameters and statuses as tenon_tensor_upload. */
TENON_CALL tenon_status tenon_tensor_download(tenon_stream *stream, const tenon_tensor *tensor,
                                              void *data, size_t bytes, const tenon_sync *sync);

/** Enqueues a tenon_tensor_upload without waiting. `data` must stay valid and unchanged until the
 * event of `sync`, or the stream, is done; if the call fails, `data` is not read any more. From
 * pinned memory (tenon_pinned_create) drivers copy concurrently with the stream's other work; from
 * other memory some drivers make a copy during the call.
 *
 * A dense tensor takes one copy. Otherwise the data is first copied to temporary device memory of
 * the size of the tensor's elements, and from there by tenon_copy, whose kernel the first such call
 * compiles. Elements outside the view are not modified.
 *  @return as tenon_tensor_upload; also TENON_ERROR_BUILD_FAILED and the other statuses of
 *          tenon_copy if the tensor is not dense; TENON_ERROR_INCOMPLETE only if the driver gives
 *          no event for the copy, which then completes: one command writes the tensor */
TENON_CALL tenon_status tenon_tensor_upload_async(tenon_stream *stream, const void *data,
                                                  size_t bytes, const tenon_tensor *tensor,
                                                  const tenon_sync *sync);

/** Enqueues a tenon_tensor_download without waiting. `data` is complete, and may be reused, when
 * the event of `sync`, or the stream, is done. If the call fails, nothing is written to `data`
 * later. Otherwise as tenon_tensor_upload_async. */
TENON_CALL tenon_status tenon_tensor_download_async(tenon_stream *stream,
                                                    const tenon_tensor *tensor, void *data,
                                                    size_t bytes, const tenon_sync *sync);

/** Host memory that devices access without a staging copy (page-locked, if the driver supports it),
 * for tenon_tensor_upload_async and tenon_tensor_download_async. Opaque; it holds a reference to
 * its context. */
typedef struct tenon_pinned tenon_pinned;

/** Allocates pinned host memory.
 *  @param bytes  at least 1
 *  @param out    receives the memory, to be freed with tenon_pinned_destroy; NULL on failure
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_OUT_OF_MEMORY (also above the
 *          device's largest allocation) · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_pinned_create(tenon_context *context, uint64_t bytes,
                                            tenon_pinned **out);

/** Returns the address of pinned memory, aligned for every element type and valid until it is
 * destroyed; NULL for NULL. Any thread may use the memory, and any part of it may be used in any
 * transfer of the context's streams. */
TENON_API void *tenon_pinned_pointer(const tenon_pinned *pinned);

/** Frees pinned memory. Transfers that use it must have completed. NULL is allowed. */
TENON_API void tenon_pinned_destroy(tenon_pinned *pinned);

/** Sets every element to `value`, rounded to the tensor's type (to nearest, ties to even; integers
 * saturate, NaN becomes 0; bool is value != 0). A double represents integers up to 2^53. Elements
 * outside the view are not modified.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED_DEVICE ·
 *          TENON_ERROR_BUILD_FAILED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL */
TENON_CALL tenon_status tenon_tensor_fill(tenon_stream *stream, const tenon_tensor *tensor,
                                          double value, const tenon_sync *sync);

/** Access modes of a mapping; may be combined. */
typedef enum tenon_map_flags {
    TENON_MAP_READ = 1,   /**< the host reads */
    TENON_MAP_WRITE = 2,  /**< the host writes */
    TENON_MAP_DISCARD = 4 /**< only with WRITE: the previous contents are not needed */
} tenon_map_flags;

/** Maps the bytes of a tensor, from its first element to its last, for reading or writing by the
 * host. Waits until they are mapped. No operation may use these bytes until tenon_tensor_unmap.
 *  @param pointer  receives the address of the tensor's first element; NULL for an empty tensor
 *  @return as tenon_tensor_upload */
TENON_CALL tenon_status tenon_tensor_map(tenon_stream *stream, const tenon_tensor *tensor,
                                         uint32_t flags, void **pointer, const tenon_sync *sync);

/** Ends a mapping.
 *  @param pointer  the pointer from tenon_tensor_map
 *  @return as tenon_tensor_upload */
TENON_CALL tenon_status tenon_tensor_unmap(tenon_stream *stream, const tenon_tensor *tensor,
                                           void *pointer, const tenon_sync *sync);

TENON_END_C

#endif

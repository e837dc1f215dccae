/** @file
 * Packed weights: a matrix, or the filters of a convolution, stored once in the order in which the
 * kernels of a device read them, and used for any number of products.
 *
 * The layout depends on the device, the type, K and N, and never on M: one packed object serves a
 * single row and thousands of rows. Every layout can be unpacked, bit for bit.
 */
#ifndef TENON_PACKED_H
#define TENON_PACKED_H

#include <tenon/conv.h>
#include <tenon/gemm.h>

TENON_BEGIN_C

/** Opaque, immutable and reference-counted. It owns its memory and holds a reference to its
 * context. It can be used from any thread and with any stream of its context. To use it on a stream
 * other than the one that packed it, first wait for the event of the packing call, or finish that
 * stream. Plans made with a packed object hold a reference to it. */
typedef struct tenon_packed tenon_packed;

/** Start from TENON_PACK_PARAMS_INIT. */
typedef struct tenon_pack_params {
    uint32_t struct_size; /**< sizeof(tenon_pack_params) */
    uint32_t flags;       /**< 0 */
    /** Forces one of the layouts described below; NULL: chosen for the device and the shape. */
    const char *layout;
} tenon_pack_params;

/** The defaults of tenon_pack_params, without braces. */
#define TENON_PACK_PARAMS_DEFAULTS sizeof(tenon_pack_params), 0, NULL
/** Initializes a tenon_pack_params with the defaults. */
#define TENON_PACK_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_PACK_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_pack_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_pack_params(...)                                                                     \
    TENON_LITERAL(tenon_pack_params, TENON_PACK_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_pack_params) */
TENON_API void tenon_pack_params_default(tenon_pack_params *params, uint32_t size);

/** Packs the operand b of tenon_gemm_packed. The layouts are
 *   - "panels": panels two vectors wide (32 columns of f32 if a vector has 16 lanes). The rows of a
 *     panel are contiguous, and the last panel is padded with zeros. The default on CPUs, except
 * for the narrowest matrices. (The packed B of K. Goto and R. van de Geijn, "Anatomy of
 *     high-performance matrix multiplication", ACM TOMS 34, 2008, over all of K.)
 *   - "rows": dense and row-major; tenon_gemm's solvers compute the product. The only layout for i8
 *     and u8.
 *
 * The solvers that multiply panels are named gemm_packed/….
 *  @param params  NULL means the defaults
 *  @param b       … K N: f64, f32, f16, bf16, i8 or u8, rank 2 to 7, any strides, with memory.
 *                 Dimensions before the last two are a batch, which is packed as a whole. May be
 *                 empty. Read when the call is executed, and not needed afterwards
 *  @param packed  receives the packed matrix, with one reference owned by the caller; NULL on
 *                 failure
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type, or a layout
 *          that does not support it) · TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without
 *          it) · TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY ·
 *          TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE (nothing is packed) */
TENON_CALL tenon_status tenon_gemm_pack(tenon_stream *stream, const tenon_pack_params *params,
                                        const tenon_tensor *b, tenon_packed **packed,
                                        const tenon_sync *sync);

/** Packs the filters of tenon_conv_forward_packed. The layouts are
 *   - "filter_panels": a matrix in "panels" (see tenon_gemm_pack), with a column for each filter
 *     and a row for each channel of each tap, and the dense filters, so it takes more than twice
 *     the memory. The default on CPUs. A convolution on a CPU uses the panels if x and y have their
 *     channels last (their stride along C is 1): by the solvers of gemm_packed for filters of one
 *     element (1x1) if groups is 1 and there is no padding, except that a stride above 1 requires
 *     rows of at least 12 results; otherwise by those of conv_packed. One of the latter,
 *     conv_packed/dense, uses the dense filters. So does every other call, and one that names a
 *     solver of tenon_conv_forward.
 *   - "filters": dense and row-major. Every solver reads it without rearranging it at each run.
 *     Except for 3x3 filters, it serves images in N C H W order as well as "filter_panels" does,
 *     with less memory.
 *
 * On CPUs "filter_panels" of 3x3 filters with at least two channels also contain the filters
 * transformed for Winograd's method (conv_packed/winograd4), so that runs need not transform them.
 * Convolutions with stride and dilation 1 of images in any order can use them, if groups is 1 or
 * each group has a multiple of 64 filters, unless TENON_CONV_EXACT is requested. The transformed
 * filters have 36 elements for each 9 of the original ones, with the number of filters rounded up
 * to whole panels of at most 64, in f64 for f64 and otherwise in f32: the object takes about six
 * times the memory of the filters for f32 and f64, and ten times for f16 and bf16. They are left
 * out if they exceed the largest buffer of the device, or if the solver is disabled on it. Where
 * memory matters more than speed, or for 3x3 filters that are only used with a stride, force
 * "filters". The object is immutable, so its memory can be shared by all plans, streams and threads
 * of the context.
 *
 *  @param w  K C/groups and the filter's size in each spatial dimension, as for tenon_conv_forward;
 *            with memory
 *  @return as tenon_gemm_pack, which also describes the other parameters */
TENON_CALL tenon_status tenon_conv_pack_filter(tenon_stream *stream,
                                               const tenon_pack_params *params,
                                               const tenon_tensor *w, tenon_packed **packed,
                                               const tenon_sync *sync);

/** Adds a reference. NULL is allowed. */
TENON_API void tenon_packed_retain(tenon_packed *packed);
/** Drops a reference; the last one frees the object and its memory. Enqueued work, and plans that
 * hold a reference, continue. NULL is allowed. */
TENON_API void tenon_packed_release(tenon_packed *packed);

/** Returns the type and shape of the packed weights as a dense row-major view without memory; an
 * invalid view (TENON_DTYPE_INVALID) for NULL. */
TENON_API tenon_tensor tenon_packed_view(const tenon_packed *packed);

/** Returns the bytes of device memory owned by the object; 0 for NULL. */
TENON_API uint64_t tenon_packed_bytes(const tenon_packed *packed);

/** Writes a one-line description of the object: its purpose, type, shape, layout and bytes, as in
 * "gemm f32 768x3072 panels of 32, 9437184 bytes".
 *  @param text  receives the line, truncated to `size` bytes and null-terminated; may be NULL with
 *               size 0
 *  @return the length of the whole line without its terminator; 0 for NULL */
TENON_API size_t tenon_packed_describe(const tenon_packed *packed, char *text, size_t size);

/** Writes the original weights to a tensor, bit for bit.
 *  @param tensor  of the type and shape of tenon_packed_view, with memory and any strides that do
 *                 not overlap
 *  @param sync    may be NULL
 *  @return as tenon_gemm_pack; also TENON_ERROR_INVALID_ARGUMENT for a stream of another context,
 *          or a tensor of another type or shape */
TENON_CALL tenon_status tenon_packed_unpack(tenon_stream *stream, const tenon_packed *packed,
                                            const tenon_tensor *tensor, const tenon_sync *sync);

/** Computes tenon_gemm with a packed b: d = activation(alpha · a·b + beta · c + bias). Parameters,
 * shapes, broadcasting, aliasing and statuses are those of tenon_gemm. With panels and
 * TENON_GEMM_BATCH_INVARIANT, a row has the same bits for every M, and d may have any strides.
 *  @param packed  made by tenon_gemm_pack in the stream's context (otherwise
 *                 TENON_ERROR_INVALID_ARGUMENT); a has the same type, or one is i8 and the other u8
 */
TENON_CALL tenon_status tenon_gemm_packed(tenon_stream *stream, const tenon_gemm_params *params,
                                          const tenon_tensor *a, const tenon_packed *packed,
                                          const tenon_tensor *c, const tenon_tensor *bias,
                                          const tenon_tensor *d, const tenon_sync *sync);

/** Makes a plan of tenon_gemm_packed with operands a, c, bias, d, followed, for products of i8 or
 * u8, by the scales and zero points as in tenon_gemm_plan. The tensors need no memory; memory that
 * they have is checked. The plan holds a reference to the packed matrix.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_gemm_packed, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm_packed_plan(tenon_context *context,
                                               const tenon_gemm_params *params,
                                               const tenon_tensor *a, const tenon_packed *packed,
                                               const tenon_tensor *c, const tenon_tensor *bias,
                                               const tenon_tensor *d, tenon_plan **plan);

/** Computes tenon_conv_forward with packed filters. Parameters, shapes, aliasing and statuses are
 * those of tenon_conv_forward. On CPUs it is fastest for images with their channels last
 * (tenon_tensor_nhwc).
 *  @param packed  made by tenon_conv_pack_filter in the stream's context (otherwise
 *                 TENON_ERROR_INVALID_ARGUMENT); x has the same type */
TENON_CALL tenon_status tenon_conv_forward_packed(tenon_stream *stream,
                                                  const tenon_conv_params *params,
                                                  const tenon_tensor *x, const tenon_packed *packed,
                                                  const tenon_tensor *c, const tenon_tensor *bias,
                                                  const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_conv_forward_packed with operands x, c, bias, y. The tensors need no
 * memory; memory that they have is checked. The plan holds a reference to the packed filters.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_conv_forward_packed, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_forward_packed_plan(
    tenon_context *context, const tenon_conv_params *params, const tenon_tensor *x,
    const tenon_packed *packed, const tenon_tensor *c, const tenon_tensor *bias,
    const tenon_tensor *y, tenon_plan **plan);

TENON_END_C

#endif

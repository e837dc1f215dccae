/** @file
 * Packed weights: a matrix, or the filters of a convolution, laid out once in the order in which
 * the kernels of a device read them, and multiplied as often as you like.
 *
 * The layout depends on the device, the type, K and N, and never on M: one packed object serves a
 * single row and thousands of them. Every layout can be unpacked, bit for bit.
 */
#ifndef TENON_PACKED_H
#define TENON_PACKED_H

#include <tenon/conv.h>
#include <tenon/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Opaque, immutable and reference counted; it holds a reference to its context and owns its
 * memory. Usable from any thread and with any stream of its context; on another stream than the one
 * that packed it, wait for the event of the packing first (or finish that stream). Plans made with
 * one hold a reference to it. */
typedef struct tenon_packed tenon_packed;

/** Start from TENON_PACK_PARAMS_INIT. */
typedef struct tenon_pack_params {
    uint32_t struct_size; /**< sizeof(tenon_pack_params) */
    uint32_t flags;       /**< 0 */
    /** Forces a layout of those below; NULL takes what suits the device and the shape. */
    const char *layout;
} tenon_pack_params;

/** The defaults of tenon_pack_params, without braces. */
#define TENON_PACK_PARAMS_DEFAULTS sizeof(tenon_pack_params), 0, NULL
/** Initialises a tenon_pack_params with the defaults. */
#define TENON_PACK_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_PACK_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_pack_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_pack_params(...)                                                                     \
    TENON_LITERAL(tenon_pack_params, TENON_PACK_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_pack_params) */
TENON_API void tenon_pack_params_default(tenon_pack_params *params, uint32_t size);

/** Packs the b of tenon_gemm_packed. Its layouts are
 *   - "panels": panels of two vectors' width (32 columns of f32 where a vector has 16 lanes), each
 *     with its rows one after the other and the last one filled up with zeros; chosen on CPUs,
 *     except for the narrowest matrices. (The packed B of K. Goto and R. van de Geijn, "Anatomy
 *     of high-performance matrix multiplication", ACM TOMS 34, 2008, over all of K.)
 *   - "rows": dense and row-major; the product is then tenon_gemm's, by its solvers. The only one
 *     for i8 and u8.
 *
 * The solvers that multiply panels are called gemm_packed/….
 *  @param params  NULL means the defaults
 *  @param b       … K N: f64, f32, f16, bf16, i8 or u8, rank 2 to 7, any strides, with memory.
 * Dimensions before the last two are a batch, packed whole. May be empty. It is read when the call
 * is executed, and not needed after that
 *  @param packed  receives the packed matrix, with one reference that the caller owns; NULL on
 *                 failure
 *  @param sync    or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED (a type, or a
 *          layout that does not hold it) ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE (nothing is packed) */
TENON_CALL tenon_status tenon_gemm_pack(tenon_stream *stream, const tenon_pack_params *params,
                                        const tenon_tensor *b, tenon_packed **packed,
                                        const tenon_sync *sync);

/** Packs the filters of tenon_conv_forward_packed. The one layout so far is "filters": dense and
 * row-major, what every solver takes without gathering it at each run.
 *  @param w  K C/groups and the filter's size in each spatial dimension, as tenon_conv_forward
 *            takes it; with memory
 *  @return as tenon_gemm_pack, which describes the other parameters */
TENON_CALL tenon_status tenon_conv_pack_filter(tenon_stream *stream,
                                               const tenon_pack_params *params,
                                               const tenon_tensor *w, tenon_packed **packed,
                                               const tenon_sync *sync);

/** Adds a reference. NULL is allowed. */
TENON_API void tenon_packed_retain(tenon_packed *packed);
/** Drops a reference; the last one frees the object and its memory. Work already enqueued, and
 * plans that hold it, go on. NULL is allowed. */
TENON_API void tenon_packed_release(tenon_packed *packed);

/** What was packed, as a dense row-major view without memory: its type and shape; for NULL one of
 * type TENON_DTYPE_INVALID. */
TENON_API tenon_tensor tenon_packed_view(const tenon_packed *packed);

/** The bytes of device memory that the object owns; 0 for NULL. */
TENON_API uint64_t tenon_packed_bytes(const tenon_packed *packed);

/** Writes a line about the object: what it was packed for, type, shape, layout and bytes, as in
 * "gemm f32 768x3072 panels of 32, 9437184 bytes".
 *  @param text  receives the line, cut to `size` bytes and terminated; may be NULL with size 0
 *  @return the length of the whole line without its terminator; 0 for NULL */
TENON_API size_t tenon_packed_describe(const tenon_packed *packed, char *text, size_t size);

/** Writes what was packed to a tensor, with the very bits that were packed.
 *  @param tensor  of the type and shape of tenon_packed_view, any strides that do not overlap, with
 *                 memory
 *  @param sync    or NULL
 *  @return as tenon_gemm_pack; TENON_ERROR_INVALID_ARGUMENT too for a
 *          stream of another context, or a tensor of another type or shape */
TENON_CALL tenon_status tenon_packed_unpack(tenon_stream *stream, const tenon_packed *packed,
                                            const tenon_tensor *tensor, const tenon_sync *sync);

/** tenon_gemm whose b is packed: d = activation(alpha · a·b + beta · c + bias). Parameters, shapes,
 * broadcasting, aliasing and statuses are those of tenon_gemm. With panels every M gives a row the
 * same bits where TENON_GEMM_BATCH_INVARIANT is set, and d may then have any strides.
 *  @param packed  of tenon_gemm_pack, in the stream's context (otherwise
 *                 TENON_ERROR_INVALID_ARGUMENT); a has its type, or either is i8 and the other u8
 */
TENON_CALL tenon_status tenon_gemm_packed(tenon_stream *stream, const tenon_gemm_params *params,
                                          const tenon_tensor *a, const tenon_packed *packed,
                                          const tenon_tensor *c, const tenon_tensor *bias,
                                          const tenon_tensor *d, const tenon_sync *sync);

/** The plan of tenon_gemm_packed; operands a, c, bias, d, and for a product of i8 or u8 then the
 * scales and zero points, as tenon_gemm_plan has them. The views need no memory; where they have
 * it, it is checked. The plan keeps the packed matrix.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_gemm_packed, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm_packed_plan(tenon_context *context,
                                               const tenon_gemm_params *params,
                                               const tenon_tensor *a, const tenon_packed *packed,
                                               const tenon_tensor *c, const tenon_tensor *bias,
                                               const tenon_tensor *d, tenon_plan **plan);

/** tenon_conv_forward whose filters are packed. Parameters, shapes, aliasing and statuses are those
 * of tenon_conv_forward.
 *  @param packed  of tenon_conv_pack_filter, in the stream's context (otherwise
 *                 TENON_ERROR_INVALID_ARGUMENT); x has its type */
TENON_CALL tenon_status tenon_conv_forward_packed(tenon_stream *stream,
                                                  const tenon_conv_params *params,
                                                  const tenon_tensor *x, const tenon_packed *packed,
                                                  const tenon_tensor *c, const tenon_tensor *bias,
                                                  const tenon_tensor *y, const tenon_sync *sync);

/** The plan of tenon_conv_forward_packed; operands x, c, bias, y. The views need no memory; where
 * they have it, it is checked. The plan keeps the packed filters.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_conv_forward_packed, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_conv_forward_packed_plan(
    tenon_context *context, const tenon_conv_params *params, const tenon_tensor *x,
    const tenon_packed *packed, const tenon_tensor *c, const tenon_tensor *bias,
    const tenon_tensor *y, tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif

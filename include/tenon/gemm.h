/** @file
 * General matrix multiplication. */
#ifndef TENON_GEMM_H
#define TENON_GEMM_H

#include <tenon/epilogue.h>

TENON_BEGIN_C

/** Flag: the bits of a row of d depend neither on M nor on the batch that contains the row. Reduces
 * speed for small M. d must then be contiguous along N, or have N = 1. */
#define TENON_GEMM_BATCH_INVARIANT 1u

/** Flag: f32 factors may be rounded to TF32, whose fraction has 10 bits instead of 23, on devices
 * whose matrix units support it. Sums remain f32. The error of an element is then within the TF32
 * bound in docs/numerics.md: about 2^-10 of the sum of the products' magnitudes. No effect on other
 * types, or together with TENON_GEMM_BATCH_INVARIANT. */
#define TENON_GEMM_ALLOW_TF32 2u

/** Start from TENON_GEMM_PARAMS_INIT. */
typedef struct tenon_gemm_params {
    uint32_t struct_size;    /**< sizeof(tenon_gemm_params) */
    uint32_t flags;          /**< TENON_GEMM_BATCH_INVARIANT, TENON_GEMM_ALLOW_TF32 or 0 */
    const char *solver;      /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    tenon_epilogue epilogue; /**< applied to the products before they are stored */
} tenon_gemm_params;

/** The defaults of tenon_gemm_params, without braces. */
#define TENON_GEMM_PARAMS_DEFAULTS sizeof(tenon_gemm_params), 0, NULL, TENON_EPILOGUE_INIT
/** Initializes a tenon_gemm_params with the defaults. */
#define TENON_GEMM_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_GEMM_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_gemm_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_gemm_params(...)                                                                     \
    TENON_LITERAL(tenon_gemm_params, TENON_GEMM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_gemm_params) */
TENON_API void tenon_gemm_params_default(tenon_gemm_params *params, uint32_t size);

/** Computes d = activation(alpha · a·b + beta · c + bias): the general matrix product of BLAS
 * (Dongarra et al., "A set of level 3 basic linear algebra subprograms", ACM TOMS 16, 1990) with
 * batches, a bias and an activation.
 *  @param params  NULL means the defaults: d = a·b
 *  @param a       … M K; f64, f32, f16 or bf16; or i8 or u8, see below. A transposed matrix is a
 *                 view with its two strides exchanged (tenon_tensor_transpose)
 *  @param b       … K N, of a's type, or mixed (see below)
 *  @param c       broadcast to d's shape, of d's type; NULL for none; may be exactly d (same
 *                 memory, offset and strides)
 *  @param bias    broadcast to d's shape, of d's type: shape N adds to each column, M 1 to each
 *                 row; NULL for none
 *  @param d       … M N, of a's type, or f32 (see below); its own elements must not overlap; must
 *                 not overlap an input, except for c = d
 *  @param sync    may be NULL
 *
 *  Dimensions before the last two are a batch. Shapes are broadcast to d's shape by NumPy's rules:
 * aligned at the right, missing dimensions and dimensions of size 1 repeat. M, N or the batch may
 * be 0: then nothing is done. K = 0 gives a·b = 0. f32 products are summed in f32, f64 in f64, and
 * f16 and bf16 in f32 with one rounding when d is stored. All results are within the bound derived
 * in docs/numerics.md. The same call on the same device, driver and library gives the same bits.
 *
 *  **Mixed types.** If d is f32, a and b may each be f32, f16 or bf16: for example f16 weights with
 *  f32 activations, or f16 factors with f32 results. The result is that of factors converted to
 *  f32, which is exact. c and bias are f32; terms after the activation return
 *  TENON_ERROR_UNSUPPORTED. The solvers of these products are named gemm_mixed/…. They need
 *  workspace, so with a limit that is too small the call returns TENON_ERROR_WORKSPACE_TOO_SMALL.
 *
 *  **Products of i8 and u8.** a and b are each i8 or u8. With A = a - zero_point[0] and
 *  B = b - zero_point[1] the sum acc = Σ A·B is exact: an i32 that wraps modulo 2^32. Without zero
 *  points it cannot wrap up to K = 131071 for i8 by i8, 65793 for u8 by i8, and 33025 for u8 by u8;
 *  with any zero points it cannot wrap up to K = 33025. An i32 bias is added to acc, also modulo
 *  2^32; its unit is scale[0]·scale[1], as is usual in quantized networks. The next step depends on
 *  the type of d:
 *   - i32: d = activation(acc + beta · c), modulo 2^32, without scales. alpha must be 1, beta 0 or
 *     1, c and bias i32, the activation identity, relu, or clipped relu with a limit that is an
 *     integer exactly representable in f32.
 *   - f32, f16, bf16: x = activation(alpha · scale[0] · scale[1] · acc + beta · c + bias) is
 *     computed in f32 and stored in d. c has d's type; bias has d's type or is i32.
 *   - i8, u8: d is x / scale[2], rounded to nearest, ties to even, plus zero_point[2], saturated to
 *     d's range; a NaN becomes 0 before the zero point is added. c is f32, and bias f32 or i32.
 *
 *  The arithmetic is that of Jacob et al., "Quantization and training of neural networks for
 *  efficient integer-arithmetic-only inference", CVPR 2018, with float scales as in ONNX. A scale
 *  is f32; a zero point has the type of its operand. Each is a scalar, or a vector of one element,
 *  of M elements for a (one per row), or of N elements for b and d (one per column). None may
 *  overlap d. d has a scale and a zero point only if it is i8 or u8. With alpha = 0 those of a and
 *  b are not read. The solvers of these products are named gemm_int8/….
 *
 *  The solver gemm/clblast calls the CLBlast library. It is only available if Tenon was built with
 * CLBlast, and is only used if it is forced by name. It compiles its kernels at the first run in a
 * context, allocates memory of its own, and supports only buffers: shared virtual memory gives
 * TENON_ERROR_UNSUPPORTED.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm(tenon_stream *stream, const tenon_gemm_params *params,
                                   const tenon_tensor *a, const tenon_tensor *b,
                                   const tenon_tensor *c, const tenon_tensor *bias,
                                   const tenon_tensor *d, const tenon_sync *sync);

/** Makes a plan of tenon_gemm with operands a, b, c, bias, d, followed, for products of i8 or u8,
 * by the scales of a, b and d and the zero points of a, b and d. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_gemm, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm_plan(tenon_context *context, const tenon_gemm_params *params,
                                        const tenon_tensor *a, const tenon_tensor *b,
                                        const tenon_tensor *c, const tenon_tensor *bias,
                                        const tenon_tensor *d, tenon_plan **plan);

/** Start from TENON_GEMM_RAGGED_PARAMS_INIT. */
typedef struct tenon_gemm_ragged_params {
    uint32_t struct_size;    /**< sizeof(tenon_gemm_ragged_params) */
    uint32_t flags;          /**< reserved: 0 */
    const char *solver;      /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    tenon_epilogue epilogue; /**< applied to the products before they are stored */
} tenon_gemm_ragged_params;

/** The defaults of tenon_gemm_ragged_params, without braces. */
#define TENON_GEMM_RAGGED_PARAMS_DEFAULTS                                                          \
    sizeof(tenon_gemm_ragged_params), 0, NULL, TENON_EPILOGUE_INIT
/** Initializes a tenon_gemm_ragged_params with the defaults. */
#define TENON_GEMM_RAGGED_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_GEMM_RAGGED_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_gemm_ragged_params with the defaults, except for the members given as arguments.
 * See TENON_LITERAL. */
#define tenon_gemm_ragged_params(...)                                                              \
    TENON_LITERAL(tenon_gemm_ragged_params, TENON_GEMM_RAGGED_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_gemm_ragged_params) */
TENON_API void tenon_gemm_ragged_params_default(tenon_gemm_ragged_params *params, uint32_t size);

/** Computes one product for each of G groups of consecutive rows, as in a mixture of experts: for
 * every row r of group g, d[r] = activation(alpha · a[r]·b[g] + beta · c[r] + bias[g]). (The
 * grouped product is from T. Gale et al., "MegaBlocks: Efficient Sparse Training with
 * Mixture-of-Experts", MLSys 2023; the epilogue is that of tenon_gemm.)
 *
 * Row r belongs to group g if offsets[g + 1] is the first offset greater than r. Rows below
 * offsets[0], and rows that no offset exceeds, belong to no group; d is not modified there. If the
 * offsets do not decrease, group g therefore consists of the rows from offsets[g] up to, but not
 * including, offsets[g + 1]; equal offsets give an empty group. Offsets may have any values:
 * decreasing or negative offsets and offsets above the number of rows follow the same rule, and
 * never cause an access out of bounds.
 *  @param params   NULL means the defaults: d[r] = a[r]·b[g]
 *  @param a        rows K; f64, f32, f16 or bf16
 *  @param b        G K N, of a's type
 *  @param offsets  i32, G + 1 elements, in device memory like the other operands: read when the
 *                  call is executed
 *  @param c        broadcast to d's shape, of d's type; NULL for none; may be exactly d (same
 *                  memory, offset and strides)
 *  @param bias     N for all groups or G N, of d's type; NULL for none
 *  @param d        rows N, of a's type; its own elements must not overlap; must not overlap an
 *                  input, except for c = d
 *  @param sync     may be NULL
 *
 *  All strides are allowed; stride 0 repeats an input. The rows, N or G may be 0: then nothing is
 * done. K = 0 gives a·b = 0. Sums, bounds and reproducibility are those of tenon_gemm.
 *  @return as tenon_gemm */
TENON_CALL tenon_status tenon_gemm_ragged(tenon_stream *stream,
                                          const tenon_gemm_ragged_params *params,
                                          const tenon_tensor *a, const tenon_tensor *b,
                                          const tenon_tensor *offsets, const tenon_tensor *c,
                                          const tenon_tensor *bias, const tenon_tensor *d,
                                          const tenon_sync *sync);

/** Makes a plan of tenon_gemm_ragged with operands a, b, offsets, c, bias, d. The tensors need no
 * memory; memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as tenon_gemm_ragged, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm_ragged_plan(tenon_context *context,
                                               const tenon_gemm_ragged_params *params,
                                               const tenon_tensor *a, const tenon_tensor *b,
                                               const tenon_tensor *offsets, const tenon_tensor *c,
                                               const tenon_tensor *bias, const tenon_tensor *d,
                                               tenon_plan **plan);

TENON_END_C

#endif

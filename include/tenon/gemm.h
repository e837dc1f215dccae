/** @file
 * General matrix multiplication. */
#ifndef TENON_GEMM_H
#define TENON_GEMM_H

#include <tenon/epilogue.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Flag: the bits of a row of d depend on neither M nor the batch that the row is computed in.
 * Costs speed for small M. d must then be contiguous along N, or have N = 1. */
#define TENON_GEMM_BATCH_INVARIANT 1u

/** Flag: factors of f32 may be rounded to TF32, which has 10 bits of the fraction in place of 23,
 * on devices whose matrix units multiply it; sums are f32 all the same. An element is then within
 * docs/numerics.md's bound for TF32: about 2^-10 of the sum of the products' magnitudes. Without
 * effect on other types, and beside TENON_GEMM_BATCH_INVARIANT. */
#define TENON_GEMM_ALLOW_TF32 2u

/** Start from TENON_GEMM_PARAMS_INIT. */
typedef struct tenon_gemm_params {
    uint32_t struct_size;    /**< sizeof(tenon_gemm_params) */
    uint32_t flags;          /**< TENON_GEMM_BATCH_INVARIANT, TENON_GEMM_ALLOW_TF32 or 0 */
    const char *solver;      /**< forces a solver (plan.h has the grammar); NULL chooses */
    tenon_epilogue epilogue; /**< what is done to the products before they are stored */
} tenon_gemm_params;

/** The defaults of tenon_gemm_params, without braces. */
#define TENON_GEMM_PARAMS_DEFAULTS sizeof(tenon_gemm_params), 0, NULL, TENON_EPILOGUE_INIT
/** Initialises a tenon_gemm_params with the defaults. */
#define TENON_GEMM_PARAMS_INIT                                                                     \
    {                                                                                              \
        TENON_GEMM_PARAMS_DEFAULTS                                                                 \
    }
#ifndef __cplusplus
/** A const tenon_gemm_params: the defaults, except for the members that are named. TENON_LITERAL
 * says more. */
#define tenon_gemm_params(...)                                                                     \
    TENON_LITERAL(tenon_gemm_params, TENON_GEMM_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_gemm_params) */
TENON_API void tenon_gemm_params_default(tenon_gemm_params *params, uint32_t size);

/** d = activation(alpha · a·b + beta · c + bias), the general matrix product of BLAS (Dongarra et
 * al., "A set of level 3 basic linear algebra subprograms", ACM TOMS 16, 1990) with batches, a bias
 * and an activation.
 *  @param params  NULL means the defaults: d = a·b
 *  @param a       … M K; f64, f32, f16 or bf16; or i8 or u8, see below. A transposed matrix is a
 *                 view with its two strides exchanged (tenon_tensor_transpose)
 *  @param b       … K N, of a's type
 *  @param c       broadcasts to d's shape, of d's type; NULL for none; may be exactly
 *                 d (same memory, offset and strides)
 *  @param bias    broadcasts to d's shape, of d's type: shape N adds to each column, M 1 to each
 *                 row; NULL for none
 *  @param d       … M N, of a's type, no two elements in the same place; overlaps no input, except
 * for c = d
 *  @param sync    or NULL
 *
 *  Dimensions before the last two are a batch. Shapes broadcast to d's as NumPy's do: aligned at
 * the right, missing dimensions and those of size 1 repeat. M, N or the batch may be 0: nothing is
 * done. K = 0 gives a·b = 0. Products of f32 are summed in f32, f64 in f64, and f16 and bf16 in
 * f32, rounded once when d is stored; all within the bound that docs/numerics.md derives. The same
 * call on the same device, driver and library gives the same bits.
 *
 *  **Products of i8 and u8.** a and b are each i8 or u8. With A = a - zero_point[0] and
 *  B = b - zero_point[1] the sum acc = Σ A·B is exact: an i32 that wraps modulo 2^32. It cannot
 *  wrap up to K = 131071 for i8 by i8, 65793 for u8 by i8, 33025 for u8 by u8 (without zero
 *  points), and never up to K = 33025. An i32 bias is added to acc, modulo 2^32 as well; it
 *  counts in units of scale[0]·scale[1], as is usual in quantised networks. What happens then
 *  depends on the type of d:
 *   - i32: d = activation(acc + beta · c), modulo 2^32, without scales. alpha must be 1, beta 0 or
 *     1, c and bias i32, the activation identity, relu, or clipped relu whose ceiling is an integer
 *     that f32 holds exactly.
 *   - f32, f16, bf16: x = activation(alpha · scale[0] · scale[1] · acc + beta · c + bias) is
 *     computed in f32 and stored in d. c is of d's type, bias too or i32.
 *   - i8, u8: d is x / scale[2], rounded to nearest, ties to even, plus zero_point[2], saturated to
 *     d's range; a NaN counts as 0 before the zero point is added. c is f32 and bias f32 or i32.
 *
 *  The arithmetic is that of Jacob et al., "Quantization and training of neural networks for
 *  efficient integer-arithmetic-only inference", CVPR 2018, with float scales as in ONNX. A scale
 *  is f32, a zero point has the type of what it belongs to. Each is a scalar, or a vector of one
 *  element, or one of M for a, of N for b and for d: one for each row of a, for each column of b
 *  and d. None may overlap d. Those of d are for i8 and u8 alone. alpha = 0 does not read those of
 *  a and b. The family is called gemm_int8 in solvers' names.
 *
 *  The solver gemm/clblast is the CLBlast library, where Tenon was built with it, and serves who
 * asks for it by name. It compiles its kernels at the first run in a context, allocates memory of
 * its own, and takes buffers only: shared virtual memory is TENON_ERROR_UNSUPPORTED.
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) ·
 *          TENON_ERROR_WORKSPACE_TOO_SMALL (a forced solver) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm(tenon_stream *stream, const tenon_gemm_params *params,
                                   const tenon_tensor *a, const tenon_tensor *b,
                                   const tenon_tensor *c, const tenon_tensor *bias,
                                   const tenon_tensor *d, const tenon_sync *sync);

/** The plan of tenon_gemm; operands a, b, c, bias, d, and for a product of i8 or u8 then the scales
 * of a, b and d and the zero points of a, b and d. The views need no memory; where they have it, it
 * is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_gemm, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm_plan(tenon_context *context, const tenon_gemm_params *params,
                                        const tenon_tensor *a, const tenon_tensor *b,
                                        const tenon_tensor *c, const tenon_tensor *bias,
                                        const tenon_tensor *d, tenon_plan **plan);

/** Start from TENON_GEMM_RAGGED_PARAMS_INIT. */
typedef struct tenon_gemm_ragged_params {
    uint32_t struct_size;    /**< sizeof(tenon_gemm_ragged_params) */
    uint32_t flags;          /**< reserved: 0 */
    const char *solver;      /**< forces a solver (plan.h has the grammar); NULL chooses */
    tenon_epilogue epilogue; /**< what is done to the products before they are stored */
} tenon_gemm_ragged_params;

/** The defaults of tenon_gemm_ragged_params, without braces. */
#define TENON_GEMM_RAGGED_PARAMS_DEFAULTS                                                          \
    sizeof(tenon_gemm_ragged_params), 0, NULL, TENON_EPILOGUE_INIT
/** Initialises a tenon_gemm_ragged_params with the defaults. */
#define TENON_GEMM_RAGGED_PARAMS_INIT                                                              \
    {                                                                                              \
        TENON_GEMM_RAGGED_PARAMS_DEFAULTS                                                          \
    }
#ifndef __cplusplus
/** A const tenon_gemm_ragged_params: the defaults, except for the members that are named.
 * TENON_LITERAL says more. */
#define tenon_gemm_ragged_params(...)                                                              \
    TENON_LITERAL(tenon_gemm_ragged_params, TENON_GEMM_RAGGED_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets the defaults, for languages without macros.
 *  @param size  sizeof(tenon_gemm_ragged_params) */
TENON_API void tenon_gemm_ragged_params_default(tenon_gemm_ragged_params *params, uint32_t size);

/** A product for each of G groups of rows that lie one after the other, as the experts of a mixture
 * have them: for every row r of group g, d[r] = activation(alpha · a[r]·b[g] + beta · c[r] +
 * bias[g]). (T. Gale et al., "MegaBlocks: Efficient Sparse Training with Mixture-of-Experts", MLSys
 * 2023, has the grouped product; the epilogue is that of tenon_gemm.)
 *
 * Row r is of group g where offsets[g + 1] is the first of the offsets that is greater than r. Rows
 * below offsets[0], and those that no offset exceeds, are of no group: d keeps what it holds there.
 * Where the offsets do not decrease, group g is thus the rows from offsets[g] up to, and without,
 * offsets[g + 1]; equal offsets are an empty group. Offsets may hold anything: those that decrease,
 * are negative or exceed the number of rows follow the same rule, and nothing is ever read or
 * written out of bounds for them.
 *  @param params   NULL means the defaults: d[r] = a[r]·b[g]
 *  @param a        rows K; f64, f32, f16 or bf16
 *  @param b        G K N, of a's type
 *  @param offsets  i32, G + 1 elements, in memory of the device like the other operands: they are
 *                  read when the call is executed
 *  @param c        broadcasts to d's shape, of d's type; NULL for none; may be exactly
 *                  d (same memory, offset and strides)
 *  @param bias     N for all groups or G N, of d's type; NULL for none
 *  @param d        rows N, of a's type, no two elements in the same place; overlaps no input,
 * except for c = d
 *  @param sync     or NULL
 *
 *  All strides are free; stride 0 repeats an input. The rows, N or G may be 0: nothing is done. K =
 * 0 gives a·b = 0. Sums, bounds and bits are as with tenon_gemm.
 *  @return as tenon_gemm */
TENON_CALL tenon_status tenon_gemm_ragged(tenon_stream *stream,
                                          const tenon_gemm_ragged_params *params,
                                          const tenon_tensor *a, const tenon_tensor *b,
                                          const tenon_tensor *offsets, const tenon_tensor *c,
                                          const tenon_tensor *bias, const tenon_tensor *d,
                                          const tenon_sync *sync);

/** The plan of tenon_gemm_ragged; operands a, b, offsets, c, bias, d. The views need no memory;
 * where they have it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as tenon_gemm_ragged, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gemm_ragged_plan(tenon_context *context,
                                               const tenon_gemm_ragged_params *params,
                                               const tenon_tensor *a, const tenon_tensor *b,
                                               const tenon_tensor *offsets, const tenon_tensor *c,
                                               const tenon_tensor *bias, const tenon_tensor *d,
                                               tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif

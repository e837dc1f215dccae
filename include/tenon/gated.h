/** @file
 * Gated linear units: one tensor multiplied by a function of another, and the gradients.
 */
#ifndef TENON_GATED_H
#define TENON_GATED_H

#include <tenon/activation.h>

TENON_BEGIN_C

/** Start from TENON_GATED_PARAMS_INIT, which is GLU, and set `activation` for another f. The common
 * variants (N. Shazeer, "GLU variants improve transformer", 2020):
 *
 *  - GLU: TENON_ACTIVATION_SIGMOID (Dauphin et al., "Language modeling with gated convolutional
 *    networks", 2017)
 *  - ReGLU: TENON_ACTIVATION_RELU
 *  - GEGLU: TENON_ACTIVATION_GELU or TENON_ACTIVATION_GELU_TANH
 *  - SwiGLU: TENON_ACTIVATION_SILU
 *  - bilinear: TENON_ACTIVATION_IDENTITY
 *
 * All other activations are supported as well. */
typedef struct tenon_gated_params {
    uint32_t struct_size;        /**< sizeof(tenon_gated_params) */
    uint32_t flags;              /**< 0 */
    const char *solver;          /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    tenon_activation activation; /**< f */
} tenon_gated_params;

/** The defaults of tenon_gated_params, without braces. */
#define TENON_GATED_PARAMS_DEFAULTS                                                                \
    sizeof(tenon_gated_params), 0, NULL,                                                           \
    {                                                                                              \
        TENON_ACTIVATION_SIGMOID, 0, 0.0, 0.0                                                      \
    }
/** Initializes a tenon_gated_params with the defaults. */
#define TENON_GATED_PARAMS_INIT                                                                    \
    {                                                                                              \
        TENON_GATED_PARAMS_DEFAULTS                                                                \
    }
#ifndef __cplusplus
/** A const tenon_gated_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_gated_params(...)                                                                    \
    TENON_LITERAL(tenon_gated_params, TENON_GATED_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_gated_params) */
TENON_API void tenon_gated_params_default(tenon_gated_params *params, uint32_t size);

/** Computes y = a · f(b), element by element: b is the gate, to which the function is applied.
 *
 * If both are halves of one tensor x along an axis, as in the GLU of PyTorch and ONNX, pass two
 * slices of it, without a copy. With n half of x's size along the axis:
 *
 *     tenon_tensor a = tenon_tensor_slice(x, axis, 0, n), b = tenon_tensor_slice(x, axis, n, n);
 *
 * PyTorch's glu gates the first half by the second, as here. If a network gates the second half by
 * the first (many SwiGLU layers do), exchange the two slices. The product follows IEEE 754: an
 * infinity or NaN in a gives NaN where f(b) is 0.
 *  @param params  NULL means the defaults: a · sigmoid(b)
 *  @param a       f64, f32, f16 or bf16, any rank and strides, including broadcast dimensions
 *                 (stride 0)
 *  @param b       of a's type and shape, any strides
 *  @param y       of a's type and shape; may be exactly a or exactly b (same memory, offset and
 *                 strides), must not overlap either otherwise, and its own elements must not
 *                 overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gated_forward(tenon_stream *stream, const tenon_gated_params *params,
                                            const tenon_tensor *a, const tenon_tensor *b,
                                            const tenon_tensor *y, const tenon_sync *sync);

/** Makes a plan of tenon_gated_forward with operands a, b, y. The tensors need no memory; memory
 * that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gated_forward_plan(tenon_context *context,
                                                 const tenon_gated_params *params,
                                                 const tenon_tensor *a, const tenon_tensor *b,
                                                 const tenon_tensor *y, tenon_plan **plan);

/** Computes the gradients with respect to a and b: da = dy · f(b) and db = dy · a · f'(b), with f'
 * as defined in activation.h. a and b are the inputs of the forward call.
 *  @param params  as for the forward call
 *  @param a, b    as for the forward call
 *  @param dy      of a's type and shape, any strides
 *  @param da, db  of a's type and shape, for example the two halves of one tensor; each may be
 *                 exactly one of a, b and dy, must not overlap them otherwise, nor the other
 *                 output, and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return as tenon_gated_forward */
TENON_CALL tenon_status tenon_gated_backward(tenon_stream *stream, const tenon_gated_params *params,
                                             const tenon_tensor *a, const tenon_tensor *b,
                                             const tenon_tensor *dy, const tenon_tensor *da,
                                             const tenon_tensor *db, const tenon_sync *sync);

/** Makes a plan of tenon_gated_backward with operands a, b, dy, da, db. The tensors need no memory;
 * memory that they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_gated_backward_plan(tenon_context *context,
                                                  const tenon_gated_params *params,
                                                  const tenon_tensor *a, const tenon_tensor *b,
                                                  const tenon_tensor *dy, const tenon_tensor *da,
                                                  const tenon_tensor *db, tenon_plan **plan);

TENON_END_C

#endif

/* Activation functions: their names and formulas, and the element-wise operation that applies one.
 */
#ifndef TENON_ACTIVATION_H
#define TENON_ACTIVATION_H

#include <tenon/plan.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The functions, with the formula of each. NaN in gives NaN out for every one of them. */
typedef enum tenon_activation_kind {
    TENON_ACTIVATION_IDENTITY = 0,
    TENON_ACTIVATION_RELU = 1,         /**< x > 0 ? x : 0 */
    TENON_ACTIVATION_LEAKY_RELU = 2,   /**< x > 0 ? x : alpha · x */
    TENON_ACTIVATION_CLIPPED_RELU = 3, /**< min(max(x, 0), alpha); relu6 with alpha = 6 */
    TENON_ACTIVATION_SIGMOID = 4,      /**< 1 / (1 + exp(-x)) */
    TENON_ACTIVATION_TANH = 5          /**< tanh(x) */
} tenon_activation_kind;

/** An activation with its constants; those that its formula does not name are ignored.
 * Zero-initialised: identity. */
typedef struct tenon_activation {
    uint32_t kind;     /**< tenon_activation_kind */
    uint32_t reserved; /**< 0 */
    double alpha;
    double beta; /**< no function uses it yet */
} tenon_activation;

/** Start from TENON_ACTIVATION_PARAMS_INIT and set `activation`. */
typedef struct tenon_activation_params {
    uint32_t struct_size; /**< sizeof(tenon_activation_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (plan.h has the grammar); NULL chooses */
    tenon_activation activation;
} tenon_activation_params;

#define TENON_ACTIVATION_PARAMS_INIT                                                               \
    {                                                                                              \
        sizeof(tenon_activation_params), 0, NULL,                                                  \
        {                                                                                          \
            0, 0, 0.0, 0.0                                                                         \
        }                                                                                          \
    }

/** The same as the initialiser, for languages without macros. */
TENON_API tenon_activation_params tenon_activation_params_default(void);

/** y = activation(x), element by element.
 *  @param params  NULL means the defaults: a copy
 *  @param x       f64, f32, f16 or bf16, any rank and strides; broadcast dimensions (stride 0) are
 *                 allowed
 *  @param y       of x's type and shape; may be exactly x (same memory, offset and strides), must
 *                 not overlap it otherwise, and its own elements must not overlap
 *  @param sync    or NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE (f64 on a device without it) · TENON_ERROR_BUILD_FAILED ·
 *          TENON_ERROR_SOLVER_BARRED · TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL ·
 *          TENON_ERROR_INCOMPLETE */
TENON_API tenon_status tenon_activation_forward(tenon_stream *stream,
                                                const tenon_activation_params *params,
                                                const tenon_tensor *x, const tenon_tensor *y,
                                                const tenon_sync *sync);

/** The plan of tenon_activation_forward; operands x, y. The views need no memory; where they have
 * it, it is checked.
 *  @param plan  receives the plan, with one reference that the caller owns; NULL on failure
 *  @return as the immediate call, but for TENON_ERROR_INCOMPLETE */
TENON_API tenon_status tenon_activation_forward_plan(tenon_context *context,
                                                     const tenon_activation_params *params,
                                                     const tenon_tensor *x, const tenon_tensor *y,
                                                     tenon_plan **plan);

#ifdef __cplusplus
}
#endif

#endif

/** @file
 * Padding of tensors: with a constant, with the edge elements, or with a reflection.
 */
#ifndef TENON_PAD_H
#define TENON_PAD_H

#include <tenon/plan.h>

TENON_BEGIN_C

/** The contents of the padding. */
typedef enum tenon_pad_mode {
    TENON_PAD_CONSTANT = 0, /**< `value` */
    TENON_PAD_EDGE = 1,     /**< the nearest element of x; the padded dimensions of x must not be
                               empty */
    TENON_PAD_REFLECT = 2   /**< x mirrored at its first and last elements, which are not repeated;
                               the padding must be smaller than the dimension of x */
} tenon_pad_mode;

/** Start from TENON_PAD_PARAMS_INIT and set begin and end. */
typedef struct tenon_pad_params {
    uint32_t struct_size; /**< sizeof(tenon_pad_params) */
    uint32_t flags;       /**< 0 */
    const char *solver;   /**< forces a solver (grammar: plan.h); NULL: automatic choice */
    uint32_t mode;        /**< tenon_pad_mode */
    uint32_t reserved;    /**< 0 */
    double value;         /**< for the constant mode, rounded to y's type as in tenon_tensor_fill */
    int64_t
        begin[TENON_MAX_RANK]; /**< elements before those of x, for each dimension; not negative */
    int64_t end[TENON_MAX_RANK]; /**< elements after those of x, likewise */
} tenon_pad_params;

/** The defaults of tenon_pad_params, without braces. */
#define TENON_PAD_PARAMS_DEFAULTS                                                                  \
    sizeof(tenon_pad_params), 0, NULL, TENON_PAD_CONSTANT, 0, 0.0, {0},                            \
    {                                                                                              \
        0                                                                                          \
    }
/** Initializes a tenon_pad_params with the defaults. */
#define TENON_PAD_PARAMS_INIT                                                                      \
    {                                                                                              \
        TENON_PAD_PARAMS_DEFAULTS                                                                  \
    }
#ifndef __cplusplus
/** A const tenon_pad_params with the defaults, except for the members given as arguments. See
 * TENON_LITERAL. */
#define tenon_pad_params(...)                                                                      \
    TENON_LITERAL(tenon_pad_params, TENON_PAD_PARAMS_DEFAULTS, __VA_ARGS__)
#endif

/** Sets `params` to the defaults, for languages without macros.
 *  @param size  sizeof(tenon_pad_params) */
TENON_API void tenon_pad_params_default(tenon_pad_params *params, uint32_t size);

/** Copies x to y with begin[d] elements before it and end[d] after it in every dimension d (ONNX,
 * operator Pad, modes constant, edge and reflect, without negative padding, which is a slice). The
 * bits of x are copied. Several dimensions are padded one after the other; the order does not
 * matter.
 *
 * The gradient of the constant mode with respect to x is a view of dy: tenon_tensor_slice for every
 * dimension d, from begin[d] on, with x's size.
 *  @param params  NULL means the defaults: no padding
 *  @param x       any type but the f8 types, any rank and strides, including 0
 *  @param y       of x's type and rank; shape[d] is x's + begin[d] + end[d]. Must not overlap x,
 *                 and its own elements must not overlap
 *  @param sync    may be NULL
 *  @return TENON_OK · TENON_ERROR_INVALID_ARGUMENT · TENON_ERROR_UNSUPPORTED ·
 *          TENON_ERROR_UNSUPPORTED_DEVICE · TENON_ERROR_BUILD_FAILED · TENON_ERROR_SOLVER_BARRED ·
 *          TENON_ERROR_OUT_OF_MEMORY · TENON_ERROR_OPENCL · TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pad_forward(tenon_stream *stream, const tenon_pad_params *params,
                                          const tenon_tensor *x, const tenon_tensor *y,
                                          const tenon_sync *sync);

/** Makes a plan of tenon_pad_forward with operands x, y. The tensors need no memory; memory that
 * they have is checked.
 *  @param plan  receives the plan, with one reference owned by the caller; NULL on failure
 *  @return as the immediate call, except for TENON_ERROR_INCOMPLETE */
TENON_CALL tenon_status tenon_pad_forward_plan(tenon_context *context,
                                               const tenon_pad_params *params,
                                               const tenon_tensor *x, const tenon_tensor *y,
                                               tenon_plan **plan);

TENON_END_C

#endif

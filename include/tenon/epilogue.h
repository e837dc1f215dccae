/** @file
 * The epilogue of GEMM and convolution: operations applied to a result before it is stored.
 */
#ifndef TENON_EPILOGUE_H
#define TENON_EPILOGUE_H

#include <tenon/activation.h>

TENON_BEGIN_C

/** d = post_scale · activation(alpha · product + beta · c + bias) + post_shift + residual. c and
 * bias are arguments of the call. A NULL c adds nothing. With beta = 0, c is not read; with alpha =
 * 0, the factors of the product are not read.
 *
 * post_scale, post_shift and residual are applied after the activation, in this order, each with a
 * rounding of its own to f64 for f64 tensors and to f32 for all others: a multiplication and two
 * additions. NULL leaves the step out. Solvers that do not apply them in their own kernels store
 * the activation's result and add an element-wise pass, which rounds an f16 or bf16 result once
 * more; that is within the error bound. In a plan they are operands after all others, named
 * "post_scale", "post_shift" and "residual"; a plan without any of them does not have these
 * operands.
 *
 * The epilogue is the last member of every parameter struct that has one, and new members are added
 * at its end. Start from TENON_EPILOGUE_INIT, or in C from tenon_epilogue(.beta = 2). Calls return
 * TENON_ERROR_INVALID_ARGUMENT for a struct_size of 0, which is the result of `.epilogue = {.beta =
 * 2}`. */
typedef struct tenon_epilogue {
    uint32_t struct_size; /**< sizeof(tenon_epilogue) */
    uint32_t reserved;    /**< 0 */
    double alpha;         /**< factor of the product; 1 in the initializer */
    /** factor of c; 1 in the initializer, so that a given c is added. Must be 0 or 1 if c is NULL.
     */
    double beta;
    tenon_activation activation; /**< identity in the initializer */
    /** scales of a, b and d, if a and b are i8 or u8 (see tenon_gemm), or of x, w and y (see
     * tenon_conv_forward); NULL: scale 1 and zero point 0. Read only during the call. Must be NULL
     * for all other types and operations. */
    const tenon_tensor *scale[3];
    const tenon_tensor *zero_point[3]; /**< zero points of the same tensors, as scale */
    /** factor after the activation, of d's type, with the shapes that the call accepts for bias;
     * NULL: none. Read only during the call, like the two members below. All three must be NULL in
     * tenon_gemm_ragged and for products of i8 and u8, which return TENON_ERROR_UNSUPPORTED
     * otherwise. They must not overlap d, except for a residual that is exactly d. */
    const tenon_tensor *post_scale;
    const tenon_tensor
        *post_shift; /**< addend after post_scale, with the same shapes; NULL: none */
    /** addend after post_shift, with d's type and shape; NULL: none. May be exactly d: same memory,
     * offset and strides. Runs of a plan may do that only if the plan was made with such a
     * residual: in memory that both have, or as the same tenon_tensor. */
    const tenon_tensor *residual;
} tenon_epilogue;

/** The defaults of tenon_epilogue, without braces. */
#define TENON_EPILOGUE_DEFAULTS                                                                    \
    sizeof(tenon_epilogue), 0, 1.0, 1.0, {0, 0, 0.0, 0.0}, {NULL, NULL, NULL}, {NULL, NULL, NULL}, \
        NULL, NULL, NULL
/** Initializes a tenon_epilogue with the defaults: c and bias are added if they are given, and
 * nothing else is applied. */
#define TENON_EPILOGUE_INIT                                                                        \
    {                                                                                              \
        TENON_EPILOGUE_DEFAULTS                                                                    \
    }
#ifndef __cplusplus
/** A const tenon_epilogue with the defaults, except for the members given as arguments, as in
 * tenon_gemm_params(.epilogue = tenon_epilogue(.alpha = 0.5, .beta = 2)). See TENON_LITERAL. */
#define tenon_epilogue(...) TENON_LITERAL(tenon_epilogue, TENON_EPILOGUE_DEFAULTS, __VA_ARGS__)
#endif

TENON_END_C

#endif

/** @file
 * The epilogue of GEMM and convolution: operations applied to a result before it is stored.
 */
#ifndef TENON_EPILOGUE_H
#define TENON_EPILOGUE_H

#include <tenon/activation.h>

TENON_BEGIN_C

/** d = activation(alpha · product + beta · c + bias). c and bias are arguments of the call. A NULL
 * c adds nothing. With beta = 0, c is not read; with alpha = 0, the factors of the product are not
 * read.
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
    tenon_activation activation; /**< applied last; identity in the initializer */
    /** scales of a, b and d, if a and b are i8 or u8 (see tenon_gemm); NULL: scale 1 and zero point
     * 0. Read only during the call. Must be NULL for all other types and for convolution. */
    const tenon_tensor *scale[3];
    const tenon_tensor *zero_point[3]; /**< zero points of a, b and d, as scale */
} tenon_epilogue;

/** The defaults of tenon_epilogue, without braces. */
#define TENON_EPILOGUE_DEFAULTS                                                                    \
    sizeof(tenon_epilogue), 0, 1.0, 1.0, {0, 0, 0.0, 0.0}, {NULL, NULL, NULL},                     \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }
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

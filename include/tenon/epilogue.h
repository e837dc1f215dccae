/** @file
 * What happens to a dot product on its way to memory; GEMM and convolution share it. */
#ifndef TENON_EPILOGUE_H
#define TENON_EPILOGUE_H

#include <tenon/activation.h>

#ifdef __cplusplus
extern "C" {
#endif

/** d = activation(alpha · product + beta · c + bias). The views c and bias are arguments of the
 * call. A c of NULL adds nothing. beta = 0 does not read c, whatever it holds; alpha = 0 does not
 * read the factors of the product.
 *
 * The epilogue is the last member of every parameter struct that has one, and grows at its end.
 * Start from TENON_EPILOGUE_INIT, or in C from tenon_epilogue(.beta = 2): calls refuse a
 * struct_size of 0, which `.epilogue = {.beta = 2}` leaves, with TENON_ERROR_INVALID_ARGUMENT. */
typedef struct tenon_epilogue {
    uint32_t struct_size; /**< sizeof(tenon_epilogue) */
    uint32_t reserved;    /**< 0 */
    double alpha;         /**< factor of the product; 1 in the initialiser */
    /** Factor of c; 1 in the initialiser, so that a c that is given is added. With a c of NULL it
     * must be 0 or 1. */
    double beta;
    tenon_activation activation; /**< applied last; identity in the initialiser */
    /** Of a, b and d where a and b are i8 or u8 (tenon_gemm says what they mean), NULL for 1 and 0.
     * The views are read by the call alone. NULL for every other type, and in convolution. */
    const tenon_tensor *scale[3];
    const tenon_tensor *zero_point[3]; /**< as scale */
} tenon_epilogue;

/** The defaults of tenon_epilogue, without braces. */
#define TENON_EPILOGUE_DEFAULTS                                                                    \
    sizeof(tenon_epilogue), 0, 1.0, 1.0, {0, 0, 0.0, 0.0}, {NULL, NULL, NULL},                     \
    {                                                                                              \
        NULL, NULL, NULL                                                                           \
    }
/** Initialises a tenon_epilogue with the defaults: c and bias are added where they are given, and
 * nothing else is done to the product. */
#define TENON_EPILOGUE_INIT                                                                        \
    {                                                                                              \
        TENON_EPILOGUE_DEFAULTS                                                                    \
    }
#ifndef __cplusplus
/** A const tenon_epilogue: the defaults, except for the members that are named, as in
 *  tenon_gemm_params(.epilogue = tenon_epilogue(.alpha = 0.5, .beta = 2)). TENON_LITERAL says more.
 */
#define tenon_epilogue(...) TENON_LITERAL(tenon_epilogue, TENON_EPILOGUE_DEFAULTS, __VA_ARGS__)
#endif

#ifdef __cplusplus
}
#endif

#endif

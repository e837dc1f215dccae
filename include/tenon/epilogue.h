/** @file
 * What happens to a dot product on its way to memory; GEMM and convolution share it. */
#ifndef TENON_EPILOGUE_H
#define TENON_EPILOGUE_H

#include <tenon/activation.h>

#ifdef __cplusplus
extern "C" {
#endif

/** d = activation(alpha · product + beta · c + bias). The views c and bias are arguments of the
 * call. beta = 0 does not read c, whatever it holds; alpha = 0 does not read the factors of the
 * product. */
typedef struct tenon_epilogue {
    double alpha;                /**< 1 in the initialiser */
    double beta;                 /**< 0 in the initialiser: set it to 1 to add a residual c */
    tenon_activation activation; /**< applied last; identity in the initialiser */
    /** Of a, b and d where a and b are i8 or u8 (tenon_gemm says what they mean), NULL for 1 and 0.
     * The views are read by the call alone. NULL for every other type, and in convolution. */
    const tenon_tensor *scale[3];
    const tenon_tensor *zero_point[3]; /**< as scale */
} tenon_epilogue;

/** Initialises a tenon_epilogue that leaves the product as it is. */
#define TENON_EPILOGUE_INIT                                                                        \
    {                                                                                              \
        1.0, 0.0, {0, 0, 0.0, 0.0}, {NULL, NULL, NULL},                                            \
        {                                                                                          \
            NULL, NULL, NULL                                                                       \
        }                                                                                          \
    }

#ifdef __cplusplus
}
#endif

#endif

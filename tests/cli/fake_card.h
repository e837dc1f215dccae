/*
 * The vendors' interfaces to their cards on the host's memory: what bench/peers calls of CUDA's
 * driver, cuBLAS, cuDNN, HIP and rocBLAS, so that its calls are tested where there is no card. One
 * library, loaded under all their names, and preloaded for the OpenCL device to say where on the
 * bus it is, as the vendor that the variable FAKE_CARD names (nvidia or amd) has it say so.
 */
#ifndef TESTS_FAKE_CARD_H
#define TESTS_FAKE_CARD_H

#include <tenon/tensor.h>

#include <stdbool.h>
#include <stdint.h>

#define FAKE __attribute__((visibility("default")))

/* A column-major product of a batch, as BLAS defines it. */
typedef struct fake_product {
    bool a_transposed, b_transposed;
    int m, n, k, count;
    const void *a, *b;
    void *c;
    int lda, ldb, ldc;
    int64_t a_stride, b_stride, c_stride;
} fake_product;

/* A type of operands with those of results and sums that belong to it, as a library numbers them.
 */
typedef struct fake_types {
    tenon_dtype dtype;
    int operands, result, sum;
} fake_types;

/* The type that the numbers stand for together; TENON_DTYPE_INVALID, which ends the list, for none.
 */
tenon_dtype fake_type(const fake_types *known, int operands, int result, int sum);

double fake_get(const void *memory, tenon_dtype dtype, int64_t at);
void fake_put(void *memory, tenon_dtype dtype, int64_t at, double value);

/* Whether alpha is 1 and beta 0, in the type in which products of `dtype` are summed. */
bool fake_scales(const void *alpha, const void *beta, tenon_dtype dtype);

/* False where BLAS would refuse it, and for other scales than 1 and 0. */
bool fake_multiply(const fake_product *product, const void *alpha, const void *beta,
                   tenon_dtype dtype);

#endif

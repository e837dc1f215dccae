/* Matrix products by a vendor's library. Each interface only implements its own call. */
#ifndef BENCH_CARD_GEMM_H
#define BENCH_CARD_GEMM_H

#include "card.h"
#include "peers.h"

/* A product for column-major libraries: the transposed product, with the operands exchanged. f32 is
 * computed in f32; 16-bit types are summed in f32, 8-bit integers in 32 bits, which is also the
 * type of the result. */
typedef struct bench_card_product {
    tenon_dtype dtype;
    bool a_transposed, b_transposed;
    int m, n, k, count;
    const void *alpha, *beta; /* 1 and 0, in the type of the sums */
    bench_card_address a, b, c;
    int lda, ldb, ldc;
    int64_t a_stride, b_stride, c_stride; /* strides in elements between the products of a batch */
} bench_card_product;

typedef struct bench_card_gemm_library {
    const char *name; /* as in --peers */
    bench_card_library library;
    int (*multiply)(void *handle, const bench_card_product *product); /* returns 0 for success */
} bench_card_gemm_library;

/* Sets up the peer for a case. Returns false if the GPU is NULL, the library is missing, or a
 * result is wrong. */
bool bench_card_gemm(const bench_card *card, bench_card_gemm_library *library,
                     const bench_gemm *gemm, bench_way *way);

#endif

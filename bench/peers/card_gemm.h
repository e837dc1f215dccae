/* Products by a vendor's library, of which each interface gives only its own call. */
#ifndef BENCH_CARD_GEMM_H
#define BENCH_CARD_GEMM_H

#include "card.h"
#include "peers.h"

/* A product as column-major libraries want it: the transposed one, of the operands exchanged. f32
 * is f32; 16-bit types are summed in f32, 8-bit integers in 32 bits, which are the result's too. */
typedef struct bench_card_product {
    tenon_dtype dtype;
    bool a_transposed, b_transposed;
    int m, n, k, count;
    const void *alpha, *beta; /* 1 and 0, of the sums' type */
    bench_card_address a, b, c;
    int lda, ldb, ldc;
    int64_t a_stride, b_stride, c_stride; /* in elements, from one product of a batch to the next */
} bench_card_product;

typedef struct bench_card_gemm_library {
    const char *name; /* as --peers has it */
    bench_card_library library;
    int (*multiply)(void *handle, const bench_card_product *product); /* 0: success */
} bench_card_gemm_library;

/* The peer for a case; false where the card is NULL, the library not there, or a result wrong. */
bool bench_card_gemm(const bench_card *card, bench_card_gemm_library *library,
                     const bench_gemm *gemm, bench_way *way);

#endif

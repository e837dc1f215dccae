#include "card_gemm.h"

#include <stdlib.h>

typedef struct products {
    const bench_card *card;
    bench_card_gemm_library *by;
    bench_gemm gemm;
    bench_card_operands operands;
} products;

static bool multiply(const products *p, int copy)
{
    static const float floats[] = {1, 0};
    static const double doubles[] = {1, 0};
    static const int32_t integers[] = {1, 0};
    const bench_gemm *g = &p->gemm;
    const bench_gemm_shape *s = &g->shape;
    const bench_card_address *at = p->operands.at[copy];
    bench_card_product product = {
        .dtype = g->dtype,
        .a_transposed = s->b_transposed,
        .b_transposed = s->a_transposed,
        .m = (int)s->n,
        .n = (int)s->m,
        .k = (int)s->k,
        .count = (int)s->batch,
        .alpha = floats,
        .beta = floats + 1,
        .a = at[g->b],
        .b = at[g->a],
        .c = at[g->d],
        .lda = (int)(s->b_transposed ? s->k : s->n),
        .ldb = (int)(s->a_transposed ? s->m : s->k),
        .ldc = (int)s->n,
        .a_stride = s->k * s->n,
        .b_stride = s->m * s->k,
        .c_stride = s->m * s->n,
    };
    if (g->dtype == TENON_DTYPE_F64) {
        product.alpha = doubles;
        product.beta = doubles + 1;
    } else if (g->dtype == TENON_DTYPE_I8) {
        product.alpha = integers;
        product.beta = integers + 1;
    }
    return p->by->multiply(p->by->library.handle, &product) == 0;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const products *p = data;
    (void)stream;
    return multiply(p, turn % p->gemm.operands->copies);
}

static bool finish(void *data)
{
    return ((const products *)data)->card->synchronize() == 0;
}

static void destroy(void *data)
{
    products *p = data;
    bench_card_free(p->card, &p->operands);
    free(p);
}

/* Checks the last element of the last product. */
static bool is_right(const products *p)
{
    const bench_gemm *g = &p->gemm;
    const bench_gemm_shape *s = &g->shape;
    const bench_operand *o = g->operands->operand;
    const float *a = o[g->a].values[0] + (s->batch - 1) * s->m * s->k,
                *b = o[g->b].values[0] + (s->batch - 1) * s->k * s->n;
    double sum = 0;
    for (int64_t i = 0; i < s->k; i++)
        sum += (double)a[s->a_transposed ? i * s->m + s->m - 1 : (s->m - 1) * s->k + i] *
               (double)b[s->b_transposed ? (s->n - 1) * s->k + i : i * s->n + s->n - 1];
    return multiply(p, 0) && bench_card_agrees(p->by->library.title, g->dtype,
                                               bench_card_element(p->card, &p->operands, g->d,
                                                                  s->batch * s->m * s->n - 1),
                                               sum, s->k);
}

bool bench_card_gemm(const bench_card *card, bench_card_gemm_library *library,
                     const bench_gemm *gemm, bench_way *way)
{
    if (card == NULL || bench_card_handle(&library->library, library->name) == NULL)
        return false;
    products *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->card = card;
    p->by = library;
    p->gemm = *gemm;
    if (!bench_card_copy(card, gemm->operands, &p->operands) || !is_right(p)) {
        destroy(p);
        return false;
    }
    *way = (bench_way){library->name, call, false, p, destroy, NULL, finish};
    return true;
}

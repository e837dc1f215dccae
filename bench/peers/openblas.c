#include "peers.h"

#include <stdlib.h>

#ifdef BENCH_OPENBLAS
#include <cblas.h>

typedef struct product {
    bench_gemm gemm;
    double *a[BENCH_MAX_COPIES], *b[BENCH_MAX_COPIES], *d; /* of f64 */
} product;

static double *widen(const float *values, int64_t count)
{
    double *wide = malloc((size_t)count * sizeof *wide + 1);
    for (int64_t i = 0; wide != NULL && i < count; i++)
        wide[i] = (double)values[i];
    return wide;
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    const bench_gemm *g = &p->gemm;
    const bench_operand *o = g->operands->operand;
    const int copy = turn % g->operands->copies, m = (int)g->m, n = (int)g->n, k = (int)g->k;
    const CBLAS_TRANSPOSE ta = g->a_transposed ? CblasTrans : CblasNoTrans,
                          tb = g->b_transposed ? CblasTrans : CblasNoTrans;
    const int lda = g->a_transposed ? m : k, ldb = g->b_transposed ? k : n;
    (void)stream;
    if (g->dtype == TENON_DTYPE_F64)
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, p->a[copy], lda, p->b[copy], ldb, 0, p->d,
                    n);
    else
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, o[g->a].values[copy], lda,
                    o[g->b].values[copy], ldb, 0, o[g->d].values[copy], n);
    return true;
}

static void destroy(void *data)
{
    product *p = data;
    for (int c = 0; c < p->gemm.operands->copies; c++) {
        free(p->a[c]);
        free(p->b[c]);
    }
    free(p->d);
    free(p);
}

bool bench_openblas_gemm(const bench_gemm *gemm, bench_way *way)
{
    const bench_operand *o = gemm->operands->operand;
    if (gemm->dtype != TENON_DTYPE_F32 && gemm->dtype != TENON_DTYPE_F64)
        return false;
    product *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->gemm = *gemm;
    for (int c = 0; gemm->dtype == TENON_DTYPE_F64 && c < gemm->operands->copies; c++) {
        p->a[c] = widen(o[gemm->a].values[c], gemm->m * gemm->k);
        p->b[c] = widen(o[gemm->b].values[c], gemm->k * gemm->n);
    }
    p->d = malloc((size_t)(gemm->m * gemm->n) * sizeof *p->d + 1);
    *way = (bench_way){"openblas", call, true, p, destroy};
    return true;
}
#else
bool bench_openblas_gemm(const bench_gemm *gemm, bench_way *way)
{
    (void)gemm;
    (void)way;
    return false;
}
#endif

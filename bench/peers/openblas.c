#define _GNU_SOURCE /* for cpu_set_t */
#include "editions.h"

#include <cblas.h>
#include <stdlib.h>

#ifdef __linux__
#include <sched.h>

/* Older versions do not have it. NOLINTNEXTLINE(readability-redundant-declaration) */
__attribute__((weak)) int openblas_setaffinity(int thread, size_t size, cpu_set_t *set);
#endif

typedef struct product {
    bench_gemm gemm;
    double *a[BENCH_MAX_COPIES], *b[BENCH_MAX_COPIES], *d; /* for f64 */
} product;

static double *widen(const float *values, int64_t count)
{
    double *wide = malloc((size_t)count * sizeof *wide + 1);
    for (int64_t i = 0; wide != NULL && i < count; i++)
        wide[i] = (double)values[i];
    return wide;
}

/* A matrix of f32 or f64: one of the pointers is NULL. */
typedef struct matrix {
    const float *f32;
    const double *f64;
} matrix;

static matrix matrix_of(const float *f32, const double *f64, int64_t offset)
{
    return f64 != NULL ? (matrix){NULL, f64 + offset} : (matrix){f32 + offset, NULL};
}

/* Computes y = A·x or A'·x for a row-major matrix. */
static void times_vector(bool transposed, int rows, int cols, matrix a, matrix x, float *y32,
                         double *y64)
{
    const CBLAS_TRANSPOSE t = transposed ? CblasTrans : CblasNoTrans;
    if (a.f64 != NULL)
        cblas_dgemv(CblasRowMajor, t, rows, cols, 1, a.f64, cols, x.f64, 1, 0, y64, 1);
    else
        cblas_sgemv(CblasRowMajor, t, rows, cols, 1, a.f32, cols, x.f32, 1, 0, y32, 1);
}

/* Computes one product of the batch. BLAS's GEMM has no special path for vectors, so these use
 * GEMV. */
static void multiply(const bench_gemm_shape *s, matrix a, matrix b, float *d32, double *d64)
{
    const CBLAS_TRANSPOSE ta = s->a_transposed ? CblasTrans : CblasNoTrans,
                          tb = s->b_transposed ? CblasTrans : CblasNoTrans;
    const int m = (int)s->m, n = (int)s->n, k = (int)s->k;
    const int lda = s->a_transposed ? m : k, ldb = s->b_transposed ? k : n;
    if (n == 1)
        times_vector(s->a_transposed, s->a_transposed ? k : m, lda, a, b, d32, d64);
    else if (m == 1)
        times_vector(!s->b_transposed, s->b_transposed ? n : k, ldb, b, a, d32, d64);
    else if (a.f64 != NULL)
        cblas_dgemm(CblasRowMajor, ta, tb, m, n, k, 1, a.f64, lda, b.f64, ldb, 0, d64, n);
    else
        cblas_sgemm(CblasRowMajor, ta, tb, m, n, k, 1, a.f32, lda, b.f32, ldb, 0, d32, n);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    const bench_gemm *g = &p->gemm;
    const bench_gemm_shape *s = &g->shape;
    const bench_operand *o = g->operands->operand;
    const int copy = turn % g->operands->copies;
    (void)stream;
    for (int64_t z = 0; z < s->batch; z++) {
        const int64_t d = z * s->m * s->n;
        multiply(s, matrix_of(o[g->a].values[copy], p->a[copy], z * s->m * s->k),
                 matrix_of(o[g->b].values[copy], p->b[copy], z * s->k * s->n),
                 o[g->d].values[copy] + d, p->d + d);
    }
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

static bool set_up(const bench_gemm *gemm, bench_way *way)
{
    const bench_operand *o = gemm->operands->operand;
    const bench_gemm_shape *s = &gemm->shape;
    if (gemm->dtype != TENON_DTYPE_F32 && gemm->dtype != TENON_DTYPE_F64)
        return false;
    product *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->gemm = *gemm;
    for (int c = 0; gemm->dtype == TENON_DTYPE_F64 && c < gemm->operands->copies; c++) {
        p->a[c] = widen(o[gemm->a].values[c], s->batch * s->m * s->k);
        p->b[c] = widen(o[gemm->b].values[c], s->batch * s->k * s->n);
    }
    p->d = malloc((size_t)(s->batch * s->m * s->n) * sizeof *p->d + 1);
    *way = (bench_way){way->name, call, true, p, destroy, NULL, NULL, way->edition};
    return true;
}

static void pin_thread(int thread)
{
#ifdef __linux__
    cpu_set_t where;
    bench_pin(thread);
    if (openblas_setaffinity != NULL && sched_getaffinity(0, sizeof where, &where) == 0)
        (void)openblas_setaffinity(thread - 1, sizeof where, &where);
    bench_pin(-1);
#else
    (void)thread;
#endif
}

static void pin(void)
{
    for (int t = 1; t < openblas_get_num_threads(); t++)
        pin_thread(t);
}

const bench_openblas_library bench_openblas_linked = {openblas_get_corename, openblas_get_config,
                                                      pin, set_up};

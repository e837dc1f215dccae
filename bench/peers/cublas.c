/* cuBLAS: its row-major product is the transposed one of the operands exchanged. f32 is f32, without
 * TF32; 16-bit types are summed in f32, 8-bit integers in 32 bits. */
#include "cuda.h"
#include "peers.h"

#include <stdlib.h>

/* As cuBLAS has them. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14 };
enum { SUM_32F = 68, SUM_64F = 70, SUM_32I = 72 };
enum { PLAIN = 0, TRANSPOSED = 1, DEFAULT_ALGORITHM = -1 };

typedef int (*gemm_function)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                             bench_cuda_address a, int a_type, int lda, long long a_stride,
                             bench_cuda_address b, int b_type, int ldb, long long b_stride,
                             const void *beta, bench_cuda_address c, int c_type, int ldc,
                             long long c_stride, int count, int sum, int algorithm);

static struct {
    int (*create)(void **handle);
    gemm_function gemm;
    void *handle; /* NULL where the library is not there */
} cublas;

typedef struct product {
    const bench_cuda *cuda;
    bench_gemm gemm;
    bench_cuda_operands operands;
} product;

static bool open_library(void)
{
    static const char *const names[] = {"libcublas.so", "libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so.11", NULL};
    static bool tried;
    if (!tried) {
        void *library = bench_cuda_library("cuBLAS", names);
        tried = true;
        if (library == NULL || !bench_cuda_find(library, "cublasCreate_v2", &cublas.create) ||
            !bench_cuda_find(library, "cublasGemmStridedBatchedEx", &cublas.gemm) ||
            cublas.create(&cublas.handle) != 0)
            cublas.handle = NULL;
    }
    return cublas.handle != NULL;
}

static int type_of(tenon_dtype dtype)
{
    switch (dtype) {
    case TENON_DTYPE_F64:
        return R_64F;
    case TENON_DTYPE_F16:
        return R_16F;
    case TENON_DTYPE_BF16:
        return R_16BF;
    case TENON_DTYPE_I8:
        return R_8I;
    default:
        return R_32F;
    }
}

static int multiply(const product *p, int copy)
{
    static const float ones[] = {1, 0};
    static const double doubles[] = {1, 0};
    static const int integers[] = {1, 0};
    const bench_gemm *g = &p->gemm;
    const bench_gemm_shape *s = &g->shape;
    const int type = type_of(g->dtype), m = (int)s->m, n = (int)s->n, k = (int)s->k;
    const bool wide = type == R_64F, whole = type == R_8I;
    const void *alpha = wide    ? (const void *)doubles
                        : whole ? (const void *)integers
                                : ones,
               *beta = wide    ? (const void *)(doubles + 1)
                       : whole ? (const void *)(integers + 1)
                               : ones + 1;
    const bench_cuda_address *at = p->operands.at[copy];
    return cublas.gemm(cublas.handle, s->b_transposed ? TRANSPOSED : PLAIN,
                       s->a_transposed ? TRANSPOSED : PLAIN, n, m, k, alpha, at[g->b], type,
                       s->b_transposed ? k : n, s->k * s->n, at[g->a], type,
                       s->a_transposed ? m : k, s->m * s->k, beta, at[g->d], whole ? R_32I : type,
                       n, s->m * s->n, (int)s->batch,
                       wide    ? SUM_64F
                       : whole ? SUM_32I
                               : SUM_32F,
                       DEFAULT_ALGORITHM);
}

static bool call(void *data, tenon_stream *stream, int turn)
{
    const product *p = data;
    (void)stream;
    return multiply(p, turn % p->gemm.operands->copies) == 0;
}

static bool finish(void *data)
{
    return ((const product *)data)->cuda->synchronize() == 0;
}

static void destroy(void *data)
{
    product *p = data;
    bench_cuda_free(p->cuda, &p->operands);
    free(p);
}

/* The last element of the last product. */
static bool is_right(const product *p)
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
    return multiply(p, 0) == 0 && bench_cuda_agrees("cuBLAS", g->dtype,
                                                    bench_cuda_element(p->cuda, &p->operands, g->d,
                                                                       s->batch * s->m * s->n - 1),
                                                    sum, s->k);
}

bool bench_cublas_gemm(const bench_session *session, const bench_gemm *gemm, bench_way *way)
{
    const bench_cuda *cuda = bench_cuda_open(session);
    if (cuda == NULL || !open_library())
        return false;
    product *p = calloc(1, sizeof *p);
    if (p == NULL)
        return false;
    p->cuda = cuda;
    p->gemm = *gemm;
    if (!bench_cuda_copy(cuda, gemm->operands, &p->operands) || !is_right(p)) {
        destroy(p);
        return false;
    }
    *way = (bench_way){"cublas", call, false, p, destroy, NULL, finish};
    return true;
}

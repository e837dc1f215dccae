/* cuBLAS, for NVIDIA GPUs. */
#include "card_gemm.h"

#include <stdio.h>

/* cuBLAS's constants. */
enum { R_32F = 0, R_64F = 1, R_16F = 2, R_8I = 3, R_32I = 10, R_16BF = 14 };
enum { SUM_32F = 68, SUM_64F = 70, SUM_32I = 72 };
enum { PLAIN = 0, TRANSPOSED = 1, DEFAULT_ALGORITHM = -1 };

static const struct {
    int operands, result, sum;
} types[] = {
    [TENON_DTYPE_F64] = {R_64F, R_64F, SUM_64F}, [TENON_DTYPE_F32] = {R_32F, R_32F, SUM_32F},
    [TENON_DTYPE_F16] = {R_16F, R_16F, SUM_32F}, [TENON_DTYPE_BF16] = {R_16BF, R_16BF, SUM_32F},
    [TENON_DTYPE_I8] = {R_8I, R_32I, SUM_32I},
};

static struct {
    int (*create)(void **handle);
    int (*version)(void *handle, int *version);
    int (*gemm)(void *handle, int ta, int tb, int m, int n, int k, const void *alpha,
                bench_card_address a, int a_type, int lda, long long a_stride, bench_card_address b,
                int b_type, int ldb, long long b_stride, const void *beta, bench_card_address c,
                int c_type, int ldc, long long c_stride, int count, int sum, int algorithm);
} cublas;

static int multiply(void *handle, const bench_card_product *p)
{
    const int in = types[p->dtype].operands;
    return cublas.gemm(handle, p->a_transposed ? TRANSPOSED : PLAIN,
                       p->b_transposed ? TRANSPOSED : PLAIN, p->m, p->n, p->k, p->alpha, p->a, in,
                       p->lda, p->a_stride, p->b, in, p->ldb, p->b_stride, p->beta, p->c,
                       types[p->dtype].result, p->ldc, p->c_stride, p->count, types[p->dtype].sum,
                       DEFAULT_ALGORITHM);
}

/* The number is 10000 times the major version, 100 times the minor one, and the patch. */
static void write_version(void *handle, char text[BENCH_CARD_VERSION_SIZE])
{
    int number = 0;
    if (cublas.version(handle, &number) == 0)
        snprintf(text, BENCH_CARD_VERSION_SIZE, "%d.%d.%d", number / 10000, number / 100 % 100,
                 number % 100);
}

bool bench_cublas_gemm(const bench_session *session, const bench_gemm *gemm, bench_way *way)
{
    static const char *const names[] = {"libcublas.so", "libcublas.so.13", "libcublas.so.12",
                                        "libcublas.so.11", NULL};
    static const bench_card_function functions[] = {{"cublasCreate_v2", &cublas.create},
                                                    {"cublasGetVersion_v2", &cublas.version},
                                                    {"cublasGemmStridedBatchedEx", &cublas.gemm},
                                                    {NULL, NULL}};
    static bench_card_gemm_library library = {
        "cublas",
        {"cuBLAS", names, functions, &cublas.create, write_version, false, NULL},
        multiply};
    return bench_card_gemm(bench_cuda_open(session), &library, gemm, way);
}

/* rocBLAS, for AMD GPUs. Its rocblas_gemm_ex is the strided call with a single product. */
#include "card_gemm.h"

/* rocBLAS's constants. */
enum { PLAIN = 111, TRANSPOSED = 112 };
enum { F16 = 150, F32 = 151, F64 = 152, I8 = 160, I32 = 162, BF16 = 168 };
enum { STANDARD = 0, NO_SOLUTION = 0, NO_FLAGS = 0 };

static const struct {
    int operands, result, sum;
} types[] = {
    [TENON_DTYPE_F64] = {F64, F64, F64}, [TENON_DTYPE_F32] = {F32, F32, F32},
    [TENON_DTYPE_F16] = {F16, F16, F32}, [TENON_DTYPE_BF16] = {BF16, BF16, F32},
    [TENON_DTYPE_I8] = {I8, I32, I32},
};

/* The functions of the library. The product is D = alpha A B + beta C, where D may be C. */
static struct {
    int (*create)(void **handle);
    int (*version)(char *text, size_t size);
    int (*gemm)(void *handle, int ta, int tb, int32_t m, int32_t n, int32_t k, const void *alpha,
                bench_card_address a, int a_type, int32_t lda, int64_t a_stride,
                bench_card_address b, int b_type, int32_t ldb, int64_t b_stride, const void *beta,
                bench_card_address c, int c_type, int32_t ldc, int64_t c_stride,
                bench_card_address d, int d_type, int32_t ldd, int64_t d_stride, int32_t count,
                int sum, int algorithm, int32_t solution, uint32_t flags);
} rocblas;

static int multiply(void *handle, const bench_card_product *p)
{
    const int in = types[p->dtype].operands, out = types[p->dtype].result,
              sum = types[p->dtype].sum;
    return rocblas.gemm(handle, p->a_transposed ? TRANSPOSED : PLAIN,
                        p->b_transposed ? TRANSPOSED : PLAIN, p->m, p->n, p->k, p->alpha, p->a, in,
                        p->lda, p->a_stride, p->b, in, p->ldb, p->b_stride, p->beta, p->c, out,
                        p->ldc, p->c_stride, p->c, out, p->ldc, p->c_stride, p->count, sum,
                        STANDARD, NO_SOLUTION, NO_FLAGS);
}

static void write_version(void *handle, char text[BENCH_CARD_VERSION_SIZE])
{
    (void)handle;
    if (rocblas.version(text, BENCH_CARD_VERSION_SIZE) != 0)
        text[0] = '\0'; /* it is longer */
}

bool bench_rocblas_gemm(const bench_session *session, const bench_gemm *gemm, bench_way *way)
{
    static const char *const names[] = {"librocblas.so",   "librocblas.so.5", "librocblas.so.4",
                                        "librocblas.so.3", "librocblas.so.0", NULL};
    static const bench_card_function functions[] = {
        {"rocblas_create_handle", &rocblas.create},
        {"rocblas_get_version_string", &rocblas.version},
        {"rocblas_gemm_strided_batched_ex", &rocblas.gemm},
        {NULL, NULL}};
    static bench_card_gemm_library library = {
        "rocblas",
        {"rocBLAS", names, functions, &rocblas.create, write_version, false, NULL},
        multiply};
    return bench_card_gemm(bench_hip_open(session), &library, gemm, way);
}

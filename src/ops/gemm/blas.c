/* BLAS-style entry points: convert the arguments to views and call tenon_gemm. */
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/gemm/internal.h"
#include "ops/registry.h"

#include <tenon/blas.h>

#include <inttypes.h>

/* A matrix argument of a BLAS call. */
typedef struct blas_matrix {
    const char *name;
    cl_mem buffer;
    size_t offset, ld;
} blas_matrix;

static tenon_status check_enums(const char *caller, tenon_blas_layout layout,
                                tenon_blas_transpose first, tenon_blas_transpose second)
{
    tenon_blas_transpose transposes[] = {first, second};
    if (layout != TENON_BLAS_ROW_MAJOR && layout != TENON_BLAS_COL_MAJOR)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: layout is %d, must be TENON_BLAS_ROW_MAJOR or TENON_BLAS_COL_MAJOR",
                       caller, (int)layout);
    for (int i = 0; i < 2; i++)
        if (transposes[i] < TENON_BLAS_NO_TRANSPOSE ||
            transposes[i] > TENON_BLAS_CONJUGATE_TRANSPOSE)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s_transpose is %d, must be TENON_BLAS_NO_TRANSPOSE, "
                           "TENON_BLAS_TRANSPOSE or TENON_BLAS_CONJUGATE_TRANSPOSE",
                           caller, i == 0 ? "a" : "b", (int)transposes[i]);
    return TENON_OK;
}

/* Returns true if a size fits int64_t; a 64-bit size_t may be larger. */
static bool is_index(uint64_t value)
{
    return value <= INT64_MAX;
}

static tenon_status fill_view(const char *caller, tenon_dtype dtype, const blas_matrix *matrix,
                              tenon_tensor *view)
{
    uint64_t bytes;
    if (__builtin_mul_overflow((uint64_t)matrix->offset, (uint64_t)tenon_dtype_size(dtype),
                               &bytes) ||
        !is_index(matrix->ld))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: offset %zu or leading dimension %zu overflows", caller,
                       matrix->name, matrix->offset, matrix->ld);
    *view = (tenon_tensor){.memory = {.kind = TENON_MEMORY_BUFFER, .u.buffer = matrix->buffer},
                           .offset = bytes,
                           .dtype = dtype,
                           .rank = 2};
    return TENON_OK;
}

/* Makes the rows × cols view of op(x). x is stored row-major or column-major, and transposed if
 * `transposed`. */
static tenon_status matrix_view(const char *caller, tenon_dtype dtype, tenon_blas_layout layout,
                                bool transposed, size_t rows, size_t cols,
                                const blas_matrix *matrix, tenon_tensor *view)
{
    bool by_rows = (layout == TENON_BLAS_ROW_MAJOR) != transposed;
    size_t length = by_rows ? cols : rows;
    TN_TRY(fill_view(caller, dtype, matrix, view));
    if (!is_index(rows) || !is_index(cols))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: %zu x %zu elements exceed the address space", caller, matrix->name,
                       rows, cols);
    if (matrix->ld < length || matrix->ld == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s_ld is %zu, must be at least %zu",
                       caller, matrix->name, matrix->ld, length > 0 ? length : 1);
    view->shape[0] = (int64_t)rows;
    view->shape[1] = (int64_t)cols;
    view->stride[0] = by_rows ? (int64_t)matrix->ld : 1;
    view->stride[1] = by_rows ? 1 : (int64_t)matrix->ld;
    return TENON_OK;
}

/* Makes the view of a vector as a matrix with one column. */
static tenon_status vector_view(const char *caller, tenon_dtype dtype, size_t length,
                                const blas_matrix *vector, tenon_tensor *view)
{
    TN_TRY(fill_view(caller, dtype, vector, view));
    if (vector->ld == 0 || !is_index(length))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s_inc is %zu with %zu elements, must be at least 1", caller,
                       vector->name, vector->ld, length);
    view->shape[0] = (int64_t)length;
    view->shape[1] = 1;
    view->stride[0] = (int64_t)vector->ld;
    view->stride[1] = 1;
    return TENON_OK;
}

static tenon_gemm_params scalars(double alpha, double beta)
{
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.alpha = alpha;
    params.epilogue.beta = beta;
    return params;
}

static tenon_status gemm(const char *caller, tenon_dtype dtype, tenon_stream *stream,
                         tenon_blas_layout layout, tenon_blas_transpose a_transpose,
                         tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                         double alpha, blas_matrix a, blas_matrix b, double beta, blas_matrix c,
                         const tenon_sync *sync)
{
    tenon_tensor va, vb, vc;
    tenon_gemm_params params = scalars(alpha, beta);
    TN_TRY(check_enums(caller, layout, a_transpose, b_transpose));
    TN_TRY(
        matrix_view(caller, dtype, layout, a_transpose != TENON_BLAS_NO_TRANSPOSE, m, k, &a, &va));
    TN_TRY(
        matrix_view(caller, dtype, layout, b_transpose != TENON_BLAS_NO_TRANSPOSE, k, n, &b, &vb));
    TN_TRY(matrix_view(caller, dtype, layout, false, m, n, &c, &vc));
    return tn_operation_run_as(caller, &tn_operation_gemm, stream, &params,
                               (const tenon_tensor *const[]){&va, &vb, &vc, NULL, &vc}, sync);
}

static tenon_status gemv(const char *caller, tenon_dtype dtype, tenon_stream *stream,
                         tenon_blas_layout layout, tenon_blas_transpose a_transpose, size_t m,
                         size_t n, double alpha, blas_matrix a, blas_matrix x, double beta,
                         blas_matrix y, const tenon_sync *sync)
{
    tenon_tensor va, vx, vy;
    tenon_gemm_params params = scalars(alpha, beta);
    bool transposed = a_transpose != TENON_BLAS_NO_TRANSPOSE;
    size_t rows = transposed ? n : m, cols = transposed ? m : n;
    TN_TRY(check_enums(caller, layout, a_transpose, TENON_BLAS_NO_TRANSPOSE));
    TN_TRY(matrix_view(caller, dtype, layout, transposed, rows, cols, &a, &va));
    TN_TRY(vector_view(caller, dtype, cols, &x, &vx));
    TN_TRY(vector_view(caller, dtype, rows, &y, &vy));
    if (cols == 0) /* BLAS returns without an update here; the product would multiply y by beta */
        va.shape[0] = vy.shape[0] = 0;
    return tn_operation_run_as(caller, &tn_operation_gemm, stream, &params,
                               (const tenon_tensor *const[]){&va, &vx, &vy, NULL, &vy}, sync);
}

TENON_API tenon_status tenon_sgemm(tenon_stream *stream, tenon_blas_layout layout,
                                   tenon_blas_transpose a_transpose,
                                   tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                   float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                   size_t b_offset, size_t b_ld, float beta, cl_mem c,
                                   size_t c_offset, size_t c_ld, const tenon_sync *sync)
{
    return gemm("tenon_sgemm", TENON_DTYPE_F32, stream, layout, a_transpose, b_transpose, m, n, k,
                (double)alpha, (blas_matrix){"a", a, a_offset, a_ld},
                (blas_matrix){"b", b, b_offset, b_ld}, (double)beta,
                (blas_matrix){"c", c, c_offset, c_ld}, sync);
}

TENON_API tenon_status tenon_dgemm(tenon_stream *stream, tenon_blas_layout layout,
                                   tenon_blas_transpose a_transpose,
                                   tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                   double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                   size_t b_offset, size_t b_ld, double beta, cl_mem c,
                                   size_t c_offset, size_t c_ld, const tenon_sync *sync)
{
    return gemm("tenon_dgemm", TENON_DTYPE_F64, stream, layout, a_transpose, b_transpose, m, n, k,
                alpha, (blas_matrix){"a", a, a_offset, a_ld}, (blas_matrix){"b", b, b_offset, b_ld},
                beta, (blas_matrix){"c", c, c_offset, c_ld}, sync);
}

TENON_API tenon_status tenon_sgemv(tenon_stream *stream, tenon_blas_layout layout,
                                   tenon_blas_transpose a_transpose, size_t m, size_t n,
                                   float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                   size_t x_offset, size_t x_inc, float beta, cl_mem y,
                                   size_t y_offset, size_t y_inc, const tenon_sync *sync)
{
    return gemv("tenon_sgemv", TENON_DTYPE_F32, stream, layout, a_transpose, m, n, (double)alpha,
                (blas_matrix){"a", a, a_offset, a_ld}, (blas_matrix){"x", x, x_offset, x_inc},
                (double)beta, (blas_matrix){"y", y, y_offset, y_inc}, sync);
}

TENON_API tenon_status tenon_dgemv(tenon_stream *stream, tenon_blas_layout layout,
                                   tenon_blas_transpose a_transpose, size_t m, size_t n,
                                   double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                   size_t x_offset, size_t x_inc, double beta, cl_mem y,
                                   size_t y_offset, size_t y_inc, const tenon_sync *sync)
{
    return gemv("tenon_dgemv", TENON_DTYPE_F64, stream, layout, a_transpose, m, n, alpha,
                (blas_matrix){"a", a, a_offset, a_ld}, (blas_matrix){"x", x, x_offset, x_inc}, beta,
                (blas_matrix){"y", y, y_offset, y_inc}, sync);
}

TENON_API tenon_status tenon_hgemm(tenon_stream *stream, tenon_blas_layout layout,
                                   tenon_blas_transpose a_transpose,
                                   tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                   cl_half alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                   size_t b_offset, size_t b_ld, cl_half beta, cl_mem c,
                                   size_t c_offset, size_t c_ld, const tenon_sync *sync)
{
    return gemm("tenon_hgemm", TENON_DTYPE_F16, stream, layout, a_transpose, b_transpose, m, n, k,
                tn_f16_to_double(alpha), (blas_matrix){"a", a, a_offset, a_ld},
                (blas_matrix){"b", b, b_offset, b_ld}, tn_f16_to_double(beta),
                (blas_matrix){"c", c, c_offset, c_ld}, sync);
}

TENON_API tenon_status tenon_hgemv(tenon_stream *stream, tenon_blas_layout layout,
                                   tenon_blas_transpose a_transpose, size_t m, size_t n,
                                   cl_half alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                   size_t x_offset, size_t x_inc, cl_half beta, cl_mem y,
                                   size_t y_offset, size_t y_inc, const tenon_sync *sync)
{
    return gemv("tenon_hgemv", TENON_DTYPE_F16, stream, layout, a_transpose, m, n,
                tn_f16_to_double(alpha), (blas_matrix){"a", a, a_offset, a_ld},
                (blas_matrix){"x", x, x_offset, x_inc}, tn_f16_to_double(beta),
                (blas_matrix){"y", y, y_offset, y_inc}, sync);
}

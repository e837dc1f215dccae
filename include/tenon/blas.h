/** @file
 * BLAS-style calls on cl_mem buffers, for programs written for CLBlast or clBLAS: the same
 * arguments in the same order, with a stream in place of queue and event. Offsets, leading
 * dimensions and increments are in elements. Scalars are passed by value. Each function makes
 * tensors from its arguments and calls tenon_gemm (gemm.h).
 */
#ifndef TENON_BLAS_H
#define TENON_BLAS_H

#include <tenon/gemm.h>

TENON_BEGIN_C

/** Storage order of matrices; the values are those of CBLAS. */
typedef enum tenon_blas_layout {
    TENON_BLAS_ROW_MAJOR = 101, /**< row by row */
    TENON_BLAS_COL_MAJOR = 102  /**< column by column */
} tenon_blas_layout;

/** Transposition of a matrix; the values are those of CBLAS. All types are real: a conjugate
 * transpose is a transpose. */
typedef enum tenon_blas_transpose {
    TENON_BLAS_NO_TRANSPOSE = 111,       /**< as stored */
    TENON_BLAS_TRANSPOSE = 112,          /**< transposed */
    TENON_BLAS_CONJUGATE_TRANSPOSE = 113 /**< same as TENON_BLAS_TRANSPOSE */
} tenon_blas_transpose;

/** Computes C = alpha · op(A) · op(B) + beta · C in f32. op(A) is M×K, op(B) is K×N, C is M×N. As
 * in the reference BLAS, nothing is done if M or N is 0, and C becomes beta · C if K is 0; A and B
 * are not read if alpha is 0, and C is not read if beta is 0.
 *  @param a_ld  at least the length of a stored row (row-major) or column (column-major) of A;
 *               likewise b_ld and c_ld
 *  @param c     must not overlap a or b
 *  @return as tenon_gemm */
TENON_CALL tenon_status tenon_sgemm(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose,
                                    tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                    float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                    size_t b_offset, size_t b_ld, float beta, cl_mem c,
                                    size_t c_offset, size_t c_ld, const tenon_sync *sync);

/** tenon_sgemm in f64. */
TENON_CALL tenon_status tenon_dgemm(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose,
                                    tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                    double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                    size_t b_offset, size_t b_ld, double beta, cl_mem c,
                                    size_t c_offset, size_t c_ld, const tenon_sync *sync);

/** tenon_sgemm in f16, with sums in f32. The scalars are cl_half values: the bits of a half. */
TENON_CALL tenon_status tenon_hgemm(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose,
                                    tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                    cl_half alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                    size_t b_offset, size_t b_ld, cl_half beta, cl_mem c,
                                    size_t c_offset, size_t c_ld, const tenon_sync *sync);

/** Computes y = alpha · op(A) · x + beta · y in f32. A (before op) is M×N; x and y have N and M
 * elements, or M and N if A is transposed. As in the reference BLAS, nothing is done if M or N is
 * 0: y is not modified, whatever beta is. A and x are not read if alpha is 0, and y is not read if
 * beta is 0.
 *  @param x_inc  at least 1; likewise y_inc
 *  @param y      must not overlap a or x
 *  @return as tenon_gemm */
TENON_CALL tenon_status tenon_sgemv(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose, size_t m, size_t n,
                                    float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                    size_t x_offset, size_t x_inc, float beta, cl_mem y,
                                    size_t y_offset, size_t y_inc, const tenon_sync *sync);

/** tenon_sgemv in f64. */
TENON_CALL tenon_status tenon_dgemv(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose, size_t m, size_t n,
                                    double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                    size_t x_offset, size_t x_inc, double beta, cl_mem y,
                                    size_t y_offset, size_t y_inc, const tenon_sync *sync);

/** tenon_sgemv in f16, with sums in f32. The scalars are cl_half values: the bits of a half. */
TENON_CALL tenon_status tenon_hgemv(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose, size_t m, size_t n,
                                    cl_half alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                    size_t x_offset, size_t x_inc, cl_half beta, cl_mem y,
                                    size_t y_offset, size_t y_inc, const tenon_sync *sync);

TENON_END_C

#endif

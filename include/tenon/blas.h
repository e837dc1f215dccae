/** @file
 * BLAS-shaped calls over cl_mem, for programs written against CLBlast or clBLAS: the same arguments
 * in the same order, with a stream in the place of queue and event. Offsets, leading dimensions and
 * increments are in elements. The scalars are by value. Each is the tensor call of gemm.h with the
 * views that its arguments describe.
 */
#ifndef TENON_BLAS_H
#define TENON_BLAS_H

#include <tenon/gemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/** How matrices lie in memory; the values are CBLAS's. */
typedef enum tenon_blas_layout {
    TENON_BLAS_ROW_MAJOR = 101, /**< row by row */
    TENON_BLAS_COL_MAJOR = 102  /**< column by column */
} tenon_blas_layout;

/** Whether a matrix is transposed; the values are CBLAS's. The types are real, so a conjugate
 * transpose is a transpose. */
typedef enum tenon_blas_transpose {
    TENON_BLAS_NO_TRANSPOSE = 111,       /**< as it is stored */
    TENON_BLAS_TRANSPOSE = 112,          /**< transposed */
    TENON_BLAS_CONJUGATE_TRANSPOSE = 113 /**< the same */
} tenon_blas_transpose;

/** C = alpha · op(A) · op(B) + beta · C in f32. A is M×K after op, B is K×N, C is M×N. As in the
 * reference BLAS, nothing is done where M or N is 0, and C becomes beta · C where K is 0; A and B
 * are not read where alpha is 0, nor C where beta is 0.
 *  @param a_ld  at least the length of a stored row (row major) or column (column major) of A;
 * likewise b_ld and c_ld
 *  @param c     must not overlap a or b
 *  @return as tenon_gemm */
TENON_CALL tenon_status tenon_sgemm(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose,
                                    tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                    float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                    size_t b_offset, size_t b_ld, float beta, cl_mem c,
                                    size_t c_offset, size_t c_ld, const tenon_sync *sync);

/** The same in f64. */
TENON_CALL tenon_status tenon_dgemm(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose,
                                    tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                    double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                    size_t b_offset, size_t b_ld, double beta, cl_mem c,
                                    size_t c_offset, size_t c_ld, const tenon_sync *sync);

/** The same in f16, whose sums are f32. The scalars are bits of a half, as OpenCL's hosts have it.
 */
TENON_CALL tenon_status tenon_hgemm(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose,
                                    tenon_blas_transpose b_transpose, size_t m, size_t n, size_t k,
                                    cl_half alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem b,
                                    size_t b_offset, size_t b_ld, cl_half beta, cl_mem c,
                                    size_t c_offset, size_t c_ld, const tenon_sync *sync);

/** y = alpha · op(A) · x + beta · y in f32. A is M×N before op; x and y have N and M elements, M
 * and N when A is transposed. As in the reference BLAS, nothing is done where M or N is 0: y is
 * left as it is, whatever beta is. A and x are not read where alpha is 0, nor y where beta is 0.
 *  @param x_inc  at least 1; likewise y_inc
 *  @param y      must not overlap a or x
 *  @return as tenon_gemm */
TENON_CALL tenon_status tenon_sgemv(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose, size_t m, size_t n,
                                    float alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                    size_t x_offset, size_t x_inc, float beta, cl_mem y,
                                    size_t y_offset, size_t y_inc, const tenon_sync *sync);

/** The same in f64. */
TENON_CALL tenon_status tenon_dgemv(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose, size_t m, size_t n,
                                    double alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                    size_t x_offset, size_t x_inc, double beta, cl_mem y,
                                    size_t y_offset, size_t y_inc, const tenon_sync *sync);

/** The same in f16. */
TENON_CALL tenon_status tenon_hgemv(tenon_stream *stream, tenon_blas_layout layout,
                                    tenon_blas_transpose a_transpose, size_t m, size_t n,
                                    cl_half alpha, cl_mem a, size_t a_offset, size_t a_ld, cl_mem x,
                                    size_t x_offset, size_t x_inc, cl_half beta, cl_mem y,
                                    size_t y_offset, size_t y_inc, const tenon_sync *sync);

#ifdef __cplusplus
}
#endif

#endif

/*
 * Arguments of every GEMM kernel, passed by value as the last kernel argument. Included by C11 and
 * by OpenCL C.
 *
 *     d = act(alpha * a * b + beta * c + bias),   a: m x k,  b: k x n,  c, bias, d: m x n
 *
 * and, in builds with TENON_POST, d = post_scale * act(...) + post_shift + residual.
 *
 * Strides and offsets are in elements. A batch index z is split as z = outer * batch_inner + inner.
 */
#ifndef TENON_GEMM_ARGS_H
#define TENON_GEMM_ARGS_H

#include "common/args.h"
#include "common/post_args.h"

#define GEMM_HAS_C    1 /* beta is not 0; if unset, c is not read */
#define GEMM_HAS_BIAS 2 /* if unset, bias is not read */
#define GEMM_SKIP_AB  4 /* alpha is 0: a and b are not read */
/* Host only: the batch is not folded into M, or N, since each row, or column, has its own scale
 * or zero point. */
#define GEMM_KEEP_ROWS    8
#define GEMM_KEEP_COLUMNS 16
/* Host only as well: */
#define GEMM_PARTIAL  32  /* d receives the sums of a slice of K before the epilogue, as acc_t */
#define GEMM_UNSCALED 64  /* alpha is 1, whatever the call specifies */
#define GEMM_TF32     128 /* f32 products may use tf32 */

/* Local memory sizes of kernels, which the host also needs: tiles of rows of a that a work-group
 * on a CPU packs at once; tiles of rows whose sums it keeps if d has a 16-bit type; padding
 * elements between the rows of a GPU's tiles; steps of K of a thin factor. */
#define GEMM_PACKED_TILES 8
#define GEMM_SUM_TILES    32
#define GEMM_TILE_PADDING 4
#define GEMM_SKINNY_DEPTH 128

/* Offsets and strides of the terms after the activation. */
#define GEMM_POST_MEMBERS                                                                          \
    tenon_i64 post_scale_offset, post_shift_offset, residual_offset; /* set per call */            \
    tenon_i64 post_scale_row, post_scale_col, post_shift_row, post_shift_col, residual_row,        \
        residual_col;                                                                              \
    tenon_i64 post_scale_batch[2], post_shift_batch[2], residual_batch[2];

typedef struct gemm_args {
    tenon_i64 a_offset, b_offset, c_offset, bias_offset, d_offset; /* set per call */
    tenon_i64 alpha, beta, act_alpha, act_beta; /* bits of an acc_t (f32 in the low 32 bits) */
    tenon_i64 m, n, k;
    tenon_i64 a_row, a_col, b_row, b_col, c_row, c_col, bias_row, bias_col, d_row, d_col;
    tenon_i64 batch_inner;
    tenon_i64 a_batch[2], b_batch[2], c_batch[2], bias_batch[2], d_batch[2]; /* {outer, inner} */
    tenon_i64 k_splits,
        k_chunk;          /* split-K kernels: k range s is [s * k_chunk, (s + 1) * k_chunk) */
    tenon_i64 k_last;     /* if the inner batch is slices of K: k of the last slice; otherwise 0 */
    tenon_i32 activation; /* run-time kind, TENON_ACT_* */
    tenon_i32 flags;      /* GEMM_* */
    tenon_i32 tile_rows, tile_cols; /* block of d per work-group, where used */
#if defined(TENON_POST) && TENON_POST
    GEMM_POST_MEMBERS
#endif
} gemm_args;

#ifndef __OPENCL_VERSION__
/* The same members for the host, which is built once for both kinds of kernels. */
typedef struct gemm_post_args {
    GEMM_POST_MEMBERS
} gemm_post_args;
#endif

#endif

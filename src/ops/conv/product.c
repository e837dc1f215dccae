#include "ops/conv/product.h"

#include <string.h>

/* A view of [image, group, row, M, N]. */
static tenon_tensor make_view(const conv_problem *p, const int64_t shape[5],
                              const int64_t stride[5])
{
    tenon_tensor view = {.dtype = (tenon_dtype)p->dtype, .rank = 5};
    memcpy(view.shape, shape, 5 * sizeof *shape);
    memcpy(view.stride, stride, 5 * sizeof *stride);
    return view;
}

/* The strides of y, or of what is shaped like it. */
static tenon_tensor output_view(const conv_problem *p, const int64_t shape[5],
                                const int64_t stride[4])
{
    const int64_t strides[5] = {stride[0], p->k * stride[1], stride[2], stride[1], stride[3]};
    return make_view(p, shape, strides);
}

static tenon_gemm_params params_of(const conv_problem *p)
{
    /* Which scalars are zero matters here; their values are those of the run. */
    tenon_gemm_params params = TENON_GEMM_PARAMS_INIT;
    params.epilogue.alpha = (p->flags & CONV_SKIP_XW) != 0 ? 0 : 1;
    params.epilogue.beta = (p->flags & CONV_HAS_C) != 0 ? 1 : 0;
    params.epilogue.activation.kind = p->activation;
    return params;
}

static void place(gemm_problem *product, const conv_problem *p, const conv_block *block,
                  const conv_factors *factors)
{
    const uint8_t operand[GEMM_OPERANDS] = {[GEMM_A] = factors->w_operand,
                                            [GEMM_B] = factors->col_operand,
                                            [GEMM_C] = CONV_C,
                                            [GEMM_BIAS] = CONV_BIAS,
                                            [GEMM_D] = CONV_Y};
    const int64_t shift[GEMM_OPERANDS] = {
        [GEMM_B] = factors->col_shift,
        [GEMM_C] = block->image * p->res[0] + block->row * p->res[2],
        [GEMM_D] = block->image * p->y[0] + block->row * p->y[2],
    };
    /* GEMM may have exchanged its factors: each matrix says which it was. */
    for (int x = 0; x < GEMM_OPERANDS; x++) {
        gemm_matrix *matrix = &product->matrix[x];
        matrix->shift = shift[matrix->operand];
        matrix->operand = operand[matrix->operand];
    }
}

tenon_status tn_conv_product(const char *operation, const conv_problem *p, const conv_block *block,
                             const conv_factors *factors, gemm_problem *product)
{
    const int64_t q = p->window.q, taps = factors->taps;
    const int64_t w_shape[5] = {1, p->groups, 1, p->k, taps};
    const int64_t w_stride[5] = {0, p->k * factors->w_filter, 0, factors->w_filter, factors->w_tap};
    const int64_t col_shape[5] = {block->images, p->groups, block->rows, taps, q};
    const int64_t bias_shape[5] = {1, p->groups, 1, p->k, 1};
    const int64_t bias_stride[5] = {0, p->k * p->bias, 0, p->bias, 0};
    const int64_t y_shape[5] = {block->images, p->groups, block->rows, p->k, q};
    const tenon_tensor w = make_view(p, w_shape, w_stride),
                       col = make_view(p, col_shape, factors->col);
    const tenon_tensor bias = make_view(p, bias_shape, bias_stride);
    const tenon_tensor res = output_view(p, y_shape, p->res), y = output_view(p, y_shape, p->y);
    const tenon_gemm_params params = params_of(p);
    bool empty = false;
    TN_TRY(tn_gemm_canonicalise(
        operation, &params, &w, &col, (p->flags & CONV_HAS_C) != 0 ? &res : NULL,
        (p->flags & CONV_HAS_BIAS) != 0 ? &bias : NULL, &y, product, &empty));
    place(product, p, block, factors);
    return TENON_OK;
}

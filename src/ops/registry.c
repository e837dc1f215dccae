#include "ops/registry.h"

#include "ops/activation/internal.h"
#include "ops/conv/gradient.h"
#include "ops/conv/internal.h"
#include "ops/dropout/internal.h"
#include "ops/elementwise/internal.h"
#include "ops/gated/internal.h"
#include "ops/gather/internal.h"
#include "ops/gemm/int8.h"
#include "ops/gemm/internal.h"
#include "ops/gemm/ragged.h"
#include "ops/loss/internal.h"
#include "ops/norm/internal.h"
#include "ops/optimizer/internal.h"
#include "ops/packed/internal.h"
#include "ops/pad/internal.h"
#include "ops/pool/internal.h"
#include "ops/prelu/internal.h"
#include "ops/random/internal.h"
#include "ops/reduce/internal.h"
#include "ops/softmax/internal.h"

/* A line an entry. */
/* clang-format off */
const tn_family *const tn_families[] = {
    &tn_gemm_family,
    &tn_gemm_int8_family,
    &tn_gemm_ragged_family,
    &tn_conv_family,
    &tn_im2col_family,
    &tn_conv_backward_data_family,
    &tn_conv_backward_filter_family,
    &tn_conv_backward_bias_family,
    &tn_conv_transpose_family,
    &tn_col2im_family,
    &tn_activation_family,
    &tn_activation_backward_family,
    &tn_pool_family,
    &tn_pool_backward_family,
    &tn_elementwise_family,
    &tn_elementwise_chain_family,
    &tn_copy_family,
    &tn_gated_family,
    &tn_gated_backward_family,
    &tn_prelu_family,
    &tn_prelu_backward_family,
    &tn_softmax_family,
    &tn_softmax_backward_family,
    &tn_norm_family,
    &tn_norm_backward_family,
    &tn_cross_entropy_family,
    &tn_cross_entropy_backward_family,
    &tn_mse_family,
    &tn_mse_backward_family,
    &tn_reduce_family,
    &tn_random_family,
    &tn_dropout_family,
    &tn_sgd_family,
    &tn_adam_family,
    &tn_square_sum_family,
    &tn_clip_family,
    &tn_gather_family,
    &tn_gather_backward_family,
    &tn_pad_family,
    &tn_gemm_packed_family,
};
/* clang-format on */
const uint32_t tn_family_count = sizeof tn_families / sizeof *tn_families;

#define X(name) &tn_operation_##name,
const tn_operation *const tn_operations[] = {
#include "ops/operation_list.h"
};
#undef X
const uint32_t tn_operation_count = sizeof tn_operations / sizeof *tn_operations;

/* Arguments and operands of the kernels for convolutions of i8 and u8. */
#include "ops/conv/int8/int8.h"

#include <stddef.h>
#include <string.h>

conv_int8_args tn_conv_int8_arguments(const conv_int8_problem *problem)
{
    const conv_problem *p = &problem->conv;
    const int flags = ((p->flags & CONV_HAS_C) != 0 ? GEMM_HAS_C : 0) |
                      ((p->flags & CONV_HAS_BIAS) != 0 ? GEMM_HAS_BIAS : 0) |
                      ((p->flags & CONV_SKIP_XW) != 0 ? GEMM_SKIP_AB : 0);
    conv_int8_args args = {.product = {.gemm = {.c_col = p->res[1],
                                                .bias_col = p->bias,
                                                .d_col = p->y[1],
                                                .batch_inner = 1,
                                                .activation = (tenon_i32)p->activation,
                                                .flags = flags}},
                           .group_channels = p->c,
                           .group_filters = p->k,
                           .window = p->window};
    tn_int8_fill_types(problem->types, problem->present, &args.product);
    memcpy(args.product.col, problem->vectors, sizeof args.product.col);
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.w_stride, p->w, sizeof args.w_stride);
    memcpy(args.c_stride, p->res, sizeof args.c_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    return args;
}

/* Returns true if the kernel reads or writes an operand. */
static bool is_used(const conv_int8_problem *p, int operand)
{
    const bool multiplies = (p->conv.flags & CONV_SKIP_XW) == 0 && p->conv.c > 0;
    switch (operand) {
    case CONV_X:
        return multiplies && !tn_window_empty(&p->conv.window);
    case CONV_W:
        return multiplies;
    case CONV_C:
        return (p->conv.flags & CONV_HAS_C) != 0;
    case CONV_BIAS:
        return (p->conv.flags & CONV_HAS_BIAS) != 0;
    case CONV_Y:
        return true;
    default:
        return (p->present >> (operand - CONV_OPERANDS) & 1U) != 0;
    }
}

void tn_conv_int8_add_operands(const conv_int8_problem *p, bool reads_factors, tn_launch *launch,
                               tn_patch *patches)
{
    static const uint16_t offset_at[] = {
        offsetof(conv_int8_args, product.gemm.a_offset),
        offsetof(conv_int8_args, product.gemm.b_offset),
        offsetof(conv_int8_args, product.gemm.c_offset),
        offsetof(conv_int8_args, product.gemm.bias_offset),
        offsetof(conv_int8_args, product.gemm.d_offset),
    };
    static const uint16_t scalar_at[] = {offsetof(conv_int8_args, product.gemm.alpha),
                                         offsetof(conv_int8_args, product.gemm.beta),
                                         offsetof(conv_int8_args, product.gemm.act_alpha),
                                         offsetof(conv_int8_args, product.gemm.act_beta)};
    for (int i = 0; i < (int)INT8_OPERANDS; i++) {
        const int vector = i - CONV_OPERANDS;
        const uint32_t type = vector < 0             ? p->types[i]
                              : vector < INT8_ZERO_A ? (uint32_t)TENON_DTYPE_F32
                                                     : (uint32_t)TENON_DTYPE_I8;
        const uint16_t at = vector < 0 ? offset_at[i]
                                       : (uint16_t)(offsetof(conv_int8_args, product.offset) +
                                                    (size_t)vector * sizeof(tenon_i64));
        const bool reads = is_used(p, i) && (reads_factors || (i != CONV_X && i != CONV_W));
        launch->operands[launch->operand_count++] = reads ? (uint8_t)i : CONV_Y;
        if (reads)
            patches[launch->patch_count++] = (tn_patch){
                TN_PATCH_OFFSET, (uint8_t)i, at, (uint32_t)tenon_dtype_size((tenon_dtype)type)};
    }
    for (int i = 0; i < TN_EPILOGUE_SCALARS; i++)
        patches[launch->patch_count++] = (tn_patch){
            (uint8_t)tn_scalar_patch((tenon_dtype)p->conv.dtype), (uint8_t)i, scalar_at[i], 1};
}

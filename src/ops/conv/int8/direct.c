/* conv_int8/direct: one work-item per element of y. Serves every problem, on any device. */
#include "base/checked.h"
#include "ops/conv/int8/int8.h"

#include <stddef.h>
#include <string.h>

static const char *conv_int8_direct_configure(tenon_context *context, const tn_problem *problem,
                                              tn_choice *choice)
{
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    const tn_work work = tn_conv_direct_work(&p->conv);
    tn_choice_add(context, choice, &work);
    tn_conv_direct_options(context, &p->conv, choice);
    return NULL;
}

static conv_int8_args arguments(const conv_int8_problem *problem)
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

/* Adds the operands, with a patch for the offset of each that is used. An operand that is not used
 * may be absent: y is passed in its place. */
static void add_operands(const conv_int8_problem *p, tn_launch *launch, tn_patch *patches)
{
    static const uint16_t offset_at[] = {
        offsetof(conv_int8_args, product.gemm.a_offset),
        offsetof(conv_int8_args, product.gemm.b_offset),
        offsetof(conv_int8_args, product.gemm.c_offset),
        offsetof(conv_int8_args, product.gemm.bias_offset),
        offsetof(conv_int8_args, product.gemm.d_offset),
    };
    for (int i = 0; i < (int)INT8_OPERANDS; i++) {
        const int vector = i - CONV_OPERANDS;
        const uint32_t type = vector < 0             ? p->types[i]
                              : vector < INT8_ZERO_A ? (uint32_t)TENON_DTYPE_F32
                                                     : (uint32_t)TENON_DTYPE_I8;
        const uint16_t at = vector < 0 ? offset_at[i]
                                       : (uint16_t)(offsetof(conv_int8_args, product.offset) +
                                                    (size_t)vector * sizeof(tenon_i64));
        launch->operands[launch->operand_count++] = is_used(p, i) ? (uint8_t)i : CONV_Y;
        if (is_used(p, i))
            patches[launch->patch_count++] = (tn_patch){
                TN_PATCH_OFFSET, (uint8_t)i, at, (uint32_t)tenon_dtype_size((tenon_dtype)type)};
    }
}

static tenon_status conv_int8_direct_launch(const char *caller, tn_recording *recording,
                                            const tn_problem *problem, const tn_choice *choice)
{
    static const uint16_t scalar_at[] = {offsetof(conv_int8_args, product.gemm.alpha),
                                         offsetof(conv_int8_args, product.gemm.beta),
                                         offsetof(conv_int8_args, product.gemm.act_alpha),
                                         offsetof(conv_int8_args, product.gemm.act_beta)};
    const conv_int8_problem *p = (const conv_int8_problem *)problem;
    conv_int8_args args = arguments(p);
    tn_patch patches[INT8_OPERANDS + TN_EPILOGUE_SCALARS];
    tn_launch launch = {.source = "conv/int8/direct",
                        .options = choice->options,
                        .kernel = "conv_int8_direct",
                        .dimensions = 3,
                        .global = {(size_t)tn_round_up(tn_window_pixels(&p->conv.window), 32),
                                   (size_t)(p->conv.groups * p->conv.k), (size_t)p->conv.n},
                        .local = {32, 1, 1},
                        TN_ARGS(args),
                        .patches = patches};
    add_operands(p, &launch, patches);
    for (int i = 0; i < TN_EPILOGUE_SCALARS; i++)
        patches[launch.patch_count++] = (tn_patch){
            (uint8_t)tn_scalar_patch((tenon_dtype)p->conv.dtype), (uint8_t)i, scalar_at[i], 1};
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_int8_direct = {.name = "direct",
                                       .serves = "everything",
                                       .configure = conv_int8_direct_configure,
                                       .launch = conv_int8_direct_launch};

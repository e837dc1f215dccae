/* conv/direct: one work-item for each element of the output. Serves everything, on any device,
 * without workspace. */
#include "base/checked.h"
#include "ops/conv/internal.h"

#include <stddef.h>
#include <string.h>

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

/* As gemm/plain, with the tests of the padding beside each step. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    double units = context->device.info.compute_units * (context->device.is_cpu ? 1.0 : 64.0);
    (void)values;
    return 5000 + tn_conv_work((const conv_problem *)problem) * 2.0 / units;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    const conv_problem *p = (const conv_problem *)problem;
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u", p->dtype,
                     tn_activation_is_build(p->activation) ? p->activation : 0u);
}

static conv_args arguments(const conv_problem *p)
{
    conv_args args = {.bias_k = p->bias,
                      .group_channels = p->c,
                      .group_filters = p->k,
                      .window = p->window,
                      .activation = (tenon_i32)p->activation,
                      .flags = (tenon_i32)p->flags};
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    memcpy(args.w_stride, p->w, sizeof args.w_stride);
    memcpy(args.c_stride, p->res, sizeof args.c_stride);
    memcpy(args.y_stride, p->y, sizeof args.y_stride);
    return args;
}

/* An operand that is not read may be absent; the output stands in, so that every pointer is valid.
 */
static bool is_read(const conv_problem *p, int operand)
{
    switch (operand) {
    case CONV_C:
        return (p->flags & CONV_HAS_C) != 0;
    case CONV_BIAS:
        return (p->flags & CONV_HAS_BIAS) != 0;
    case CONV_Y:
        return true;
    case CONV_W: /* even where all that it meets is padding */
        return p->c > 0;
    default:
        return p->c > 0 && !tn_window_empty(&p->window);
    }
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    static const uint16_t offset_at[] = {
        offsetof(conv_args, x_offset), offsetof(conv_args, w_offset), offsetof(conv_args, c_offset),
        offsetof(conv_args, bias_offset), offsetof(conv_args, y_offset)};
    static const uint16_t scalar_at[] = {offsetof(conv_args, alpha), offsetof(conv_args, beta),
                                         offsetof(conv_args, act_alpha),
                                         offsetof(conv_args, act_beta)};
    const conv_problem *p = (const conv_problem *)problem;
    char text[TN_OPTIONS_SIZE];
    tn_patch patches[CONV_OPERANDS + TN_EPILOGUE_SCALARS];
    conv_args args = arguments(p);
    tn_launch launch = {.source = "conv/direct",
                        .options = text,
                        .kernel = "conv_direct",
                        .dimensions = 3,
                        .operand_count = CONV_OPERANDS,
                        .args = &args,
                        .args_size = sizeof args,
                        .patches = patches};
    (void)values;
    options(recording->context, problem, NULL, text);
    for (int i = 0; i < CONV_OPERANDS; i++) {
        launch.operands[i] = (uint8_t)(is_read(p, i) ? i : CONV_Y);
        if (is_read(p, i))
            patches[launch.patch_count++] =
                (tn_patch){TN_PATCH_OFFSET, (uint8_t)i, offset_at[i],
                           (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype)};
    }
    for (uint8_t i = 0; i < TN_EPILOGUE_SCALARS; i++)
        patches[launch.patch_count++] =
            (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), i, scalar_at[i], 1};
    launch.local[0] = 32;
    launch.local[1] = launch.local[2] = 1;
    launch.global[0] = (size_t)tn_round_up(tn_window_pixels(&p->window), 32);
    launch.global[1] = (size_t)(p->groups * p->k);
    launch.global[2] = (size_t)p->n;
    return tn_record(operation, recording, &launch);
}

const tn_solver tn_conv_direct = {.name = "direct",
                                  .refuses = refuses,
                                  .estimate = estimate,
                                  .options = options,
                                  .record = record};

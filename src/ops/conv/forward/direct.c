/* conv/direct: one work-item per element of the output. Serves every problem, on any device,
 * without workspace. */
#include "base/checked.h"
#include "ops/common/gpu.h"
#include "ops/conv/problem/problem.h"

#include <stddef.h>
#include <string.h>

/* Returns the work: that of gemm/plain, plus the bounds checks of the padding at each step. */
tn_work tn_conv_direct_work(const conv_problem *p)
{
    const double y = (double)(p->n * p->groups * p->k) * (double)tn_window_pixels(&p->window);
    return (tn_work){.launches = 1,
                     .scalar = 2 * tn_conv_work(p),
                     .rows = y + (double)p->n * tn_conv_image_elements(p)};
}

static const char *conv_direct_configure(tenon_context *context, const tn_problem *problem,
                                         tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const tn_work work = tn_conv_direct_work(p);
    tn_choice_add(context, choice, &work);
    tn_conv_direct_options(context, p, choice);
    return NULL;
}

void tn_conv_direct_options(tenon_context *context, const conv_problem *p, tn_choice *choice)
{
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u%s", p->dtype,
                      tn_activation_is_build(p->activation) ? p->activation : 0u,
                      (p->flags & TENON_POST_ANY) != 0 ? " -DTENON_POST=1" : "");
}

/* Adds the terms after the activation to a launch. Their arguments follow those of conv_args. */
static void add_post(const conv_problem *p, int result, conv_post_args *args, tn_launch *launch,
                     tn_patch *patches)
{
    static const uint16_t offset_at[POST_TERMS] = {
        sizeof(conv_args) + offsetof(conv_post_args, post_scale_offset),
        sizeof(conv_args) + offsetof(conv_post_args, post_shift_offset),
        sizeof(conv_args) + offsetof(conv_post_args, residual_offset)};
    const uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    args->post_scale_k = p->post_scale;
    args->post_shift_k = p->post_shift;
    memcpy(args->residual_stride, p->residual, sizeof args->residual_stride);
    for (int term = 0; term < POST_TERMS; term++) {
        const bool has = (p->flags & TENON_POST_SCALE << term) != 0;
        const uint8_t operand = p->operand[has ? CONV_POST + term : result];
        launch->operands[launch->operand_count++] = operand;
        if (has)
            patches[launch->patch_count++] =
                (tn_patch){TN_PATCH_OFFSET, operand, offset_at[term], size};
    }
}

static void fill_arguments(const conv_problem *p, conv_args *args)
{
    args->bias_k = p->bias;
    args->group_channels = p->c;
    args->group_filters = p->k;
    args->window = p->window;
    args->activation = (tenon_i32)p->activation;
    args->flags = (tenon_i32)p->flags;
    memcpy(args->x_stride, p->x, sizeof args->x_stride);
    memcpy(args->w_stride, p->w, sizeof args->w_stride);
    memcpy(args->c_stride, p->res, sizeof args->c_stride);
    memcpy(args->y_stride, p->y, sizeof args->y_stride);
}

void tn_conv_direct_launch(const conv_problem *p, const bool reads[CONV_OPERANDS], int result,
                           tn_launch *launch, conv_args *args, tn_patch *patches)
{
    static const uint16_t offset_at[] = {
        offsetof(conv_args, x_offset), offsetof(conv_args, w_offset), offsetof(conv_args, c_offset),
        offsetof(conv_args, bias_offset), offsetof(conv_args, y_offset)};
    static const uint16_t scalar_at[] = {offsetof(conv_args, alpha), offsetof(conv_args, beta),
                                         offsetof(conv_args, act_alpha),
                                         offsetof(conv_args, act_beta)};
    const bool has[] = {true, true, (p->flags & CONV_HAS_C) != 0, (p->flags & CONV_HAS_BIAS) != 0,
                        true};
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    fill_arguments(p, args);
    launch->operand_count = CONV_OPERANDS;
    launch->args = args;
    launch->patches = patches;
    for (int i = 0; i < CONV_OPERANDS; i++) {
        bool takes = (reads[i] && has[i]) || i == result;
        launch->operands[i] = p->operand[takes ? i : result];
        if (takes)
            patches[launch->patch_count++] =
                (tn_patch){TN_PATCH_OFFSET, p->operand[i], offset_at[i], size};
    }
    if ((p->flags & TENON_POST_ANY) != 0)
        add_post(p, result, (conv_post_args *)(args + 1), launch, patches);
    for (int i = 0; i < TN_EPILOGUE_SCALARS; i++)
        patches[launch->patch_count++] = (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype),
                                                    (uint8_t)i, scalar_at[i], 1};
}

static tenon_status conv_direct_launch(const char *caller, tn_recording *recording,
                                       const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = (const conv_problem *)problem;
    const bool reads[CONV_OPERANDS] = {[CONV_X] = p->c > 0 && !tn_window_empty(&p->window),
                                       [CONV_W] =
                                           p->c > 0, /* read even if all taps are in the padding */
                                       [CONV_C] = true,
                                       [CONV_BIAS] = true};
    const bool has_post = (p->flags & TENON_POST_ANY) != 0;
    tn_patch patches[CONV_PATCHES];
    struct {
        conv_args conv;
        conv_post_args post;
    } args = {.conv = {0}};
    tn_launch launch = {.source = "conv/forward/direct",
                        .options = choice->options,
                        .kernel = "conv_direct",
                        .dimensions = 3,
                        .local = {32, 1, 1},
                        .args_size = has_post ? sizeof args : sizeof args.conv};
    tn_conv_direct_launch(p, reads, CONV_Y, &launch, &args.conv, patches);
    launch.global[0] = (size_t)tn_round_up(tn_window_pixels(&p->window), 32);
    launch.global[1] = (size_t)(p->groups * p->k);
    launch.global[2] = (size_t)p->n;
    return tn_record(caller, recording, &launch);
}

const tn_solver tn_conv_direct = {.name = "direct",
                                  .serves = "everything",
                                  .configure = conv_direct_configure,
                                  .launch = conv_direct_launch};

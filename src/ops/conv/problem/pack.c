/* Helpers shared by solvers: the taps of sub-filters, and packing of tensors into the workspace. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/gradient.h"

#include <stddef.h>
#include <string.h>

/* Maximum elements that a CPU work-item packs. */
#define CPU_RUN 4096

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

conv_subfilter tn_conv_find_subfilter(const conv_window *window)
{
    conv_subfilter subfilter;
    for (int d = 0; d < 3; d++) {
        int64_t divisor = common_divisor(window->stride[d], window->dilation[d]);
        subfilter.tap[d] = window->stride[d] / divisor;
        subfilter.out[d] = window->dilation[d] / divisor;
    }
    return subfilter;
}

tenon_dtype tn_conv_sum_type(uint32_t dtype)
{
    return dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}

bool tn_conv_is_converted(uint32_t dtype)
{
    return tn_conv_sum_type(dtype) != (tenon_dtype)dtype;
}

void tn_conv_move_last(conv_packing *p, int d)
{
    int64_t size = p->shape[d], stride = p->stride[d];
    for (; d < 4; d++) {
        p->shape[d] = p->shape[d + 1];
        p->stride[d] = p->stride[d + 1];
    }
    p->shape[4] = size;
    p->stride[4] = stride;
}

/* Merges dimensions of the tensor as far as possible; the last one remains last. */
static void collapse(const conv_packing *p, conv_pack_args *args)
{
    tn_space space = {.rank = 5, .views = 1};
    memcpy(space.shape, p->shape, sizeof p->shape);
    memcpy(space.stride[0], p->stride, sizeof p->stride);
    tn_space_collapse(&space);
    for (uint32_t i = 0; i < 5; i++) {
        bool is_there = i + space.rank >= 5;
        args->shape[i] = is_there ? space.shape[i + space.rank - 5] : 1;
        args->stride[i] = is_there ? space.stride[0][i + space.rank - 5] : 0;
    }
}

static tenon_status conv_problem_pack_record(const char *caller, tn_recording *recording,
                                             const conv_packing *p, const char *kernel)
{
    char text[TN_OPTIONS_SIZE];
    bool is_cpu = recording->context->device.is_cpu;
    conv_pack_args args = {.tensor_offset = p->shift,
                           .packed_offset = p->packed,
                           .parts = tn_max_i64(1, p->parts),
                           .adds = p->adds};
    collapse(p, &args);
    int64_t rows = args.shape[0] * args.shape[1] * args.shape[2] * args.shape[3];
    args.part = rows * args.shape[4];
    args.run = is_cpu ? tn_min_i64(args.shape[4], CPU_RUN) : 1;
    const tn_patch patches[] = {
        {(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype), TN_SCALAR_BETA,
         offsetof(conv_pack_args, beta), 1},
        {TN_PATCH_OFFSET, p->operand, offsetof(conv_pack_args, tensor_offset),
         (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype)},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(conv_pack_args, packed_offset),
         (uint32_t)tn_acc_size(p->dtype)}};
    tn_build_options(recording->context, text, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->dtype,
                     tn_lanes(recording->context, p->dtype));
    tn_launch launch = {.source = "conv/pack",
                        .options = text,
                        .kernel = kernel,
                        .dimensions = 2,
                        .global = {(size_t)tn_ceil_div(args.shape[4], args.run), (size_t)rows},
                        .local = {is_cpu ? 1 : 0, is_cpu ? 1 : 0},
                        .operands = {p->operand, TN_WORKSPACE},
                        .operand_count = 2,
                        TN_ARGS(args),
                        TN_PATCHES(patches)};
    return tn_record(caller, recording, &launch);
}

tenon_status tn_conv_record_pack(const char *caller, tn_recording *recording,
                                 const conv_packing *packing)
{
    return conv_problem_pack_record(caller, recording, packing, "conv_pack");
}

tenon_status tn_conv_record_unpack(const char *caller, tn_recording *recording,
                                   const conv_packing *packing)
{
    return conv_problem_pack_record(caller, recording, packing, "conv_unpack");
}

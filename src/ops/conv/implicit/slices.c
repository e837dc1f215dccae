/* The gradient of filters on GPUs, with the pixels split into slices whose sums are stored in the
 * workspace and added in order. */
#include "ops/conv/implicit/slices.h"

#include "base/checked.h"
#include "ops/conv/problem/gradient.h"

/* Alignment of slices: a vector. */
#define SLICE_UNIT  8
#define MOST_SLICES 64
/* Work-groups that keep a core busy. */
#define GROUPS_PER_CORE 2
int64_t tn_conv_slice(const conv_problem *p, int64_t slices)
{
    int64_t slice = tn_ceil_div(tn_conv_pixels(p), slices);
    return slices > 1 ? tn_round_up(slice, SLICE_UNIT) : slice;
}

static uint64_t sums_size(const conv_problem *p)
{
    return (uint64_t)(p->groups * p->k * p->c * tn_window_taps(&p->window)) * tn_acc_size(p->dtype);
}

int64_t tn_conv_slices(const conv_problem *p, int64_t most)
{
    int64_t pixels = tn_conv_pixels(p);
    uint64_t room = p->head.workspace_limit / sums_size(p);
    int64_t slices =
        tn_min_i64(tn_min_i64(most, pixels), room < MOST_SLICES ? (int64_t)room : MOST_SLICES);
    return slices <= 1 ? 1 : tn_ceil_div(pixels, tn_conv_slice(p, slices));
}

int32_t tn_conv_tune_slices(tenon_context *context, const conv_problem *p, int64_t groups,
                            int64_t least)
{
    int64_t wanted = tn_ceil_div(GROUPS_PER_CORE * (int64_t)tn_model_cores(&context->device.model),
                                 tn_max_i64(groups, 1));
    int32_t slices = 1;
    while (slices < wanted && slices < MOST_SLICES &&
           tn_conv_pixels(p) / (2 * (int64_t)slices) >= least)
        slices *= 2;
    return slices;
}

uint64_t tn_conv_slices_size(const conv_problem *p, int64_t slices)
{
    return slices > 1 ? (uint64_t)slices * sums_size(p) : 0;
}

/* The sums are stored, then loaded to be added up. */
tn_work tn_conv_slices_work(const conv_problem *p, int64_t slices)
{
    const double bytes = (double)tn_conv_slices_size(p, slices);
    return (tn_work){.launches = slices > 1, .follows = true, .bytes = 2 * bytes};
}

tenon_status tn_conv_record_slices(const char *caller, tn_recording *recording,
                                   const conv_problem *p, int64_t slices)
{
    const int64_t *f = p->window.filter, *w = p->w;
    conv_packing packing = {.dtype = p->dtype,
                            .operand = p->operand[CONV_W],
                            .adds = (p->flags & CONV_HAS_C) != 0,
                            .shape = {p->groups * p->k, p->c, f[0], f[1], f[2]},
                            .stride = {w[0], w[1], w[2], w[3], w[4]},
                            .parts = slices};
    if (tn_conv_sums_channels_last(p))
        tn_conv_move_last(&packing, 1);
    return slices > 1 ? tn_conv_record_unpack(caller, recording, &packing) : TENON_OK;
}

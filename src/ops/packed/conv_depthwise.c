/* conv_packed/depthwise: groups of one channel, with vectors along the filters. */
#include "base/checked.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"
#include "ops/packed/internal.h"

/* Pixels that share the loads of a tap: PIXELS of the kernel. */
#define PIXELS 4
/* Maximum filters per channel. Each number is another kernel variant. */
#define MOST_SHARE 16
/* Work-items per compute unit. */
#define ITEMS_PER_UNIT 8
/* Minimum multiply-adds of a work-item for which its launch is worthwhile. */
#define LEAST_WORK 65536

/* Returns the taps along w if the kernel unrolls them, or 0. */
static int unrolled_taps(const conv_window *v)
{
    const int64_t taps = v->filter[2];
    const bool is_unrolled = v->dilation[2] == 1 && v->stride[2] <= 2;
    return is_unrolled && (taps == 3 || taps == 5 || taps == 7) ? (int)taps : 0;
}

/* Returns the work. The share of the peak rate is limited by the loads of x: one for each tap, or
 * fewer if taps are unrolled. Channels with several filters are loaded one by one. */
static tn_work work_of(const conv_problem *p, int64_t lanes)
{
    const double taps = (double)tn_window_taps(&p->window);
    const double vectors = (double)p->n * (double)tn_window_pixels(&p->window) *
                           (double)tn_ceil_div(p->groups * p->k, lanes);
    return (tn_work){.launches = 1,
                     .rate = tn_sum_rate(p->dtype),
                     .multiply_adds = vectors * (double)lanes * taps,
                     .efficiency = unrolled_taps(&p->window) != 0 ? 0.6 : 0.4,
                     .rows = 0.25 * vectors,
                     .single_elements = p->k > 1 ? vectors * (double)lanes * taps : 0,
                     .bytes = tn_conv_bytes(p)};
}

static const char *conv_packed_depthwise_configure(tenon_context *context,
                                                   const tn_problem *problem, tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const conv_window *v = &p->conv.window;
    const int64_t lanes = tn_gemm_lanes(context, p->conv.dtype);
    const char *why = tn_filters_refuse(context, p);
    if (why != NULL)
        return why;
    if (p->conv.c != 1)
        return "a group has more than one channel";
    if (p->conv.k > MOST_SHARE)
        return "a channel has more than 16 filters";
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    const tn_work work = work_of(&p->conv, lanes);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_PV=%d "
                      "-DTENON_TAPS=%d -DTENON_STEP=%d -DTENON_SHARE=%d%s",
                      p->conv.dtype,
                      tn_activation_is_build(p->conv.activation) ? p->conv.activation : 0u,
                      (int)lanes, (int)(p->panel / lanes), unrolled_taps(v),
                      unrolled_taps(v) != 0 ? (int)v->stride[2] : 0, (int)p->conv.k,
                      (p->conv.flags & TENON_POST_ANY) != 0 ? " -DTENON_POST=1" : "");
    return NULL;
}

/* Distributes rows of pixels to work-items, and filters if there are too few rows. */
static void share_out(const tenon_context *context, const filter_problem *p, packed_units *args)
{
    const conv_window *v = &p->conv.window;
    const int64_t wanted = ITEMS_PER_UNIT * (int64_t)context->device.info.compute_units;
    args->filters = p->conv.groups * p->conv.k;
    args->units = p->conv.n * v->out[0] * v->out[1];
    const int64_t row = tn_window_taps(v) * v->out[2] * args->filters;
    const int64_t fair = tn_ceil_div(args->units, wanted), worth = LEAST_WORK / row;
    args->run = tn_max_i64(1, tn_min_i64(fair, worth));
    const int64_t panels = tn_ceil_div(args->filters, p->panel);
    const int64_t parts = tn_min_i64(tn_ceil_div(wanted, args->units), 1 + row / LEAST_WORK);
    args->chunk = tn_ceil_div(panels, tn_min_i64(panels, parts)) * p->panel;
}

static tenon_status conv_packed_depthwise_launch(const char *caller, tn_recording *recording,
                                                 const tn_problem *problem, const tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    packed_units shape;
    share_out(recording->context, p, &shape);
    tn_launch launch = {.source = "packed/conv_depthwise",
                        .options = choice->options,
                        .kernel = "packed_conv_depthwise",
                        .global = {(size_t)tn_ceil_div(shape.units, shape.run),
                                   (size_t)tn_ceil_div(shape.filters, shape.chunk), 1}};
    return tn_conv_packed_record(caller, recording, &p->conv, 0, &shape, sizeof shape, &launch);
}

/* Each case has the taps and the stride of the problem along w, if those select the variant. */
const tn_solver tn_conv_packed_depthwise = {
    .name = "depthwise",
    .serves = "panels, groups of one channel, and images with their channels last, on CPUs",
    .awkward = "depthwise=1 h=6 w=27 r=3; depthwise=1 gap=3 d=2 h=5 w=13 t=2 r=2 stride_h=2 "
               "dilation_h=2",
    .configure = conv_packed_depthwise_configure,
    .launch = conv_packed_depthwise_launch};

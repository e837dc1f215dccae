/* The solver pool_backward/windows_scatter, for CPUs: norms, adaptive windows, and averages of
 * windows that end beyond the padding. Adds the gradients of the outputs to the planes of dx. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/pool/internal.h"

/* Taps that are worth a work-item, and contiguous channels of a work-item. */
#define WORTH            16384
#define CHANNELS_AT_ONCE 64

/* Multiply-adds that take as long as an output, and as a tap of an average and of a norm, which is
 * read twice (guesses). */
#define OUTPUT   20.0
#define TAP      3.0
#define NORM_TAP 8.0

static tn_work windows_scatter_work_of(const tenon_context *context, const pool_problem *p)
{
    const double outputs = tn_pool_elements(p, p->out), taps = outputs * tn_pool_taps(p);
    return (tn_work){.launches = 1,
                     .items = tn_pool_elements(p, p->size) / tn_lanes(context, p->dtype),
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = tn_pool_elements(p, p->size),
                     .single_elements =
                         OUTPUT * outputs + (p->kind == TENON_POOL_LP ? NORM_TAP : TAP) * taps};
}

static const char *windows_scatter_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (tn_pool_is_special(p) == NULL)
        return "the windows are ordinary ones, which other solvers serve";
    if (p->dtype != TENON_DTYPE_F32 && p->dtype != TENON_DTYPE_F64)
        return "dx cannot hold the sums of this type";
    const tn_work work = windows_scatter_work_of(context, p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u", p->dtype,
                      tn_lanes(context, p->dtype));
    return NULL;
}

/* Returns the channels of a work-item. */
static int64_t channels_of(const pool_problem *p, bool by_channels)
{
    const double plane =
        (double)p->size[0] * (double)p->size[1] * (double)p->size[2] +
        (double)p->out[0] * (double)p->out[1] * (double)p->out[2] * tn_pool_taps(p);
    const int64_t worth = plane < WORTH ? (int64_t)(WORTH / (plane + 1)) + 1 : 1;
    return tn_max_i64(tn_min_i64(p->c, by_channels ? CHANNELS_AT_ONCE : worth), 1);
}

static tenon_status windows_scatter_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    pool_windows_args args = tn_pool_windows_arguments(p);
    args.side_by_side = tn_image_by_channels(p->x);
    args.each = channels_of(p, args.side_by_side != 0);
    tn_launch launch = {.source = "pool/windows_scatter",
                        .kernel = "pool_windows_scatter",
                        .options = choice->options,
                        TN_ARGS(args),
                        .dimensions = 2,
                        .global = {(size_t)tn_ceil_div(p->c, args.each), (size_t)p->n},
                        .local = {1, 1}};
    return tn_pool_windows_record_backward(caller, recording, p, &launch);
}

const tn_solver tn_pool_backward_windows_scatter = {
    .name = "windows_scatter",
    .serves = "f32 and f64 on CPUs: norms, adaptive windows, and averages of windows that end "
              "beyond the padding",
    .configure = windows_scatter_configure,
    .launch = windows_scatter_launch};

/* The solver pool_backward/scatter, for CPUs: adds the gradients of the outputs to slabs of dx,
 * with a kernel each for contiguous channels and for contiguous rows. */
#include "base/checked.h"
#include "ops/common/lanes.h"
#include "ops/pool/internal.h"

/* The bytes of a slab, which stays in the cache while outputs are added to it; elements that are
 * worth a work-item; contiguous channels of a work-item; and least rows of a slab, because an
 * output whose window is in two slabs is computed for both. */
#define SLAB_BYTES       (256 << 10)
#define WORTH            16384
#define CHANNELS_AT_ONCE 64
#define LEAST_ROWS       4

static bool by_channels(const pool_problem *p)
{
    return p->x[1] == 1 && p->y[1] == 1 && (p->image[1] == 1 || p->image[4] == 0);
}

/* Strides of dimensions of one element are 0. */
static bool by_rows(const pool_problem *p)
{
    return p->x[4] == 1 || p->size[2] == 1;
}

/* Weights of a tap, measured on x86-64: in vectors over channels, or over outputs along w with the
 * additions one at a time. */
#define CHANNELS_TAP 8.0
#define ROWS_TAP     1.2

/* Estimates the work. As in the other solvers, time for memory is not counted. */
static tn_work work_of(const tenon_context *context, const pool_problem *p)
{
    const double elements = tn_pool_elements(p, p->size),
                 taps = tn_pool_elements(p, p->out) * tn_pool_taps(p);
    return (tn_work){.launches = 1,
                     .items = elements / tn_lanes(context, p->dtype),
                     .rate = tn_sum_rate(p->dtype),
                     .vector_elements = elements + (by_channels(p) ? CHANNELS_TAP * taps : 0),
                     .single_elements = by_channels(p) ? 0 : ROWS_TAP * taps};
}

static const char *configure(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    const char *special = tn_pool_is_special(p);
    if (special != NULL)
        return special;
    if (!context->device.is_cpu)
        return "the device is not a CPU";
    if (p->dtype != TENON_DTYPE_F32 && p->dtype != TENON_DTYPE_F64)
        return "dx cannot hold the sums of this type";
    if (!by_channels(p) && !by_rows(p))
        return "neither the channels of all operands nor the rows of dx are contiguous";
    const tn_work work = work_of(context, p);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_POOL_MAX=%d -DTENON_VW=%u",
                      p->dtype, p->kind == TENON_POOL_MAX, tn_lanes(context, p->dtype));
    return NULL;
}

/* Divides dx into slabs of rows and chunks of channels. */
static void divide(const tenon_context *context, const pool_problem *p, pool_args *args,
                   tn_launch *launch)
{
    const bool channels = by_channels(p);
    const int64_t planes = p->n * p->size[0], units = context->device.info.compute_units;
    const int64_t plane = tn_max_i64(p->size[1] * p->size[2], 1);
    args->chunk = tn_max_i64(tn_min_i64(channels ? CHANNELS_AT_ONCE : WORTH / plane, p->c), 1);
    const int64_t chunks = tn_ceil_div(p->c, args->chunk),
                  row = (channels ? args->chunk : 1) * p->size[2] *
                        (int64_t)tenon_dtype_size((tenon_dtype)p->dtype),
                  fitting = SLAB_BYTES / tn_max_i64(row, 1),
                  fair = tn_ceil_div(planes * chunks * p->size[1], 4 * units);
    args->lines = tn_max_i64(tn_min_i64(fitting, tn_max_i64(fair, LEAST_ROWS)), 1);
    launch->dimensions = 2;
    launch->global[0] = (size_t)chunks;
    launch->global[1] = (size_t)(planes * tn_ceil_div(p->size[1], args->lines));
    launch->local[0] = launch->local[1] = 1; /* PoCL compiles a kernel for each size */
}

static tenon_status launch(const char *caller, tn_recording *recording, const tn_problem *problem,
                           const tn_choice *choice)
{
    const pool_problem *p = (const pool_problem *)problem;
    pool_args args = tn_pool_arguments(p);
    tn_launch launch = {.source = "pool/scatter",
                        .kernel = by_channels(p) ? "pool_scatter_channels" : "pool_scatter_rows",
                        .options = choice->options};
    divide(recording->context, p, &args, &launch);
    return tn_pool_record_backward(caller, recording, p, &args, &launch);
}

const tn_solver tn_pool_backward_scatter = {
    .name = "scatter",
    .serves = "f32 and f64 on CPUs, with contiguous channels or rows of dx",
    .configure = configure,
    .launch = launch};

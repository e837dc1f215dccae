/* conv_packed/direct: images with few channels, whose rows are read in place for all filters, by
 * the register tile of gemm_packed/cpu. */
#include "base/checked.h"
#include "ops/conv/depthwise/depthwise.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/gemm/cpu.h"
#include "ops/packed/internal.h"

#include <stdio.h>

/* Maximum channels. Each product of channels and stride is another kernel variant. With more
 * channels, the gathered rows of conv_packed/cpu take a small share of the time. */
#define MOST_CHANNELS 8
/* Elements of the copied rows of the image: they stay in the first-level cache. */
#define STRIP 8192
/* Work-items per compute unit. */
#define ITEMS_PER_UNIT 8
/* Minimum multiply-adds of a work-item for which its launch is worthwhile. */
#define LEAST_WORK 65536

/* The layout of a choice. */
typedef struct layout {
    packed_problem product; /* for tiles and estimates: the pixels of a segment x filters */
    int64_t segment, segments, pitch;
} layout;

/* Returns the elements of a row of the image under `pixels` output pixels, and the gap after them.
 */
static int64_t pitch_of(const conv_problem *p, int64_t pixels, int64_t lanes)
{
    const conv_window *v = &p->window;
    const int64_t columns = (pixels - 1) * v->stride[2] + v->filter[2];
    return tn_round_up(columns * p->c, lanes) + lanes;
}

/* Divides rows of pixels into the fewest equal segments whose copied rows fit; returns false if
 * there are none. */
static bool cut_rows(const conv_problem *p, int64_t lanes, layout *l)
{
    const conv_window *v = &p->window;
    const int64_t rows = v->filter[0] * v->filter[1];
    for (l->segments = 1; l->segments <= v->out[2]; l->segments++) {
        l->segment = tn_ceil_div(v->out[2], l->segments);
        l->pitch = pitch_of(p, l->segment, lanes);
        if (rows * l->pitch <= STRIP) {
            l->segments = tn_ceil_div(v->out[2], l->segment);
            return true;
        }
    }
    return false;
}

/* Returns why the rows cannot be read in place, or NULL. */
static const char *refuse(const conv_problem *p)
{
    const conv_window *v = &p->window;
    if (p->groups != 1)
        return "there are several groups";
    if (p->c > MOST_CHANNELS)
        return "there are more than 8 channels";
    if (p->x[4] != p->c)
        return "the pixels of x are not contiguous";
    if (v->filter[2] > 1 && v->dilation[2] != 1)
        return "the filters have a dilation along w";
    return v->filter[0] * v->filter[1] * v->filter[2] > STRIP ? "the filters are too large" : NULL;
}

static void make_product(const filter_problem *problem, layout *l)
{
    const conv_problem *p = &problem->conv;
    const conv_window *v = &p->window;
    l->product =
        (packed_problem){.panel = problem->panel,
                         .gemm = {.head = p->head,
                                  .dtype = p->dtype,
                                  .activation = p->activation,
                                  .flags = p->flags & (TENON_POST_ANY | TENON_POST_IN_PLACE),
                                  .m = l->segment,
                                  .n = p->k,
                                  .k = p->c * tn_window_taps(v),
                                  .batch_rank = 1,
                                  .batch = {p->n * v->out[0] * v->out[1] * l->segments}}};
    l->product.gemm.matrix[GEMM_A] = (gemm_matrix){.row = p->c * v->stride[2], .col = 1};
    l->product.gemm.matrix[GEMM_D] = (gemm_matrix){.row = p->y[4], .col = 1};
}

static int64_t blocks_of(const conv_problem *p, const int32_t *values)
{
    return tn_ceil_div(p->k, (int64_t)values[CPU_PANELS] * values[CPU_NR]);
}

/* Returns the work of the product and of copying the rows, by whole vectors. */
static tn_work work_of(tenon_context *context, const conv_problem *p, const layout *l,
                       const int32_t *values)
{
    const gemm_problem *g = &l->product.gemm;
    const double rows = (double)(p->window.filter[0] * p->window.filter[1]) * (double)g->batch[0] *
                        (double)blocks_of(p, values);
    tn_work work = tn_gemm_cpu_work(context, g, values, (double)tn_round_up(g->n, values[CPU_NR]));
    work.bytes = tn_conv_bytes(p);
    work.rows += rows;
    work.vector_elements += rows * (double)l->pitch;
    return work;
}

static void set_options(tenon_context *context, const conv_problem *p, const layout *l,
                        tn_choice *choice)
{
    char more[64];
    (void)snprintf(more, sizeof more, " -DTENON_A_PITCH=%d -DTENON_STRIP=%d",
                   (int)(p->c * p->window.stride[2]), STRIP);
    tn_packed_cpu_options(context, &l->product, more, choice);
}

static const char *conv_packed_direct_configure(tenon_context *context, const tn_problem *problem,
                                                tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    const int64_t lanes = tn_gemm_lanes(context, p->conv.dtype);
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = tn_filters_refuse(context, p);
    if (why == NULL)
        why = refuse(&p->conv);
    if (why != NULL)
        return why;
    if (!cut_rows(&p->conv, lanes, l))
        return "the rows under a filter do not fit the local memory";
    make_product(p, l);
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    tn_packed_cpu_tune(context, &l->product, choice->values);
    choice->misfit = tn_packed_cpu_constrains(context, &l->product, choice->values);
    why = tn_gemm_cpu_refuses_post(&l->product.gemm, choice->values);
    if (choice->misfit != NULL || why != NULL)
        return why;
    if (l->product.gemm.k > choice->values[CPU_KC])
        return "a filter has more than kc elements";
    if (STRIP * tn_acc_size(p->conv.dtype) > context->device.info.local_memory)
        return "the local memory is too small";
    const tn_work work = work_of(context, &p->conv, l, choice->values);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        set_options(context, &p->conv, l, choice);
    return NULL;
}

/* Distributes segments to work-items. */
static int64_t units_per_item(const tenon_context *context, const layout *l)
{
    const gemm_problem *g = &l->product.gemm;
    const int64_t wanted = ITEMS_PER_UNIT * (int64_t)context->device.info.compute_units;
    const int64_t fair = tn_ceil_div(g->batch[0], wanted),
                  worth = tn_ceil_div(LEAST_WORK, g->m * g->n * g->k);
    return tn_max_i64(fair, tn_min_i64(worth, g->batch[0]));
}

static tenon_status conv_packed_direct_launch(const char *caller, tn_recording *recording,
                                              const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = &((const filter_problem *)problem)->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    const int32_t *values = choice->values;
    const packed_strips shape = {.segment = l->segment,
                                 .segments = l->segments,
                                 .units = l->product.gemm.batch[0],
                                 .run = units_per_item(recording->context, l),
                                 .pitch = l->pitch,
                                 .x_span = tn_packed_span(p),
                                 .y_pixel = p->y[4],
                                 .c_pixel = p->res[4],
                                 .tile_cols = (int64_t)values[CPU_PANELS] * values[CPU_NR]};
    tn_launch launch = {
        .source = "packed/conv_direct",
        .options = choice->options,
        .kernel = "packed_conv_direct",
        .global = {(size_t)blocks_of(p, values), (size_t)tn_ceil_div(shape.units, shape.run), 1}};
    return tn_conv_packed_record(caller, recording, p, p->residual[4], &shape, sizeof shape,
                                 &launch);
}

/* Rows with padding on both sides in several segments; taps outside along d and h; partial tiles of
 * several heights; a block of filters that ends inside a panel. */
const tn_solver tn_conv_packed_direct = {
    .name = "direct",
    .serves = "panels, and images with at most 8 channels, which are last, on CPUs",
    .awkward = "direct=1 filters=np*nr+nr/2+3 h=5 w=47 r=3 s=5; "
               "direct=1 filters=nr+5 d=3 h=5 w=700 t=2 r=2 s=3 dilation_h=2",
    TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
    .configure = conv_packed_direct_configure,
    .launch = conv_packed_direct_launch};

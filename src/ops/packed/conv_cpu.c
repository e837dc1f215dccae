/* conv_packed/cpu: the product of gemm_packed/cpu, whose rows are gathered from images with their
 * channels last. */
#include "base/checked.h"
#include "ops/conv/depthwise/depthwise.h"
#include "ops/conv/implicit/tiled.h"
#include "ops/gemm/cpu.h"
#include "ops/packed/internal.h"

#include <string.h>

/* The layout of a choice. */
typedef struct layout {
    packed_problem product; /* for tiles and estimates: pixels x filters of a group */
    int64_t pixels;         /* that have one stride in y, in c and in the residual */
    int64_t batches;        /* of such pixels */
    int64_t y_pixel, c_pixel, residual_pixel, run;
    bool joined;
} layout;

/* Merges as many dimensions of y, c and the residual as possible, from the last one on. */
static void join_pixels(const conv_problem *p, layout *l)
{
    const int64_t shape[] = {p->n, p->window.out[0], p->window.out[1], p->window.out[2]};
    bool joins = true;
    l->pixels = l->batches = 1;
    for (int d = 3; d >= 0; d--) {
        const int dimension = d == 0 ? 0 : d + 1;
        const int64_t y = p->y[dimension], c = p->res[dimension], residual = p->residual[dimension];
        if (shape[d] == 1)
            continue;
        if (l->pixels == 1 && joins) {
            l->y_pixel = y;
            l->c_pixel = c;
            l->residual_pixel = residual;
        }
        joins = joins && y == l->y_pixel * l->pixels && c == l->c_pixel * l->pixels &&
                residual == l->residual_pixel * l->pixels;
        *(joins ? &l->pixels : &l->batches) *= shape[d];
    }
}

/* Finds the elements that are contiguous in x and in the panels. */
static void find_run(const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    l->joined = v->filter[2] > 1 && v->dilation[2] == 1 && p->x[4] == p->c;
    l->run = p->c * (l->joined ? v->filter[2] : 1);
}

static void make_layout(const filter_problem *problem, layout *l)
{
    const conv_problem *p = &problem->conv;
    join_pixels(p, l);
    find_run(p, l);
    l->product =
        (packed_problem){.panel = problem->panel,
                         .gemm = {.head = p->head,
                                  .dtype = p->dtype,
                                  .activation = p->activation,
                                  .flags = p->flags & (TENON_POST_ANY | TENON_POST_IN_PLACE),
                                  .m = l->pixels,
                                  .n = p->k,
                                  .k = p->c * tn_window_taps(&p->window),
                                  .batch_rank = 1,
                                  .batch = {p->groups * l->batches}}};
    l->product.gemm.matrix[GEMM_A] = (gemm_matrix){.row = l->run, .col = 1};
    l->product.gemm.matrix[GEMM_D] = (gemm_matrix){.row = l->y_pixel, .col = 1};
}

/* Returns the blocks of filters of a group. Blocks begin with whole panels. */
static int64_t blocks_of(const conv_problem *p, int64_t panel, const int32_t *values)
{
    const bool is_aligned = p->groups == 1 || p->k % panel == 0;
    return tn_ceil_div(p->k + (is_aligned ? 0 : panel - 1),
                       (int64_t)values[CPU_PANELS] * values[CPU_NR]);
}

/* Returns the work of the product and of gathering its rows, by whole vectors, once for each block
 * of filters. */
static tn_work work_of(tenon_context *context, const conv_problem *p, const layout *l,
                       const int32_t *values)
{
    const gemm_problem *g = &l->product.gemm;
    const double runs = (double)g->m * ((double)g->k / (double)l->run) *
                        (double)tn_gemm_batch_count(g) *
                        (double)blocks_of(p, l->product.panel, values);
    tn_work work = tn_gemm_cpu_work(context, g, values, tn_gemm_cpu_columns(context, g, values));
    work.bytes = tn_conv_bytes(p);
    work.rows += 0.5 * runs;
    work.vector_elements += runs * (double)tn_round_up(l->run, tn_gemm_lanes(context, p->dtype));
    return work;
}

static const char *conv_packed_cpu_configure(tenon_context *context, const tn_problem *problem,
                                             tn_choice *choice)
{
    const filter_problem *p = (const filter_problem *)problem;
    layout *l = TN_LAYOUT(layout, choice);
    const char *why = tn_filters_refuse(context, p);
    if (why != NULL)
        return why;
    make_layout(p, l);
    choice->never_chosen = tn_gemm_made_for_cpus(context);
    tn_packed_cpu_tune(context, &l->product, choice->values);
    choice->misfit = tn_packed_cpu_constrains(context, &l->product, choice->values);
    why = tn_gemm_cpu_refuses_post(&l->product.gemm, choice->values);
    if (choice->misfit != NULL || why != NULL)
        return why;
    const tn_work work = work_of(context, &p->conv, l, choice->values);
    tn_choice_add(context, choice, &work);
    if (!choice->is_estimate)
        tn_packed_cpu_options(context, &l->product, "", choice);
    return NULL;
}

int64_t tn_packed_span(const conv_problem *p)
{
    const int64_t shape[] = {p->n, p->groups * p->c, p->window.size[0], p->window.size[1],
                             p->window.size[2]};
    return tn_depthwise_span(shape, p->x);
}

_Static_assert(sizeof(packed_pixels) <= PACKED_SHAPE_SIZE &&
                   sizeof(packed_strips) <= PACKED_SHAPE_SIZE &&
                   sizeof(packed_parts) <= PACKED_SHAPE_SIZE,
               "PACKED_SHAPE_SIZE is too small");

tenon_status tn_conv_packed_record(const char *caller, tn_recording *recording,
                                   const conv_problem *p, int64_t residual_pixel, const void *shape,
                                   uint32_t shape_size, tn_launch *launch)
{
    static const bool reads[CONV_OPERANDS] = {
        [CONV_X] = true, [CONV_W] = true, [CONV_C] = true, [CONV_BIAS] = true};
    struct {
        conv_args conv;
        conv_post_args post;
        tenon_i64 rest[PACKED_SHAPE_SIZE / sizeof(tenon_i64)];
    } args = {.post = {.residual_pixel = residual_pixel}};
    const bool has_post = (p->flags & TENON_POST_ANY) != 0;
    tn_patch patches[CONV_PATCHES];
    void *place = has_post ? (void *)args.rest : (void *)&args.post;
    memcpy(place, shape, shape_size);
    launch->dimensions = 3;
    for (int d = 0; d < 3; d++)
        launch->local[d] = 1;
    launch->args_size = (uint32_t)((char *)place - (char *)&args) + shape_size;
    tn_conv_direct_launch(p, reads, CONV_Y, launch, &args.conv, patches);
    return tn_record(caller, recording, launch);
}

static tenon_status conv_packed_cpu_launch(const char *caller, tn_recording *recording,
                                           const tn_problem *problem, const tn_choice *choice)
{
    const conv_problem *p = &((const filter_problem *)problem)->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    const int32_t *values = choice->values;
    const int64_t rows = tn_gemm_cpu_tile_rows(recording->context, &l->product.gemm, values);
    const packed_pixels shape = {.pixels = l->pixels,
                                 .y_pixel = l->y_pixel,
                                 .c_pixel = l->c_pixel,
                                 .run = l->run,
                                 .x_span = tn_packed_span(p),
                                 .blocks = blocks_of(p, l->product.panel, values),
                                 .joined = l->joined,
                                 .tile_rows = (tenon_i32)rows,
                                 .tile_cols = values[CPU_PANELS] * values[CPU_NR]};
    tn_launch launch = {.source = "packed/conv_cpu",
                        .options = choice->options,
                        .kernel = "packed_conv_cpu",
                        .global = {(size_t)(p->groups * shape.blocks),
                                   (size_t)tn_ceil_div(l->pixels, rows), (size_t)l->batches}};
    return tn_conv_packed_record(caller, recording, p, l->residual_pixel, &shape, sizeof shape,
                                 &launch);
}

/* More than two of the longest blocks of K, with taps in the padding; rows of taps that are
 * contiguous; groups that begin and end inside panels. */
const tn_solver tn_conv_packed_cpu = {
    .name = "cpu",
    .serves = "panels, and images with their channels last, on CPUs",
    .awkward = "channels=kc/4+3 filters=np*nr+nr/2+3 gap=3 h=4 w=7 r=3 s=3; "
               "channels=3 filters=nr+5 h=13 w=17 r=5 s=7 stride_h=2 stride_w=2; "
               "groups=3 channels=19 filters=nr/2+3 gap=1 d=3 h=5 w=9 t=2 r=2 s=3 dilation_w=2",
    TN_PARAMETERS(tn_gemm_cpu_parameters, CPU_PARAMETERS),
    .configure = conv_packed_cpu_configure,
    .launch = conv_packed_cpu_launch};

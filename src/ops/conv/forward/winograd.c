/* conv/winograd2 and conv/winograd4: Winograd convolution with tiles of 2 x 2 and 4 x 4 outputs,
 * for CPUs. */
#include "ops/conv/forward/winograd.h"

#include "base/checked.h"
#include "conv/forward/winograd_args.h"
#include "ops/common/lanes.h"
#include "ops/gemm/cpu.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

const tn_parameter tn_winograd_parameters[WINOGRAD_PARAMETERS] = {
    [WINOGRAD_MR] = {"mr", 2, 14}, /* tiles multiplied at once */
    [WINOGRAD_NR] = {"nr", 2, 64}, /* filters of a panel */
};

/* Tile size of packed filters. */
#define PACKED_TILE 4
/* Columns of the kernel's patch of an image. */
#define PATCH_COLS 64
#define REGISTERS  32
/* Maximum tiles of a set: enough to limit the reads of the transformed filters, few enough to keep
 * the transformed tiles in the cache. */
#define MOST_TILES 64
/* Channels per work-item if filters are transformed by a launch of their own, and per block if they
 * are transformed on the fly. */
#define FILTER_CHANNELS 32
#define FUSED_CHANNELS  32
/* Bytes of transformed filters per compute unit that stay in the caches. */
#define U_CACHED (1 << 20)
/* Slices per compute unit. */
#define SLICES_PER_UNIT 4

/* The division of the work, and the layout of the workspace in elements. */
typedef struct layout {
    bool fuses, fits; /* filters are transformed on the fly; the workspace suffices */
    int64_t lanes, panels;
    int64_t tiles[2], all_tiles, set_tiles, slices;
    int64_t part, parts; /* panels per work-group, and the resulting number of parts */
    int64_t block;       /* channels per block */
    int64_t u_point, u_panel, u_group, u;
    int64_t v_row, v_point, m, m_point, own_u, slice;
} layout;

static int64_t side(const winograd *w)
{
    return w->tile + 2;
}

static int64_t points(const winograd *w)
{
    return side(w) * side(w);
}

/* Returns true if the filters were transformed when they were packed. */
static bool has_transformed(const winograd *w)
{
    return w->panel > 0;
}

int64_t tn_winograd_panel(tenon_context *context, uint32_t dtype, int64_t k)
{
    const int64_t lanes = tn_gemm_lanes(context, dtype);
    return lanes * (k > 2 * lanes && tn_gemm_has_many_registers(context) ? 4 : k > lanes ? 2 : 1);
}

static void conv_winograd_tune(tenon_context *context, const winograd *w, int32_t *values)
{
    if (values[WINOGRAD_MR] == 0)
        values[WINOGRAD_MR] = 6;
    if (values[WINOGRAD_NR] == 0)
        values[WINOGRAD_NR] =
            (int32_t)(has_transformed(w) ? w->panel
                                         : tn_winograd_panel(context, w->conv->dtype, w->conv->k));
}

static const char *conv_winograd_misfit_of(tenon_context *context, const winograd *w,
                                           const int32_t *values)
{
    int64_t lanes = tn_gemm_lanes(context, w->conv->dtype),
            size = (int64_t)tn_acc_size(w->conv->dtype);
    if (values[WINOGRAD_NR] % lanes != 0)
        return "nr must be a multiple of the vector width";
    if (has_transformed(w) && values[WINOGRAD_NR] != w->panel)
        return "nr must be the width of the transformed filters' panels";
    int64_t vectors = values[WINOGRAD_NR] / lanes;
    if (values[WINOGRAD_MR] * vectors + vectors + 1 > REGISTERS)
        return "the tile of mr x nr does not fit the vector registers";
    if ((uint64_t)(side(w) * PATCH_COLS * lanes * size) > context->device.info.local_memory)
        return "the patch of an image does not fit the local memory";
    return NULL;
}

/* Returns the cost of a set in vectors of products: whole register tiles, and the remainder in
 * pairs. */
static double multiply_rows(int64_t tiles, int64_t mr)
{
    const int64_t whole = tiles / mr * mr;
    return (double)whole + 1.3 * (double)tn_round_up(tiles - whole, 2);
}

/* Moves per element and tile point for the transforms of images, of sums and of filters, measured
 * on x86-64. */
#define IN_MOVES     2.4
#define OUT_MOVES    2.2
#define FILTER_MOVES 2.2

/* Returns the work of all sets in all work-groups: image transforms, products, and transforms of
 * the sums. */
static tn_work work_of_sets(const winograd *w, const int32_t *values, const layout *l)
{
    const conv_problem *p = w->conv;
    const double c = (double)p->c, nr = values[WINOGRAD_NR], tiles = (double)l->set_tiles;
    const double adding = 1 + 2 * (c / (double)l->block - 1) / c;
    const double sets = (double)tn_ceil_div(l->all_tiles, l->set_tiles),
                 groups = sets * (double)l->parts * (double)p->groups,
                 panels = groups * (double)tn_ceil_div(l->panels, l->parts);
    const double all = (double)points(w);
    return (tn_work){.launches = 1,
                     .blocks = true,
                     .groups = groups,
                     .rate = tn_sum_rate(p->dtype),
                     .multiply_adds = panels * all * c * nr * adding *
                                      multiply_rows(l->set_tiles, values[WINOGRAD_MR]),
                     .vector_elements =
                         all * (IN_MOVES * groups * tiles * (double)tn_round_up(p->c, l->lanes) +
                                OUT_MOVES * panels * tiles * nr +
                                (l->fuses ? FILTER_MOVES * panels * c * nr : 0))};
}

/* Works of a choice: all sets, memory traffic beyond the caches, and the filters if a preceding
 * launch transforms them. */
enum { WORKS = 3 };

static void count_work(tenon_context *context, const winograd *w, const int32_t *values,
                       const layout *l, tn_work works[WORKS])
{
    const conv_problem *p = w->conv;
    const double cached = U_CACHED * context->device.model.units;
    const double sets = (double)tn_ceil_div(l->all_tiles, l->set_tiles);
    const double y = (double)p->n * (double)(p->groups * p->k) *
                     (double)tn_window_pixels(&p->window) *
                     (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double u =
        (double)(p->groups * l->panels) * (double)points(w) * (double)p->c * values[WINOGRAD_NR];
    const double u_bytes = u * (double)tn_acc_size(p->dtype);
    const double w_bytes =
        (double)(p->groups * p->k * p->c * 9) * (double)tenon_dtype_size((tenon_dtype)p->dtype);
    const double filters = l->fuses ? w_bytes : u_bytes;      /* read by each set */
    const bool transforms = !l->fuses && !has_transformed(w); /* by a preceding launch */
    const double reads = filters > cached ? filters * sets : 0;
    works[0] = work_of_sets(w, values, l);
    /* Packed filters are prefetched during the products. */
    works[0].bytes = has_transformed(w) ? reads : 0;
    /* Rows of tiles are stored to cache lines that were evicted; the filters may have been evicted
     * too. */
    works[1] = (tn_work){.bytes = (y > cached ? 2 * y : 0) + (has_transformed(w) ? 0 : reads) +
                                  (transforms && u_bytes > cached ? 2 * u_bytes : 0)};
    works[2] = transforms ? (tn_work){.launches = 1,
                                      .follows = true,
                                      .rate = tn_sum_rate(p->dtype),
                                      .vector_elements = FILTER_MOVES * u}
                          : (tn_work){0};
}

static double time_of(tenon_context *context, const winograd *w, const int32_t *values,
                      const layout *l)
{
    tn_work works[WORKS];
    double time = 0;
    count_work(context, w, values, l, works);
    for (int i = 0; i < WORKS; i++)
        time += tn_work_time(&context->device.model, &works[i]);
    return time;
}

/* Returns the rows of products; a single remaining row is multiplied as a pair. */
static int64_t product_rows(const int32_t *values, int64_t tiles)
{
    return tiles + tiles % values[WINOGRAD_MR] % 2;
}

/* Sets the sizes of a slice. */
static void lay_out_slice(const winograd *w, const int32_t *values, layout *l)
{
    int64_t own = l->block * values[WINOGRAD_NR] + l->lanes;
    l->v_row = tn_round_up(w->conv->c, l->lanes);
    l->v_point = l->set_tiles * l->v_row + l->lanes;
    l->m = points(w) * l->v_point;
    l->m_point = product_rows(values, l->set_tiles) * values[WINOGRAD_NR] + l->lanes;
    l->slice = l->m + points(w) * l->m_point;
    l->own_u = 0;
    if (l->fuses) {
        l->own_u = l->slice;
        l->u_point = own;
        l->slice += points(w) * own;
    }
}

static int64_t elements(const winograd *w, const layout *l)
{
    return l->u + l->slices * l->parts * w->conv->groups * l->slice;
}

bool tn_winograd_filters_size(tenon_context *context, uint32_t dtype, int64_t panel, int64_t k,
                              int64_t c, int64_t *size)
{
    const winograd w = {.tile = PACKED_TILE};
    const int64_t lanes = tn_gemm_lanes(context, dtype);
    return tn_mul_i64(c, panel, size) && tn_add_i64(*size, lanes, size) &&
           tn_mul_i64(*size, points(&w), size) && tn_mul_i64(*size, tn_ceil_div(k, panel), size);
}

/* Completes a layout whose set_tiles, parts and fuses are set, with fewer slices if the workspace
 * is small. */
static layout complete(tenon_context *context, const winograd *w, const int32_t *values, layout l)
{
    const conv_problem *p = w->conv;
    int64_t units = context->device.info.compute_units;
    uint64_t limit = p->head.workspace_limit / tn_acc_size(p->dtype);
    int64_t room = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX);
    l.part = tn_ceil_div(l.panels, l.parts);
    l.parts = tn_ceil_div(l.panels, l.part);
    l.block = l.fuses ? tn_min_i64(p->c, FUSED_CHANNELS) : p->c;
    l.u_point = p->c * values[WINOGRAD_NR] + l.lanes;
    l.u_panel = points(w) * l.u_point;
    l.u_group = l.panels * l.u_panel;
    l.u = l.fuses || has_transformed(w) ? 0 : p->groups * l.u_group;
    lay_out_slice(w, values, &l);
    l.slices = tn_min_i64(tn_ceil_div(l.all_tiles, l.set_tiles), SLICES_PER_UNIT * units);
    while (l.slices > 1 && elements(w, &l) > room)
        l.slices--;
    l.fits = elements(w, &l) <= room;
    return l;
}

/* Returns the fastest of the layouts that fit. If none fits, returns the smallest, as on devices
 * where only tests use this solver. Filters that are transformed already are never transformed on
 * the fly. */
static layout conv_winograd_lay_out(tenon_context *context, const winograd *w,
                                    const int32_t *values)
{
    const conv_problem *p = w->conv;
    const layout start = {
        .lanes = tn_gemm_lanes(context, p->dtype),
        .panels = tn_ceil_div(p->k, values[WINOGRAD_NR]),
        .tiles = {tn_ceil_div(p->window.out[1], w->tile), tn_ceil_div(p->window.out[2], w->tile)},
        .all_tiles =
            p->n * tn_ceil_div(p->window.out[1], w->tile) * tn_ceil_div(p->window.out[2], w->tile),
        .set_tiles = 1,
        .parts = 1,
        .fuses = !has_transformed(w)};
    int64_t most = tn_min_i64(start.panels, 2 * (int64_t)context->device.info.compute_units);
    layout best = complete(context, w, values, start);
    double least = time_of(context, w, values, &best);
    if (!context->device.is_cpu)
        return best;
    for (int fuses = 0; fuses <= (start.fuses ? 1 : 0); fuses++)
        for (int64_t parts = 1; parts <= most; parts++)
            for (int64_t tiles = 1; tiles <= tn_min_i64(MOST_TILES, start.all_tiles); tiles++) {
                layout l = start;
                l.fuses = fuses != 0;
                l.parts = parts;
                l.set_tiles = tiles;
                l = complete(context, w, values, l);
                double time = time_of(context, w, values, &l);
                if (!l.fits || (best.fits && time >= least))
                    continue;
                best = l;
                least = time;
            }
    return best;
}

static void conv_winograd_set_options(tenon_context *context, const winograd *w,
                                      const int32_t *values, char text[TN_OPTIONS_SIZE])
{
    const conv_problem *p = w->conv;
    int lanes = (int)tn_gemm_lanes(context, p->dtype);
    tn_build_options(context, text,
                     "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%d -DTENON_TILE=%d "
                     "-DTENON_MR=%d -DTENON_NV=%d -DTENON_BUILTIN_PREFETCH=%d",
                     p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u, lanes,
                     (int)w->tile, values[WINOGRAD_MR], values[WINOGRAD_NR] / lanes,
                     context->device.has_builtin_prefetch);
}

const char *tn_winograd_configure(tenon_context *context, const winograd *w, tn_choice *choice)
{
    const char *why = tn_winograd_refuses(w->conv);
    layout *l = TN_LAYOUT(layout, choice);
    tn_work works[WORKS];
    if (why != NULL)
        return why;
    choice->never_chosen = context->device.is_cpu ? NULL : "made for CPUs";
    conv_winograd_tune(context, w, choice->values);
    choice->misfit = conv_winograd_misfit_of(context, w, choice->values);
    if (choice->misfit != NULL)
        return NULL;
    *l = conv_winograd_lay_out(context, w, choice->values);
    choice->workspace = (uint64_t)elements(w, l) * tn_acc_size(w->conv->dtype);
    count_work(context, w, choice->values, l, works);
    for (int i = 0; i < WORKS; i++)
        tn_choice_add(context, choice, &works[i]);
    if (!choice->is_estimate)
        conv_winograd_set_options(context, w, choice->values, choice->options);
    return NULL;
}

static const char *conv_winograd_configure(tenon_context *context, const tn_problem *problem,
                                           tn_choice *choice)
{
    const winograd w = {.conv = (const conv_problem *)problem,
                        .tile = tn_winograd_tile(choice->solver)};
    return tn_winograd_configure(context, &w, choice);
}

/* Returns the elements from a tensor's first to its last. */
static int64_t span(const int64_t *stride, const int64_t shape[CONV_RANK])
{
    int64_t elements = 1;
    for (int d = 0; d < CONV_RANK; d++)
        elements += (shape[d] - 1) * stride[d];
    return elements;
}

static int64_t filter_layout(const int64_t stride[CONV_RANK])
{
    if (stride[4] == 1 && stride[3] == 3)
        return stride[1] == 9 ? WINOGRAD_ALL_TAPS : WINOGRAD_TAPS;
    return stride[1] == 1 ? WINOGRAD_CHANNELS : WINOGRAD_STRIDED;
}

static winograd_filters filters_of(const winograd *w)
{
    const conv_problem *p = w->conv;
    const int64_t shape[CONV_RANK] = {p->groups * p->k, p->c, 1, 3, 3};
    winograd_filters f = {.filter = p->w[0],
                          .channel = p->w[1],
                          .span = span(p->w, shape),
                          .c = p->c,
                          .k = p->k,
                          .layout = filter_layout(p->w)};
    for (int t = 0; t < 9; t++)
        f.tap[t] = t / 3 * p->w[3] + t % 3 * p->w[4];
    return f;
}

static winograd_args arguments(const winograd *w, const layout *l)
{
    const conv_problem *p = w->conv;
    const conv_window *v = &p->window;
    const int64_t shape[CONV_RANK] = {p->n, p->groups * p->c, v->size[0], v->size[1], v->size[2]};
    return (winograd_args){.conv.w_offset = w->dense_at,
                           .filters = filters_of(w),
                           .u_offset = w->transformed_at,
                           .own_u = l->own_u,
                           .block = l->block,
                           .u_point = l->u_point,
                           .u_panel = l->u_panel,
                           .u_group = l->u_group,
                           .slices = l->u,
                           .slice = l->slice,
                           .v_row = l->v_row,
                           .v_point = l->v_point,
                           .m = l->m,
                           .m_point = l->m_point,
                           .tiles = {l->tiles[0], l->tiles[1]},
                           .all_tiles = l->all_tiles,
                           .set_tiles = l->set_tiles,
                           .panels = l->panels,
                           .part = l->part,
                           .x_span = span(p->x, shape)};
}

/* Records the same kernel, to transform the filters only. */
static tenon_status record_filters(const char *caller, tn_recording *recording, const winograd *w,
                                   const layout *l, const tn_launch *convolution)
{
    const conv_problem *p = w->conv;
    winograd_args args = *(const winograd_args *)convolution->args;
    tn_launch launch = *convolution;
    args.filters_only = 1;
    args.block = tn_min_i64(p->c, FILTER_CHANNELS);
    args.set_tiles = args.all_tiles = 1;
    launch.global[0] = (size_t)l->panels;
    launch.global[1] = (size_t)tn_ceil_div(p->c, args.block);
    launch.args = &args;
    return tn_record(caller, recording, &launch);
}

/* A launch of the kernel, with its arguments and patches. */
typedef struct winograd_launch {
    tn_launch launch;
    winograd_args args;
    tn_patch patches[CONV_OPERANDS + TN_EPILOGUE_SCALARS + 2];
} winograd_launch;

/* Fills in the launch of a convolution. Transformed filters are in the workspace or in w. */
static void prepare_launch(const winograd *w, const tn_choice *choice, winograd_launch *k)
{
    static const bool reads[CONV_OPERANDS] = {
        [CONV_X] = true, [CONV_W] = true, [CONV_C] = true, [CONV_BIAS] = true};
    const conv_problem *p = w->conv;
    const layout *l = TN_LAYOUT(const layout, choice);
    const uint16_t u = has_transformed(w) ? p->operand[CONV_W] : TN_WORKSPACE;
    const uint32_t size = (uint32_t)tn_acc_size(p->dtype);
    tn_launch *launch = &k->launch;
    k->args = arguments(w, l);
    *launch = (tn_launch){.source = "conv/forward/winograd",
                          .options = choice->options,
                          .kernel = "conv_winograd",
                          .dimensions = 3,
                          .global = {(size_t)l->slices, (size_t)l->parts, (size_t)p->groups},
                          .local = {1, 1, 1},
                          .args_size = sizeof k->args};
    tn_conv_direct_launch(p, reads, CONV_Y, launch, &k->args.conv, k->patches);
    launch->operands[launch->operand_count++] = u;
    launch->operands[launch->operand_count++] = TN_WORKSPACE;
    k->patches[launch->patch_count++] =
        (tn_patch){TN_PATCH_OFFSET, u, offsetof(winograd_args, u_offset), size};
    k->patches[launch->patch_count++] =
        (tn_patch){TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(winograd_args, work_offset), size};
}

tenon_status tn_winograd_launch(const char *caller, tn_recording *recording, const winograd *w,
                                const tn_choice *choice)
{
    const layout *l = TN_LAYOUT(const layout, choice);
    winograd_launch k;
    prepare_launch(w, choice, &k);
    if (!l->fuses && !has_transformed(w))
        TN_TRY(record_filters(caller, recording, w, l, &k.launch));
    return tn_record(caller, recording, &k.launch);
}

tenon_status tn_winograd_transform(const char *caller, tn_recording *recording, const winograd *w,
                                   const tn_choice *choice)
{
    winograd_launch k;
    prepare_launch(w, choice, &k);
    return record_filters(caller, recording, w, TN_LAYOUT(const layout, choice), &k.launch);
}

static tenon_status conv_winograd_launch(const char *caller, tn_recording *recording,
                                         const tn_problem *problem, const tn_choice *choice)
{
    const winograd w = {.conv = (const conv_problem *)problem,
                        .tile = tn_winograd_tile(choice->solver)};
    return tn_winograd_launch(caller, recording, &w, choice);
}

/* One more case: a row with one tile more than are multiplied at once, and more channels than a
 * block. It leaves a single row, whose padding to a pair must not overwrite other products. */
#define LEFT_OVER "; channels=37 filters=67 d=1 t=1 r=3 s=3 stride_h=1 stride_w=1 dilation_h=1 n=1 "

const tn_solver tn_conv_winograd2 = {
    .name = "winograd2",
    .serves = "3 × 3 filters with stride and dilation 1, unless TENON_CONV_EXACT is requested; "
              "tiles of 2 × 2 outputs; on CPUs",
    .needs =
        "workspace for transformed tiles and filters; processes tiles in sets that fit the limit",
    .awkward = TN_WINOGRAD_AWKWARD LEFT_OVER "h=1 w=2*mr",
    TN_PARAMETERS(tn_winograd_parameters, WINOGRAD_PARAMETERS),
    .configure = conv_winograd_configure,
    .launch = conv_winograd_launch};

const tn_solver tn_conv_winograd4 = {
    .name = "winograd4",
    .serves = "3 × 3 filters with stride and dilation 1, unless TENON_CONV_EXACT is requested; "
              "tiles of 4 × 4 outputs; on CPUs",
    .needs =
        "workspace for transformed tiles and filters; processes tiles in sets that fit the limit",
    .awkward = TN_WINOGRAD_AWKWARD LEFT_OVER "h=3 w=4*mr+2",
    .inexact = true,
    TN_PARAMETERS(tn_winograd_parameters, WINOGRAD_PARAMETERS),
    .configure = conv_winograd_configure,
    .launch = conv_winograd_launch};

int64_t tn_winograd_tile(const tn_solver *solver)
{
    static const struct {
        const tn_solver *solver;
        int64_t tile;
    } all[] = {{&tn_conv_winograd2, 2},
               {&tn_conv_winograd4, 4},
               {&tn_conv_winograd2_gemm, 2},
               {&tn_conv_winograd4_gemm, 4}};
    for (size_t i = 0; solver != NULL && i < sizeof all / sizeof *all; i++)
        if (tn_is_solver(solver, all[i].solver))
            return all[i].tile;
    return 0;
}

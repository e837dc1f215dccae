/*
 * conv/im2col_gemm: the images unfolded into columns in the workspace, then a matrix product.
 *
 * The columns are laid so that the product reads and writes whole rows: along q where y is (NCHW),
 * along the taps where y is contiguous along its channels (NHWC). The order of the taps is that in
 * which the filters lie; filters that lie in neither order are gathered first. Where the columns do
 * not fit the workspace, images are done in several blocks, and where not even one image fits, some
 * of its rows at a time.
 */
#include "base/checked.h"
#include "ops/conv/product.h"

#include <stddef.h>
#include <string.h>

/* On a CPU, columns that stay in the cache until they are read are worth more than longer products.
 */
#define CPU_BLOCK_BYTES (INT64_C(8) << 20)
/* Where the columns begin after gathered filters, in elements: a vector's boundary. */
#define ALIGNMENT 32

/* How the work is laid out. */
typedef struct layout {
    bool by_taps;         /* the taps of a column are contiguous */
    bool channel_last;    /* taps in the order r, s, c instead of c, r, s */
    bool gathers;         /* the filters are gathered in the workspace first */
    int64_t w_tap;        /* stride from one tap of a filter to the next */
    int64_t taps;         /* of a group */
    int64_t packed;       /* elements of gathered filters */
    int64_t row;          /* elements of the columns of one output row */
    int64_t images, rows; /* of a block */
} layout;

/* Whether three dimensions of the filters are one, and its stride. */
static bool one_dimension(const int64_t shape[3], const int64_t stride[3], int64_t *step)
{
    tn_space space = {.rank = 3, .views = 1};
    memcpy(space.shape, shape, 3 * sizeof *shape);
    memcpy(space.stride[0], stride, 3 * sizeof *stride);
    tn_space_collapse(&space);
    *step = space.rank == 0 ? 1 : space.stride[0][0];
    return space.rank <= 1;
}

static void choose_order(const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    const int64_t crs_shape[] = {p->c, v->r, v->s}, crs[] = {p->w[1], p->w[2], p->w[3]};
    const int64_t rsc_shape[] = {v->r, v->s, p->c}, rsc[] = {p->w[2], p->w[3], p->w[1]};
    if (one_dimension(crs_shape, crs, &l->w_tap))
        return;
    /* With groups, taps in this order would not have one stride from channel to channel. */
    l->channel_last = p->groups == 1 && one_dimension(rsc_shape, rsc, &l->w_tap);
    l->gathers = !l->channel_last;
}

/* False where not even one row fits into the workspace; the sizes are then those of one row. */
static bool choose_blocks(tenon_context *context, const conv_problem *p, uint64_t limit, layout *l)
{
    int64_t size = (int64_t)tenon_dtype_size((tenon_dtype)p->dtype);
    int64_t room = (int64_t)(limit < INT64_MAX ? limit : INT64_MAX) / size - l->packed;
    int64_t image = l->row * p->window.p;
    l->images = 1;
    l->rows = 1;
    if (room < l->row)
        return false;
    if (room < image) {
        l->rows = room / l->row;
        return true;
    }
    l->rows = p->window.p;
    int64_t wanted = context->device.is_cpu ? tn_min_i64(room, CPU_BLOCK_BYTES / size) : room;
    l->images = tn_max_i64(1, tn_min_i64(p->n, image > 0 ? wanted / image : p->n));
    return true;
}

static bool lay_out(tenon_context *context, const conv_problem *p, layout *l)
{
    const conv_window *v = &p->window;
    memset(l, 0, sizeof *l);
    l->by_taps = p->y[1] == 1 && p->y[3] != 1;
    l->taps = p->c * v->r * v->s;
    choose_order(p, l);
    if (l->gathers) {
        l->packed = tn_round_up(p->groups * p->k * l->taps, ALIGNMENT);
        l->w_tap = 1;
    }
    l->row = p->groups * l->taps * v->q;
    return choose_blocks(context, p, p->head.workspace_limit, l);
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    const conv_problem *p = (const conv_problem *)problem;
    int64_t size;
    (void)context;
    if (p->window.h == 0 || p->window.w == 0)
        return "the image is empty";
    if (!tn_mul_i64(p->c * p->groups, p->window.r * p->window.s, &size) ||
        !tn_mul_i64(size, p->window.q, &size) || !tn_mul_i64(size, p->window.p, &size) ||
        !tn_mul_i64(size, 8 * tn_max_i64(p->n, 1), &size))
        return "the columns' size overflows";
    return NULL;
}

static uint64_t workspace(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout l;
    (void)values;
    lay_out(context, p, &l);
    return (uint64_t)(l.packed + l.images * l.rows * l.row) *
           tenon_dtype_size((tenon_dtype)p->dtype);
}

/* Strides of col[n, c, r, s, p, q] for a block of so many rows. */
static void column_strides(const conv_problem *p, const layout *l, int64_t rows, int64_t stride[6])
{
    const conv_window *v = &p->window;
    int64_t pixels = rows * v->q, tap = l->by_taps ? 1 : pixels;
    stride[0] = p->groups * l->taps * pixels;
    stride[1] = l->channel_last ? tap : v->r * v->s * tap;
    stride[3] = l->channel_last ? p->c * tap : tap;
    stride[2] = v->s * stride[3];
    stride[5] = l->by_taps ? p->groups * l->taps : 1;
    stride[4] = v->q * stride[5];
}

static im2col_problem unfold_problem(const conv_problem *p, const layout *l,
                                     const conv_block *block)
{
    im2col_problem u = {.head = {.size = sizeof u, .forced = -1},
                        .dtype = p->dtype,
                        .n = block->images,
                        .c = p->groups * p->c,
                        .window = p->window};
    memcpy(u.x, p->x, sizeof u.x);
    column_strides(p, l, block->rows, u.col);
    u.x_shift = block->image * p->x[0];
    u.col_shift = l->packed;
    u.col_operand = TN_WORKSPACE;
    u.window.p = block->rows;
    u.window.h_start += block->row * p->window.stride_h;
    return u;
}

static tenon_status block_product(const char *operation, const conv_problem *p, const layout *l,
                                  const conv_block *block, gemm_problem *product)
{
    int64_t stride[6];
    column_strides(p, l, block->rows, stride);
    int64_t tap = l->by_taps ? 1 : block->rows * p->window.q;
    const conv_factors factors = {.w_filter = l->gathers ? l->taps : p->w[0],
                                  .w_tap = l->w_tap,
                                  .col = {stride[0], l->taps * tap, stride[4], tap, stride[5]},
                                  .col_shift = l->packed,
                                  .w_operand = l->gathers ? TN_WORKSPACE : CONV_W,
                                  .col_operand = TN_WORKSPACE,
                                  .taps = l->taps};
    return tn_conv_product(operation, p, block, &factors, product);
}

/* Writing the columns and reading them again, and the products. */
static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    gemm_problem product;
    layout l;
    (void)values;
    lay_out(context, p, &l);
    const conv_block block = {.images = l.images, .rows = l.rows};
    if (block_product("estimate", p, &l, &block, &product) != TENON_OK)
        return 1e300;
    double blocks = (double)tn_ceil_div(p->n, l.images) * (double)tn_ceil_div(p->window.p, l.rows);
    double columns = (double)l.row * (double)p->window.p * (double)p->n;
    return blocks * (5000 + tn_gemm_estimate(context, &product)) +
           columns * 1.0 / context->device.info.compute_units;
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u", ((const conv_problem *)problem)->dtype);
}

static tenon_status record_gather(const char *operation, tn_recording *recording,
                                  const conv_problem *p)
{
    char text[TN_OPTIONS_SIZE];
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    pack_filter_args args = {.w_k = p->w[0],
                             .w_c = p->w[1],
                             .w_r = p->w[2],
                             .w_s = p->w[3],
                             .c = p->c,
                             .r = p->window.r,
                             .s = p->window.s,
                             .elements = p->groups * p->k * p->c * p->window.r * p->window.s};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, CONV_W, offsetof(pack_filter_args, w_offset), size},
        {TN_PATCH_OFFSET, TN_WORKSPACE, offsetof(pack_filter_args, packed_offset), size}};
    options(recording->context, &p->head, NULL, text);
    tn_launch launch = {.source = "conv/pack_filter",
                        .options = text,
                        .kernel = "pack_filter",
                        .dimensions = 1,
                        .global = {(size_t)tn_round_up(args.elements, 64)},
                        .local = {64},
                        .operands = {CONV_W, TN_WORKSPACE},
                        .operand_count = 2,
                        .args = &args,
                        .args_size = sizeof args,
                        .patches = patches,
                        .patch_count = 2};
    return tn_record(operation, recording, &launch);
}

static tenon_status record_block(const char *operation, tn_recording *recording,
                                 const conv_problem *p, const layout *l, const conv_block *block)
{
    gemm_problem product;
    im2col_problem unfold = unfold_problem(p, l, block);
    TN_TRY(tn_im2col_record(operation, recording, &unfold));
    TN_TRY(block_product(operation, p, l, block, &product));
    return tn_gemm_record(operation, recording, &product);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    const conv_problem *p = (const conv_problem *)problem;
    layout l;
    (void)values;
    lay_out(recording->context, p, &l);
    if (l.gathers)
        TN_TRY(record_gather(operation, recording, p));
    for (int64_t n = 0; n < p->n; n += l.images)
        for (int64_t row = 0; row < p->window.p; row += l.rows) {
            const conv_block block = {n, tn_min_i64(l.images, p->n - n), row,
                                      tn_min_i64(l.rows, p->window.p - row)};
            TN_TRY(record_block(operation, recording, p, &l, &block));
        }
    return TENON_OK;
}

const tn_solver tn_conv_im2col_gemm = {.name = "im2col_gemm",
                                       .refuses = refuses,
                                       .workspace = workspace,
                                       .estimate = estimate,
                                       .options = options,
                                       .record = record};

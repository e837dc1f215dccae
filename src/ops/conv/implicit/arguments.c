/* Arguments of the kernels conv/implicit_tiled.clh and conv/implicit_matrix.clh. */
#include "ops/conv/implicit/arguments.h"

#include "base/checked.h"
#include "ops/conv/problem/gradient.h"

/* Returns true if channels (or filters) are the fastest index of k. */
static bool channels_first(const conv_problem *p, conv_direction direction)
{
    return tn_conv_gathers_along_k(p, direction) && direction != CONV_GRADIENT_OF_FILTER;
}

int32_t tn_conv_run(const conv_problem *p, conv_direction direction, int32_t kb, int32_t width)
{
    int64_t channels = direction == CONV_RESULT ? p->c : p->k;
    bool runs = channels_first(p, direction) && channels % width == 0 && kb % width == 0;
    return runs ? width : 1;
}

static tenon_i32 narrow(int64_t x)
{
    return (tenon_i32)(uint32_t)(uint64_t)x;
}

/* Fills in a side that counts channels (or images) and positions in three dimensions. */
static void fill_side(conv_side *side, int64_t count, int64_t image, int64_t other,
                      const int64_t counts[3], const int64_t scale[3],
                      const int64_t image_stride[3], const int64_t other_stride[3])
{
    side->count[0] = narrow(count);
    side->image[0] = narrow(image);
    side->other[0] = narrow(other);
    for (int d = 0; d < 3; d++) {
        side->count[1 + d] = narrow(counts[d]);
        side->image[1 + d] = (tenon_i32)((uint32_t)scale[d] * (uint32_t)image_stride[d]);
        side->other[1 + d] = narrow(other_stride[d]);
        side->position[d] = narrow(scale[d]);
    }
}

/* Adds the start of the window to the positions of the columns or of the steps. */
static void start_side(conv_side *side, const conv_window *v, const int64_t stride[3])
{
    uint32_t shift = 0;
    for (int d = 0; d < 3; d++) {
        side->start[d] = narrow(v->start[d]);
        shift += (uint32_t)v->start[d] * (uint32_t)stride[d];
    }
    side->image_shift = (tenon_i32)shift;
}

static void fill_result(const conv_problem *p, conv_tiled_args *args)
{
    const conv_window *v = &p->window;
    fill_side(&args->depth, p->c, p->x[1], p->w[1], v->filter, v->dilation, p->x + 2, p->w + 2);
    fill_side(&args->columns, p->n, p->x[0], p->y[0], v->out, v->stride, p->x + 2, p->y + 2);
    start_side(&args->columns, v, p->x + 2);
}

static void fill_filter(const conv_problem *p, int64_t slices, conv_tiled_args *args)
{
    const conv_window *v = &p->window;
    const int64_t *f = v->filter, plane = f[0] * f[1] * f[2];
    const int64_t channels_last[] = {1, f[1] * f[2] * p->c, f[2] * p->c, p->c},
                  taps_last[] = {plane, f[1] * f[2], f[2], 1};
    const int64_t *sums = tn_conv_sums_channels_last(p) ? channels_last : taps_last,
                  *to = slices > 1 ? sums : p->w + 1;
    fill_side(&args->depth, p->n, p->x[0], p->y[0], v->out, v->stride, p->x + 2, p->y + 2);
    fill_side(&args->columns, p->c, p->x[1], to[0], f, v->dilation, p->x + 2, to + 1);
    start_side(&args->columns, v, p->x + 2);
    for (int d = 0; d < 4; d++)
        args->res[d] = narrow(p->w[1 + d]);
}

/* The kernel narrows the sides to those of a sub-filter. */
static void fill_image(const conv_problem *p, conv_tiled_args *args)
{
    static const int64_t ones[3] = {1, 1, 1};
    const conv_window *v = &p->window;
    const conv_subfilter subfilter = tn_conv_find_subfilter(v);
    fill_side(&args->depth, p->k, p->y[1], p->w[0], v->filter, ones, p->y + 2, p->w + 2);
    fill_side(&args->columns, p->n, p->y[0], p->x[0], v->size, ones, p->y + 2, p->x + 2);
    for (int d = 0; d < 3; d++) {
        args->stride[d] = narrow(v->stride[d]);
        args->dilation[d] = narrow(v->dilation[d]);
        args->first[d] = narrow(v->start[d]);
        args->filter[d] = narrow(v->filter[d]);
        args->phases[d] = narrow(tn_conv_phases(v, d));
        args->tap[d] = narrow(subfilter.tap[d]);
        args->out[d] = narrow(subfilter.out[d]);
        args->whole[d] = narrow(v->size[d]);
    }
}

/* Returns true if the fastest index of k is contiguous in a; adjacent work-items then read along k.
 */
static bool reads_a_along_k(const conv_tiled_args *args, bool channels_first)
{
    const conv_side *depth = &args->depth;
    static const int slowest_last[2][4] = {{3, 2, 1, 0}, {0, 3, 2, 1}};
    for (int i = 0; i < 4; i++) {
        int d = slowest_last[channels_first][i];
        if (depth->count[d] > 1)
            return depth->other[d] == 1 || args->gemm.a_row != 1;
    }
    return args->gemm.a_row != 1;
}

/* Returns true if every vector of `width` steps of k is contiguous in a and starts at a multiple of
 * `width`: the extents of the fastest, contiguous indices of k multiply to a multiple of `width`,
 * and the strides of the slower ones are multiples of it. The taps of a sub-filter have stride
 * `tap`, so they are contiguous only if it is 1. */
static bool reads_vectors_of_a(const conv_tiled_args *args, bool channels_first, bool one_index,
                               int64_t width)
{
    const conv_side *depth = &args->depth;
    static const int slowest_last[2][4] = {{3, 2, 1, 0}, {0, 3, 2, 1}};
    int64_t next = 1;
    bool joined = true, whole = true;
    for (int i = 0; i < 4; i++) {
        int d = slowest_last[channels_first][i];
        if (depth->count[d] == 1)
            continue;
        const bool skips_taps = d > 0 && args->tap[d - 1] > 1;
        joined = joined && depth->other[d] == next && !(one_index && next > 1) && !skips_taps;
        if (joined)
            next *= depth->count[d];
        else
            whole = whole && depth->other[d] % width == 0;
    }
    return whole && next % width == 0 && args->gemm.a_row % width == 0 &&
           args->gemm.a_batch[0] % width == 0;
}

void tn_conv_tiled_arguments(const conv_problem *p, const conv_tiled_layout *l, int32_t mb,
                             conv_tiled_args *args)
{
    const conv_direction direction = l->direction;
    const conv_window *v = &p->window;
    const int64_t *image = tn_conv_gathered(p, direction),
                  *size = direction == CONV_GRADIENT_OF_IMAGE ? v->out : v->size;
    const int64_t vector = tn_conv_is_converted(p->dtype) ? CONV_VECTOR : 4;
    for (int d = 0; d < 4; d++)
        args->res[d] = narrow(p->res[d == 0 ? 0 : 1 + d]);
    if (direction == CONV_RESULT)
        fill_result(p, args);
    else if (direction == CONV_GRADIENT_OF_IMAGE)
        fill_image(p, args);
    else
        fill_filter(p, l->slices, args);
    for (int d = 0; d < 3; d++)
        args->size[d] = narrow(size[d]);
    args->row_blocks = narrow(tn_ceil_div(l->product.m, mb));
    args->slice = narrow(l->product.k);
    args->a_along_k = reads_a_along_k(args, channels_first(p, direction));
    args->d_along_m = args->gemm.d_row == 1 && args->columns.other[3] != 1;
    args->aligned = 1;
    for (int d = 0; d < CONV_RANK; d++)
        args->aligned &= d == 1 || image[d] % vector == 0;
}

/* Returns true if vectors of `width` rows are contiguous in a at every step, and start at multiples
 * of `width`. */
static bool reads_vectors_of_rows(const conv_tiled_args *args, int64_t rows, int64_t width)
{
    bool whole = args->gemm.a_row == 1 && rows % width == 0 && args->gemm.a_batch[0] % width == 0;
    for (int i = 0; i < 4; i++)
        whole = whole && (args->depth.count[i] == 1 || args->depth.other[i] % width == 0);
    return whole;
}

/* Returns true if the image can be read as such vectors, along k or along the channels of the
 * columns. */
static bool reads_vectors_of_image(const conv_problem *p, conv_direction direction, int64_t width)
{
    return direction == CONV_GRADIENT_OF_FILTER
               ? !tn_conv_gathers_along_k(p, direction) && p->x[1] == 1 && p->c % width == 0
               : tn_conv_run(p, direction, (int32_t)width, (int32_t)width) == width;
}

conv_vectors tn_conv_find_vectors(const conv_problem *p, const conv_tiled_layout *l)
{
    const conv_direction direction = l->direction;
    gemm_arguments arguments;
    conv_tiled_args args;
    tn_gemm_arguments(&l->product, &arguments);
    memset(&args, 0, sizeof args);
    args.gemm = arguments.args;
    tn_conv_tiled_arguments(p, l, 1, &args);
    const bool along = args.a_along_k != 0;
    return (conv_vectors){.a = along ? reads_vectors_of_a(&args, channels_first(p, direction),
                                                          direction == CONV_GRADIENT_OF_IMAGE,
                                                          CONV_VECTOR)
                                     : reads_vectors_of_rows(&args, l->product.m, CONV_VECTOR),
                          .a_along_k = along,
                          .image = reads_vectors_of_image(p, direction, CONV_VECTOR),
                          .image_along_k = tn_conv_gathers_along_k(p, direction),
                          .image_aligned = args.aligned != 0};
}

/* Returns true if all strides except that of dimension `one` are multiples of a vector. */
static bool steps_by_vectors(const int64_t stride[CONV_RANK], int one)
{
    bool whole = true;
    for (int d = 0; d < CONV_RANK; d++)
        whole &= d == one || stride[d] % CONV_VECTOR == 0;
    return whole;
}

/* Returns true if the pixels form contiguous vectors that start at multiples of the vector size:
 * the extents of the last, mergeable dimensions multiply to such a multiple, and the strides of
 * slower ones are multiples of it. The residual's pixels must merge as well; `*res_stride` becomes
 * their stride. */
static bool joins_by_vectors(const conv_problem *p, const int64_t size[3],
                             const int64_t stride[CONV_RANK], int64_t *res_stride)
{
    int64_t next = 1;
    bool joined = true, whole = stride[0] % CONV_VECTOR == 0 && stride[1] % CONV_VECTOR == 0;
    *res_stride = 0;
    for (int d = 2; d >= 0; d--) {
        const int64_t of_res = (p->flags & CONV_HAS_C) != 0 ? p->res[2 + d] : 0;
        if (size[d] == 1)
            continue;
        if (next == 1)
            *res_stride = of_res;
        joined = joined && stride[2 + d] == next && of_res == next * *res_stride;
        if (joined)
            next *= size[d];
        else
            whole = whole && stride[2 + d] % CONV_VECTOR == 0;
    }
    return whole && next % CONV_VECTOR == 0;
}

/* Returns the direction of vector stores. The gradient of the filters, and the sums of its slices,
 * are stored along the channels of a tap or not in vectors; images along their channels, or along
 * pixels that are consecutive columns. */
static conv_along results_along(const conv_problem *p, const conv_tiled_layout *l,
                                int64_t *res_stride)
{
    const conv_window *v = &p->window;
    const bool is_image = l->direction == CONV_GRADIENT_OF_IMAGE;
    const int64_t *d = is_image ? p->x : p->y;
    *res_stride = 1;
    if (l->direction == CONV_GRADIENT_OF_FILTER) {
        const bool along = tn_conv_sums_channels_last(p) && p->c % CONV_VECTOR == 0 &&
                           (l->slices > 1 || (p->w[1] == 1 && steps_by_vectors(p->w, 1)));
        *res_stride = p->res[1];
        return along ? CONV_ALONG_N : CONV_ALONG_NONE;
    }
    if (d[1] == 1 && (is_image ? p->c : p->k) % CONV_VECTOR == 0 && steps_by_vectors(d, 1))
        return CONV_ALONG_M;
    const bool in_order =
        !is_image || tn_conv_phases(v, 0) * tn_conv_phases(v, 1) * tn_conv_phases(v, 2) == 1;
    return in_order && joins_by_vectors(p, is_image ? v->size : v->out, d, res_stride)
               ? CONV_ALONG_N
               : CONV_ALONG_NONE;
}

conv_along tn_conv_results_along(const conv_problem *p, const conv_tiled_layout *l)
{
    int64_t res_stride;
    return results_along(p, l, &res_stride);
}

void tn_conv_results_take(const conv_problem *p, conv_tiled_layout *l)
{
    int64_t res_stride;
    if (results_along(p, l, &res_stride) == CONV_ALONG_N)
        l->product.matrix[GEMM_C].col = res_stride;
}

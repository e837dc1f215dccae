/*
 * Depthwise convolution of images with their channels last by filters that have been packed in
 * panels (packed/args.h), for CPUs. Each group has one channel and TENON_SHARE filters. Vectors run
 * along the filters. A block of PIXELS neighboring results along w shares the loads of taps and of
 * the image. Loads from the padding are replaced by zeros, which are multiplied: an infinite filter
 * element gives NaN there.
 *
 * A work-item computes args.run rows of pixels (n, o, p) for args.chunk filters. Global size:
 * {ceil(units / run), ceil(filters / chunk), 1}, local size {1, 1, 1}. The channels of x and y are
 * contiguous; c and bias may have any strides.
 *
 * TENON_TAPS: 3, 5 or 7: the taps along w, without dilation; their loop is unrolled. 0: any window.
 * TENON_STEP: with TENON_TAPS: the stride along w, 1 or 2.
 * TENON_SHARE: filters per channel.
 * TENON_PV: vectors per row of a panel.
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD, TENON_POST: see common/types.clh,
 * common/activation.clh and conv/post.clh.
 */
#ifndef TENON_TAPS
#define TENON_TAPS 3
#endif
#ifndef TENON_STEP
#define TENON_STEP 1
#endif
#ifndef TENON_SHARE
#define TENON_SHARE 1
#endif
#ifndef TENON_PV
#define TENON_PV 2
#endif
#ifndef TENON_VW
#define TENON_VW 16
#endif
#include "common/activation.clh"
#include "conv/post.clh"
#include "conv/vectors.clh"
#include "conv/window.clh"
#include "packed/args.h"

#define TENON_PANEL (TENON_PV * TENON_VW)
#define PIXELS      4
#if TENON_TAPS
#define COLUMNS ((PIXELS - 1) * TENON_STEP + TENON_TAPS) /* of the image, under a block's taps */
#else
#define COLUMNS 1 /* not used */
#endif

/* Loops unrolled by the preprocessor, since PoCL keeps an array in registers only if all its
 * indices are constants: pixels i, and taps s. */
#define DEPTHWISE_PIXEL(number, statement)                                                         \
    {                                                                                              \
        enum { i = number };                                                                       \
        statement;                                                                                 \
    }
#define EACH_PIXEL(s)                                                                              \
    DEPTHWISE_PIXEL(0, s) DEPTHWISE_PIXEL(1, s) DEPTHWISE_PIXEL(2, s) DEPTHWISE_PIXEL(3, s)
#define DEPTHWISE_TAP(number, statement)                                                           \
    {                                                                                              \
        enum { s = number };                                                                       \
        statement;                                                                                 \
    }
#define DEPTHWISE_TAPS_3(x) DEPTHWISE_TAP(0, x) DEPTHWISE_TAP(1, x) DEPTHWISE_TAP(2, x)
#define DEPTHWISE_TAPS_5(x) DEPTHWISE_TAPS_3(x) DEPTHWISE_TAP(3, x) DEPTHWISE_TAP(4, x)
#define DEPTHWISE_TAPS_7(x) DEPTHWISE_TAPS_5(x) DEPTHWISE_TAP(5, x) DEPTHWISE_TAP(6, x)

/* The operands, as pointers to their first elements. */
typedef struct packed_operands {
    __global const data_t *x, *w, *c, *bias;
#if TENON_POST
    __global const data_t *post_scale, *post_shift, *residual;
#endif
    __global data_t *y;
    activation_args activation;
    int finishes; /* whole vectors of results are finished in registers: see finish_pixels */
} packed_operands;

/* A row of results: the first elements of the image, and of the rows of c, the residual and y; the
 * position of the first tap along d and h. */
typedef struct packed_row {
    __global const data_t *x, *c;
#if TENON_POST
    __global const data_t *residual;
#endif
    __global data_t *y;
    long at[2];
} packed_row;

/* A block of results: pixels q … q + count - 1 of a row. All taps of an inner block are in the
 * image along w, and its count is PIXELS. For other blocks: where the columns under the taps are,
 * from the beginning of a row, and which of them are in the image. */
typedef struct pixel_block {
    long q;
    int count, is_inner;
    long column[COLUMNS];
    lane_t in_image[COLUMNS];
} pixel_block;

/* Returns the taps of filters k … k + TENON_VW - 1, which are TENON_PANEL elements apart. */
TENON_INLINE __global const data_t *taps_of(const packed_operands *o, const conv_window *v, long k)
{
    const long number = k / TENON_PANEL;
    return o->w + number * (v->filter[0] * v->filter[1] * v->filter[2] * TENON_PANEL) + k -
           number * TENON_PANEL;
}

/* Loads the channels of filters k … k + lanes - 1 of the pixel at x. */
TENON_INLINE acc_v load_channels(__global const data_t *x, long k, int lanes)
{
#if TENON_SHARE == 1
    return load_lanes(x, k, 1, lanes);
#else
    acc_t channel[TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        channel[l] = l < lanes ? load_data(x, (k + l) / TENON_SHARE) : 0;
    }
    return TENON_VLOAD(0, channel);
#endif
}

#if TENON_POST
/* Applies the terms after the activation to the results of pixel q. */
TENON_INLINE acc_v add_post(const packed_operands *o, const conv_args *a, const packed_row *row,
                            long q, long k, int lanes, acc_v x)
{
    if (a->flags & TENON_POST_SCALE) {
        x *= load_lanes(o->post_scale, k * a->post_scale_k, a->post_scale_k, lanes);
    }
    if (a->flags & TENON_POST_SHIFT) {
        x += load_lanes(o->post_shift, k * a->post_shift_k, a->post_shift_k, lanes);
    }
    if (a->flags & TENON_POST_RESIDUAL) {
        const tenon_i64 *stride = a->residual_stride;
        x += load_lanes(row->residual, q * stride[4] + k * stride[1], stride[1], lanes);
    }
    return x;
}
#else
#define add_post(o, a, row, q, k, lanes, x) (x)
#endif

/* Stores the results of pixel q. */
TENON_INLINE void store_result(const packed_operands *o, const conv_args *a, const packed_row *row,
                               long q, long k, int lanes, acc_v sum)
{
    acc_v x = splat(TENON_FROM_BITS(a->alpha)) * sum;
    if (a->flags & CONV_HAS_C) {
        x = TENON_FMA(
            splat(TENON_FROM_BITS(a->beta)),
            load_lanes(row->c, q * a->c_stride[4] + k * a->c_stride[1], a->c_stride[1], lanes), x);
    }
    if (a->flags & CONV_HAS_BIAS) {
        x += load_lanes(o->bias, k * a->bias_k, a->bias_k, lanes);
    }
    store_lanes(row->y, q * a->y_stride[4] + k, 1, lanes,
                add_post(o, a, row, q, k, lanes, activate_v(x, &o->activation)));
}

/* True if finish_pixels can be used: the activation is cheap, and all vectors are contiguous. */
TENON_INLINE int can_finish(const packed_operands *o, const conv_args *a)
{
    const int kind = o->activation.kind;
    const int is_cheap =
        TENON_ACT_BUILD == TENON_ACT_IDENTITY &&
        (kind == TENON_ACT_IDENTITY || kind == TENON_ACT_RELU || kind == TENON_ACT_CLIPPED_RELU);
    return is_cheap && (!(a->flags & CONV_HAS_C) || a->c_stride[1] == 1) &&
           (!(a->flags & CONV_HAS_BIAS) || a->bias_k == 1);
}

/* Finishes the sums of a block in registers, with one decision for all of its vectors: the same
 * arithmetic as store_result. */
TENON_INLINE void finish_pixels(const packed_operands *o, const conv_args *a, const packed_row *row,
                                const pixel_block *block, long k, acc_v sum[PIXELS])
{
    const int count = block->count, kind = o->activation.kind;
    const acc_v alpha = splat(TENON_FROM_BITS(a->alpha)), zero = splat(0);
    EACH_PIXEL(sum[i] *= alpha)
    if (a->flags & CONV_HAS_C) {
        const acc_v beta = splat(TENON_FROM_BITS(a->beta));
        __global const data_t *c = row->c + block->q * a->c_stride[4] + k;
        EACH_PIXEL(if (i < count) {
            sum[i] = TENON_FMA(beta, load_data_v(c, i * a->c_stride[4]), sum[i]);
        })
    }
    if (a->flags & CONV_HAS_BIAS) {
        const acc_v bias = load_data_v(o->bias, k);
        EACH_PIXEL(sum[i] += bias)
    }
    if (kind != TENON_ACT_IDENTITY) {
        EACH_PIXEL(sum[i] = sum[i] <= zero ? zero : sum[i]) /* NaN stays NaN */
    }
    if (kind == TENON_ACT_CLIPPED_RELU) {
        const acc_v most = splat(o->activation.alpha);
        EACH_PIXEL(sum[i] = sum[i] > most ? most : sum[i])
    }
#if TENON_POST
    EACH_PIXEL(if (i < count) { sum[i] = add_post(o, a, row, block->q + i, k, TENON_VW, sum[i]); })
#endif
    __global data_t *y = row->y + block->q * a->y_stride[4] + k;
    EACH_PIXEL(if (i < count) { store_data_v(y, i * a->y_stride[4], sum[i]); })
}

#if TENON_TAPS
/* Loads channels k … k + TENON_VW - 1 of a column, or zeros of the padding. */
TENON_INLINE acc_v load_column(const int is_inner, __global const data_t *x,
                               const pixel_block *block, const conv_args *a, int column, long k)
{
    if (is_inner) {
        return load_channels(x + column * a->x_stride[4], k, TENON_VW);
    }
    const lane_v in_image = (lane_v)(block->in_image[column]);
    const acc_v v = load_channels(x + block->column[column], k, TENON_VW);
    return in_image ? v : splat(0);
}
#endif

/* Loads channels k … k + lanes - 1 under tap s of pixel q, or zeros of the padding. x is the
 * beginning of the row. */
TENON_INLINE acc_v load_tap(__global const data_t *x, const conv_args *a, long q, long s, long k,
                            int lanes)
{
    const long w = under_tap(&a->window, 2, q, s);
    acc_v v = splat(0);
    if (inside(&a->window, 2, w)) {
        v = load_channels(x + w * a->x_stride[4], k, lanes);
    }
    return v;
}

/* Adds a row of taps to the sums of a block. x is the beginning of the row of the image, or of an
 * inner block the element under the first tap of its first pixel. */
TENON_INLINE void add_taps(const int is_inner, acc_v sum[PIXELS], __global const data_t *x,
                           __global const data_t *taps, const conv_args *a,
                           const pixel_block *block, long k)
{
#if TENON_TAPS
    TENON_CAT(DEPTHWISE_TAPS_, TENON_TAPS)
    (const acc_v tap = load_data_v(taps, s * TENON_PANEL);
     EACH_PIXEL(sum[i] = TENON_FMA(load_column(is_inner, x, block, a, i * TENON_STEP + s, k), tap,
                                   sum[i])))
#else
    for (long s = 0; s < a->window.filter[2]; s++) {
        const acc_v tap = load_data_v(taps, s * TENON_PANEL);
        EACH_PIXEL(sum[i] = TENON_FMA(load_tap(x, a, block->q + i, s, k, TENON_VW), tap, sum[i]))
    }
#endif
}

/* Adds a row of taps that are all in the padding. */
TENON_INLINE void add_padding(acc_v sum[PIXELS], __global const data_t *taps, const conv_args *a)
{
    for (long s = 0; s < a->window.filter[2]; s++) {
        const acc_v tap = load_data_v(taps, s * TENON_PANEL);
        EACH_PIXEL(sum[i] = TENON_FMA(splat(0), tap, sum[i]))
    }
}

/* Computes a block for a whole vector of filters. `is_inner` is a constant in every inlined copy.
 */
TENON_INLINE void do_pixels(const int is_inner, const packed_operands *o, const conv_args *a,
                            const packed_row *row, const pixel_block *block, long k)
{
    const conv_window *v = &a->window;
    const tenon_i64 *stride = a->x_stride;
    __global const data_t *taps = taps_of(o, v, k);
    __global const data_t *x = row->x;
    acc_v sum[PIXELS], done[PIXELS];
    if (is_inner) {
        x += under_tap(v, 2, block->q, 0) * stride[4];
    }
    EACH_PIXEL(sum[i] = splat(0))
    for (long t = 0; t < v->filter[0]; t++) {
        const long d = row->at[0] + t * v->dilation[0];
        for (long r = 0; r < v->filter[1]; r++) {
            const long h = row->at[1] + r * v->dilation[1];
            if (inside(v, 0, d) && inside(v, 1, h)) {
                add_taps(is_inner, sum, x + d * stride[2] + h * stride[3], taps, a, block, k);
            } else {
                add_padding(sum, taps, a);
            }
            taps += v->filter[2] * TENON_PANEL;
        }
    }
    if (o->finishes) {
        finish_pixels(o, a, row, block, k, sum);
        return;
    }
    EACH_PIXEL(done[i] = sum[i]) /* the loop below would keep `sum` out of registers */
#pragma nounroll
    for (int p = 0; p < block->count; p++) {
        store_result(o, a, row, block->q + p, k, TENON_VW, done[p]);
    }
}

/* Returns the sum of one pixel for the first `lanes` filters of a vector. */
TENON_INLINE acc_v sum_pixel(const packed_row *row, __global const data_t *taps, const conv_args *a,
                             long q, long k, int lanes)
{
    const conv_window *v = &a->window;
    acc_v sum = splat(0);
    for (long t = 0; t < v->filter[0]; t++) {
        const long d = row->at[0] + t * v->dilation[0];
        for (long r = 0; r < v->filter[1]; r++) {
            const long h = row->at[1] + r * v->dilation[1];
            const int in_image = inside(v, 0, d) && inside(v, 1, h);
            for (long s = 0; s < v->filter[2]; s++) {
                acc_v x = splat(0);
                if (in_image) {
                    x = load_tap(row->x + d * a->x_stride[2] + h * a->x_stride[3], a, q, s, k,
                                 lanes);
                }
                sum = TENON_FMA(x, load_data_v(taps, 0), sum);
                taps += TENON_PANEL;
            }
        }
    }
    return sum;
}

/* Makes the block of pixels from q on. */
TENON_INLINE void make_block(const conv_args *a, long q, pixel_block *block)
{
    const conv_window *v = &a->window;
    block->q = q;
    block->count = (int)min((long)PIXELS, v->out[2] - q);
    block->is_inner = block->count == PIXELS && under_tap(v, 2, q, 0) >= 0 &&
                      under_tap(v, 2, q + PIXELS - 1, v->filter[2] - 1) < v->size[2];
#if TENON_TAPS
    for (int i = 0; i < COLUMNS; i++) {
        const long w = under_tap(v, 2, q, 0) + i;
        block->column[i] = clamp(w, 0L, (long)v->size[2] - 1) * a->x_stride[4];
        block->in_image[i] = inside(v, 2, w) ? -1 : 0;
    }
#endif
}

/* Computes a block for filters [k0, k1). */
TENON_INLINE void do_block(const packed_operands *o, const conv_args *a, const packed_row *row,
                           const pixel_block *block, long k0, long k1)
{
    long k = k0;
#if TENON_TAPS
    for (; block->is_inner && k + TENON_VW <= k1; k += TENON_VW) {
        do_pixels(1, o, a, row, block, k);
    }
#endif
    for (; k + TENON_VW <= k1; k += TENON_VW) {
        do_pixels(0, o, a, row, block, k);
    }
    for (int p = 0; k < k1 && p < block->count; p++) {
        const long q = block->q + p;
        store_result(o, a, row, q, k, (int)(k1 - k),
                     sum_pixel(row, taps_of(o, &a->window, k), a, q, k, (int)(k1 - k)));
    }
}

/* Computes rows [first, end) of pixels for filters [k0, k1). It is not inlined, since PoCL compiles
 * the body of a kernel three times. */
TENON_FUNCTION void do_rows(const packed_operands *o, const packed_depthwise_args *args, long first,
                            long end, long k0, long k1)
{
    const conv_args *a = &args->conv;
    const conv_window *v = &a->window;
    for (long unit = first; unit < end; unit++) {
        packed_row row;
        long n = unit;
        const long p = cut_index(&n, v->out[1]), at = cut_index(&n, v->out[0]);
        row.x = o->x + n * a->x_stride[0];
        row.c = o->c + n * a->c_stride[0] + at * a->c_stride[2] + p * a->c_stride[3];
#if TENON_POST
        row.residual = o->residual + n * a->residual_stride[0] + at * a->residual_stride[2] +
                       p * a->residual_stride[3];
#endif
        row.y = o->y + n * a->y_stride[0] + at * a->y_stride[2] + p * a->y_stride[3];
        row.at[0] = under_tap(v, 0, at, 0);
        row.at[1] = under_tap(v, 1, p, 0);
        for (long q = 0; q < v->out[2]; q += PIXELS) {
            pixel_block block;
            make_block(a, q, &block);
            do_block(o, a, &row, &block, k0, k1);
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_conv_depthwise(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                      __global const data_t *bias, __global data_t *y,
                      CONV_POST_POINTERS const packed_depthwise_args args)
{
    const conv_args *a = &args.conv;
    const long first = (long)get_global_id(0) * args.shape.run,
               k0 = (long)get_global_id(1) * args.shape.chunk;
    packed_operands o;
    o.x = x + a->x_offset;
    o.w = w + a->w_offset;
    o.c = c + a->c_offset;
    o.bias = bias + a->bias_offset;
#if TENON_POST
    o.post_scale = post_scale + a->post_scale_offset;
    o.post_shift = post_shift + a->post_shift_offset;
    o.residual = residual + a->residual_offset;
#endif
    o.y = y + a->y_offset;
    o.activation.kind = a->activation;
    o.activation.alpha = TENON_FROM_BITS(a->act_alpha);
    o.activation.beta = TENON_FROM_BITS(a->act_beta);
    o.finishes = can_finish(&o, a);
    do_rows(&o, &args, first, min(first + args.shape.run, (long)args.shape.units), k0,
            min(k0 + args.shape.chunk, (long)args.shape.filters));
}

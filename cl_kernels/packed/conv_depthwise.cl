/*
 * Depthwise convolution of images with their channels last by filters that have been packed in
 * panels (packed/args.h), for CPUs. Each group has one channel and TENON_SHARE filters. Vectors run
 * along the filters. PIXELS neighboring results along w share the loads of a tap.
 *
 * A work-item computes args.run rows of pixels (n, o, p) for args.chunk filters. Global size:
 * {ceil(units / run), ceil(filters / chunk), 1}, local size {1, 1, 1}. The channels of x and y are
 * contiguous; c and bias may have any strides.
 *
 * TENON_TAPS: 3, 5 or 7: the taps along w, without dilation; their loop is unrolled. 0: any window.
 * TENON_STEP: with TENON_TAPS: the stride along w, 1 or 2; 0: any.
 * TENON_SHARE: filters per channel.
 * TENON_PV: vectors per row of a panel.
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
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
#include "conv/window.clh"
#include "packed/args.h"

#define TENON_PANEL (TENON_PV * TENON_VW)
#define PIXELS      4

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
    __global data_t *y;
    activation_args activation;
} packed_operands;

/* A row of results: the first elements of the image, and of the rows of c and y; the position of
 * the first tap along d and h. */
typedef struct packed_row {
    __global const data_t *x, *c;
    __global data_t *y;
    long at[2];
} packed_row;

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
    store_lanes(row->y, q * a->y_stride[4] + k, 1, lanes, activate_v(x, &o->activation));
}

/* Returns the sum of one pixel, which may be at the border of the image. Zeros of the padding are
 * multiplied: an infinite filter element gives NaN there. */
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
                const long w = under_tap(v, 2, q, s);
                acc_v x = splat(0);
                if (in_image && inside(v, 2, w)) {
                    x = load_channels(row->x + d * a->x_stride[2] + h * a->x_stride[3] +
                                          w * a->x_stride[4],
                                      k, lanes);
                }
                sum = TENON_FMA(x, load_data_v(taps, 0), sum);
                taps += TENON_PANEL;
            }
        }
    }
    return sum;
}

/* Adds a row of taps to the sums of PIXELS pixels, whose taps are all in the image along w. x is
 * the first tap of the first pixel. */
TENON_INLINE void add_taps(acc_v sum[PIXELS], __global const data_t *x, __global const data_t *taps,
                           const conv_args *a, long k)
{
    const long pitch = a->x_stride[4];
#if TENON_TAPS
    const long step = TENON_STEP ? TENON_STEP : a->window.stride[2];
    TENON_CAT(DEPTHWISE_TAPS_, TENON_TAPS)
    (const acc_v tap = load_data_v(taps, s * TENON_PANEL); EACH_PIXEL(
         sum[i] = TENON_FMA(load_channels(x + (i * step + s) * pitch, k, TENON_VW), tap, sum[i])))
#else
    const long step = a->window.stride[2] * pitch, dilation = a->window.dilation[2] * pitch;
    for (long s = 0; s < a->window.filter[2]; s++) {
        const acc_v tap = load_data_v(taps, s * TENON_PANEL);
        EACH_PIXEL(sum[i] = TENON_FMA(load_channels(x + i * step + s * dilation, k, TENON_VW), tap,
                                      sum[i]))
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

/* Computes PIXELS pixels from q on, whose taps are in the image along w, for a whole vector. */
TENON_INLINE void do_pixels(const packed_operands *o, const conv_args *a, const packed_row *row,
                            long q, long k)
{
    const conv_window *v = &a->window;
    const tenon_i64 *stride = a->x_stride;
    __global const data_t *taps = taps_of(o, v, k);
    __global const data_t *x = row->x + under_tap(v, 2, q, 0) * stride[4];
    acc_v sum[PIXELS], done[PIXELS];
    EACH_PIXEL(sum[i] = splat(0))
    for (long t = 0; t < v->filter[0]; t++) {
        const long d = row->at[0] + t * v->dilation[0];
        for (long r = 0; r < v->filter[1]; r++) {
            const long h = row->at[1] + r * v->dilation[1];
            if (inside(v, 0, d) && inside(v, 1, h)) {
                add_taps(sum, x + d * stride[2] + h * stride[3], taps, a, k);
            } else {
                add_padding(sum, taps, a);
            }
            taps += v->filter[2] * TENON_PANEL;
        }
    }
    EACH_PIXEL(done[i] = sum[i]) /* the loop below would keep `sum` out of registers */
#pragma nounroll
    for (int p = 0; p < PIXELS; p++) {
        store_result(o, a, row, q + p, k, TENON_VW, done[p]);
    }
}

/* Computes a row for filters [k0, k1). The loop over filters is inside that over pixels: memory is
 * read in order. */
TENON_INLINE void do_row(const packed_operands *o, const packed_depthwise_args *args,
                         const packed_row *row, long k0, long k1)
{
    const conv_args *a = &args->conv;
    const long out = a->window.out[2], whole = k0 + (k1 - k0) / TENON_VW * TENON_VW;
    for (long q = 0; q < out;) {
        const bool is_inner = q >= args->inner[0] && q + PIXELS <= args->inner[1];
        for (long k = k0; is_inner && k < whole; k += TENON_VW) {
            do_pixels(o, a, row, q, k);
        }
        const long end = is_inner ? q + PIXELS : q + 1;
        for (; q < end; q++) {
            for (long k = is_inner ? whole : k0; k < k1; k += TENON_VW) {
                const int lanes = (int)min(k1 - k, (long)TENON_VW);
                store_result(o, a, row, q, k, lanes,
                             sum_pixel(row, taps_of(o, &a->window, k), a, q, k, lanes));
            }
        }
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
        row.y = o->y + n * a->y_stride[0] + at * a->y_stride[2] + p * a->y_stride[3];
        row.at[0] = under_tap(v, 0, at, 0);
        row.at[1] = under_tap(v, 1, p, 0);
        do_row(o, args, &row, k0, k1);
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_conv_depthwise(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                      __global const data_t *bias, __global data_t *y,
                      const packed_depthwise_args args)
{
    const conv_args *a = &args.conv;
    const long first = (long)get_global_id(0) * args.run, k0 = (long)get_global_id(1) * args.chunk;
    packed_operands o;
    o.x = x + a->x_offset;
    o.w = w + a->w_offset;
    o.c = c + a->c_offset;
    o.bias = bias + a->bias_offset;
    o.y = y + a->y_offset;
    o.activation.kind = a->activation;
    o.activation.alpha = TENON_FROM_BITS(a->act_alpha);
    o.activation.beta = TENON_FROM_BITS(a->act_beta);
    do_rows(&o, &args, first, min(first + args.run, (long)args.units), k0,
            min(k0 + args.chunk, (long)args.filters));
}

/*
 * Depthwise convolution of images with their channels last by filters that have been packed in
 * panels (packed/args.h), for CPUs. Each group has one channel and TENON_SHARE filters. Vectors run
 * along the filters.
 *
 * A work-item computes shape.run rows of a segment of the pixels of a plane (n, o), for shape.chunk
 * filters: shape.slice vectors of filters at a time. It copies the rows of the image under a row of
 * results to __local memory, as acc_t, with zeros for the padding, and for each filter the channel
 * that it reads. With shape.reuses, a row of the image is copied once for all rows of results under
 * which it lies; with shape.prefetches, the rows of the next ones are prefetched. PIXELS
 * neighboring results share the loads of taps and of the image. The zeros of the padding are
 * multiplied: an infinite filter element gives NaN there.
 *
 * Global size: {n * o * shape.segments * shape.parts, ceil(filters / chunk), 1}, local size
 * {1, 1, 1}. The channels of x and y are contiguous; c and bias may have any strides.
 *
 * TENON_TAPS: 3, 5 or 7: the taps along w, without dilation; their loop is unrolled. 0: any window.
 * TENON_STEP: with TENON_TAPS: the stride along w, 1 or 2.
 * TENON_SHARE: filters per channel.
 * TENON_PV: vectors per row of a panel.
 * TENON_VW: lanes of a vector.
 * TENON_STRIP: elements of the copied rows: a multiple of VW.
 * TENON_BUILTIN_PREFETCH: see packed/tile.clh.
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
#ifndef TENON_STRIP
#define TENON_STRIP 8192
#endif
#ifndef TENON_BUILTIN_PREFETCH
#define TENON_BUILTIN_PREFETCH 0
#endif
#include "common/activation.clh"
#include "conv/post.clh"
#include "conv/vectors.clh"
#include "conv/window.clh"
#include "packed/args.h"

#define TENON_PANEL (TENON_PV * TENON_VW)
#define PIXELS      PACKED_DEPTHWISE_PIXELS

/* Loops unrolled by the preprocessor, since PoCL keeps an array in registers only if all its
 * indices are constants: pixels i, and taps s. */
#define DEPTHWISE_PIXEL(number, statement)                                                         \
    {                                                                                              \
        enum { i = number };                                                                       \
        statement;                                                                                 \
    }
#define EACH_PIXEL(s)                                                                              \
    DEPTHWISE_PIXEL(0, s)                                                                          \
    DEPTHWISE_PIXEL(1, s)                                                                          \
    DEPTHWISE_PIXEL(2, s)                                                                          \
    DEPTHWISE_PIXEL(3, s)                                                                          \
    DEPTHWISE_PIXEL(4, s) DEPTHWISE_PIXEL(5, s) DEPTHWISE_PIXEL(6, s) DEPTHWISE_PIXEL(7, s)
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

/* A row of results: the first element of its segment of c, of the residual and of y. */
typedef struct packed_row {
    __global const data_t *c;
#if TENON_POST
    __global const data_t *residual;
#endif
    __global data_t *y;
} packed_row;

/* The part of the results that a work-item computes: rows [p0, p1) of a plane, and pixels
 * [q, q + count) of them, for filters [k0, k1). */
typedef struct packed_part {
    long n, o, p0, p1, q, count, k0, k1;
} packed_part;

/* A block of results: pixels [q, q + count) of a segment, at most PIXELS. */
typedef struct pixel_block {
    long q;
    int count;
} pixel_block;

/* Vectors of filters for which rows are copied: [k, k + lanes), at most shape.slice vectors. The
 * copies of tap row (t, r) of the first row of results are in slot t * R + r; `base` is added to r,
 * modulo R, for the others. Each slot has `columns` vectors for each vector of filters. */
typedef struct packed_slice {
    long k;
    int lanes, vectors, base, rows; /* rows: R, taps along h */
    int columns;
} packed_slice;

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
    if (TENON_FROM_BITS(a->alpha) != 1) {
        EACH_PIXEL(sum[i] *= alpha)
    }
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

/* Copies columns [begin, end) of the image for filters k … k + lanes - 1. `x` is column 0. */
TENON_INLINE void copy_columns(__global const data_t *x, long step, int begin, int end, long k,
                               int lanes, __local acc_v *to)
{
    if (TENON_SHARE == 1 && lanes == TENON_VW) {
        x += k;
        for (int column = begin; column < end; column++) {
            to[column] = load_data_v(x, column * step);
        }
        return;
    }
    for (int column = begin; column < end; column++) {
        to[column] = load_channels(x + column * step, k, lanes);
    }
}

/* Copies the row of the image at (d, h), which may be in the padding, from column w on. */
TENON_INLINE void copy_image_row(__global const data_t *x, const conv_args *a,
                                 const packed_slice *slice, long d, long h, long w,
                                 __local acc_v *to)
{
    const conv_window *v = &a->window;
    const int columns = slice->columns;
    int begin = columns, end = columns;
    if (inside(v, 0, d) && inside(v, 1, h)) {
        begin = (int)clamp(-w, 0L, (long)columns);
        end = (int)clamp((long)v->size[2] - w, (long)begin, (long)columns);
        x += d * a->x_stride[2] + h * a->x_stride[3] + w * a->x_stride[4];
    }
    for (int i = 0; i < slice->vectors; i++) {
        for (int column = 0; column < begin; column++) {
            to[column] = splat(0);
        }
        copy_columns(x, a->x_stride[4], begin, end, slice->k + i * TENON_VW,
                     min(slice->lanes - i * TENON_VW, TENON_VW), to);
        for (int column = end; column < columns; column++) {
            to[column] = splat(0);
        }
        to += columns;
    }
}

/* Copies the rows under row p of the results, of which tap rows [0, from) are there already. */
TENON_INLINE void copy_rows(__global const data_t *x, const conv_args *a, const packed_part *part,
                            const packed_slice *slice, long p, int from, __local acc_v *rows)
{
    const conv_window *v = &a->window;
    const int slot_size = slice->vectors * slice->columns;
    for (long t = 0; t < v->filter[0]; t++) {
        for (int r = from; r < slice->rows; r++) {
            int slot = slice->base + r;
            slot -= slot < slice->rows ? 0 : slice->rows;
            copy_image_row(x, a, slice, under_tap(v, 0, part->o, t), under_tap(v, 1, p, r),
                           under_tap(v, 2, part->q, 0),
                           rows + (t * slice->rows + slot) * slot_size);
        }
    }
}

/* Adds a row of taps to the sums of a block. x is the column under its first tap. */
TENON_INLINE void add_taps(acc_v sum[PIXELS], __local const acc_v *x, __global const data_t *taps,
                           const conv_args *a)
{
#if TENON_TAPS
    TENON_CAT(DEPTHWISE_TAPS_, TENON_TAPS)
    (const acc_v tap = load_data_v(taps, s * TENON_PANEL);
     EACH_PIXEL(sum[i] = TENON_FMA(x[i * TENON_STEP + s], tap, sum[i])))
#else
    const int step = (int)a->window.stride[2];
    for (long s = 0; s < a->window.filter[2]; s++) {
        const acc_v tap = load_data_v(taps, s * TENON_PANEL);
        EACH_PIXEL(sum[i] = TENON_FMA(x[i * step], tap, sum[i]))
        x += a->window.dilation[2];
    }
#endif
}

/* Computes a block for filters [k, k + lanes), at most a vector. `x` is the column of slot 0 under
 * the first tap of the block. */
TENON_INLINE void do_pixels(const packed_operands *o, const conv_args *a, const packed_row *row,
                            const pixel_block *block, const packed_slice *slice,
                            __local const acc_v *x, long k, int lanes)
{
    const conv_window *v = &a->window;
    const int slot_size = slice->vectors * slice->columns;
    __global const data_t *taps = taps_of(o, v, k);
    acc_v sum[PIXELS], done[PIXELS];
    EACH_PIXEL(sum[i] = splat(0))
    for (long t = 0; t < v->filter[0]; t++) {
        int slot = slice->base;
        for (int r = 0; r < slice->rows; r++) {
            add_taps(sum, x + slot * slot_size, taps, a);
            taps += v->filter[2] * TENON_PANEL;
            slot = slot + 1 == slice->rows ? 0 : slot + 1;
        }
        x += slice->rows * slot_size;
    }
    if (o->finishes && lanes == TENON_VW) {
        finish_pixels(o, a, row, block, k, sum);
        return;
    }
    EACH_PIXEL(done[i] = sum[i]) /* the loop below would keep `sum` out of registers */
#pragma nounroll
    for (int p = 0; p < block->count; p++) {
        store_result(o, a, row, block->q + p, k, lanes, done[p]);
    }
}

/* Rows of the image that are under the next row of results but not under this one: the pixel under
 * the middle tap of the first, and their number. */
typedef struct next_rows {
    __global const data_t *x;
    int count;
} next_rows;

TENON_INLINE next_rows find_next(const packed_operands *o, const packed_depthwise_args *args,
                                 const packed_part *part, long p)
{
    const conv_args *a = &args->conv;
    const conv_window *v = &a->window;
    const long d = under_tap(v, 0, part->o, 0), h = under_tap(v, 1, p, 0) + v->filter[1];
    next_rows next;
    next.x = o->x + part->n * a->x_stride[0] + d * a->x_stride[2] + h * a->x_stride[3] +
             under_tap(v, 2, part->q, TENON_TAPS / 2) * a->x_stride[4];
    next.count = args->shape.prefetches && p + 1 < part->p1
                     ? (int)clamp(v->size[1] - h, 0L, (long)v->stride[1])
                     : 0;
    return next;
}

/* Prefetches the columns of these rows under the middle tap of the block from q on, for filters
 * k … k + TENON_VW - 1, while the block is computed. */
TENON_INLINE void prefetch_next(const conv_args *a, const next_rows *next, long q, long k)
{
#if TENON_TAPS && TENON_SHARE == 1
    const long step = a->x_stride[4], apart = a->x_stride[3] - PIXELS * TENON_STEP * step;
    __global const data_t *column = next->x + q * TENON_STEP * step + k;
    for (int r = 0; r < next->count; r++) {
#pragma unroll
        for (int i = 0; i < PIXELS * TENON_STEP; i++) {
#if TENON_BUILTIN_PREFETCH
            __builtin_prefetch((const void *)(size_t)column);
#endif
            column += step;
        }
        column += apart;
    }
#endif
}

/* Computes a row of results for a slice. */
TENON_INLINE void do_row(const packed_operands *o, const packed_depthwise_args *args,
                         const packed_part *part, const packed_slice *slice, long p,
                         __local const acc_v *rows)
{
    const conv_args *a = &args->conv;
    packed_row row;
    row.c = o->c + part->n * a->c_stride[0] + part->o * a->c_stride[2] + p * a->c_stride[3] +
            part->q * a->c_stride[4];
#if TENON_POST
    row.residual = o->residual + part->n * a->residual_stride[0] + part->o * a->residual_stride[2] +
                   p * a->residual_stride[3] + part->q * a->residual_stride[4];
#endif
    row.y = o->y + part->n * a->y_stride[0] + part->o * a->y_stride[2] + p * a->y_stride[3] +
            part->q * a->y_stride[4];
    const next_rows next = find_next(o, args, part, p);
    for (long q = 0; q < part->count; q += PIXELS) {
        const pixel_block block = {q, (int)min((long)PIXELS, part->count - q)};
        __local const acc_v *x = rows + q * a->window.stride[2];
        for (int i = 0; i < slice->vectors; i++) {
            prefetch_next(a, &next, q, slice->k + i * TENON_VW);
            do_pixels(o, a, &row, &block, slice, x + i * slice->columns, slice->k + i * TENON_VW,
                      min(slice->lanes - i * TENON_VW, TENON_VW));
        }
    }
}

/* Computes the part of a work-item. It is not inlined, since PoCL compiles the body of a kernel
 * three times. */
TENON_LOCAL_FUNCTION void do_part(const packed_operands *o, const packed_depthwise_args *args,
                                  const packed_part *part, __local acc_v *rows)
{
    const conv_args *a = &args->conv;
    const int step = (int)a->window.stride[1], reuses = (int)args->shape.reuses;
    __global const data_t *x = o->x + part->n * a->x_stride[0];
    packed_slice slice;
    slice.rows = (int)a->window.filter[1];
    slice.columns = (int)args->shape.columns;
    const int kept = reuses ? max(slice.rows - step, 0) : 0; /* rows that the next one reads, too */
    for (long k = part->k0; k < part->k1; k += args->shape.slice * TENON_VW) {
        slice.k = k;
        slice.lanes = (int)min(part->k1 - k, (long)args->shape.slice * TENON_VW);
        slice.vectors = (slice.lanes + TENON_VW - 1) / TENON_VW;
        slice.base = 0;
        for (long p = part->p0; p < part->p1; p++) {
            copy_rows(x, a, part, &slice, p, p == part->p0 ? 0 : kept, rows);
            do_row(o, args, part, &slice, p, rows);
            slice.base = kept > 0 ? (slice.base + step) % slice.rows : 0;
        }
    }
}

/* Returns the part of work-item `number` of a block of filters that begins with k0. */
TENON_INLINE packed_part find_part(const packed_depthwise_args *args, long number, long k0)
{
    const conv_window *v = &args->conv.window;
    packed_part part;
    part.p0 = cut_index(&number, args->shape.parts) * args->shape.run;
    part.p1 = min(part.p0 + args->shape.run, (long)v->out[1]);
    part.q = cut_index(&number, args->shape.segments) * args->shape.segment;
    part.count = min((long)args->shape.segment, v->out[2] - part.q);
    part.o = cut_index(&number, v->out[0]);
    part.n = number;
    part.k0 = k0;
    part.k1 = min(k0 + args->shape.chunk, (long)args->shape.filters);
    return part;
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
packed_conv_depthwise(__global const data_t *x, __global const data_t *w, __global const data_t *c,
                      __global const data_t *bias, __global data_t *y,
                      CONV_POST_POINTERS const packed_depthwise_args args)
{
    __local acc_v rows[TENON_STRIP / TENON_VW];
    const conv_args *a = &args.conv;
    const packed_part part =
        find_part(&args, get_global_id(0), (long)get_global_id(1) * args.shape.chunk);
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
    do_part(&o, &args, &part, rows);
}

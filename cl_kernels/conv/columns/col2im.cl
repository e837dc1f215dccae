/*
 * Folds columns into images (col2im): each element of x is the sum of the elements of col whose
 * taps read it, in the order of the taps. Any strides on both sides.
 *
 *     x = act(alpha * sum + beta * res + bias)
 *
 * col2im_elements: a work-item computes one element. Neighboring work-items lie along the channels
 *   if args.run is not 0, otherwise along w. Global size: {pixels * channels, 1, images}.
 * col2im_rows: a work-item computes args.run rows of one plane of x. Its vectors lie along w and
 *   contain elements with the same taps, which are args.window.stride[2] apart. Global size:
 *   {ceil(h / run), d * c, images}.
 * col2im_channels: a work-item computes the channels of args.run pixels of one row, in vectors
 *   along c. Global size: {ceil(w / run), d * h, images}.
 *
 * TENON_COL_ACC: 1 if col holds acc_t; otherwise it holds data_t.
 *
 * TENON_VW, TENON_DTYPE, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_COL_ACC
#define TENON_COL_ACC 0
#endif
#include "common/activation.clh"
#include "conv/reverse.clh"

#if TENON_COL_ACC && !TENON_DATA_IS_ACC
typedef acc_t col_t;

TENON_INLINE acc_t load_col(__global const col_t *p, long i)
{
    return p[i];
}

TENON_INLINE acc_v load_col_lanes(__global const col_t *p, long i, long stride, int lanes)
{
    if (stride == 1 && lanes >= TENON_VW) {
        return TENON_VLOAD(0, p + i);
    }
    acc_t x[TENON_VW];
    TENON_VSTORE(splat(0), 0, x);
    for (int l = 0; l < min(lanes, TENON_VW); l++) {
        x[l] = p[i + l * stride];
    }
    return TENON_VLOAD(0, x);
}
#else
typedef data_t col_t;
#define load_col       load_data
#define load_col_lanes load_lanes
#endif

/* Integers as wide as acc_t, for vector conditions. */
#if TENON_DTYPE == TENON_DTYPE_F64
typedef long lane_t;
typedef TENON_CAT(long, TENON_VW) lane_v;
#else
typedef int lane_t;
typedef TENON_CAT(int, TENON_VW) lane_v;
#endif

/* Position of an element. */
typedef struct pixel {
    long n, c, at[3];
} pixel;

TENON_INLINE long place(const tenon_i64 *stride, const pixel *x)
{
    return x->n * stride[0] + x->c * stride[1] + x->at[0] * stride[2] + x->at[1] * stride[3] +
           x->at[2] * stride[4];
}

TENON_INLINE activation_args activation_of(const col2im_args *args)
{
    activation_args activation;
    activation.kind = args->activation;
    activation.alpha = TENON_FROM_BITS(args->act_alpha);
    activation.beta = TENON_FROM_BITS(args->act_beta);
    return activation;
}

TENON_INLINE void finish(__global const data_t *res, __global const data_t *bias,
                         __global data_t *x, const col2im_args *args, const pixel *to, acc_t sum)
{
    activation_args activation = activation_of(args);
    acc_t result = args->flags & CONV_SKIP_XW ? 0 : TENON_FROM_BITS(args->alpha) * sum;
    if (args->flags & CONV_HAS_C) {
        result += TENON_FROM_BITS(args->beta) *
                  load_data(res, args->res_offset + place(args->res_stride, to));
    }
    if (args->flags & CONV_HAS_BIAS) {
        result += load_data(bias, args->bias_offset + to->c * args->bias_c);
    }
    store_data(x, args->x_offset + place(args->x_stride, to), activate(result, &activation));
}

/* Applies the epilogue to `lanes` elements along dimension d of x (1: its channels), `stride`
 * apart. */
TENON_INLINE void finish_v(__global const data_t *res, __global const data_t *bias,
                           __global data_t *x, const col2im_args *args, const pixel *to, int d,
                           long stride, int lanes, acc_v sum)
{
    activation_args activation = activation_of(args);
    acc_v result =
        args->flags & CONV_SKIP_XW ? splat(0) : splat(TENON_FROM_BITS(args->alpha)) * sum;
    if (args->flags & CONV_HAS_C) {
        result += splat(TENON_FROM_BITS(args->beta)) *
                  load_lanes(res, args->res_offset + place(args->res_stride, to),
                             stride * args->res_stride[d], lanes);
    }
    if (args->flags & CONV_HAS_BIAS) {
        result += load_lanes(bias, args->bias_offset + to->c * args->bias_c,
                             d == 1 ? args->bias_c : 0, lanes);
    }
    store_lanes(x, args->x_offset + place(args->x_stride, to), stride * args->x_stride[d], lanes,
                activate_v(result, &activation));
}

/* Returns the offset in col of tap (t, r, s) of output (o, p, q), relative to the first element
 * of the image and channel. */
TENON_INLINE long column(const col2im_args *args, long t, long r, long s, long o, long p, long q)
{
    const tenon_i64 *stride = args->col_stride;
    return t * stride[2] + r * stride[3] + s * stride[4] + o * stride[5] + p * stride[6] +
           q * stride[7];
}

TENON_KERNEL void col2im_elements(__global const col_t *col, __global const data_t *res,
                                  __global const data_t *bias, __global data_t *x,
                                  const col2im_args args)
{
    const conv_window *v = &args.window;
    long number = (long)get_global_id(0);
    pixel to;
    to.n = (long)get_global_id(2);
    to.c = args.run != 0 ? cut_index(&number, args.c) : 0;
    to.at[2] = cut_index(&number, v->size[2]);
    to.at[1] = cut_index(&number, v->size[1]);
    to.at[0] = cut_index(&number, v->size[0]);
    to.c += number;
    tap_line lines[3];
    for (int d = 0; d < 3; d++) {
        find_line(lines + d, v, &args.subfilter, d, to.at[d]);
    }
    col += args.col_offset + to.n * args.col_stride[0] + to.c * args.col_stride[1];
    acc_t sum = 0;
    FOR_TAPS(v, &args.subfilter, 0, lines[0], t, o)
    FOR_TAPS(v, &args.subfilter, 1, lines[1], r, p)
    FOR_TAPS(v, &args.subfilter, 2, lines[2], s, q)
    {
        sum += load_col(col, column(&args, t, r, s, o, p, q));
    }
    finish(res, bias, x, &args, &to, sum);
}

/* Loads outputs q .. q + TENON_VW of a row of col that begins at `row`; those that do not exist
 * are 0. A vector may be read past the row if it stays within col. */
TENON_INLINE acc_v load_outputs(__global const col_t *col, const col2im_args *args, long row,
                                long q)
{
    const long stride = args->col_stride[7], size = args->window.out[2], at = row + q * stride;
    if (q >= 0 && q + TENON_VW <= size) {
        return load_col_lanes(col, at, stride, TENON_VW);
    }
    lane_t number[TENON_VW];
    acc_t x[TENON_VW];
    if (stride == 1 && at >= args->col_offset &&
        at + TENON_VW <= args->col_offset + args->col_span) {
        for (int l = 0; l < TENON_VW; l++) {
            number[l] = l;
        }
        lane_v lanes = TENON_CAT(vload, TENON_VW)(0, number);
        lane_v exist = lanes >= (lane_v)((lane_t)max(-q, 0L)) &&
                       lanes < (lane_v)((lane_t)min(size - q, (long)TENON_VW));
        return exist ? load_col_lanes(col, at, 1, TENON_VW) : splat(0);
    }
    TENON_VSTORE(splat(0), 0, x);
    for (long l = max(-q, 0L); l < min(size - q, (long)TENON_VW); l++) {
        x[l] = load_col(col, at + l * stride);
    }
    return TENON_VLOAD(0, x);
}

/* Returns the sums of a vector of elements whose first taps are `lines`; its first element has
 * index `from` along w. `begin` is the first element of the image and channel in col. */
TENON_INLINE acc_v sum_row(__global const col_t *col, const col2im_args *args, long begin,
                           const tap_line *lines, long from)
{
    const conv_window *v = &args->window;
    acc_v sum = splat(0);
    FOR_TAPS(v, &args->subfilter, 0, lines[0], t, o)
    FOR_TAPS(v, &args->subfilter, 1, lines[1], r, p)
    {
        long q = lines[2].out + from;
        for (long s = lines[2].tap; s < v->filter[2]; s += args->subfilter.tap[2]) {
            if (q > -TENON_VW && q < v->out[2]) {
                sum += load_outputs(col, args, begin + column(args, t, r, s, o, p, 0), q);
            }
            q -= args->subfilter.out[2];
        }
    }
    return sum;
}

TENON_VECTOR_KERNEL void col2im_rows(__global const col_t *col, __global const data_t *res,
                                     __global const data_t *bias, __global data_t *x,
                                     const col2im_args args)
{
    const conv_window *v = &args.window;
    const long stride = v->stride[2], first_row = (long)get_global_id(0) * args.run;
    long plane = (long)get_global_id(1);
    pixel to;
    to.n = (long)get_global_id(2);
    to.c = cut_index(&plane, args.c);
    to.at[0] = plane;
    tap_line lines[3];
    find_line(lines, v, &args.subfilter, 0, to.at[0]);
    long begin = args.col_offset + to.n * args.col_stride[0] + to.c * args.col_stride[1];
    for (long first = 0; first < min(stride, v->size[2]); first++) {
        long count = (v->size[2] - first + stride - 1) / stride;
        find_line(lines + 2, v, &args.subfilter, 2, first);
        for (to.at[1] = first_row; to.at[1] < min(first_row + args.run, v->size[1]); to.at[1]++) {
            find_line(lines + 1, v, &args.subfilter, 1, to.at[1]);
            for (long i = 0; i < count; i += TENON_VW) {
                to.at[2] = first + i * stride;
                finish_v(res, bias, x, &args, &to, 4, stride, (int)min(count - i, (long)TENON_VW),
                         sum_row(col, &args, begin, lines, i));
            }
        }
    }
}

TENON_VECTOR_KERNEL void col2im_channels(__global const col_t *col, __global const data_t *res,
                                         __global const data_t *bias, __global data_t *x,
                                         const col2im_args args)
{
    const conv_window *v = &args.window;
    const long first = (long)get_global_id(0) * args.run, stride = args.col_stride[1];
    long row = (long)get_global_id(1);
    pixel to;
    to.n = (long)get_global_id(2);
    to.at[1] = cut_index(&row, v->size[1]);
    to.at[0] = row;
    tap_line lines[3];
    find_line(lines, v, &args.subfilter, 0, to.at[0]);
    find_line(lines + 1, v, &args.subfilter, 1, to.at[1]);
    col += args.col_offset + to.n * args.col_stride[0];
    for (to.at[2] = first; to.at[2] < min(first + args.run, v->size[2]); to.at[2]++) {
        find_line(lines + 2, v, &args.subfilter, 2, to.at[2]);
        for (to.c = 0; to.c < args.c; to.c += TENON_VW) {
            int lanes = (int)min(args.c - to.c, (long)TENON_VW);
            acc_v sum = splat(0);
            FOR_TAPS(v, &args.subfilter, 0, lines[0], t, o)
            FOR_TAPS(v, &args.subfilter, 1, lines[1], r, p)
            FOR_TAPS(v, &args.subfilter, 2, lines[2], s, q)
            {
                sum += load_col_lanes(col, column(&args, t, r, s, o, p, q) + to.c * stride, stride,
                                      lanes);
            }
            finish_v(res, bias, x, &args, &to, 1, 1, lanes, sum);
        }
    }
}

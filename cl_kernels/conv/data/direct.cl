/*
 * Gradient of a convolution's image (backward data), with one work-item per element of x: any
 * strides, any device, no workspace.
 *
 *     x[n, c, at] = act(alpha * (sum of y[n, k, o] * w[k, c, t]) + beta * c + bias)
 *
 * over the filters of c's group and the taps that read `at`; only outputs that exist are summed.
 *
 * Global size: {pixels of x, channels, images}, the first rounded up to a multiple of the local
 * size. TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD, TENON_POST: see common/types.clh,
 * common/activation.clh and conv/post.clh.
 */
#include "common/activation.clh"
#include "conv/post.clh"
#include "conv/reverse.clh"

TENON_INLINE acc_t sum_filters(__global const data_t *y, __global const data_t *w,
                               const conv_args *args, acc_t sum)
{
    for (long k = 0; k < args->group_filters; k++) {
        sum = TENON_FMA(load_data(y, k * args->y_stride[1]), load_data(w, k * args->w_stride[0]),
                        sum);
    }
    return sum;
}

TENON_INLINE acc_t sum_taps(__global const data_t *y, __global const data_t *w,
                            const conv_reverse_args *args, const tap_line *lines)
{
    const conv_args *a = &args->conv;
    const conv_window *v = &a->window;
    acc_t sum = 0;
    FOR_TAPS(v, &args->subfilter, 0, lines[0], t, o)
    {
        FOR_TAPS(v, &args->subfilter, 1, lines[1], r, p)
        {
            FOR_TAPS(v, &args->subfilter, 2, lines[2], s, q)
            {
                sum = sum_filters(y + o * a->y_stride[2] + p * a->y_stride[3] + q * a->y_stride[4],
                                  w + t * a->w_stride[2] + r * a->w_stride[3] + s * a->w_stride[4],
                                  a, sum);
            }
        }
    }
    return sum;
}

TENON_INLINE long place(const tenon_i64 *stride, long n, long c, const long *at)
{
    return n * stride[0] + c * stride[1] + at[0] * stride[2] + at[1] * stride[3] +
           at[2] * stride[4];
}

TENON_KERNEL void conv_backward_data(__global data_t *x, __global const data_t *w,
                                     __global const data_t *c, __global const data_t *bias,
                                     __global const data_t *y,
                                     CONV_POST_POINTERS const conv_reverse_args args)
{
    const conv_args *a = &args.conv;
    const conv_window *v = &a->window;
    long pixel = (long)get_global_id(0), channel = (long)get_global_id(1);
    long n = (long)get_global_id(2), at[3];
    at[2] = cut_index(&pixel, v->size[2]);
    at[1] = cut_index(&pixel, v->size[1]);
    at[0] = pixel;
    if (at[0] >= v->size[0]) {
        return;
    }
    acc_t result = 0;
    if (!(a->flags & CONV_SKIP_XW)) {
        tap_line lines[3];
        for (int d = 0; d < 3; d++) {
            find_line(lines + d, v, &args.subfilter, d, at[d]);
        }
        long first = channel / a->group_channels * a->group_filters;
        y += a->y_offset + n * a->y_stride[0] + first * a->y_stride[1];
        w += a->w_offset + first * a->w_stride[0] + channel % a->group_channels * a->w_stride[1];
        result = TENON_FROM_BITS(a->alpha) * sum_taps(y, w, &args, lines);
    }
    if (a->flags & CONV_HAS_C) {
        result += TENON_FROM_BITS(a->beta) *
                  load_data(c, a->c_offset + place(a->c_stride, n, channel, at));
    }
    if (a->flags & CONV_HAS_BIAS) {
        result += load_data(bias, a->bias_offset + channel * a->bias_k);
    }
    activation_args activation;
    activation.kind = a->activation;
    activation.alpha = TENON_FROM_BITS(a->act_alpha);
    activation.beta = TENON_FROM_BITS(a->act_beta);
    store_data(x, a->x_offset + place(a->x_stride, n, channel, at),
               CONV_POST(a, n, channel, at, activate(result, &activation)));
}

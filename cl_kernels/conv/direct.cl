/*
 * Convolution with one work-item for each element of y: any strides, any device, no workspace.
 *
 * Global size: {p * q, filters, images}, the first rounded up as the local size requires.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#include "common/activation.clh"
#include "conv/args.h"

/* The taps of one output over one channel. Those in the padding are multiplied like the others, as
 * the zeros that they are: an infinite filter element gives NaN there whichever solver runs. */
TENON_INLINE acc_t add_channel(__global const data_t *x, __global const data_t *w,
                               const conv_args *args, long p, long q, acc_t sum)
{
    const conv_window *v = &args->window;
    long h0 = p * v->stride_h + v->h_start, w0 = q * v->stride_w + v->w_start;
    for (long r = 0; r < v->r; r++) {
        long h = h0 + r * v->dilation_h;
        for (long s = 0; s < v->s; s++) {
            long at = w0 + s * v->dilation_w;
            acc_t value = 0;
            if (h >= 0 && h < v->h && at >= 0 && at < v->w) {
                value = load_data(x, h * args->x_h + at * args->x_w);
            }
            sum = TENON_FMA(value, load_data(w, r * args->w_r + s * args->w_s), sum);
        }
    }
    return sum;
}

__kernel void conv_direct(__global const data_t *x, __global const data_t *w,
                          __global const data_t *c, __global const data_t *bias, __global data_t *y,
                          const conv_args args)
{
    long pixel = (long)get_global_id(0), k = (long)get_global_id(1), n = (long)get_global_id(2);
    long p = pixel / args.window.q, q = pixel % args.window.q;
    if (p >= args.window.p) {
        return;
    }
    x += args.x_offset + n * args.x_n + k / args.group_filters * args.group_channels * args.x_c;
    w += args.w_offset + k * args.w_k;
    acc_t sum = 0;
    if (!(args.flags & CONV_SKIP_XW)) {
        for (long channel = 0; channel < args.group_channels; channel++) {
            sum = add_channel(x + channel * args.x_c, w + channel * args.w_c, &args, p, q, sum);
        }
    }
    acc_t result = TENON_FROM_BITS(args.alpha) * sum;
    if (args.flags & CONV_SKIP_XW) {
        result = 0; /* not alpha * 0, which would be -0 for a negative zero */
    }
    if (args.flags & CONV_HAS_C) {
        result +=
            TENON_FROM_BITS(args.beta) *
            load_data(c, args.c_offset + n * args.c_n + k * args.c_k + p * args.c_p + q * args.c_q);
    }
    if (args.flags & CONV_HAS_BIAS) {
        result += load_data(bias, args.bias_offset + k * args.bias_k);
    }
    activation_args activation;
    activation.kind = args.activation;
    activation.alpha = TENON_FROM_BITS(args.act_alpha);
    activation.beta = TENON_FROM_BITS(args.act_beta);
    store_data(y, args.y_offset + n * args.y_n + k * args.y_k + p * args.y_p + q * args.y_q,
               activate(result, &activation));
}

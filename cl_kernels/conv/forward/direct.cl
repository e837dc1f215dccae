/*
 * Convolution with one work-item per element of y: any strides, any device, no workspace.
 *
 * Global size: {o * p * q, filters, images}, the first rounded up to a multiple of the local size.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD, TENON_POST: see common/types.clh,
 * common/activation.clh and conv/post.clh.
 */
#include "common/activation.clh"
#include "conv/post.clh"
#include "conv/window.clh"

/* Adds the taps of one output along a row of the filter; `x` and `w` point to the first elements
 * of the rows. Taps in the padding are multiplied as zeros: an infinite filter element gives NaN
 * there in every solver. */
TENON_INLINE acc_t add_row(__global const data_t *x, __global const data_t *w, int in_image,
                           const conv_args *args, long q, acc_t sum)
{
    const conv_window *v = &args->window;
    for (long s = 0; s < v->filter[2]; s++) {
        long at = under_tap(v, 2, q, s);
        acc_t value = 0;
        if (in_image && inside(v, 2, at)) {
            value = load_data(x, at * args->x_stride[4]);
        }
        sum = TENON_FMA(value, load_data(w, s * args->w_stride[4]), sum);
    }
    return sum;
}

/* Adds the taps of one channel; out is {o, p, q}. */
TENON_INLINE acc_t add_channel(__global const data_t *x, __global const data_t *w,
                               const conv_args *args, const long *out, acc_t sum)
{
    const conv_window *v = &args->window;
    for (long t = 0; t < v->filter[0]; t++) {
        long d = under_tap(v, 0, out[0], t);
        for (long r = 0; r < v->filter[1]; r++) {
            long h = under_tap(v, 1, out[1], r);
            sum = add_row(x + d * args->x_stride[2] + h * args->x_stride[3],
                          w + t * args->w_stride[2] + r * args->w_stride[3],
                          inside(v, 0, d) && inside(v, 1, h), args, out[2], sum);
        }
    }
    return sum;
}

/* Returns the offset of y[n, k, o, p, q], or of the residual's element. */
TENON_INLINE long place(const tenon_i64 *stride, long n, long k, const long *out)
{
    return n * stride[0] + k * stride[1] + out[0] * stride[2] + out[1] * stride[3] +
           out[2] * stride[4];
}

TENON_KERNEL void conv_direct(__global const data_t *x, __global const data_t *w,
                              __global const data_t *c, __global const data_t *bias,
                              __global data_t *y, CONV_POST_POINTERS const conv_args args)
{
    long pixel = (long)get_global_id(0), k = (long)get_global_id(1), n = (long)get_global_id(2);
    long out[3];
    out[2] = cut_index(&pixel, args.window.out[2]);
    out[1] = cut_index(&pixel, args.window.out[1]);
    out[0] = pixel;
    if (out[0] >= args.window.out[0]) {
        return;
    }
    x += args.x_offset + n * args.x_stride[0] +
         k / args.group_filters * args.group_channels * args.x_stride[1];
    w += args.w_offset + k * args.w_stride[0];
    acc_t sum = 0;
    if (!(args.flags & CONV_SKIP_XW)) {
        for (long channel = 0; channel < args.group_channels; channel++) {
            sum = add_channel(x + channel * args.x_stride[1], w + channel * args.w_stride[1], &args,
                              out, sum);
        }
    }
    acc_t result = TENON_FROM_BITS(args.alpha) * sum;
    if (args.flags & CONV_SKIP_XW) {
        result = 0; /* not alpha * 0, which would be -0 for a negative zero */
    }
    if (args.flags & CONV_HAS_C) {
        result += TENON_FROM_BITS(args.beta) *
                  load_data(c, args.c_offset + place(args.c_stride, n, k, out));
    }
    if (args.flags & CONV_HAS_BIAS) {
        result += load_data(bias, args.bias_offset + k * args.bias_k);
    }
    activation_args activation;
    activation.kind = args.activation;
    activation.alpha = TENON_FROM_BITS(args.act_alpha);
    activation.beta = TENON_FROM_BITS(args.act_beta);
    store_data(y, args.y_offset + place(args.y_stride, n, k, out),
               CONV_POST(&args, n, k, out, activate(result, &activation)));
}

/*
 * Convolution of i8 or u8 with one work-item per element of y: any strides, any device, no
 * workspace.
 *
 * Global size: {o * p * q, filters, images}, the first rounded up to a multiple of the local size.
 * TENON_DTYPE, TENON_HW_FMA, TENON_ACT_BUILD: see gemm/int8.clh.
 */
#include "gemm/int8.clh"

#include "conv/int8/args.h"
#include "conv/window.clh"

/* Returns the sum of the taps of one channel; `x` and `w` point to its first elements. Taps in the
 * padding add nothing, since the padding holds the zero point. */
TENON_INLINE uint add_taps(__global const uchar *x, __global const uchar *w,
                           const conv_int8_args *args, const long *out, int zero_x, int zero_w)
{
    const conv_window *v = &args->window;
    uint sum = 0;
    for (long t = 0; t < v->filter[0]; t++) {
        const long d = under_tap(v, 0, out[0], t);
        for (long r = 0; r < v->filter[1]; r++) {
            const long h = under_tap(v, 1, out[1], r);
            if (!inside(v, 0, d) || !inside(v, 1, h)) {
                continue;
            }
            for (long s = 0; s < v->filter[2]; s++) {
                const long at = under_tap(v, 2, out[2], s);
                if (inside(v, 2, at)) {
                    const uchar xs =
                        x[d * args->x_stride[2] + h * args->x_stride[3] + at * args->x_stride[4]];
                    const uchar ws =
                        w[t * args->w_stride[2] + r * args->w_stride[3] + s * args->w_stride[4]];
                    sum += as_uint((byte_value(xs, args->product.a_sign) - zero_x) *
                                   (byte_value(ws, args->product.b_sign) - zero_w));
                }
            }
        }
    }
    return sum;
}

/* Returns the offset of filter 0 at a pixel of y, or of c. */
TENON_INLINE long pixel_at(const tenon_i64 *stride, long n, const long *out)
{
    return n * stride[0] + out[0] * stride[2] + out[1] * stride[3] + out[2] * stride[4];
}

TENON_KERNEL void conv_int8_direct(INT8_POINTERS, const conv_int8_args args)
{
    long pixel = (long)get_global_id(0), k = (long)get_global_id(1), n = (long)get_global_id(2);
    long out[3];
    out[2] = cut_index(&pixel, args.window.out[2]);
    out[1] = cut_index(&pixel, args.window.out[1]);
    out[0] = pixel;
    if (out[0] >= args.window.out[0]) {
        return;
    }
    int8_epilogue e = MAKE_INT8_EPILOGUE(&args.product, 0);
    e.c_start += pixel_at(args.c_stride, n, out);
    e.d_start += pixel_at(args.y_stride, n, out);
    uint sum = 0;
    if (!(args.product.gemm.flags & GEMM_SKIP_AB) && args.group_channels > 0) {
        const int zero_x =
            zero_point(zero_a, &args.product, INT8_ZERO_A, 0, k, args.product.a_sign);
        const int zero_w =
            zero_point(zero_b, &args.product, INT8_ZERO_B, 0, k, args.product.b_sign);
        const long first = k / args.group_filters * args.group_channels;
        a += args.product.gemm.a_offset + n * args.x_stride[0] + first * args.x_stride[1];
        b += args.product.gemm.b_offset + k * args.w_stride[0];
        for (long c = 0; c < args.group_channels; c++) {
            sum += add_taps(a + c * args.x_stride[1], b + c * args.w_stride[1], &args, out, zero_x,
                            zero_w);
        }
    }
    int8_store(&e, &args.product, 0, k, sum);
}

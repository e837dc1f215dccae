/*
 * Resize of images with any strides on any device, without workspace: a work-item computes
 * args.each results, with the weights of each of them. Results are numbered along w, h, d, channels
 * and images, or with args.side_by_side along the channels first.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/images.clh"
#include "resize/filter.clh"

/* Returns the weighted sum of one row. A sum begins with -0, which keeps the sign of a zero. */
TENON_INLINE acc_t sum_of_row(__global const data_t *x, const resize_items_args *args,
                              const resize_window *w)
{
    acc_t sum = (acc_t)(-0.0f);
    for (int i = w->low; i <= w->high; i++) {
        const acc_t weight = weight_of(&args->filter, args->filter.axis + 2, w, i);
        if (weight != 0) {
            sum = TENON_FMA(weight, load_data(x, i * args->x_stride[4]), sum);
        }
    }
    return sum;
}

TENON_INLINE acc_t sum_of_plane(__global const data_t *x, const resize_items_args *args,
                                const resize_window *w)
{
    acc_t sum = (acc_t)(-0.0f);
    for (int i = w[1].low; i <= w[1].high; i++) {
        const acc_t weight = weight_of(&args->filter, args->filter.axis + 1, w + 1, i);
        if (weight != 0) {
            sum = TENON_FMA(weight, sum_of_row(x + i * args->x_stride[3], args, w + 2), sum);
        }
    }
    return sum;
}

TENON_INLINE acc_t sum_of_image(__global const data_t *x, const resize_items_args *args,
                                const resize_window *w)
{
    acc_t sum = (acc_t)(-0.0f);
    for (int i = w[0].low; i <= w[0].high; i++) {
        const acc_t weight = weight_of(&args->filter, args->filter.axis, w, i);
        if (weight != 0) {
            sum = TENON_FMA(weight, sum_of_plane(x + i * args->x_stride[2], args, w), sum);
        }
    }
    return sum;
}

TENON_KERNEL void resize_items(__global const data_t *x, __global data_t *y,
                               const resize_items_args args)
{
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place e;
        find_image_place(&e, number, args.channels, args.side_by_side, args.filter.axis[0].out,
                         args.filter.axis[1].out, args.filter.axis[2].out);
        long from = args.x_offset + e.n * args.x_stride[0] + e.c * args.x_stride[1],
             to = args.y_offset + e.n * args.y_stride[0] + e.c * args.y_stride[1];
        resize_window w[3];
        int outside = 0;
#pragma unroll
        for (int d = 0; d < 3; d++) {
            find_window(w + d, &args.filter, args.filter.axis + d, (int)e.at[d]);
            to += e.at[d] * args.y_stride[2 + d];
            outside |= is_extrapolated(w + d);
        }
        store_data(y, to,
                   outside ? TENON_FROM_BITS(args.filter.extrapolation)
                           : sum_of_image(x + from, &args, w));
    }
}

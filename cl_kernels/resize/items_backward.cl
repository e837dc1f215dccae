/*
 * Gradient of a resize, for any strides on any device, without workspace: each element of dx is the
 * sum of the outputs that it has weight in, in their order. The weights are computed for each
 * element.
 *
 * In the arguments x is dx, and y is dy. A work-item computes args.each elements, numbered along w,
 * h, d, channels and images, or with args.side_by_side along the channels first. Global size: at
 * least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/images.clh"
#include "resize/filter.clh"

/* The outputs [first, end) whose windows contain an element, along one dimension. */
typedef struct resize_outputs {
    int first, end;
} resize_outputs;

/* Returns the first output whose window ends at or after the element, or with `past` begins after
 * it; with a negative step the first one that begins at or before it, or ends before it. */
TENON_INLINE int first_output(const resize_filter *filter, const resize_axis *axis, int element,
                              int past)
{
    const int is_negative = axis->step < 0;
    int low = 0, high = axis->out;
    while (low < high) {
        const int middle = (low + high) / 2;
        resize_window w;
        find_limits(&w, filter, axis, middle);
        const int limit = is_negative != past ? w.low : w.high;
        if (is_negative ? limit <= element - past : limit >= element + past) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

TENON_INLINE acc_t weight_in(const resize_filter *filter, const resize_axis *axis, int output,
                             int element)
{
    resize_window w;
    find_window(&w, filter, axis, output);
    return element >= w.low && element <= w.high ? weight_of(filter, axis, &w, element) : 0;
}

TENON_INLINE acc_t sum_of_row(__global const data_t *dy, const resize_items_args *args,
                              const resize_outputs *o, const long *at)
{
    acc_t sum = 0;
    for (int i = o[2].first; i < o[2].end; i++) {
        const acc_t weight = weight_in(&args->filter, args->filter.axis + 2, i, (int)at[2]);
        if (weight != 0) {
            sum = TENON_FMA(weight, load_data(dy, i * args->y_stride[4]), sum);
        }
    }
    return sum;
}

TENON_INLINE acc_t sum_of_plane(__global const data_t *dy, const resize_items_args *args,
                                const resize_outputs *o, const long *at)
{
    acc_t sum = 0;
    for (int i = o[1].first; i < o[1].end; i++) {
        const acc_t weight = weight_in(&args->filter, args->filter.axis + 1, i, (int)at[1]);
        if (weight != 0) {
            sum = TENON_FMA(weight, sum_of_row(dy + i * args->y_stride[3], args, o, at), sum);
        }
    }
    return sum;
}

TENON_INLINE acc_t sum_of_image(__global const data_t *dy, const resize_items_args *args,
                                const resize_outputs *o, const long *at)
{
    acc_t sum = 0;
    for (int i = o[0].first; i < o[0].end; i++) {
        const acc_t weight = weight_in(&args->filter, args->filter.axis, i, (int)at[0]);
        if (weight != 0) {
            sum = TENON_FMA(weight, sum_of_plane(dy + i * args->y_stride[2], args, o, at), sum);
        }
    }
    return sum;
}

TENON_KERNEL void resize_items_backward(__global const data_t *dy, __global data_t *dx,
                                        const resize_items_args args)
{
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place e;
        find_image_place(&e, number, args.channels, args.side_by_side, args.filter.axis[0].in,
                         args.filter.axis[1].in, args.filter.axis[2].in);
        const long from = args.y_offset + e.n * args.y_stride[0] + e.c * args.y_stride[1];
        long to = args.x_offset + e.n * args.x_stride[0] + e.c * args.x_stride[1];
        resize_outputs o[3];
#pragma unroll
        for (int d = 0; d < 3; d++) {
            o[d].first = first_output(&args.filter, args.filter.axis + d, (int)e.at[d], 0);
            o[d].end = first_output(&args.filter, args.filter.axis + d, (int)e.at[d], 1);
            to += e.at[d] * args.x_stride[2 + d];
        }
        store_data(dx, to, sum_of_image(dy + from, &args, o, e.at));
    }
}

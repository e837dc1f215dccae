/*
 * Gradient of pooling with windows of every kind (pool/windows.clh): each element of dx is the sum
 * over the windows that contain it, in the order of the outputs.
 *
 * In the arguments x is dx, y is dy and image is x. A work-item computes args.each elements,
 * numbered along w, h, d, channels and images, or with args.side_by_side along the channels first.
 *
 * Global size: at least {ceil(count / each)}. The maximum reads indices with POOL_HAS_INDICES, and
 * x without; the norm reads x, the average neither.
 */
#include "pool/windows.clh"

/* The outputs whose windows may contain an element. */
TENON_INLINE void find_outputs(long *first, long *last, const pool_windows_args *args, int d,
                               long at)
{
    const long out = args->out[d], size = args->size[d];
    if (args->flags & POOL_ADAPTIVE) {
        *first = at * out / size;
        *last = ((at + 1) * out + size - 1) / size - 1;
        return;
    }
    const long step = args->step[d], most = at - args->start[d],
               least = most - (args->window[d] - 1) * args->dilation[d];
    *first = least > 0 ? (least + step - 1) / step : 0;
    *last = min(most / step, out - 1);
}

/* One image's channel: pointers to its first elements. */
typedef struct pool_channel {
    __global const data_t *image, *dy;
    __global const int *indices;
} pool_channel;

/* Returns the share of a window's gradient for a tap at offset `at` and position `place`. */
TENON_INLINE acc_t share_of(const pool_channel *from, const pool_windows_args *args, const long *o,
                            const pool_range *r, long at, long place)
{
    const acc_t dy = load_data(from->dy, o[0] * args->y_stride[2] + o[1] * args->y_stride[3] +
                                             o[2] * args->y_stride[4]);
    long where;
    if (args->kind == POOL_KIND_MAX) {
        if (args->flags & POOL_HAS_INDICES) {
            where = from->indices[o[0] * args->index_stride[2] + o[1] * args->index_stride[3] +
                                  o[2] * args->index_stride[4]];
        } else {
            maximum_of(from->image, args, args->image_stride, r, &where);
        }
        return where == place ? dy : 0;
    }
    if (args->kind != POOL_KIND_LP) {
        return dy / divisor_of(r);
    }
    const acc_t p = TENON_FROM_BITS(args->p), x = load_data(from->image, at);
    const acc_t norm = result_of(from->image, args, args->image_stride, r, &where);
    return norm == 0 ? 0 : norm_share(x, norm, p, dy);
}

TENON_INLINE acc_t sum_of_shares(const pool_channel *from, const pool_windows_args *args,
                                 const image_place *p)
{
    long first[3], last[3], o[3];
    pool_range r[3];
    acc_t sum = 0;
    const long place = (p->at[0] * args->size[1] + p->at[1]) * args->size[2] + p->at[2];
    const long at = p->at[0] * args->image_stride[2] + p->at[1] * args->image_stride[3] +
                    p->at[2] * args->image_stride[4];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        find_outputs(first + d, last + d, args, d, p->at[d]);
    }
    for (o[0] = first[0]; o[0] <= last[0]; o[0]++) {
        find_range(r, args, 0, o[0]);
        for (o[1] = first[1]; o[1] <= last[1] && is_tap(r, p->at[0]); o[1]++) {
            find_range(r + 1, args, 1, o[1]);
            for (o[2] = first[2]; o[2] <= last[2] && is_tap(r + 1, p->at[1]); o[2]++) {
                find_range(r + 2, args, 2, o[2]);
                if (is_tap(r + 2, p->at[2])) {
                    sum += share_of(from, args, o, r, at, place);
                }
            }
        }
    }
    return sum;
}

TENON_KERNEL void pool_windows_backward(__global const data_t *image, __global const data_t *dy,
                                        __global const int *indices, __global data_t *dx,
                                        const pool_windows_args args)
{
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place p;
        find_image_place(&p, number, args.channels, args.side_by_side, args.size[0], args.size[1],
                         args.size[2]);
        const pool_channel from = {
            image + args.image_offset + p.n * args.image_stride[0] + p.c * args.image_stride[1],
            dy + args.y_offset + p.n * args.y_stride[0] + p.c * args.y_stride[1],
            indices + args.index_offset + p.n * args.index_stride[0] + p.c * args.index_stride[1]};
        long to = args.x_offset + p.n * args.x_stride[0] + p.c * args.x_stride[1];
#pragma unroll
        for (int d = 0; d < 3; d++) {
            to += p.at[d] * args.x_stride[2 + d];
        }
        store_data(dx, to, sum_of_shares(&from, &args, &p));
    }
}

/*
 * Pooling with windows of every kind (pool/windows.clh): a work-item computes args.each results,
 * numbered along w, h, d, channels and images, or with args.side_by_side along the channels first.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * indices is not written without POOL_HAS_INDICES.
 */
#include "pool/windows.clh"

TENON_KERNEL void pool_windows(__global const data_t *x, __global data_t *y, __global int *indices,
                               const pool_windows_args args)
{
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place p;
        pool_range r[3];
        long where;
        find_image_place(&p, number, args.channels, args.side_by_side, args.out[0], args.out[1],
                         args.out[2]);
        long to = args.y_offset + p.n * args.y_stride[0] + p.c * args.y_stride[1],
             index = args.index_offset + p.n * args.index_stride[0] + p.c * args.index_stride[1];
#pragma unroll
        for (int d = 0; d < 3; d++) {
            find_range(r + d, &args, d, p.at[d]);
            to += p.at[d] * args.y_stride[2 + d];
            index += p.at[d] * args.index_stride[2 + d];
        }
        __global const data_t *image =
            x + args.x_offset + p.n * args.x_stride[0] + p.c * args.x_stride[1];
        store_data(y, to, result_of(image, &args, args.x_stride, r, &where));
        if (args.flags & POOL_HAS_INDICES) {
            indices[index] = (int)where;
        }
    }
}

/*
 * Gradient of pooling for GPUs: as pool/backward.cl, with one work-item per element of dx.
 *
 * In the arguments x is dx, y is dy and image is x. Elements of dx are numbered along w, h, d,
 * channels and images, or with args.side_by_side along the channels first. Global size:
 * {args.line_count} or more.
 *
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#define TENON_INDEX_32 1
#ifndef TENON_VW
#define TENON_VW 2
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#include "pool/gradient.clh"
#include "pool/items.clh"

TENON_KERNEL void pool_backward_items(__global const data_t *image, __global const data_t *dy,
                                      __global const int *indices, __global data_t *dx,
                                      const pool_args args)
{
    const uint number = (uint)get_global_id(0);
    if (number >= (uint)args.line_count) {
        return;
    }
    const pool_place p = find_place(&args, number, args.size);
    const pool_sources from = sources_of(image, dy, indices, &args, p.n, p.c);
    long to = args.x_offset + p.n * args.x_stride[0] + p.c * args.x_stride[1];
    pool_cover cover[3];
#pragma unroll
    for (int d = 0; d < 3; d++) {
        find_cover(cover + d, &args, d, p.at[d]);
        to += p.at[d] * (index_t)args.x_stride[2 + d];
    }
    store_data(dx, to, gather(&from, &args, p.at, cover));
}

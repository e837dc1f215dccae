/*
 * Gradient of pooling: each element of dx is the sum over the windows that cover it, in the order
 * of the outputs. No atomics are used, and the result is bitwise reproducible.
 *
 * In the arguments x is dx, y is dy and image is x. A work-item handles args.lines lines of
 * args.chunk elements of dx. A line is
 *
 * - pool_backward_rows: the elements along w of one channel; lines are numbered n, c, d, h;
 * - pool_backward_channels: the channels of one pixel; lines are numbered n, d, h, w.
 *
 * Global size: {ceil(line length / chunk), ceil(line_count / lines)}.
 *
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average.
 * TENON_VW: lanes of a vector, over channels.
 *
 * TENON_DTYPE: see common/types.clh. The maximum reads indices with POOL_HAS_INDICES, and x
 * without; the average reads neither.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#include "pool/gradient.clh"

TENON_VECTOR_KERNEL void pool_backward_rows(__global const data_t *image, __global const data_t *dy,
                                            __global const int *indices, __global data_t *dx,
                                            const pool_args args)
{
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long q = (long)get_global_id(0) * args.chunk;
    for (long line = first; line < last; line++) {
        long at[3], rest = line / args.size[1];
        at[1] = line % args.size[1];
        at[0] = rest % args.size[0];
        rest /= args.size[0];
        long c = rest % args.channels, n = rest / args.channels;
        const pool_sources from = sources_of(image, dy, indices, &args, n, c);
        long to = args.x_offset + n * args.x_stride[0] + c * args.x_stride[1] +
                  at[0] * args.x_stride[2] + at[1] * args.x_stride[3];
        pool_cover cover[3];
        find_cover(cover, &args, 0, at[0]);
        find_cover(cover + 1, &args, 1, at[1]);
        for (at[2] = q; at[2] < min(q + args.chunk, args.size[2]); at[2]++) {
            find_cover(cover + 2, &args, 2, at[2]);
            store_data(dx, to + at[2] * args.x_stride[4], gather(&from, &args, at, cover));
        }
    }
}

TENON_VECTOR_KERNEL void pool_backward_channels(__global const data_t *image,
                                                __global const data_t *dy,
                                                __global const int *indices, __global data_t *dx,
                                                const pool_args args)
{
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    for (long line = first; line < last; line++) {
        long at[3], n = line, to = args.x_offset;
        pool_cover cover[3];
        for (int d = 2; d >= 0; d--) {
            at[d] = n % args.size[d];
            n /= args.size[d];
            find_cover(cover + d, &args, d, at[d]);
            to += at[d] * args.x_stride[2 + d];
        }
        to += n * args.x_stride[0];
        long c = (long)get_global_id(0) * args.chunk;
        const long end = min(c + args.chunk, args.channels);
        for (; c + TENON_VW <= end; c += TENON_VW) {
            const pool_sources from = sources_of(image, dy, indices, &args, n, c);
            store_lanes(dx, to + c * args.x_stride[1], args.x_stride[1], TENON_VW,
                        gather_v(&from, &args, at, cover));
        }
        for (; c < end; c++) {
            const pool_sources from = sources_of(image, dy, indices, &args, n, c);
            store_data(dx, to + c * args.x_stride[1], gather(&from, &args, at, cover));
        }
    }
}

/*
 * Pooling: y = the maximum or the average of each window of x; for the maximum also its position.
 *
 * A work-item handles args.lines lines of args.chunk elements. A line is
 *
 * - pool_forward_rows: the outputs along w of one channel; lines are numbered n, c, d, h;
 * - pool_forward_channels: the channels of one output; lines are numbered n, d, h, w.
 *
 * Global size: {ceil(line length / chunk), ceil(line_count / lines)}.
 *
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average.
 * TENON_VW: lanes of a vector. If args.chunk is at least TENON_VW, vectors lie over channels, or
 *   over outputs whose windows are inside x along w.
 *
 * TENON_DTYPE: see common/types.clh. indices is not written without POOL_HAS_INDICES.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#include "pool/window.clh"

/* Computes one output; the pointers are at the output, and at the image of x. */
TENON_INLINE void pool_one(__global const data_t *x, __global data_t *y, __global int *indices,
                           const pool_args *args, const pool_taps *taps)
{
#if TENON_POOL_MAX
    position_t where;
    store_data(y, 0, maximum(x, args, args->x_stride, taps, 0, &where));
    if (args->flags & POOL_HAS_INDICES) {
        indices[0] = (int)where;
    }
#else
    store_data(y, 0, sum(x, args, args->x_stride, taps, 0) / divisor_of(args, taps));
#endif
}

/* Computes TENON_VW outputs along dimension d of y. They are `lane` elements apart in x, and
 * their windows `apart` positions of the plane. */
TENON_INLINE void pool_many(__global const data_t *x, __global data_t *y, __global int *indices,
                            const pool_args *args, const pool_taps *taps, int d, long lane,
                            long apart)
{
#if TENON_POOL_MAX
    position_v where;
    acc_v best = maximum_v(x, args, args->x_stride, taps, lane, &where);
    store_lanes(y, 0, args->y_stride[d], TENON_VW, best);
    if (args->flags & POOL_HAS_INDICES) {
        store_positions(indices, 0, args->index_stride[d], where, apart);
    }
#else
    acc_v total = sum_v(x, args, args->x_stride, taps, lane);
    store_lanes(y, 0, args->y_stride[d], TENON_VW, total / splat(divisor_of(args, taps)));
#endif
}

TENON_INLINE void row(__global const data_t *x, __global data_t *y, __global int *indices,
                      const pool_args *args, pool_taps *taps)
{
    const long first = (long)get_global_id(0) * args->chunk;
    const long last = min(first + args->chunk, args->out[2]);
    for (long q = first; q < last;) {
        __global data_t *y_at = y + q * args->y_stride[4];
        __global int *index_at = indices + q * args->index_stride[4];
        find_taps(taps + 2, args, 2, q);
        if (q >= args->inner_first && q + TENON_VW <= min(last, args->inner_last)) {
            pool_many(x, y_at, index_at, args, taps, 4, args->step[2] * args->x_stride[4],
                      args->step[2]);
            q += TENON_VW;
        } else {
            pool_one(x, y_at, index_at, args, taps);
            q++;
        }
    }
}

TENON_VECTOR_KERNEL void pool_forward_rows(__global const data_t *x, __global data_t *y,
                                           __global int *indices, const pool_args args)
{
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    for (long line = first; line < last; line++) {
        long h = line % args.out[1], rest = line / args.out[1];
        long d = rest % args.out[0];
        rest /= args.out[0];
        long c = rest % args.channels, n = rest / args.channels;
        pool_taps taps[3];
        find_taps(taps, &args, 0, d);
        find_taps(taps + 1, &args, 1, h);
        row(x + args.x_offset + n * args.x_stride[0] + c * args.x_stride[1],
            y + args.y_offset + n * args.y_stride[0] + c * args.y_stride[1] + d * args.y_stride[2] +
                h * args.y_stride[3],
            indices + args.index_offset + n * args.index_stride[0] + c * args.index_stride[1] +
                d * args.index_stride[2] + h * args.index_stride[3],
            &args, taps);
    }
}

TENON_INLINE void pixel(__global const data_t *x, __global data_t *y, __global int *indices,
                        const pool_args *args, const pool_taps *taps)
{
    long c = (long)get_global_id(0) * args->chunk;
    const long last = min(c + args->chunk, args->channels);
    for (; c + TENON_VW <= last; c += TENON_VW) {
        pool_many(x + c * args->x_stride[1], y + c * args->y_stride[1],
                  indices + c * args->index_stride[1], args, taps, 1, args->x_stride[1], 0);
    }
    for (; c < last; c++) {
        pool_one(x + c * args->x_stride[1], y + c * args->y_stride[1],
                 indices + c * args->index_stride[1], args, taps);
    }
}

TENON_VECTOR_KERNEL void pool_forward_channels(__global const data_t *x, __global data_t *y,
                                               __global int *indices, const pool_args args)
{
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    for (long line = first; line < last; line++) {
        long at[3], n = line;
        pool_taps taps[3];
        long y_at = args.y_offset, index_at = args.index_offset;
        for (int d = 2; d >= 0; d--) {
            at[d] = n % args.out[d];
            n /= args.out[d];
            find_taps(taps + d, &args, d, at[d]);
            y_at += at[d] * args.y_stride[2 + d];
            index_at += at[d] * args.index_stride[2 + d];
        }
        pixel(x + args.x_offset + n * args.x_stride[0], y + y_at + n * args.y_stride[0],
              indices + index_at + n * args.index_stride[0], &args, taps);
    }
}

/*
 * Pooling on CPUs without indices (pool/values.clh): x and y are contiguous along the channels. A
 * line is the channels of one output; lines are numbered n, d, h, w. A work-item handles args.lines
 * lines, and of each of them args.chunk channels.
 *
 * Global size: {ceil(channels / chunk), ceil(line_count / lines)}.
 *
 * The macros are those of pool/values.clh. indices is not used.
 */
#include "pool/values.clh"

/* Computes `vectors` vectors of `count` channels of one output, from channel c on; x is at the
 * first tap. */
TENON_INLINE void store_channels(__global const data_t *x, __global data_t *y, int vectors,
                                 const pool_args *args, const pool_taps *taps, long c, long count)
{
    const long plane = args->dilation[0] * args->x_stride[2],
               row = args->dilation[1] * args->x_stride[3],
               pixel = args->dilation[2] * args->x_stride[4];
    const acc_v divisor = splat(TENON_POOL_MAX ? 1 : divisor_of(args, taps));
    pool_state state[BLOCK];
    long at[BLOCK];
    place_vectors(at, vectors, c, count);
    begin(state, vectors);
    for (long i = 0; i < taps[0].count; i++) {
        for (long j = 0; j < taps[1].count; j++) {
            combine_x(state, vectors, x + i * plane + j * row, at, taps[2].count, pixel, 1);
        }
    }
    EACH_VECTOR(v, vectors)
    {
        const acc_v value = finish(state + v);
        stream_data_v(y, at[v], TENON_POOL_MAX ? value : value / divisor, 1);
    }
}

/* Computes `count` channels of one output. */
TENON_FUNCTION void store_pixel(__global const data_t *x, __global data_t *y, const pool_args *args,
                                const pool_taps *taps, long count)
{
    long c = 0;
    if (count < TENON_VW) {
        for (; c < count; c++) {
            const acc_t value = combine_one(x + c, args, taps, taps[2].count);
            store_data(y, c, TENON_POOL_MAX ? value : value / divisor_of(args, taps));
        }
        return;
    }
    for (; count - c > BLOCK / 2 * TENON_VW; c += BLOCK * TENON_VW) {
        store_channels(x, y, BLOCK, args, taps, c, count);
    }
    if (c < count) {
        store_channels(x, y, BLOCK / 2, args, taps, c, count);
    }
}

TENON_VECTOR_KERNEL void pool_values_channels(__global const data_t *x, __global data_t *y,
                                              __global int *indices, const pool_args args)
{
    const long size[3] = {args.out[0], args.out[1], args.out[2]};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long c = (long)get_global_id(0) * args.chunk;
    pool_place place;
    find_line(&place, first, size);
    for (long line = first; line < last; line++) {
        pool_taps taps[3];
        long x_at = args.x_offset + place.n * args.x_stride[0] + c;
        long y_at = args.y_offset + place.n * args.y_stride[0] + c;
        for (int d = 0; d < 3; d++) {
            find_taps(taps + d, &args, d, place.at[d]);
            x_at += taps[d].at * args.x_stride[2 + d];
            y_at += place.at[d] * args.y_stride[2 + d];
        }
        store_pixel(x + x_at, y + y_at, &args, taps, min(args.chunk, args.channels - c));
        next_line(&place, size);
    }
}

/*
 * Grid sampling (tenon/grid_sample.h): a work-item computes up to GRID_CHANNELS channels of
 * args.each places of y.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "grid_sample/taps.clh"

/* Adds the elements of a plane around a place, of all channels of the work-item. */
TENON_INLINE void add_plane(acc_t *sum, __global const data_t *x, const grid_args *args,
                            const grid_taps *h, const grid_taps *w, acc_t along_d, int channels)
{
    for (int i = 0; i < h->count; i++) {
        const int row = element_at(h->first + i, args->size[1], args);
        const acc_t along_h = along_d * weight_of(h, i);
        for (int j = 0; j < w->count; j++) {
            const int column = element_at(w->first + j, args->size[2], args);
            if (row < 0 || column < 0) {
                continue;
            }
            const acc_t weight = along_h * weight_of(w, j);
            const long from = row * args->x_stride[3] + column * args->x_stride[4];
            TENON_UNROLL
            for (int c = 0; c < GRID_CHANNELS; c++) {
                if (c < channels) {
                    sum[c] += weight * load_data(x, from + c * args->x_stride[1]);
                }
            }
        }
    }
}

TENON_KERNEL void grid_sample(__global const data_t *x, __global const data_t *grid,
                              __global data_t *y, const grid_args args)
{
    const long blocks = (args.channels + GRID_CHANNELS - 1) / GRID_CHANNELS;
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place p;
        grid_taps taps[3];
        acc_t sum[GRID_CHANNELS];
        find_image_place(&p, number, blocks, args.side_by_side, args.out[0], args.out[1],
                         args.out[2]);
        const long c = p.c * GRID_CHANNELS;
        const int channels = (int)min(args.channels - c, (long)GRID_CHANNELS);
        const long place = args.grid_offset + p.n * args.grid_stride[0] +
                           p.at[0] * args.grid_stride[1] + p.at[1] * args.grid_stride[2] +
                           p.at[2] * args.grid_stride[3];
        const int is_number = find_all_taps(taps, grid, place, &args);
        TENON_UNROLL
        for (int i = 0; i < GRID_CHANNELS; i++) {
            sum[i] = is_number ? (acc_t)0 : (acc_t)NAN;
        }
        for (int i = 0; is_number && i < taps[0].count; i++) {
            const int plane = element_at(taps[0].first + i, args.size[0], &args);
            if (plane >= 0) {
                add_plane(sum,
                          x + args.x_offset + p.n * args.x_stride[0] + c * args.x_stride[1] +
                              plane * args.x_stride[2],
                          &args, &taps[1], &taps[2], weight_of(&taps[0], i), channels);
            }
        }
        const long to = args.y_offset + p.n * args.y_stride[0] + c * args.y_stride[1] +
                        p.at[0] * args.y_stride[2] + p.at[1] * args.y_stride[3] +
                        p.at[2] * args.y_stride[4];
        TENON_UNROLL
        for (int i = 0; i < GRID_CHANNELS; i++) {
            if (i < channels) {
                store_data(y, to + i * args.y_stride[1], sum[i]);
            }
        }
    }
}

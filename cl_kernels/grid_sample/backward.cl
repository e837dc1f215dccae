/*
 * The gradient of grid sampling (tenon/grid_sample.h).
 *
 * grid_sample_dx: a work-item computes up to GRID_CHANNELS channels of a band of rows of dx, where
 * the rows of all planes are numbered. It adds the contributions of the places in their order to
 * sums in the workspace, which are dense with the channels last.
 * grid_sample_dgrid: a work-item computes the coordinates of args.each places.
 *
 * Global size: at least {count}; at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "grid_sample/backward_args.h"
#include "grid_sample/taps.clh"

/* The rows of a work-item, and its channels. */
typedef struct grid_band {
    long first, end;
    int channels;
} grid_band;

/* Returns true if an element around a place is in a row of the band. */
TENON_INLINE int is_in_band(const grid_taps taps[3], const grid_band *band, const grid_args *args)
{
    for (int i = 0; i < taps[0].count; i++) {
        const int plane = element_at(taps[0].first + i, args->size[0], args);
        for (int j = 0; j < taps[1].count; j++) {
            const int row = element_at(taps[1].first + j, args->size[1], args);
            const long at = (long)plane * args->size[1] + row;
            if (plane >= 0 && row >= 0 && at >= band->first && at < band->end) {
                return 1;
            }
        }
    }
    return 0;
}

/* Adds weight * dy to the elements of a row around a place. */
TENON_INLINE void add_row(__global acc_t *row, const grid_taps *w, const acc_t *dy, acc_t weight,
                          const grid_args *args)
{
    for (int k = 0; k < w->count; k++) {
        const int column = element_at(w->first + k, args->size[2], args);
        if (column < 0) {
            continue;
        }
        const acc_t factor = weight * weight_of(w, k);
        TENON_UNROLL
        for (int c = 0; c < GRID_CHANNELS; c++) {
            row[(long)column * GRID_CHANNELS + c] += factor * dy[c];
        }
    }
}

/* Adds the contribution of a place to the rows of the band. */
TENON_INLINE void add_place(__global acc_t *sums, const grid_taps taps[3], const acc_t *dy,
                            const grid_band *band, const grid_args *args)
{
    for (int i = 0; i < taps[0].count; i++) {
        const int plane = element_at(taps[0].first + i, args->size[0], args);
        for (int j = 0; j < taps[1].count; j++) {
            const int row = element_at(taps[1].first + j, args->size[1], args);
            const long at = (long)plane * args->size[1] + row;
            if (plane >= 0 && row >= 0 && at >= band->first && at < band->end) {
                add_row(sums + (at - band->first) * args->size[2] * GRID_CHANNELS, &taps[2], dy,
                        weight_of(&taps[0], i) * weight_of(&taps[1], j), args);
            }
        }
    }
}

/* Adds the contributions of a row of places; `grid` and `dy` are at its first one. */
TENON_INLINE void add_places(__global acc_t *sums, __global const data_t *grid, long at,
                             __global const data_t *dy, const grid_band *band,
                             const grid_args *args)
{
    for (int q = 0; q < args->out[2]; q++) {
        grid_taps taps[3];
        if (!find_all_taps(taps, grid, at + q * args->grid_stride[3], args) ||
            !is_in_band(taps, band, args)) {
            continue;
        }
        acc_t values[GRID_CHANNELS];
        TENON_UNROLL
        for (int c = 0; c < GRID_CHANNELS; c++) {
            values[c] = c < band->channels
                            ? load_data(dy, q * args->y_stride[4] + c * args->y_stride[1])
                            : (acc_t)0;
        }
        add_place(sums, taps, values, band, args);
    }
}

/* Stores the sums of a band; dx is at its first channel. */
TENON_INLINE void store_band(__global data_t *dx, __global const acc_t *sums, const grid_band *band,
                             const grid_backward_args *all)
{
    const int width = all->forward.size[2];
    for (long row = band->first; row < band->end; row++) {
        const long to = row / all->forward.size[1] * all->dx_stride[2] +
                        row % all->forward.size[1] * all->dx_stride[3];
        for (int column = 0; column < width; column++) {
            for (int c = 0; c < band->channels; c++) {
                const long from = ((row - band->first) * width + column) * GRID_CHANNELS + c;
                store_data(dx, to + column * all->dx_stride[4] + c * all->dx_stride[1], sums[from]);
            }
        }
    }
}

TENON_KERNEL void grid_sample_dx(__global const data_t *grid, __global const data_t *dy,
                                 __global acc_t *sums, __global data_t *dx,
                                 const grid_backward_args all)
{
    const grid_args *args = &all.forward;
    const long blocks = (args->channels + GRID_CHANNELS - 1) / GRID_CHANNELS,
               rows = (long)args->size[0] * args->size[1];
    long number = (long)get_global_id(0), block;
    if (number >= args->count) {
        return;
    }
    grid_band band;
    TENON_DIVIDE(number, all.bands, number, band.first)
    TENON_DIVIDE(number, blocks, number, block)
    const long n = number, c = block * GRID_CHANNELS;
    band.first *= all.rows_each;
    band.end = min(band.first + all.rows_each, rows);
    band.channels = (int)min(args->channels - c, (long)GRID_CHANNELS);
    sums += all.sums_offset +
            ((n * blocks + block) * rows + band.first) * args->size[2] * GRID_CHANNELS;
    for (long i = 0; i < (band.end - band.first) * args->size[2] * GRID_CHANNELS; i++) {
        sums[i] = 0;
    }
    for (int o = 0; o < args->out[0]; o++) {
        for (int p = 0; p < args->out[1]; p++) {
            add_places(sums, grid,
                       args->grid_offset + n * args->grid_stride[0] + o * args->grid_stride[1] +
                           p * args->grid_stride[2],
                       dy + args->y_offset + n * args->y_stride[0] + c * args->y_stride[1] +
                           o * args->y_stride[2] + p * args->y_stride[3],
                       &band, args);
        }
    }
    store_band(dx + all.dx_offset + n * all.dx_stride[0] + c * all.dx_stride[1], sums, &band, &all);
}

/* Returns the slope of the weight of element i with respect to the place. */
TENON_INLINE acc_t slope_of(const grid_taps *t, int i)
{
    if (t->count == 1) {
        return 0;
    }
    if (t->count == 2) {
        return i == 0 ? -1 : 1;
    }
    const acc_t near = i == 1 ? t->s : 1 - t->s, far = 1 + (i == 0 ? t->s : 1 - t->s);
    const acc_t slope = i == 1 || i == 2 ? ((acc_t)3.75f * near - (acc_t)4.5f) * near
                                         : ((acc_t)-2.25f * far + (acc_t)7.5f) * far - 6;
    return i < 2 ? slope : -slope;
}

/* Returns the sum over the channels of x * dy at an element of x. */
TENON_INLINE acc_t sum_channels(__global const data_t *x, __global const data_t *dy,
                                const grid_args *args)
{
    acc_t sum = 0;
    for (long c = 0; c < args->channels; c++) {
        sum += load_data(x, c * args->x_stride[1]) * load_data(dy, c * args->y_stride[1]);
    }
    return sum;
}

/* Adds the slopes with respect to d, h and w of the elements around a place. */
TENON_INLINE void add_slopes(acc_t slopes[3], __global const data_t *x, __global const data_t *dy,
                             const grid_taps taps[3], const grid_args *args)
{
    for (int i = 0; i < taps[0].count; i++) {
        const int plane = element_at(taps[0].first + i, args->size[0], args);
        for (int j = 0; j < taps[1].count; j++) {
            const int row = element_at(taps[1].first + j, args->size[1], args);
            for (int k = 0; k < taps[2].count; k++) {
                const int column = element_at(taps[2].first + k, args->size[2], args);
                if (plane < 0 || row < 0 || column < 0) {
                    continue;
                }
                const acc_t a = weight_of(&taps[0], i), b = weight_of(&taps[1], j),
                            c = weight_of(&taps[2], k),
                            sum = sum_channels(x + plane * args->x_stride[2] +
                                                   row * args->x_stride[3] +
                                                   column * args->x_stride[4],
                                               dy, args);
                slopes[0] += slope_of(&taps[0], i) * (b * c) * sum;
                slopes[1] += slope_of(&taps[1], j) * (a * c) * sum;
                slopes[2] += slope_of(&taps[2], k) * (a * b) * sum;
            }
        }
    }
}

TENON_KERNEL void grid_sample_dgrid(__global const data_t *x, __global const data_t *grid,
                                    __global const data_t *dy, __global data_t *dgrid,
                                    const grid_backward_args all)
{
    const grid_args *args = &all.forward;
    long number = (long)get_global_id(0) * args->each;
    const long end = min(number + args->each, (long)args->count);
    for (; number < end; number++) {
        image_place p;
        grid_taps taps[3];
        acc_t slopes[3] = {0, 0, 0};
        find_image_place(&p, number, 1, 0, args->out[0], args->out[1], args->out[2]);
        const long at = args->grid_offset + p.n * args->grid_stride[0] +
                        p.at[0] * args->grid_stride[1] + p.at[1] * args->grid_stride[2] +
                        p.at[2] * args->grid_stride[3],
                   to = all.dgrid_offset + p.n * all.dgrid_stride[0] +
                        p.at[0] * all.dgrid_stride[1] + p.at[1] * all.dgrid_stride[2] +
                        p.at[2] * all.dgrid_stride[3];
        const int is_number = find_all_taps(taps, grid, at, args);
        if (is_number && args->mode != GRID_NEAREST) {
            add_slopes(slopes, x + args->x_offset + p.n * args->x_stride[0],
                       dy + args->y_offset + p.n * args->y_stride[0] + p.at[0] * args->y_stride[2] +
                           p.at[1] * args->y_stride[3] + p.at[2] * args->y_stride[4],
                       taps, args);
        }
        TENON_UNROLL
        for (int d = 0; d < 3; d++) {
            if (d < 3 - args->dims) {
                continue;
            }
            const int size = args->size[d] - (args->flags & GRID_ALIGNED ? 1 : 0);
            const acc_t slope = is_number ? slopes[d] * ((acc_t)size * (acc_t)0.5f) : (acc_t)NAN;
            const long place = to + (2 - d) * all.dgrid_stride[4];
            if (args->flags & GRID_WIDE) {
                ((__global float *)dgrid)[place] = (float)slope;
            } else {
                store_data(dgrid, place, slope);
            }
        }
    }
}

/*
 * Grid sampling (tenon/grid_sample.h): a work-item computes up to GRID_CHANNELS channels of
 * args.each places of y.
 *
 * Global size: at least {ceil(count / each)}.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#include "common/images.clh"
#include "grid_sample/args.h"

/* The elements around a place along one dimension: the index of the first, their number, and the
 * distance of the place from an element. */
typedef struct grid_taps {
    int first, count;
    acc_t s;
} grid_taps;

/* Returns the element of x at an index of the padded image; -1 for a zero. */
TENON_INLINE int element_at(int i, int size, const grid_args *args)
{
    const int aligned = args->flags & GRID_ALIGNED;
    if (i >= 0 && i < size) {
        return i;
    }
    if (args->padding == GRID_ZEROS) {
        return -1;
    }
    if (args->padding == GRID_BORDER) {
        return i < 0 ? 0 : size - 1;
    }
    const int period = aligned ? 2 * size - 2 : 2 * size;
    if (period == 0) {
        return 0;
    }
    int m = i % period;
    m += m < 0 ? period : 0;
    return m < size ? m : aligned ? period - m : period - 1 - m;
}

/* Returns the weight of Keys' filter at a distance up to 1, and from 1 to 2. */
TENON_INLINE acc_t cubic_near(acc_t t)
{
    return ((acc_t)1.25f * t - (acc_t)2.25f) * t * t + 1;
}

TENON_INLINE acc_t cubic_far(acc_t t)
{
    return (((acc_t)-0.75f * t + (acc_t)3.75f) * t - 6) * t + 3;
}

/* Returns false for a coordinate that is NaN. */
TENON_INLINE int find_taps(grid_taps *t, acc_t g, int size, const grid_args *args)
{
    acc_t at = args->flags & GRID_ALIGNED ? (g + 1) * (acc_t)0.5f * (acc_t)(size - 1)
                                          : ((g + 1) * (acc_t)size - 1) * (acc_t)0.5f;
    if (at != at) {
        return 0;
    }
    at = clamp(at, (acc_t)-GRID_MOST_SIZE, (acc_t)GRID_MOST_SIZE);
    const acc_t low = args->mode == GRID_NEAREST ? rint(at) : floor(at), s = at - low;
    t->first = args->mode == GRID_CUBIC ? (int)low - 1 : (int)low;
    t->count = args->mode == GRID_CUBIC ? 4 : args->mode == GRID_LINEAR ? 2 : 1;
    t->s = s;
    return 1;
}

/* Returns the weight of element i. */
TENON_INLINE acc_t weight_of(const grid_taps *t, int i)
{
    if (t->count == 1) {
        return 1;
    }
    if (t->count == 2) {
        return i == 0 ? 1 - t->s : t->s;
    }
    return i == 0   ? cubic_far(1 + t->s)
           : i == 1 ? cubic_near(t->s)
           : i == 2 ? cubic_near(1 - t->s)
                    : cubic_far(2 - t->s);
}

/* Adds the elements around a place, of all channels of the work-item. */
TENON_INLINE void add_taps(acc_t *sum, __global const data_t *x, const grid_args *args,
                           const grid_taps *h, const grid_taps *w, int channels)
{
    for (int i = 0; i < h->count; i++) {
        const int row = element_at(h->first + i, args->size[0], args);
        const acc_t along_h = weight_of(h, i);
        for (int j = 0; j < w->count; j++) {
            const int column = element_at(w->first + j, args->size[1], args);
            if (row < 0 || column < 0) {
                continue;
            }
            const acc_t weight = along_h * weight_of(w, j);
            const long from = row * args->x_stride[2] + column * args->x_stride[3];
            TENON_UNROLL
            for (int c = 0; c < GRID_CHANNELS; c++) {
                if (c < channels) {
                    sum[c] += weight * load_data(x, from + c * args->x_stride[1]);
                }
            }
        }
    }
}

/* Returns a coordinate of the grid. */
TENON_INLINE acc_t coordinate(__global const data_t *grid, long at, const grid_args *args)
{
    return args->flags & GRID_WIDE ? (acc_t)((__global const float *)grid)[at]
                                   : load_data(grid, at);
}

TENON_KERNEL void grid_sample(__global const data_t *x, __global const data_t *grid,
                              __global data_t *y, const grid_args args)
{
    const long blocks = (args.channels + GRID_CHANNELS - 1) / GRID_CHANNELS;
    long number = (long)get_global_id(0) * args.each;
    const long end = min(number + args.each, (long)args.count);
    for (; number < end; number++) {
        image_place p;
        grid_taps h, w;
        acc_t sum[GRID_CHANNELS];
        find_image_place(&p, number, blocks, args.side_by_side, 1, args.out[0], args.out[1]);
        const long c = p.c * GRID_CHANNELS;
        const int channels = (int)min(args.channels - c, (long)GRID_CHANNELS);
        const long place = args.grid_offset + p.n * args.grid_stride[0] +
                           p.at[1] * args.grid_stride[1] + p.at[2] * args.grid_stride[2];
        const int is_number = find_taps(&w, coordinate(grid, place, &args), args.size[1], &args) &
                              find_taps(&h, coordinate(grid, place + args.grid_stride[3], &args),
                                        args.size[0], &args);
        TENON_UNROLL
        for (int i = 0; i < GRID_CHANNELS; i++) {
            sum[i] = is_number ? (acc_t)0 : (acc_t)NAN;
        }
        if (is_number) {
            add_taps(sum, x + args.x_offset + p.n * args.x_stride[0] + c * args.x_stride[1], &args,
                     &h, &w, channels);
        }
        const long to = args.y_offset + p.n * args.y_stride[0] + c * args.y_stride[1] +
                        p.at[1] * args.y_stride[2] + p.at[2] * args.y_stride[3];
        TENON_UNROLL
        for (int i = 0; i < GRID_CHANNELS; i++) {
            if (i < channels) {
                store_data(y, to + i * args.y_stride[1], sum[i]);
            }
        }
    }
}

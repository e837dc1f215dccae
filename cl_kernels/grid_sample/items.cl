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

/* The elements around a place along one dimension: their indices in x, -1 for a zero, and their
 * weights. */
typedef struct grid_taps {
    int count, index[4];
    acc_t weight[4];
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
    int first = (int)low;
    if (args->mode == GRID_NEAREST) {
        t->count = 1;
        t->weight[0] = 1;
    } else if (args->mode == GRID_LINEAR) {
        t->count = 2;
        t->weight[0] = 1 - s;
        t->weight[1] = s;
    } else {
        first--;
        t->count = 4;
        t->weight[0] = cubic_far(1 + s);
        t->weight[1] = cubic_near(s);
        t->weight[2] = cubic_near(1 - s);
        t->weight[3] = cubic_far(2 - s);
    }
    for (int i = 0; i < t->count; i++) {
        t->index[i] = element_at(first + i, size, args);
    }
    return 1;
}

/* Adds the elements around a place, of all channels of the work-item. */
TENON_INLINE void add_taps(acc_t *sum, __global const data_t *x, const grid_args *args,
                           const grid_taps *h, const grid_taps *w, int channels)
{
    for (int i = 0; i < h->count; i++) {
        for (int j = 0; j < w->count; j++) {
            if (h->index[i] < 0 || w->index[j] < 0) {
                continue;
            }
            const acc_t weight = h->weight[i] * w->weight[j];
            const long from = h->index[i] * args->x_stride[2] + w->index[j] * args->x_stride[3];
            for (int c = 0; c < channels; c++) {
                sum[c] += weight * load_data(x, from + c * args->x_stride[1]);
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
        const int is_number =
            find_taps(&w, coordinate(grid, place, &args), args.size[1], &args) &
            find_taps(&h, coordinate(grid, place + args.grid_stride[3], &args), args.size[0],
                      &args);
        for (int i = 0; i < GRID_CHANNELS; i++) {
            sum[i] = is_number ? (acc_t)0 : (acc_t)NAN;
        }
        if (is_number) {
            add_taps(sum, x + args.x_offset + p.n * args.x_stride[0] + c * args.x_stride[1], &args,
                     &h, &w, channels);
        }
        const long to = args.y_offset + p.n * args.y_stride[0] + c * args.y_stride[1] +
                        p.at[1] * args.y_stride[2] + p.at[2] * args.y_stride[3];
        for (int i = 0; i < channels; i++) {
            store_data(y, to + i * args.y_stride[1], sum[i]);
        }
    }
}

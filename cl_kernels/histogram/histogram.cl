/*
 * Histograms: the number, or the sum of the weights, of the elements in each bin. The elements are
 * divided into blocks in row-major order, each with bins of its own in the workspace.
 *
 * histogram_blocks: fills the bins of a block. Global size: at least {blocks}.
 * histogram_sum: adds the bins of all blocks in their order. Global size: at least {bins / each}.
 * histogram_serial: a single work-item, which needs no workspace. Global size: {1}.
 *
 * TENON_DTYPE: the type in which bins of equal width are computed is acc_t (common/types.clh); the
 *   type of x if TENON_VALUE is undefined.
 * TENON_VALUE: the integer type of x.
 * TENON_SUM: the type of y and of the weights: int, long, float or double.
 */
#ifndef TENON_SUM
#define TENON_SUM int
#endif

#include "common/dimensions.clh"

#include "histogram/args.h"

#ifdef TENON_SUM_IS_DOUBLE
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
typedef TENON_SUM sum_t;

#ifdef TENON_VALUE
typedef TENON_VALUE stored_t;
typedef long number_t;
#else
typedef data_t stored_t;
typedef acc_t number_t;
#endif

TENON_INLINE number_t load_number(__global const stored_t *p, long i)
{
#ifdef TENON_VALUE
    return (number_t)p[i];
#else
    return load_data(p, i);
#endif
}

/* Returns the bin between edges that contains x: the last edge that is not greater. */
TENON_INLINE long bin_between(__global const stored_t *edges, const histogram_args *args,
                              number_t x)
{
    const long step = args->edge_step;
    if (!(x >= load_number(edges, 0) && x <= load_number(edges, args->bins * step))) {
        return -1;
    }
    long low = 0, high = args->bins + 1;
    while (low < high) {
        const long middle = low + (high - low) / 2;
        if (load_number(edges, middle * step) <= x) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return min(max(low - 1, 0L), args->bins - 1);
}

TENON_INLINE long bin_of_width(const histogram_args *args, number_t number)
{
    const acc_t x = (acc_t)number, low = TENON_FROM_BITS(args->low);
    if (!(x >= low && x <= TENON_FROM_BITS(args->high))) {
        return -1;
    }
    return min((long)((x - low) * TENON_FROM_BITS(args->scale)), args->bins - 1);
}

/* Returns the bin of x, or -1. */
TENON_INLINE long bin_of(__global const stored_t *edges, const histogram_args *args, number_t x)
{
    if (args->flags & HISTOGRAM_HAS_EDGES) {
        return bin_between(edges, args, x);
    }
#ifdef TENON_VALUE
    if (args->flags & HISTOGRAM_INDICES) {
        return x >= 0 && x < args->bins ? x : -1L;
    }
#endif
    return bin_of_width(args, x);
}

/* Elements of a line along the last dimension: the offset of the first one in both inputs, and the
 * number up to the end of the line or of the block. */
typedef struct run {
    long at[HISTOGRAM_VIEWS];
    long count;
} run;

TENON_INLINE run run_of(const histogram_args *args, long i, long last)
{
    run r = {{args->offset[HISTOGRAM_X], args->offset[HISTOGRAM_WEIGHTS]}, last - i};
    EACH_DOWN(d, 0, (int)args->rank)
    {
        long index = i;
        if (d > 0) {
            TENON_DIVIDE(i, (long)args->shape[d], i, index)
        }
        r.at[0] += index * args->stride[0][d];
        r.at[1] += index * args->stride[1][d];
        if (d == args->rank - 1) {
            r.count = min(r.count, args->shape[d] - index);
        }
    }
    return r;
}

#define HISTOGRAM_INPUTS                                                                           \
    __global const stored_t *x, __global const stored_t *edges, __global const sum_t *weights

/* Adds the elements [first, last) to bins that are `step` apart and have been set to zero. */
TENON_FUNCTION void add_elements(HISTOGRAM_INPUTS, const histogram_args *args, long first,
                                 long last, __global sum_t *bins, long step)
{
    const int last_dimension = (int)args->rank - 1;
    const long x_step = entry_of(args->stride[HISTOGRAM_SPACE_X], last_dimension),
               weight_step = entry_of(args->stride[HISTOGRAM_SPACE_WEIGHTS], last_dimension);
    __global const stored_t *own_edges = edges + args->offset[HISTOGRAM_EDGES];
    for (long i = first; i < last;) {
        const run r = run_of(args, i, last);
        for (long e = 0; e < r.count; e++) {
            const long bin = bin_of(own_edges, args, load_number(x, r.at[0] + e * x_step));
            if (bin >= 0) {
                bins[bin * step] += args->flags & HISTOGRAM_HAS_WEIGHTS
                                        ? weights[r.at[1] + e * weight_step]
                                        : (sum_t)1;
            }
        }
        i += r.count;
    }
}

TENON_INLINE void clear(__global sum_t *bins, long step, long count)
{
    for (long b = 0; b < count; b++) {
        bins[b * step] = 0;
    }
}

TENON_KERNEL void histogram_blocks(HISTOGRAM_INPUTS, __global sum_t *workspace,
                                   const histogram_args args)
{
    const long id = (long)get_global_id(0);
    if (id >= args.blocks) {
        return;
    }
    __global sum_t *bins = workspace + args.workspace + id * args.bins;
    clear(bins, 1, args.bins);
    add_elements(x, edges, weights, &args, id * args.length,
                 min((id + 1) * args.length, (long)args.elements), bins, 1);
}

TENON_KERNEL void histogram_sum(__global const sum_t *workspace, __global sum_t *y,
                                const histogram_args args)
{
    const long first = (long)get_global_id(0) * args.each;
    const long last = min(first + args.each, (long)args.bins);
    for (long bin = first; bin < last; bin++) {
        sum_t sum = 0;
        for (long b = 0; b < args.blocks; b++) {
            sum += workspace[args.workspace + b * args.bins + bin];
        }
        y[args.offset[HISTOGRAM_Y] + bin * args.y_step] = sum;
    }
}

TENON_KERNEL void histogram_serial(HISTOGRAM_INPUTS, __global sum_t *y, const histogram_args args)
{
    if (get_global_id(0) > 0) {
        return;
    }
    __global sum_t *bins = y + args.offset[HISTOGRAM_Y];
    clear(bins, args.y_step, args.bins);
    add_elements(x, edges, weights, &args, 0, args.elements, bins, args.y_step);
}

/*
 * Tables of the gradient of a resize: for each element of dx along a dimension the outputs that it
 * has weight in, and these weights, from the tables of resize/table.cl. A work-item computes
 * args.each entries of one table.
 *
 * Global size: at least {ceil(largest number of entries / each), 3}.
 *
 * TENON_DTYPE: see common/types.clh. The weights are acc_t.
 */
#include "common/types.clh"
#include "resize/args.h"

/* Returns the first output whose limit is at least `least`, or with a negative step at most. */
TENON_INLINE int first_output(__global const int *limits, int outputs, int least, int is_negative)
{
    int low = 0, high = outputs;
    while (low < high) {
        const int middle = (low + high) / 2;
        if (is_negative ? limits[middle] <= least : limits[middle] >= least) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

TENON_INLINE void write_flipped(__global int *integers, __global acc_t *numbers,
                                const resize_table *table, const resize_table *flipped,
                                int is_negative, int element)
{
    __global const int *low = integers + table->first, *high = integers + table->last;
    const int outputs = table->targets;
    const int first = first_output(is_negative ? low : high, outputs, element, is_negative),
              end = min(first_output(is_negative ? high : low, outputs,
                                     is_negative ? element - 1 : element + 1, is_negative),
                        first + flipped->most);
    integers[flipped->first + element] = first;
    integers[flipped->last + element] = end - 1;
    for (int k = 0; k < flipped->most; k++) {
        const int output = first + k;
        acc_t weight = 0;
        if (output < end && element >= low[output] && element <= high[output]) {
            weight = numbers[table->weights + (long)(element - low[output]) * outputs + output];
        }
        numbers[flipped->weights + (long)k * flipped->targets + element] = weight;
    }
}

TENON_KERNEL void resize_flip_entries(__global int *integers, __global acc_t *numbers,
                                      const resize_table_args args)
{
    const long first = (long)get_global_id(0) * args.each;
    integers += args.integers;
    numbers += args.numbers;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        if (d == (int)get_global_id(1)) {
            const long last = min(first + args.each, (long)args.flipped[d].targets);
            for (long element = first; element < last; element++) {
                write_flipped(integers, numbers, args.table + d, args.flipped + d,
                              args.filter.axis[d].step < 0, (int)element);
            }
        }
    }
}

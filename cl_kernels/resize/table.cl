/*
 * Tables of a resize (resize/args.h), one for each dimension of y, written to the workspace: the
 * windows of the outputs and their weights. A work-item computes args.each entries of one table.
 *
 * Global size: at least {ceil(largest number of entries / each), 3}.
 *
 * TENON_DTYPE: see common/types.clh. The weights are acc_t.
 */
#include "resize/filter.clh"

TENON_INLINE void write_entry(__global int *integers, __global acc_t *numbers,
                              const resize_filter *filter, const resize_axis *axis,
                              const resize_table *table, int output)
{
    resize_window w;
    find_window(&w, filter, axis, output);
    integers[table->first + output] = w.low;
    integers[table->last + output] = w.high;
    for (int k = 0; k < table->most; k++) {
        numbers[table->weights + (long)k * table->targets + output] =
            k <= w.high - w.low ? weight_of(filter, axis, &w, w.low + k) : 0;
    }
}

TENON_KERNEL void resize_table_entries(__global int *integers, __global acc_t *numbers,
                                       const resize_table_args args)
{
    const long first = (long)get_global_id(0) * args.each;
    integers += args.integers;
    numbers += args.numbers;
#pragma unroll
    for (int d = 0; d < 3; d++) {
        if (d == (int)get_global_id(1)) {
            const long last = min(first + args.each, (long)args.table[d].targets);
            for (long output = first; output < last; output++) {
                write_entry(integers, numbers, &args.filter, args.filter.axis + d, args.table + d,
                            (int)output);
            }
        }
    }
}

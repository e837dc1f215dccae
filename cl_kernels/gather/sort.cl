/*
 * One pass of a radix sort by the digit at args.shift (D. Knuth, "The Art of Computer Programming",
 * volume 3, section 5.2.5). Pairs with equal digits keep their order: after all passes the pairs of
 * a row are in the order of the indices.
 *
 * digit_counts: counts the occurrences of each digit in a block of args.block pairs. Global size:
 *   {blocks}.
 * digit_places: computes the prefix sums of a digit's counts over the blocks. Global size:
 *   {GATHER_DIGITS}.
 * place_pairs: moves each pair to its position. Global size: {blocks}.
 */
#include "common/types.clh"

#include "gather/list.clh"

/* Returns the row that pair i selects. */
TENON_INLINE int row_of(__global const int *indices, __global const int *w,
                        const gather_sort_args *args, long i)
{
    if (args->shift > 0) {
        return w[args->from_at + i];
    }
    int index = indices[args->offset + list_at(&args->list, 0, i)];
    return index >= 0 && index < args->rows ? index : (int)args->rows;
}

TENON_INLINE int digit_of(int row, const gather_sort_args *args)
{
    return row >> args->shift & (GATHER_DIGITS - 1);
}

TENON_KERNEL void digit_counts(__global const int *indices, __global int *workspace,
                               const gather_sort_args args)
{
    long block = (long)get_global_id(0);
    if (block >= args.blocks) {
        return;
    }
    __global int *w = workspace + args.workspace;
    __global int *counts = w + args.counts_at + block * GATHER_DIGITS;
    long last = min((block + 1) * args.block, (long)args.list.count);
    for (int d = 0; d < GATHER_DIGITS; d++) {
        counts[d] = 0;
    }
    for (long i = block * args.block; i < last; i++) {
        counts[digit_of(row_of(indices, w, &args, i), &args)]++;
    }
}

TENON_KERNEL void digit_places(__global int *workspace, const gather_sort_args args)
{
    int digit = (int)get_global_id(0);
    __global int *w = workspace + args.workspace;
    int before = 0;
    for (long block = 0; block < args.blocks; block++) {
        __global int *count = w + args.counts_at + block * GATHER_DIGITS + digit;
        int here = *count;
        *count = before;
        before += here;
    }
    w[args.totals_at + digit] = before;
}

TENON_KERNEL void place_pairs(__global const int *indices, __global int *workspace,
                              const gather_sort_args args)
{
    long block = (long)get_global_id(0);
    if (block >= args.blocks) {
        return;
    }
    __global int *w = workspace + args.workspace;
    __global int *places = w + args.counts_at + block * GATHER_DIGITS;
    long last = min((block + 1) * args.block, (long)args.list.count);
    int before = 0;
    for (int d = 0; d < GATHER_DIGITS; d++) {
        places[d] += before;
        before += w[args.totals_at + d];
    }
    for (long i = block * args.block; i < last; i++) {
        int row = row_of(indices, w, &args, i);
        long to = places[digit_of(row, &args)]++;
        w[args.to_at + to] = row;
        w[args.to_at + args.list.count + to] =
            args.shift > 0 ? w[args.from_at + args.list.count + i] : (int)i;
    }
}

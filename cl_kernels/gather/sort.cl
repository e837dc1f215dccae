/*
 * One pass of a radix sort by the digit at args.shift (D. Knuth, "The Art of Computer Programming",
 * volume 3, section 5.2.5). Pairs with equal digits keep their order: after all passes the pairs of
 * a key are in the order of the tuples.
 *
 * digit_counts: counts the occurrences of each digit in a block of args.block pairs. Global size:
 *   {blocks}.
 * digit_places: computes the prefix sums of a digit's counts over the blocks. Global size:
 *   {GATHER_DIGITS}.
 * place_pairs: moves each pair to its position. Global size: {blocks}.
 *
 * TENON_INDEX, TENON_TUPLE: see gather/tuple.clh.
 */
#include "common/types.clh"

#include "gather/list.clh"

/* Returns the key of pair i. */
TENON_INLINE int pair_key(__global const index_t *indices, __global const int *w,
                          const gather_sort_args *args, long i)
{
    if (args->shift > 0) {
        return w[args->from_at + i];
    }
    const long key = key_of(indices + args->offset, &args->list, &args->tuple, i);
    return (int)(key >= 0 ? key : args->keys);
}

TENON_INLINE int digit_of(int key, const gather_sort_args *args)
{
    return key >> args->shift & (GATHER_DIGITS - 1);
}

TENON_KERNEL void digit_counts(__global const index_t *indices, __global int *workspace,
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
        counts[digit_of(pair_key(indices, w, &args, i), &args)]++;
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

TENON_KERNEL void place_pairs(__global const index_t *indices, __global int *workspace,
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
        int key = pair_key(indices, w, &args, i);
        long to = places[digit_of(key, &args)]++;
        w[args.to_at + to] = key;
        w[args.to_at + args.list.count + to] =
            args.shift > 0 ? w[args.from_at + args.list.count + i] : (int)i;
    }
}

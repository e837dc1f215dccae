/*
 * Sorts rows that fit the caches of a CPU's core (sort/cached.clh).
 *
 * sort_rows: sorts args.each rows. Each work-item has two buffers of a row in the workspace, for
 *   elements and for their places. Global size: at least {rows / each}.
 *
 * TENON_KEY: see sort/keys.clh.
 */
#include "sort/cached.clh"

TENON_KERNEL void sort_rows(SORT_OPERANDS, __global uchar *workspace, const sort_args args)
{
    const long id = (long)get_global_id(0), size = args.axis.size, step = args.axis.axis[SORT_X];
    const long begin = id * args.each, end = min(begin + args.each, (long)args.axis.rows);
    __global uchar *w = workspace + args.workspace;
    __global key_t *keys = (__global key_t *)(w + args.keys_to) + id * 2 * args.length;
    __global int *numbers = (__global int *)(w + args.places_to) + id * 2 * args.length;
    const cached_buffers buffers = {{keys, keys + args.length}, {numbers, numbers + args.length}};
    for (long r = begin; r < end; r++) {
        const sort_row row = sort_row_of(x, y, indices, payload, moved, &args, r);
        const cached_run run = {buffers.keys[1], 0, size};
        for (long i = 0; i < size; i++) {
            buffers.keys[1][i] = row.x[i * step];
        }
        sort_cached(&row, &args, run, &buffers, 0, 0);
    }
}

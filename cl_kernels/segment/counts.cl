/*
 * The numbers of rows of segments, without skipped ones, for the gradients of means.
 *
 * segment_clear: sets the counts of args.length segments to zero. Global size: at least
 *   {segments / length}.
 * segment_counts: adds those of args.length positions. Global size: at least {positions / length}.
 *
 * TENON_INDEX, TENON_SEGMENT: see segment/segment.clh.
 */
#include "segment/part.clh"

TENON_KERNEL void segment_clear(__global uint *counts, const segment_args args)
{
    const long first = (long)get_global_id(0) * args.length;
    const long last = min(first + args.length, (long)args.segments);
    for (long s = first; s < last; s++) {
        counts[args.counts_at + s] = 0;
    }
}

TENON_KERNEL void segment_counts(__global const index_t *indices,
                                 __global const segment_t *segments, volatile __global uint *counts,
                                 const segment_args args)
{
    const long first = (long)get_global_id(0) * args.length;
    const long last = min(first + args.length, (long)args.positions);
    const segment_inputs in = {indices + args.offset[SEGMENT_INDICES], 0,
                               segments + args.offset[SEGMENT_SEGMENTS]};
    for (long p = first; p < last;) {
        const long s = segment_of(&in, &args, p);
        const long begin = begin_of(&in, &args, s), end = begin_of(&in, &args, s + 1);
        const long stop = p < begin || p >= end ? p + 1 : min(end, last);
        uint rows = 0;
        if (p >= begin && p < end) {
            rows = (uint)rows_of(&in, &args, p, stop);
        }
        if (rows > 0) {
            atomic_add(counts + args.counts_at + s, rows);
        }
        p = stop;
    }
}

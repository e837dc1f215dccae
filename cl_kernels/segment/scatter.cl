/*
 * Gradient of a sum or mean of segments with indices, on CPUs: a work-item clears args.each rows of
 * dx and adds to them the terms of their positions, in ascending order. It reads all indices. Rows
 * of dx and dy are contiguous columns.
 *
 * Global size: {ceil(rows / each)}.
 *
 * TENON_DTYPE: f32 or f64, because dx holds the sums. TENON_INDEX, TENON_SEGMENT, TENON_VW: see
 * segment/segment.clh.
 */
#include "segment/part.clh"

/* Finds the segment of a position, which usually is the next one. */
TENON_INLINE void find_next(const segment_inputs *in, const segment_args *args,
                            __global const uint *counts, long position, segment_part *part)
{
    if (!(args->flags & SEGMENT_HAS_IDS) && position == part->end && part->end > part->begin &&
        part->segment + 1 < args->segments) {
        fill_part(in, args, counts, part->segment + 1, part);
        if (position >= part->begin && position < part->end) {
            return;
        }
    }
    find_part(in, args, counts, position, part);
}

/* Adds a row of dy times `weight`, divided by `factor`. */
TENON_INLINE void add_row(__global stored_t *dx, __global const stored_t *dy, long width,
                          value_t weight, value_t factor)
{
    for (long c = 0; c < width; c += COLUMNS) {
        const int count = (int)min(width - c, (long)COLUMNS);
        const columns_t term = load_columns(dy + c, count) * weight / factor;
        store_columns(dx + c, count, load_columns(dx + c, count) + term);
    }
}

TENON_INLINE void clear_row(__global stored_t *dx, long width)
{
    for (long c = 0; c < width; c += COLUMNS) {
        store_columns(dx + c, (int)min(width - c, (long)COLUMNS), (columns_t)(0));
    }
}

TENON_KERNEL void segment_scatter(__global const stored_t *dy, SEGMENT_INPUTS,
                                  __global stored_t *dx, __global const uint *counts,
                                  const segment_args args)
{
    const long low = (long)get_global_id(0) * args.each,
               high = min(low + args.each, (long)args.rows);
    const segment_inputs in = inputs_of(indices, weights, segments, &args);
    const long width = args.shape[0];
    segment_part part = {0, 0, 0, 1};
    dx += args.offset[SEGMENT_X];
    dy += args.offset[SEGMENT_Y];
    for (long row = low; row < high; row++) {
        clear_row(dx + row * args.row_step[SEGMENT_ROWS], width);
    }
    for (long p = 0; p < args.positions && args.segments > 0; p++) {
        const long row = row_of(&in, &args, p);
        if (row < low || row >= high) {
            continue;
        }
        if (p < part.begin || p >= part.end) {
            find_next(&in, &args, counts, p, &part);
        }
        if (p >= part.begin && p < part.end) {
            add_row(dx + row * args.row_step[SEGMENT_ROWS],
                    dy + part.segment * args.row_step[SEGMENT_RESULTS], width,
                    weight_of(&in, &args, p), part.factor);
        }
    }
}

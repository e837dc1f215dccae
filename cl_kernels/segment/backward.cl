/*
 * Gradient of a sum or mean of segments: a work-item computes args.each rows of dx in a chunk of
 * neighboring columns. Chunks of more than one column need columns that are contiguous in both
 * tensors.
 *
 * segment_backward: each row is the sum over its positions, in ascending order. With indices, every
 *   row reads all of them, unless SEGMENT_EXPANDS is set: the rows are then those of the positions,
 *   and those of skipped positions are zeros. Global size: at least {rows / each * chunks}, with
 * the number of positions instead of rows if SEGMENT_EXPANDS is set.
 *
 * TENON_INDEX, TENON_DTYPE, TENON_VW: see segment/segment.clh.
 */
#include "segment/part.clh"

/* Returns the term of a position, which is not skipped; zeros if it is in no segment. */
TENON_INLINE columns_t term_of(__global const stored_t *dy, const segment_inputs *in,
                               const segment_args *args, __global const uint *counts, int count,
                               long position, segment_part *part)
{
    if (args->segments == 0) {
        return (columns_t)(0);
    }
    if (position < part->begin || position >= part->end) {
        find_part(in, args, counts, position, part);
    }
    if (position < part->begin || position >= part->end) {
        return (columns_t)(0);
    }
    columns_t term = load_columns(dy + part->segment * args->row_step[SEGMENT_RESULTS], count);
    if (args->flags & SEGMENT_HAS_WEIGHTS) {
        term *= weight_of(in, args, position);
    }
    return args->kind == SEGMENT_MEAN ? term / part->factor : term;
}

TENON_KERNEL void segment_backward(__global const stored_t *dy, SEGMENT_INPUTS,
                                   __global stored_t *dx, __global const uint *counts,
                                   const segment_args args)
{
    const long id = (long)get_global_id(0);
    const segment_inputs in = inputs_of(indices, weights, segments, &args);
    const int expands =
        (args.flags & (SEGMENT_EXPANDS | SEGMENT_HAS_INDICES)) != SEGMENT_HAS_INDICES;
    long group, chunk;
    TENON_DIVIDE(id, (long)args.chunks, group, chunk)
    const segment_columns c = columns_of(&args, chunk);
    const long rows = args.flags & SEGMENT_EXPANDS ? args.positions : args.rows;
    const long last = min((group + 1) * args.each, rows);
    __global const stored_t *from = dy + args.offset[SEGMENT_Y] + c.at[SEGMENT_RESULTS];
    segment_part part = {0, 0, 0, 1};
    for (long row = group * args.each; row < last; row++) {
        columns_t sum = (columns_t)(0);
        const long begin = expands ? row : 0, end = expands ? row + 1 : args.positions;
        for (long p = begin; p < end; p++) {
            const long own = row_of(&in, &args, p);
            if (args.flags & SEGMENT_EXPANDS ? own >= 0 : own == row) {
                sum += term_of(from, &in, &args, counts, c.count, p, &part);
            }
        }
        store_columns(dx + args.offset[SEGMENT_X] + c.at[SEGMENT_ROWS] +
                          row * args.row_step[SEGMENT_ROWS],
                      c.count, sum);
    }
}

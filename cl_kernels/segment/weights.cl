/*
 * Gradient of a sum or mean of segments with respect to the weights: a work-item computes args.each
 * positions, each of which is the scalar product of a row of x and a row of dy.
 *
 * segment_weights: args.weight_step is that of dweights. Global size: at least {positions / each}.
 *
 * TENON_INDEX, TENON_SEGMENT, TENON_DTYPE, TENON_VW: see segment/segment.clh.
 */
#include "segment/part.clh"

/* Returns the scalar product of two rows. */
TENON_INLINE value_t product_of(__global const stored_t *x, __global const stored_t *dy,
                                const segment_args *args)
{
    value_t sum = 0;
#ifdef TENON_VW
    values_t sums = (values_t)(0);
#endif
    for (long chunk = 0; chunk < args->chunks; chunk++) {
        const segment_columns c = columns_of(args, chunk);
        __global const stored_t *a = x + c.at[SEGMENT_ROWS], *b = dy + c.at[SEGMENT_RESULTS];
#ifdef TENON_VW
        if (c.count >= TENON_VW) {
            sums += load_values(a, 0) * load_values(b, 0);
            continue;
        }
#endif
        for (int i = 0; i < c.count; i++) {
            sum += load_value(a, i) * load_value(b, i);
        }
    }
#ifdef TENON_VW
    value_t lanes[TENON_VW];
    TENON_VSTORE(sums, 0, lanes);
    for (int i = 0; i < TENON_VW; i++) {
        sum += lanes[i];
    }
#endif
    return sum;
}

TENON_KERNEL void segment_weights(__global const stored_t *x, SEGMENT_INPUTS,
                                  __global const stored_t *dy, __global stored_t *dweights,
                                  __global const uint *counts, const segment_args args)
{
    const segment_inputs in = inputs_of(indices, weights, segments, &args);
    const long first = (long)get_global_id(0) * args.each,
               last = min(first + args.each, (long)args.positions);
    segment_part part = {0, 0, 0, 1};
    for (long p = first; p < last; p++) {
        const long row = args.segments > 0 ? row_of(&in, &args, p) : -1;
        value_t result = 0;
        if (row >= 0 && (p < part.begin || p >= part.end)) {
            find_part(&in, &args, counts, p, &part);
        }
        if (row >= 0 && p >= part.begin && p < part.end) {
            result = product_of(x + args.offset[SEGMENT_X] + row * args.row_step[SEGMENT_ROWS],
                                dy + args.offset[SEGMENT_Y] +
                                    part.segment * args.row_step[SEGMENT_RESULTS],
                                &args) /
                     part.factor;
        }
        store_value(dweights, args.offset[SEGMENT_WEIGHTS] + p * args.weight_step, result);
    }
}

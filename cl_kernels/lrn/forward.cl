/*
 * Local response normalization: y = x · (k + alpha / size · the sum of squares of neighboring
 * channels)^-beta. A work-item handles a piece of some lines (common/walk.clh, with its global
 * size), in vectors.
 *
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#include "lrn/lrn.clh"

TENON_VECTOR_KERNEL void lrn_forward(__global const data_t *x, __global data_t *y,
                                     const lrn_args args)
{
    const long ys = args.walk.step[1];
    walk w;
    walk_begin(&w, &args.walk, 2);
    EACH_ROW(&w, &args.walk, 2)
    {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const lrn_place p = place_at(&w, &args, i);
            __global const data_t *line = x + w.at[0];
            const acc_v value = load_channel(line, &args, &p, 0, args.step[0], args.walk.step[0]);
            store_lanes(y, w.at[1] + i * ys, ys, p.lanes,
                        value * power_of(&args, base_of(line, &args, &p, 0)));
        }
    }
}

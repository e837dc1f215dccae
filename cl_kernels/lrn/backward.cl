/*
 * Gradient of local response normalization (tenon/lrn.h has the formula). A work-item handles a
 * piece of some lines (common/walk.clh, with its global size), in vectors.
 *
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#include "lrn/lrn.clh"

TENON_VECTOR_KERNEL void lrn_backward(__global const data_t *x, __global const data_t *dy,
                                      __global data_t *dx, const lrn_args args)
{
    const long xs = args.walk.step[0], dxs = args.walk.step[1], dys = args.walk.step[2];
    const acc_t factor = -2 * TENON_FROM_BITS(args.alpha) * TENON_FROM_BITS(args.beta);
    walk w;
    walk_begin(&w, &args.walk, 3);
    EACH_ROW(&w, &args.walk, 3)
    {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const lrn_place p = place_at(&w, &args, i);
            __global const data_t *line = x + w.at[0], *gradient = dy + w.at[2];
            acc_v sum = splat(0), own = splat(0);
            for (long j = -args.after; j <= args.before; j++) {
                const acc_v g = load_channel(gradient, &args, &p, j, args.step[2], dys),
                            q = g * load_channel(line, &args, &p, j, args.step[0], xs);
                const acc_v d = base_of(line, &args, &p, j), power = power_of(&args, d);
                sum += q == splat(0) ? splat(0) : q * power / d;
                own = j == 0 ? g * power : own;
            }
            const acc_v value = load_channel(line, &args, &p, 0, args.step[0], xs);
            store_lanes(dx, w.at[1] + i * dxs, dxs, p.lanes,
                        TENON_FMA(splat(factor) * value, sum, own));
        }
    }
}

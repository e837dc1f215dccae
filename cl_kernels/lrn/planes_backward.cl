/*
 * Gradient of local response normalization on CPUs (tenon/lrn.h has the formula), if the channels
 * are not the last dimension. The walk is over the other dimensions (common/walk.clh, with its
 * global size). For each vector of positions a work-item goes through the channels once, and keeps
 * the terms of the latest ones.
 *
 * TENON_LRN_KEPT: channels whose terms are kept, a power of two and at least those of a sum.
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#ifndef TENON_LRN_KEPT
#define TENON_LRN_KEPT 32
#endif
#include "lrn/lrn.clh"

/* The terms of channels, by their numbers modulo TENON_LRN_KEPT: dy times the power of the base,
 * and that times x divided by the base, which neighboring channels add. */
typedef struct lrn_terms {
    acc_v own[TENON_LRN_KEPT], shared[TENON_LRN_KEPT];
} lrn_terms;

TENON_INLINE void keep_terms(lrn_terms *terms, const lrn_args *args, __global const data_t *x,
                             __global const data_t *dy, const long *stride, long channel, int lanes)
{
    const int at = (int)(channel & (TENON_LRN_KEPT - 1));
    const long last = min(channel + args->after, args->channels - 1);
    acc_v sum = splat(0);
    for (long m = max(channel - args->before, 0L); m <= last; m++) {
        const acc_v value = load_lanes(x, m * args->step[0], stride[0], lanes);
        sum = TENON_FMA(value, value, sum);
    }
    const acc_v base =
        TENON_FMA(splat(TENON_FROM_BITS(args->alpha)), sum, splat(TENON_FROM_BITS(args->k)));
    const acc_v power = power_of(args, base),
                gradient = load_lanes(dy, channel * args->step[2], stride[2], lanes),
                product = gradient * load_lanes(x, channel * args->step[0], stride[0], lanes);
    terms->own[at] = gradient * power;
    terms->shared[at] = product == splat(0) ? splat(0) : product * power / base;
}

/* Returns the sum of the terms of the channels that depend on a channel. */
TENON_INLINE acc_v sum_of_terms(const lrn_terms *terms, const lrn_args *args, long channel)
{
    const long last = min(channel + args->before, args->channels - 1);
    acc_v sum = splat(0);
    for (long m = max(channel - args->after, 0L); m <= last; m++) {
        sum += terms->shared[m & (TENON_LRN_KEPT - 1)];
    }
    return sum;
}

TENON_VECTOR_KERNEL void lrn_planes_backward(__global const data_t *x, __global const data_t *dy,
                                             __global data_t *dx, const lrn_args args)
{
    const long stride[3] = {args.walk.step[0], args.walk.step[1], args.walk.step[2]};
    const acc_t factor = -2 * TENON_FROM_BITS(args.alpha) * TENON_FROM_BITS(args.beta);
    lrn_terms terms;
    walk w;
    walk_begin(&w, &args.walk, 3);
    EACH_ROW(&w, &args.walk, 3)
    {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            __global const data_t *line = x + w.at[0] + i * stride[0],
                                  *gradient = dy + w.at[2] + i * stride[2];
            __global data_t *result = dx + w.at[1] + i * stride[1];
            for (long next = 0; next < args.channels + args.before; next++) {
                const long channel = next - args.before;
                if (next < args.channels) {
                    keep_terms(&terms, &args, line, gradient, stride, next, lanes);
                }
                if (channel >= 0) {
                    const acc_v value = load_lanes(line, channel * args.step[0], stride[0], lanes);
                    store_lanes(result, channel * args.step[1], stride[1], lanes,
                                TENON_FMA(splat(factor) * value,
                                          sum_of_terms(&terms, &args, channel),
                                          terms.own[channel & (TENON_LRN_KEPT - 1)]));
                }
            }
        }
    }
}

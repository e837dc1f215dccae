/*
 * x = x · min(1, most / (sqrt(sum) + ε)), in place, any strides.
 *
 * Views: the sum, which is one element, and x. A work-item does pieces of x's lines
 * (common/lines.clh).
 *
 * Scalars: 0 the greatest norm, 1 ε. args.flags: bit 0 for a norm that is not finite to scale
 * nothing.
 *
 * TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/lines.clh"

#define SKIP_NONFINITE 1

/* A NaN is not above 1, and stays. */
TENON_INLINE acc_t clip_factor(const lines_args *args, acc_t sum)
{
    acc_t norm = sqrt(sum);
    acc_t factor = lines_scalar(args, 0) / (norm + lines_scalar(args, 1));
    if (factor > 1 || ((args->flags & SKIP_NONFINITE) != 0 && !isfinite(norm))) {
        factor = 1;
    }
    return factor;
}

TENON_VECTOR_KERNEL void clip(__global const acc_t *sum, __global data_t *x, const lines_args args)
{
    const acc_v factor = splat(clip_factor(&args, sum[args.offset[0]]));
    const long stride = args.stride[1][args.rank - 1];
    lines w;
    for (lines_begin(&w, &args, 2); w.left > 0; lines_next(&w, &args, 2)) {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            const long at = w.at[1] + i * stride;
            store_lanes(x, at, stride, lanes, load_lanes(x, at, stride, lanes) * factor);
        }
    }
}

/*
 * y = x > 0 ? x : slope · x, element by element, over any strides (0 broadcasts). y may be x or
 * slope.
 *
 * A work-item covers a piece of rows_each rows, by vectors along the last dimension.
 * Global size: at least {args.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/types.clh"
#include "common/walk.clh"

TENON_VECTOR_KERNEL void forward(__global const data_t *x, __global const data_t *slope,
                                 __global data_t *y, const walk_args args)
{
    const int inner = args.rank - 1;
    const long x_step = args.stride[0][inner], slope_step = args.stride[1][inner],
               y_step = args.stride[2][inner];
    walk w;
    walk_begin(&w, &args, 3);
    for (; w.row < w.end; walk_next(&w, &args, 3)) {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            acc_v s = load_lanes(slope, w.at[1] + i * slope_step, slope_step, lanes);
            acc_v v = load_lanes(x, w.at[0] + i * x_step, x_step, lanes);
            stream_lanes(y, w.at[2] + i * y_step, y_step, lanes, v > splat(0) ? v : s * v, y != x);
        }
    }
}

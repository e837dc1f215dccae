/*
 * y = a · f(b), element by element, over any strides. y may be a or b.
 *
 * A work-item covers a piece of rows_each rows, by vectors along the last dimension.
 * Global size: at least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_DTYPE, TENON_ACT_BUILD: see common/types.clh and common/activation.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/activation.clh"
#include "common/walk.clh"
#include "gated/args.h"

TENON_VECTOR_KERNEL void forward(__global const data_t *a, __global const data_t *b,
                                 __global data_t *y, const gated_args args)
{
    const activation_args f = {args.activation, TENON_FROM_BITS(args.alpha),
                               TENON_FROM_BITS(args.beta)};
    const int inner = args.walk.rank - 1;
    const long a_step = args.walk.stride[0][inner], b_step = args.walk.stride[1][inner],
               y_step = args.walk.stride[2][inner];
    walk w;
    walk_begin(&w, &args.walk, 3);
    for (; w.row < w.end; walk_next(&w, &args.walk, 3)) {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            acc_v gate = activate_v(load_lanes(b, w.at[1] + i * b_step, b_step, lanes), &f);
            acc_v value = load_lanes(a, w.at[0] + i * a_step, a_step, lanes);
            stream_lanes(y, w.at[2] + i * y_step, y_step, lanes, value * gate, y != a && y != b);
        }
    }
}

/*
 * da = dy · f(b) and db = dy · a · f'(b), element by element, over any strides. da and db may be a,
 * b or dy.
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
#include "common/derivative.clh"
#include "common/walk.clh"
#include "gated/args.h"

TENON_INLINE acc_v load_operand(__global const data_t *x, const gated_args *args, const walk *w,
                                int operand, long i, int lanes)
{
    const long step = args->walk.stride[operand][args->walk.rank - 1];
    return load_lanes(x, w->at[operand] + i * step, step, lanes);
}

TENON_VECTOR_KERNEL void backward(__global const data_t *a, __global const data_t *b,
                                  __global const data_t *dy, __global data_t *da,
                                  __global data_t *db, const gated_args args)
{
    const activation_args f = {args.activation, TENON_FROM_BITS(args.alpha),
                               TENON_FROM_BITS(args.beta)};
    const int inner = args.walk.rank - 1;
    const long da_step = args.walk.stride[3][inner], db_step = args.walk.stride[4][inner];
    walk w;
    walk_begin(&w, &args.walk, 5);
    for (; w.row < w.end; walk_next(&w, &args.walk, 5)) {
        for (long i = w.first; i < w.last; i += TENON_VW) {
            const int lanes = (int)min(w.last - i, (long)TENON_VW);
            const acc_v value = load_operand(a, &args, &w, 0, i, lanes);
            const acc_v gate = load_operand(b, &args, &w, 1, i, lanes);
            const acc_v gradient = load_operand(dy, &args, &w, 2, i, lanes);
            stream_lanes(da, w.at[3] + i * da_step, da_step, lanes, gradient * activate_v(gate, &f),
                         da != a && da != b && da != dy);
            stream_lanes(db, w.at[4] + i * db_step, db_step, lanes,
                         gradient * value * derivative_v(gate, &f), db != a && db != b && db != dy);
        }
    }
}

/*
 * Functions of integers: y = f(x), element by element, over any strides of x (0 broadcasts) and y,
 * which may be x. The absolute value and the negation of the least number wrap.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_A_DTYPE: the type, an integer type numbered as in common/types.clh.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_A_DTYPE
#define TENON_A_DTYPE TENON_DTYPE_I32
#endif
#include "common/stored.clh"
#include "common/walk.clh"
#include "function/args.h"

#define KIND_ABS 0
#define KIND_NEG 1

TENON_DEFINE_STORED(x, TENON_STORED(TENON_A_DTYPE))
typedef TENON_VECTOR(TENON_UNSIGNED(TENON_A_DTYPE)) bits_v;

TENON_INLINE x_v function_of(const int kind, x_v x)
{
    const x_v zero = (x_v)(0), one = (x_v)(1);
    switch (kind) {
    case KIND_ABS:
        return TENON_AS_STORED(TENON_A_DTYPE, abs(x));
    case KIND_NEG:
        return TENON_AS_STORED(TENON_A_DTYPE, (bits_v)(0) - TENON_AS_UNSIGNED(TENON_A_DTYPE, x));
    default:
        return select(select(zero, one, x > zero), ~zero, x < zero);
    }
}

TENON_KERNEL void function_integers(__global const x_t *x, __global x_t *y,
                                    const function_args args)
{
    walk w;
    walk_begin(&w, &args.walk, 2);
    const span s = walk_span(&w);
    const int fresh = y != x;
    EACH_ROW(&w, &args.walk, 2)
    {
        TENON_EACH_VECTOR(&s, i)
        {
            const int lanes = lanes_from(&s, i);
            const x_v v = x_load(x + w.at[0], i, args.walk.step[0], lanes);
            x_store(y + w.at[1], i, args.walk.step[1], lanes, function_of(args.kind, v), fresh);
        }
    }
}

/*
 * Logical operations on bool and bitwise operations on integers: d = a ∘ b, element by element,
 * over any strides (0 broadcasts). d may be a or b. b of KIND_NOT is not read.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_A_DTYPE: the type, an integer type or bool, numbered as in common/types.clh.
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
#include "select/args.h"

#define KIND_AND        0
#define KIND_OR         1
#define KIND_XOR        2
#define KIND_NOT        3
#define KIND_SHIFT_LEFT 4

TENON_DEFINE_STORED(a, TENON_STORED(TENON_A_DTYPE))
typedef TENON_VECTOR(TENON_UNSIGNED(TENON_A_DTYPE)) bits_v;
#define BITS ((int)sizeof(a_t) * 8)

TENON_INLINE a_v logic_vectors(const int kind, a_v a, a_v b)
{
#if TENON_A_DTYPE == TENON_DTYPE_BOOL
    a = min(a, (a_v)(1));
    b = min(b, (a_v)(1));
    const a_v inverse = a ^ (a_v)(1);
#else
    const a_v inverse = ~a;
#endif
    const bits_v shift = TENON_AS_UNSIGNED(TENON_A_DTYPE, b), low = shift & (bits_v)(BITS - 1);
    const bits_v left = TENON_AS_UNSIGNED(TENON_A_DTYPE, a) << low;
    const a_v least = a >> (a_v)(BITS - 1); /* of a signed type: -1 for negative numbers */
    const a_v none = TENON_IS_SIGNED(TENON_A_DTYPE) ? least : (a_v)(0);
    switch (kind) {
    case KIND_AND:
        return a & b;
    case KIND_OR:
        return a | b;
    case KIND_XOR:
        return a ^ b;
    case KIND_NOT:
        return inverse;
    case KIND_SHIFT_LEFT:
        return TENON_AS_STORED(TENON_A_DTYPE,
                               select(left, (bits_v)(0), shift > (bits_v)(BITS - 1)));
    default:
        return select(a >> TENON_AS_STORED(TENON_A_DTYPE, low), none, shift > (bits_v)(BITS - 1));
    }
}

TENON_KERNEL void logic(__global const a_t *a, __global const a_t *b, __global a_t *d,
                        const select_args args)
{
    walk w;
    walk_begin(&w, &args.walk, 3);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args.walk, 3)
    {
        TENON_EACH_VECTOR(&s, i)
        {
            const int lanes = lanes_from(&s, i);
            const a_v x = a_load(a + w.at[0], i, args.walk.step[0], lanes);
            a_v y = (a_v)(0);
            if (args.kind != KIND_NOT) {
                y = a_load(b + w.at[1], i, args.walk.step[1], lanes);
            }
            a_store(d + w.at[2], i, args.walk.step[2], lanes, logic_vectors(args.kind, x, y),
                    d != a && d != b);
        }
    }
}

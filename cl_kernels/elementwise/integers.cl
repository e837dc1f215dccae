/*
 * Binary operations on integers: d = a ∘ b, element by element, over any strides (0 broadcasts). d
 * may be a or b. Sums, differences, products and powers wrap. A quotient is rounded toward zero; a
 * / 0 and its remainder are 0.
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
#include "elementwise/args.h"

#define KIND_ADD      0
#define KIND_SUBTRACT 1
#define KIND_MULTIPLY 2
#define KIND_DIVIDE   3
#define KIND_MAX      4
#define KIND_MIN      5
#define KIND_POW      7
#define KIND_FMOD     8

TENON_DEFINE_STORED(a, TENON_STORED(TENON_A_DTYPE))
typedef TENON_VECTOR(TENON_UNSIGNED(TENON_A_DTYPE)) bits_v;

/* Processors trap a division by 0 and of the least number by -1, so these divisors are replaced. */
TENON_INLINE a_v quotient(a_v a, a_v b)
{
    const a_v zero = (a_v)(0), one = (a_v)(1);
#if TENON_IS_SIGNED(TENON_A_DTYPE)
    const a_v negated =
        TENON_AS_STORED(TENON_A_DTYPE, (bits_v)(0) - TENON_AS_UNSIGNED(TENON_A_DTYPE, a));
    const a_v result = a / select(b, one, (b == zero) | (b == -one));
    return select(select(result, negated, b == -one), zero, b == zero);
#else
    return select(a / select(b, one, b == zero), zero, b == zero);
#endif
}

/* Returns a - b · quotient(a, b), or 0 if b is 0: the remainder with the sign of a. */
TENON_INLINE a_v remainder_like_a(a_v a, a_v b)
{
    const bits_v multiple =
        TENON_AS_UNSIGNED(TENON_A_DTYPE, quotient(a, b)) * TENON_AS_UNSIGNED(TENON_A_DTYPE, b);
    const bits_v rest = TENON_AS_UNSIGNED(TENON_A_DTYPE, a) - multiple;
    return select(TENON_AS_STORED(TENON_A_DTYPE, rest), (a_v)(0), b == (a_v)(0));
}

/* The remainder with the sign of b. */
TENON_INLINE a_v remainder_like_b(a_v a, a_v b)
{
    const a_v rest = remainder_like_a(a, b);
#if TENON_IS_SIGNED(TENON_A_DTYPE)
    return select(rest, rest + b, (rest != (a_v)(0)) & ((rest ^ b) < (a_v)(0)));
#else
    return rest;
#endif
}

/* True while bits of an exponent are left. Translators to SPIR-V reject any() for some types. */
#if TENON_GPU
#define ANY_BITS(x) 1
#else
#define ANY_BITS(x) any((x) != (bits_v)(0))
#endif

/* Multiplies squares of a. A negative exponent gives 1 / a to the power of -b, rounded toward zero:
 * 0, unless a is 1 or -1. */
TENON_INLINE a_v power(a_v a, a_v b)
{
    const bits_v one = (bits_v)(1);
    bits_v result = one, square = TENON_AS_UNSIGNED(TENON_A_DTYPE, a);
    bits_v rest = TENON_AS_UNSIGNED(TENON_A_DTYPE, b);
#if TENON_IS_SIGNED(TENON_A_DTYPE)
    rest = select(rest, rest & one, b < (a_v)(0)); /* enough for 1 and -1 */
#endif
    for (int bit = 0; bit < (int)sizeof(a_t) * 8 && ANY_BITS(rest); bit++) {
        result = select(result, result * square, (rest & one) != (bits_v)(0));
        square *= square;
        rest >>= one;
    }
#if TENON_IS_SIGNED(TENON_A_DTYPE)
    const a_v none = (a_v)(0), size = TENON_AS_STORED(TENON_A_DTYPE, abs(a));
    result = select(result, (bits_v)(0), (b < none) & (size != (a_v)(1)));
#endif
    return TENON_AS_STORED(TENON_A_DTYPE, result);
}

/* Wraps by computing on unsigned numbers. */
TENON_INLINE a_v integers_vectors(const int kind, a_v a, a_v b)
{
    const bits_v x = TENON_AS_UNSIGNED(TENON_A_DTYPE, a), y = TENON_AS_UNSIGNED(TENON_A_DTYPE, b);
    switch (kind) {
    case KIND_ADD:
        return TENON_AS_STORED(TENON_A_DTYPE, x + y);
    case KIND_SUBTRACT:
        return TENON_AS_STORED(TENON_A_DTYPE, x - y);
    case KIND_MULTIPLY:
        return TENON_AS_STORED(TENON_A_DTYPE, x * y);
    case KIND_DIVIDE:
        return quotient(a, b);
    case KIND_MAX:
        return max(a, b);
    case KIND_MIN:
        return min(a, b);
    case KIND_POW:
        return power(a, b);
    case KIND_FMOD:
        return remainder_like_a(a, b);
    default:
        return remainder_like_b(a, b);
    }
}

TENON_KERNEL void integers(__global const a_t *a, __global const a_t *b, __global a_t *d,
                           const elementwise_args args)
{
    walk w;
    walk_begin(&w, &args.walk, 3);
    const span s = walk_span(&w);
    const int fresh = d != a && d != b;
    EACH_ROW(&w, &args.walk, 3)
    {
        TENON_EACH_VECTOR(&s, i)
        {
            const int lanes = lanes_from(&s, i);
            const a_v x = a_load(a + w.at[0], i, args.walk.step[0], lanes);
            const a_v y = a_load(b + w.at[1], i, args.walk.step[1], lanes);
            a_store(d + w.at[2], i, args.walk.step[2], lanes, integers_vectors(args.kind, x, y),
                    fresh);
        }
    }
}

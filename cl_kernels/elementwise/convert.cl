/*
 * Copy with conversion: y = x, element by element, over any strides of x (0 broadcasts) and y,
 * which have different types. A number is rounded at most once.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_X_DTYPE, TENON_Y_DTYPE: the types of x and y, numbered as in common/types.clh.
 * TENON_NEAREST: 1: a floating-point number is rounded to the nearest integer, ties to even; 0 (the
 *   default): toward zero.
 * TENON_WRAP: 1: integers of y are the lowest bits of the result; 0 (the default): they saturate.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_X_DTYPE
#define TENON_X_DTYPE TENON_DTYPE_F32
#endif
#ifndef TENON_Y_DTYPE
#define TENON_Y_DTYPE TENON_DTYPE_I32
#endif
#ifndef TENON_NEAREST
#define TENON_NEAREST 0
#endif
#ifndef TENON_WRAP
#define TENON_WRAP 0
#endif
#include "common/types.clh"
#if TENON_X_DTYPE == TENON_DTYPE_F64 || TENON_Y_DTYPE == TENON_DTYPE_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "common/halves.clh"
#include "common/walk.clh"

#define FROM_FLOAT TENON_IS_FLOAT(TENON_X_DTYPE)
#define TO_FLOAT   TENON_IS_FLOAT(TENON_Y_DTYPE)

TENON_DEFINE_STORED(x, TENON_STORED(TENON_X_DTYPE))
TENON_DEFINE_STORED(y, TENON_STORED(TENON_Y_DTYPE))

/* VALUE represents each number of x, and each number to which it is clamped. MASK is the type of
 * comparisons. BITS is the size of VALUE. */
#if TENON_X_DTYPE == TENON_DTYPE_F64
#define VALUE double
#define MASK  long
#elif FROM_FLOAT
#define VALUE float
#define MASK  int
#elif TENON_X_DTYPE == TENON_DTYPE_U32 && TO_FLOAT
#define VALUE     uint
#define MAGNITUDE uint
#define MASK      int
#define BITS      32
#elif TENON_X_DTYPE == TENON_DTYPE_I64 || TENON_X_DTYPE == TENON_DTYPE_U32 ||                      \
    TENON_Y_DTYPE == TENON_DTYPE_I64 || TENON_Y_DTYPE == TENON_DTYPE_U32
#define VALUE     long
#define MAGNITUDE ulong
#define MASK      long
#define BITS      64
#else
#define VALUE     int
#define MAGNITUDE uint
#define MASK      int
#define BITS      32
#endif
typedef TENON_VECTOR(VALUE) value_v;
typedef TENON_VECTOR(MASK) mask_v;

TENON_INLINE value_v value_of(x_v x)
{
#if FROM_FLOAT
    return TENON_VALUES(TENON_X_DTYPE, x);
#else
    return TENON_CAST(TENON_STORED(TENON_X_DTYPE), VALUE, TENON_VALUES(TENON_X_DTYPE, x));
#endif
}

/* LEAST and MOST are the ends of the range of y, LIMIT the number after MOST. WIDE is a type of at
 * least 32 bits to which numbers of the range are converted. POWER is the number of values. */
#if TENON_Y_DTYPE == TENON_DTYPE_I64
#define LEAST       (-0x7fffffffffffffffL - 1)
#define MOST        0x7fffffffffffffffL
#define LIMIT       0x1p63f
#define POWER       0x1p64f
#define WIDE        long
#define UNSIGNED    ulong
#define WIDE_MASK   long
#define NEEDS_CLAMP 0
#else
#define UNSIGNED  uint
#define WIDE_MASK int
#if TENON_Y_DTYPE == TENON_DTYPE_U32
#define WIDE uint
#else
#define WIDE int
#endif
#if TENON_Y_DTYPE == TENON_DTYPE_I8
#define LEAST (-128)
#define MOST  127
#define LIMIT 128.0f
#define POWER 256.0f
#elif TENON_Y_DTYPE == TENON_DTYPE_U8
#define LEAST 0
#define MOST  255
#define LIMIT 256.0f
#define POWER 256.0f
#elif TENON_Y_DTYPE == TENON_DTYPE_I16
#define LEAST (-32768)
#define MOST  32767
#define LIMIT 32768.0f
#define POWER 65536.0f
#elif TENON_Y_DTYPE == TENON_DTYPE_U16
#define LEAST 0
#define MOST  65535
#define LIMIT 65536.0f
#define POWER 65536.0f
#elif TENON_Y_DTYPE == TENON_DTYPE_I32
#define LEAST (-2147483647 - 1)
#define MOST  2147483647
#define LIMIT 0x1p31f
#define POWER 0x1p32f
#else
#define LEAST 0
#define MOST  4294967295u
#define LIMIT 0x1p32f
#define POWER 0x1p32f
#endif
#define NEEDS_CLAMP (BITS == 64 || TENON_Y_DTYPE != TENON_DTYPE_I32)
#endif

#if TO_FLOAT

/* Returns a float whose rounding to a 16-bit type equals a single rounding of x: x rounded toward
 * zero, with its last bit set if that is inexact (rounding to odd; S. Boldo and G. Melquiond,
 * "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers 57, 2008). */
TENON_INLINE TENON_VECTOR(float) round_to_odd(value_v x)
{
#if TENON_X_DTYPE == TENON_DTYPE_F64
    const TENON_VECTOR(float) f = TENON_CONVERT(float, x);
    const value_v back = TENON_CONVERT(double, f);
    const mask_v inexact = (back != x) & (x == x), over = inexact & (fabs(back) > fabs(x));
    TENON_VECTOR(uint) bits = TENON_AS(uint, f);
    bits -= TENON_CONVERT(uint, over & 1);
    return TENON_AS(float, bits | TENON_CONVERT(uint, inexact & 1));
#elif TENON_X_DTYPE == TENON_DTYPE_I32 || TENON_X_DTYPE == TENON_DTYPE_U32 ||                      \
    TENON_X_DTYPE == TENON_DTYPE_I64
    typedef TENON_VECTOR(MAGNITUDE) magnitude_v;
    const magnitude_v size = TENON_AS(MAGNITUDE, abs(x)), most = (magnitude_v)(BITS - 24);
    const magnitude_v down = most - min(clz(size), most); /* leaves the 24 bits of a float */
    magnitude_v kept = size >> down;
    kept = select(kept, kept | 1, (kept << down) != size);
    const TENON_VECTOR(uint) scale = (TENON_CAST(MAGNITUDE, uint, down) + 127) << 23; /* 2^down */
    const TENON_VECTOR(float) f =
        TENON_CONVERT(float, TENON_CAST(MAGNITUDE, int, kept)) * TENON_AS(float, scale);
#if TENON_X_DTYPE == TENON_DTYPE_U32
    return f;
#else
    return select(f, -f, TENON_CAST(MASK, int, x < 0));
#endif
#elif FROM_FLOAT
    return x;
#else
    return TENON_CONVERT(float, x);
#endif
}

#elif TENON_Y_DTYPE != TENON_DTYPE_BOOL && FROM_FLOAT

TENON_INLINE y_v whole_of(value_v x)
{
#if TENON_NEAREST
    x = rint(x);
#endif
    const value_v zero = (value_v)(0);
#if TENON_WRAP
    /* Both products are exact, because POWER is a power of two. */
    const value_v size = fabs(trunc(x)), power = (value_v)(POWER);
    const value_v rest = size - power * floor(size / power);
    const mask_v negative = x < zero, finite = rest == rest;
    const TENON_VECTOR(UNSIGNED) bits = TENON_CONVERT(UNSIGNED, select(zero, rest, finite));
    return TENON_CAST(UNSIGNED, TENON_STORED(TENON_Y_DTYPE),
                      select(bits, -bits, TENON_CAST(MASK, WIDE_MASK, negative)));
#else
    const mask_v over = x >= (value_v)(LIMIT), under = x < (value_v)(LEAST);
    const mask_v inside = ~over & ~under & (x == x);
    TENON_VECTOR(WIDE) whole = TENON_CONVERT(WIDE, select(zero, x, inside));
    whole = select(whole, (TENON_VECTOR(WIDE))(MOST), TENON_CAST(MASK, WIDE_MASK, over));
    whole = select(whole, (TENON_VECTOR(WIDE))(LEAST), TENON_CAST(MASK, WIDE_MASK, under));
    return TENON_CAST(WIDE, TENON_STORED(TENON_Y_DTYPE), whole);
#endif
}

#elif TENON_Y_DTYPE != TENON_DTYPE_BOOL

TENON_INLINE y_v whole_of(value_v x)
{
#if !TENON_WRAP && NEEDS_CLAMP
    x = min(max(x, (value_v)(LEAST)), (value_v)(MOST));
#endif
    return TENON_CAST(VALUE, TENON_STORED(TENON_Y_DTYPE), x);
}

#endif

TENON_INLINE y_v converted(value_v x)
{
#if TENON_Y_DTYPE == TENON_DTYPE_F32 && FROM_FLOAT && TENON_X_DTYPE != TENON_DTYPE_F64
    return x;
#elif TENON_Y_DTYPE == TENON_DTYPE_F64 || TENON_Y_DTYPE == TENON_DTYPE_F32
    return TENON_CONVERT(TENON_STORED(TENON_Y_DTYPE), x);
#elif TENON_Y_DTYPE == TENON_DTYPE_F16
    return halves_of_float(round_to_odd(x));
#elif TENON_Y_DTYPE == TENON_DTYPE_BF16
    return bfloats_of_float(round_to_odd(x));
#elif TENON_Y_DTYPE == TENON_DTYPE_BOOL
    return TENON_TRUTH(MASK, x != (value_v)(0));
#else
    return whole_of(x);
#endif
}

TENON_KERNEL void convert(__global const x_t *x, __global y_t *y, const walk_args args)
{
    walk w;
    walk_begin(&w, &args, 2);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args, 2)
    {
        TENON_EACH_VECTOR(&s, i)
        {
            const int lanes = lanes_from(&s, i);
            const x_v v = x_load(x + w.at[0], i, args.step[0], lanes);
            y_store(y + w.at[1], i, args.step[1], lanes, converted(value_of(v)), 1);
        }
    }
}

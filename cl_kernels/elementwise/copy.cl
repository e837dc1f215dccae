/*
 * y = x, element by element, over any strides of x (0 broadcasts) and y.
 *
 * A work-item covers a piece of rows_each rows. Global size: at least {args.items}.
 *
 * TENON_COPY_SIZE: bytes of an element that is copied as it is; then TENON_VW is the lanes of a
 * vector. Without it values are converted:
 * TENON_FROM, TENON_TO: the types of x and y, numbered as in common/types.clh. A value is rounded
 * once.
 */
#include "common/types.clh"
#include "common/walk.clh"

#ifndef TENON_FROM
#define TENON_FROM TENON_DTYPE_F32
#endif
#ifndef TENON_TO
#define TENON_TO TENON_DTYPE_F16
#endif
#if TENON_FROM == TENON_DTYPE_F64 || TENON_TO == TENON_DTYPE_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifdef TENON_COPY_SIZE

#include "common/element.clh"
typedef element_t from_t;
typedef element_t to_t;
TENON_INLINE void copy_element(__global const from_t *x, __global to_t *y)
{
    *y = *x;
}

#else

#define IS_INTEGER(dtype) ((dtype) >= TENON_DTYPE_I8)

/* What x holds, and the type that holds each of its values. */
#if TENON_FROM == TENON_DTYPE_F64
typedef double from_t;
typedef double value_t;
#elif TENON_FROM == TENON_DTYPE_F32
typedef float from_t;
typedef float value_t;
#elif TENON_FROM == TENON_DTYPE_F16
typedef half from_t;
typedef float value_t;
#elif TENON_FROM == TENON_DTYPE_BF16
typedef ushort from_t;
typedef float value_t;
#elif TENON_FROM == TENON_DTYPE_I8
typedef char from_t;
typedef int value_t;
#elif TENON_FROM == TENON_DTYPE_U8
typedef uchar from_t;
typedef int value_t;
#else
typedef int from_t;
typedef int value_t;
#endif
#if IS_INTEGER(TENON_FROM)
typedef long wide_t;
TENON_INLINE int is_nan(value_t x)
{
    return 0;
}
#else
typedef value_t wide_t;
TENON_INLINE int is_nan(value_t x)
{
    return isnan(x);
}
#endif

TENON_INLINE value_t load_value(__global const from_t *x)
{
#if TENON_FROM == TENON_DTYPE_F16
    return vload_half(0, x);
#elif TENON_FROM == TENON_DTYPE_BF16
    return as_float((uint)*x << 16);
#else
    return *x;
#endif
}

#if TENON_TO == TENON_DTYPE_F64
typedef double to_t;
#elif TENON_TO == TENON_DTYPE_F32
typedef float to_t;
#elif TENON_TO == TENON_DTYPE_F16
typedef half to_t;
#elif TENON_TO == TENON_DTYPE_BF16
typedef ushort to_t;
#elif TENON_TO == TENON_DTYPE_I8
typedef char to_t;
#define LEAST (-128)
#define MOST  127
#elif TENON_TO == TENON_DTYPE_U8
typedef uchar to_t;
#define LEAST 0
#define MOST  255
#else
typedef int to_t;
#define LEAST (-2147483647 - 1)
#define MOST  2147483647
#endif

/* A float from which a second rounding, to fewer bits, gives what one rounding would have: towards
 * zero, with the last bit set where anything was cut off (rounding to odd; S. Boldo and G.
 * Melquiond, "Emulation of a FMA and correctly rounded sums", IEEE Transactions on Computers 57,
 * 2008). */
TENON_INLINE float round_to_odd(value_t x)
{
    float f = (float)x;
    wide_t back = (wide_t)f, exact = (wide_t)x;
    if (back != exact && !is_nan(x)) {
        uint bits = as_uint(f);
        bits -= (exact < 0 ? back < exact : back > exact) ? 1 : 0;
        f = as_float(bits | 1);
    }
    return f;
}

#ifdef MOST
TENON_INLINE to_t to_integer(value_t x)
{
    if (is_nan(x)) {
        return 0;
    }
    if (x <= (value_t)LEAST) {
        return LEAST;
    }
    if (x >= (value_t)MOST) {
        return MOST;
    }
#if IS_INTEGER(TENON_FROM)
    return (to_t)x;
#else
    return (to_t)(int)rint(x);
#endif
}
#endif

TENON_INLINE void copy_element(__global const from_t *x, __global to_t *y)
{
    value_t value = load_value(x);
#if TENON_TO == TENON_DTYPE_F64 || TENON_TO == TENON_DTYPE_F32
    *y = (to_t)value;
#elif TENON_TO == TENON_DTYPE_F16
    vstore_half_rte(round_to_odd(value), 0, y);
#elif TENON_TO == TENON_DTYPE_BF16
    uint bits = as_uint(round_to_odd(value));
    uint rounded = bits + 0x7fff + (bits >> 16 & 1);
    *y = (ushort)((is_nan(value) ? bits | 0x400000 : rounded) >> 16);
#else
    *y = to_integer(value);
#endif
}

#endif

TENON_KERNEL void copy(__global const from_t *x, __global to_t *y, const walk_args args)
{
    const long x_stride = args.stride[0][args.rank - 1], y_stride = args.stride[1][args.rank - 1];
    walk w;
    walk_begin(&w, &args, 2);
    for (; w.row < w.end; walk_next(&w, &args, 2)) {
        long i = w.first;
        __global const from_t *x_row = x + w.at[0];
        __global to_t *y_row = y + w.at[1];
#ifdef TENON_COPY_SIZE
        if (x_stride == 1 && y_stride == 1) {
            for (; i + TENON_VW <= w.last; i += TENON_VW) {
                stream_elements(y_row + i, load_elements(x_row + i), 1);
            }
        }
#endif
        for (; i < w.last; i++) {
            copy_element(x_row + i * x_stride, y_row + i * y_stride);
        }
    }
}

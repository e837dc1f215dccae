/*
 * Copy: y = x, element by element, over any strides of x (0 broadcasts) and y.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row, or single
 * elements if values are converted. Global size: at least {args.items}.
 *
 * TENON_VECTORS: see common/stream.clh.
 *
 * TENON_COPY_SIZE: bytes of an element that is copied without conversion; TENON_VW is then the
 *   number of lanes of a vector. If undefined, values are converted:
 * TENON_X_DTYPE, TENON_Y_DTYPE: the types of x and y, numbered as in common/types.clh. A value is
 *   rounded once.
 */
#include "common/types.clh"
#include "common/walk.clh"

#ifndef TENON_X_DTYPE
#define TENON_X_DTYPE TENON_DTYPE_F32
#endif
#ifndef TENON_Y_DTYPE
#define TENON_Y_DTYPE TENON_DTYPE_F16
#endif
#if TENON_X_DTYPE == TENON_DTYPE_F64 || TENON_Y_DTYPE == TENON_DTYPE_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#ifdef TENON_COPY_SIZE

#include "common/element.clh"
typedef element_t from_t;
typedef element_t to_t;
typedef element_t value_t;
TENON_INLINE value_t load_value(__global const from_t *x)
{
    return *x;
}

TENON_INLINE void store_value(value_t value, __global to_t *y)
{
    *y = value;
}

#else

#define IS_INTEGER(dtype) ((dtype) >= TENON_DTYPE_I8)

/* The type of x, and a type that represents each of its values. */
#if TENON_X_DTYPE == TENON_DTYPE_F64
typedef double from_t;
typedef double value_t;
#elif TENON_X_DTYPE == TENON_DTYPE_F32
typedef float from_t;
typedef float value_t;
#elif TENON_X_DTYPE == TENON_DTYPE_F16
typedef half from_t;
typedef float value_t;
#elif TENON_X_DTYPE == TENON_DTYPE_BF16
typedef ushort from_t;
typedef float value_t;
#elif TENON_X_DTYPE == TENON_DTYPE_I8
typedef char from_t;
typedef int value_t;
#elif TENON_X_DTYPE == TENON_DTYPE_U8
typedef uchar from_t;
typedef int value_t;
#else
typedef int from_t;
typedef int value_t;
#endif
#if IS_INTEGER(TENON_X_DTYPE)
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
#if TENON_X_DTYPE == TENON_DTYPE_F16
    return vload_half(0, x);
#elif TENON_X_DTYPE == TENON_DTYPE_BF16
    return as_float((uint)*x << 16);
#else
    return *x;
#endif
}

#if TENON_Y_DTYPE == TENON_DTYPE_F64
typedef double to_t;
#elif TENON_Y_DTYPE == TENON_DTYPE_F32
typedef float to_t;
#elif TENON_Y_DTYPE == TENON_DTYPE_F16
typedef half to_t;
#elif TENON_Y_DTYPE == TENON_DTYPE_BF16
typedef ushort to_t;
#elif TENON_Y_DTYPE == TENON_DTYPE_I8
typedef char to_t;
#define LEAST (-128)
#define MOST  127
#elif TENON_Y_DTYPE == TENON_DTYPE_U8
typedef uchar to_t;
#define LEAST 0
#define MOST  255
#else
typedef int to_t;
#define LEAST (-2147483647 - 1)
#define MOST  2147483647
#endif

/* Returns a float whose rounding to fewer bits equals a single rounding of x: rounds toward
 * zero and sets the last bit if the result is inexact (rounding to odd; S. Boldo and G.
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
#if IS_INTEGER(TENON_X_DTYPE)
    return (to_t)x;
#else
    return (to_t)(int)rint(x);
#endif
}
#endif

TENON_INLINE void store_value(value_t value, __global to_t *y)
{
#if TENON_Y_DTYPE == TENON_DTYPE_F64 || TENON_Y_DTYPE == TENON_DTYPE_F32
    *y = (to_t)value;
#elif TENON_Y_DTYPE == TENON_DTYPE_F16
    vstore_half_rte(round_to_odd(value), 0, y);
#elif TENON_Y_DTYPE == TENON_DTYPE_BF16
    uint bits = as_uint(round_to_odd(value));
    uint rounded = bits + 0x7fff + (bits >> 16 & 1);
    *y = (ushort)((is_nan(value) ? bits | 0x400000 : rounded) >> 16);
#else
    *y = to_integer(value);
#endif
}

#endif

TENON_INLINE void copy_element(__global const from_t *x, __global to_t *y)
{
    store_value(load_value(x), y);
}

#if TENON_GPU && defined(TENON_COPY_SIZE)

/* Copies a work-item's vectors of a row, or its elements if unit is 1. */
TENON_INLINE void copy_span(__global const from_t *x, long x_stride, __global to_t *y,
                            long y_stride, const span *s)
{
    const size_t both = (size_t)(x + s->first) | (size_t)(y + s->first);
    const int dense = x_stride == 1 && y_stride == 1;
    if (dense && (both & (sizeof(element_v) - 1)) == 0 && has_all(s, TENON_VECTORS, TENON_VW)) {
        element_v v[TENON_VECTORS];
        FOR_VECTORS(k, TENON_VECTORS)
        {
            v[k] = *(__global const element_v *)(x + s->first + k * s->step);
        }
        FOR_VECTORS(k, TENON_VECTORS)
        {
            *(__global element_v *)(y + s->first + k * s->step) = v[k];
        }
        return;
    }
    for (long i = s->first; i < s->last; i += s->step) {
        copy_line(x, x_stride, y, y_stride, i, min(i + s->unit, s->last));
    }
}

#elif TENON_GPU

TENON_INLINE void copy_span(__global const from_t *x, long x_stride, __global to_t *y,
                            long y_stride, const span *s)
{
    if (has_all(s, TENON_VECTORS, 1)) {
        value_t v[TENON_VECTORS];
        FOR_VECTORS(k, TENON_VECTORS)
        {
            v[k] = load_value(x + (s->first + k * s->step) * x_stride);
        }
        FOR_VECTORS(k, TENON_VECTORS)
        {
            store_value(v[k], y + (s->first + k * s->step) * y_stride);
        }
        return;
    }
    for (long i = s->first; i < s->last; i += s->step) {
        copy_element(x + i * x_stride, y + i * y_stride);
    }
}

#else

TENON_INLINE void copy_span(__global const from_t *x, long x_stride, __global to_t *y,
                            long y_stride, const span *s)
{
    long i = s->first;
#ifdef TENON_COPY_SIZE
    if (x_stride == 1 && y_stride == 1) {
        for (; i + TENON_VW <= s->last; i += TENON_VW) {
            stream_elements(y + i, load_elements(x + i), 1);
        }
#if TENON_MASKS
        copy_part(x + i, y + i, (int)(s->last - i));
        return;
#endif
    }
#endif
    for (; i < s->last; i++) {
        copy_element(x + i * x_stride, y + i * y_stride);
    }
}

#endif

TENON_KERNEL void copy(__global const from_t *x, __global to_t *y, const walk_args args)
{
    walk w;
    walk_begin(&w, &args, 2);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args, 2)
    {
        copy_span(x + w.at[0], args.step[0], y + w.at[1], args.step[1], &s);
    }
}

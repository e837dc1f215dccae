/*
 * Tests of numbers: y = test(x), element by element, over any strides of x (0 broadcasts) and y. y
 * is a bool.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_A_DTYPE: the type of x, a floating-point type, numbered as in common/types.clh.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_A_DTYPE
#define TENON_A_DTYPE TENON_DTYPE_F32
#endif
#include "common/types.clh"
#if TENON_A_DTYPE == TENON_DTYPE_F64
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#include "common/halves.clh"
#include "common/walk.clh"
#include "select/args.h"

#define KIND_NAN               0
#define KIND_INFINITE          1
#define KIND_POSITIVE_INFINITE 2
#define KIND_NEGATIVE_INFINITE 3

TENON_DEFINE_STORED(x, TENON_STORED(TENON_A_DTYPE))
TENON_DEFINE_STORED(y, uchar)

TENON_INLINE y_v classify_vector(const int kind, x_v stored)
{
    const TENON_VALUE_V(TENON_A_DTYPE) x = TENON_VALUES(TENON_A_DTYPE, stored);
    const TENON_VALUE_V(TENON_A_DTYPE) infinity = (TENON_VALUE_V(TENON_A_DTYPE))(INFINITY);
    switch (kind) {
    case KIND_NAN:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), x != x);
    case KIND_INFINITE:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), fabs(x) == infinity);
    case KIND_POSITIVE_INFINITE:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), x == infinity);
    case KIND_NEGATIVE_INFINITE:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), x == -infinity);
    default:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), fabs(x) < infinity);
    }
}

TENON_KERNEL void classify(__global const x_t *x, __global y_t *y, const select_args args)
{
    walk w;
    walk_begin(&w, &args.walk, 2);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args.walk, 2)
    {
        TENON_EACH_VECTOR(&s, i)
        {
            const int lanes = lanes_from(&s, i);
            const x_v v = x_load(x + w.at[0], i, args.walk.step[0], lanes);
            y_store(y + w.at[1], i, args.walk.step[1], lanes, classify_vector(args.kind, v), 1);
        }
    }
}

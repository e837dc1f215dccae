/*
 * Comparisons: d = a ∘ b, element by element, over any strides (0 broadcasts). d is a bool.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.walk.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_A_DTYPE: the type of a and b, numbered as in common/types.clh.
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

#define KIND_EQUAL      0
#define KIND_NOT_EQUAL  1
#define KIND_LESS       2
#define KIND_LESS_EQUAL 3
#define KIND_GREATER    4

TENON_DEFINE_STORED(a, TENON_STORED(TENON_A_DTYPE))
TENON_DEFINE_STORED(d, uchar)

TENON_INLINE d_v compare_vectors(const int kind, a_v stored_a, a_v stored_b)
{
    const TENON_VALUE_V(TENON_A_DTYPE) a = TENON_VALUES(TENON_A_DTYPE, stored_a);
    const TENON_VALUE_V(TENON_A_DTYPE) b = TENON_VALUES(TENON_A_DTYPE, stored_b);
    switch (kind) {
    case KIND_EQUAL:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), a == b);
    case KIND_NOT_EQUAL:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), a != b);
    case KIND_LESS:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), a < b);
    case KIND_LESS_EQUAL:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), a <= b);
    case KIND_GREATER:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), a > b);
    default:
        return TENON_TRUTH(TENON_MASK(TENON_A_DTYPE), a >= b);
    }
}

TENON_KERNEL void compare(__global const a_t *a, __global const a_t *b, __global d_t *d,
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
            const a_v y = a_load(b + w.at[1], i, args.walk.step[1], lanes);
            d_store(d + w.at[2], i, args.walk.step[2], lanes, compare_vectors(args.kind, x, y), 1);
        }
    }
}

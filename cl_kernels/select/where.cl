/*
 * Selection: d = condition ? a : b, element by element, over any strides (0 broadcasts). d may be a
 * or b, or the condition. Only the size of an element matters.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.items}.
 *
 * TENON_VW: lanes of a vector.
 * TENON_A_DTYPE: an unsigned type of the size of a, or TENON_DTYPE_I64, numbered as in
 *   common/types.clh.
 *
 * TENON_VECTORS: see common/stream.clh. TENON_STREAM: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_A_DTYPE
#define TENON_A_DTYPE TENON_DTYPE_U32
#endif
#include "common/stored.clh"
#include "common/walk.clh"

TENON_DEFINE_STORED(c, uchar)
TENON_DEFINE_STORED(a, TENON_STORED(TENON_A_DTYPE))

TENON_KERNEL void where(__global const c_t *condition, __global const a_t *a, __global const a_t *b,
                        __global a_t *d, const walk_args args)
{
    walk w;
    walk_begin(&w, &args, 4);
    const span s = walk_span(&w);
    const int fresh = d != a && d != b;
    EACH_ROW(&w, &args, 4)
    {
        TENON_EACH_VECTOR(&s, i)
        {
            const int lanes = lanes_from(&s, i);
            const c_v chosen = c_load(condition + w.at[0], i, args.step[0], lanes);
            const a_v x = a_load(a + w.at[1], i, args.step[1], lanes);
            const a_v y = a_load(b + w.at[2], i, args.step[2], lanes);
            a_store(d + w.at[3], i, args.step[3], lanes,
                    select(y, x, TENON_CAST(char, TENON_MASK(TENON_A_DTYPE), chosen != (c_v)(0))),
                    fresh);
        }
    }
}

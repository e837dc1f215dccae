/*
 * Sets a flag if an element of a tensor is NaN or infinite.
 *
 * nonfinite: views x and the flag. A work-item handles pieces of x's lines (common/lines.clh), with
 *   any strides, and stores 1 if it finds such an element. All of them store the same value.
 * nonfinite_clear: stores 0. Global size: 1.
 *
 * TENON_VW, TENON_DTYPE, TENON_VECTORS: see common/types.clh and common/stream.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/lines.clh"
#include "common/rows.clh"

/* Adds 0 for finite elements and NaN for others. */
TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        __global const data_t *x, long stride, acc_v total[TENON_VECTORS])
{
    acc_v v[TENON_VECTORS];
    load_vectors(vectors, whole, s, x, i, stride, v);
    FOR_VECTORS(k, vectors)
    {
        total[k] += v[k] - v[k];
    }
}

TENON_VECTOR_KERNEL void nonfinite(__global const data_t *x, volatile __global int *flag,
                                   const lines_args args)
{
    const long stride = args.along[0];
    acc_v total[TENON_VECTORS];
    lines w;
    FOR_VECTORS(k, TENON_VECTORS)
    {
        total[k] = splat(0);
    }
    lines_begin(&w, &args, 1);
    EACH_PIECE(&w, &args, 1)
    {
        const span s = lines_span(&w, &args);
        __global const data_t *line = x + w.at[0];
        EACH_BLOCK(&s, is_vectorizable(line, stride),
                   block(vectors, whole, &s, i, line, stride, total))
    }
    for (int k = 1; k < TENON_VECTORS; k++) {
        total[0] += total[k];
    }
    if (isnan(sum_of_lanes(total[0]))) {
        atomic_or(flag + args.offset[1], 1);
    }
}

TENON_KERNEL void nonfinite_clear(__global int *flag, const lines_args args)
{
    flag[args.offset[1]] = 0;
}

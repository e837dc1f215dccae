/*
 * In-place clipping by norm: x = x · min(1, most / (sqrt(sum) + ε)), any strides.
 *
 * Views: the sum, which is one element, and x. A work-item handles pieces of x's lines
 * (common/lines.clh).
 *
 * Scalars: 0 the maximum norm, 1 ε. args.flags: bit 0: a norm that is not finite does not scale x.
 *
 * TENON_VW, TENON_DTYPE, TENON_VECTORS: see common/types.clh and common/stream.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/lines.clh"

#define SKIP_NONFINITE 1

/* Returns the factor. A NaN is not greater than 1, and is preserved. */
TENON_INLINE acc_t clip_factor(const lines_args *args, acc_t sum)
{
    acc_t norm = sqrt(sum);
    acc_t factor = lines_scalar(args, 0) / (norm + lines_scalar(args, 1));
    if (factor > 1 || ((args->flags & SKIP_NONFINITE) != 0 && !isfinite(norm))) {
        factor = 1;
    }
    return factor;
}

TENON_INLINE void block(const int vectors, const int whole, const span *s, long i,
                        __global data_t *x, long stride, acc_v factor)
{
    acc_v v[TENON_VECTORS];
    load_vectors(vectors, whole, s, x, i, stride, v);
    FOR_VECTORS(k, vectors)
    {
        v[k] = v[k] * factor;
    }
    store_vectors(vectors, whole, s, x, i, stride, v, 0);
}

TENON_VECTOR_KERNEL void clip(__global const acc_t *sum, __global data_t *x, const lines_args args)
{
    const acc_v factor = splat(clip_factor(&args, sum[args.offset[0]]));
    const long stride = args.along[1];
    lines w;
    lines_begin(&w, &args, 2);
    EACH_PIECE(&w, &args, 2)
    {
        const span s = lines_span(&w, &args);
        __global data_t *line = x + w.at[1];
        EACH_BLOCK(&s, is_vectorizable(line, stride),
                   block(vectors, whole, &s, i, line, stride, factor))
    }
}

/*
 * In-place clipping by norm: x = x · min(1, most / (sqrt(sum) · scale + ε)), any strides.
 *
 * Views: the sum, which is one element, and x. A work-item handles pieces of x's lines
 * (common/lines.clh).
 *
 * Scalars: 0 the maximum norm, 1 ε. args.flags: bit 0: a norm that is not finite does not scale x.
 *
 * TENON_VW, TENON_DTYPE, TENON_VECTORS: see common/types.clh and common/stream.clh; TENON_GUARD:
 * see optimizer/guard.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/lines.clh"
#include "optimizer/guard.clh"

#define SKIP_NONFINITE 1

/* Returns the factor. A NaN is not greater than 1, and is preserved. */
TENON_INLINE acc_t clip_factor(const lines_args *args, acc_t sum, acc_t scale)
{
    acc_t norm = sqrt(sum);
    acc_t factor = lines_scalar(args, 0) / (norm * scale + lines_scalar(args, 1));
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

TENON_VECTOR_KERNEL void clip(__global const acc_t *sum, __global data_t *x, GUARD_PARAMETERS)
{
    lines w;
    RETURN_IF_SKIPPED
    const acc_v factor = splat(clip_factor(&ARGS, sum[ARGS.offset[0]], GRADIENT_SCALE));
    const long stride = ARGS.along[1];
    lines_begin(&w, &ARGS, 2);
    EACH_PIECE(&w, &ARGS, 2)
    {
        const span s = lines_span(&w, &ARGS);
        __global data_t *line = x + w.at[1];
        EACH_BLOCK(&s, is_vectorizable(line, stride),
                   block(vectors, whole, &s, i, line, stride, factor))
    }
}

/*
 * Draws 0 or 1 with a probability for each element; include/tenon/random.h has the definition.
 *
 * Views: p, y, and the linear element indices, which increase by 1 along a line.
 * A work-item handles pieces of lines (common/lines.clh). Scalars: 0 the seed, 1 the sequence.
 *
 * TENON_OUT_BYTES: see random/results.clh; TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#include "random/word.clh"

#if TENON_GPU

/* Returns p · 2^32, rounded to an integer. */
TENON_INLINE long threshold_of(acc_t p)
{
    if (!(p > 0)) {
        return 0;
    }
    return p >= 1 ? 1L << 32 : convert_long_rte(p * TENON_ACC_LITERAL(0x1p32));
}

TENON_INLINE void draw_piece(const philox_stream *stream, __global const data_t *p,
                             __global out_t *y, const lines *w, const lines_args *args)
{
    for (long i = w->first; i < w->last; i++) {
        const long threshold = threshold_of(load_data(p, w->at[0] + i * args->along[0]));
        const int one = (long)word_of(stream, (ulong)(w->at[2] + i)) < threshold;
        const long at = w->at[1] + i * args->along[1];
#ifdef TENON_OUT_BYTES
        y[at] = (out_t)one;
#else
        store_data(y, at, one);
#endif
    }
}

#else

/* Returns 1 in the lanes whose word is below p · 2^32, rounded to an integer. */
TENON_INLINE acc_v ones_of(uint_v word, acc_v p)
{
    const acc_v all = splat(TENON_ACC_LITERAL(0x1p32));
    const acc_v threshold = p > splat(0) ? rint(min(p, splat(1)) * all) : splat(0);
    const philox_mask always = threshold >= all;
    const uint_v below = TENON_CAT(convert_uint, TENON_VW)(always ? splat(0) : threshold);
    return (PHILOX_TO_MASK(word < below) | always) ? splat(1) : splat(0);
}

TENON_INLINE void draw_piece(const philox_stream *stream, __global const data_t *p,
                             __global out_t *y, const lines *w, const lines_args *args)
{
    long group, last;
    philox_groups(w, w->at[2], 4 * PHILOX_BLOCKS, &group, &last);
    for (; group < last; group++) {
        for (int j = 0; j < PHILOX_BLOCKS; j += TENON_VW) {
            uint_v x[4];
            philox(stream, (ulong)(group * PHILOX_BLOCKS + j), x);
            for (int h = 0; h < 4; h++) {
                const long i = (group * 4 + h) * PHILOX_BLOCKS + j - w->at[2];
                const acc_v v = lines_load(p, w, w->at[0], args->along[0], i);
                store_results(y, w, w->at[1], args->along[1], i, ones_of(x[h], v));
            }
        }
    }
}

#endif

TENON_VECTOR_KERNEL void bernoulli(__global const data_t *p, __global out_t *y,
                                   const lines_args args)
{
    const philox_stream stream = philox_begin(&args);
    lines w;
    lines_begin(&w, &args, 3);
    EACH_PIECE(&w, &args, 3)
    {
        draw_piece(&stream, p, y, &w, &args);
    }
}

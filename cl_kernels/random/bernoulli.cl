/*
 * Draws 0 or 1 with a probability for each element; include/tenon/random.h has the definition.
 *
 * Views: p, y, and the linear element indices, which increase by 1 along a line.
 * A work-item handles pieces of lines (common/lines.clh). Scalars: 0 the seed, 1 the sequence.
 *
 * TENON_OUT_BYTES: see random/word.clh; TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#include "random/word.clh"

/* Returns p · 2^32, rounded to an integer. */
TENON_INLINE long threshold_of(acc_t p)
{
    if (!(p > 0)) {
        return 0;
    }
    return p >= 1 ? 1L << 32 : convert_long_rte(p * TENON_ACC_LITERAL(0x1p32));
}

TENON_KERNEL void bernoulli(__global const data_t *p, __global out_t *y, const lines_args args)
{
    const philox_stream stream = philox_begin(&args);
    lines w;
    lines_begin(&w, &args, 3);
    EACH_PIECE(&w, &args, 3)
    {
        for (long i = w.first; i < w.last; i++) {
            const long threshold = threshold_of(load_data(p, w.at[0] + i * args.along[0]));
            const int one = (long)word_of(&stream, (ulong)(w.at[2] + i)) < threshold;
            const long at = w.at[1] + i * args.along[1];
#ifdef TENON_OUT_BYTES
            y[at] = (out_t)one;
#else
            store_data(y, at, one);
#endif
        }
    }
}

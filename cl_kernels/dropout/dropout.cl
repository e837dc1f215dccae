/*
 * Dropout: y = x · scale, or 0 for dropped elements; y may be x. Any strides.
 *
 * Views: x, y, and the linear element indices, which increase by 1 along a line. A work-item
 * handles pieces of lines as in random/random.cl, whose Bernoulli numbers select the dropped
 * elements.
 *
 * Scalars: 0 the seed, 1 the sequence, 2 the integer p · 2³², 3 the scale.
 *
 * TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/philox.clh"

#define WORDS 4

TENON_VECTOR_KERNEL void dropout(__global const data_t *x, __global data_t *y,
                                 const lines_args args)
{
    const philox_stream stream = philox_begin(&args);
    const long x_stride = args.along[0], y_stride = args.along[1];
    const acc_v scale = splat(lines_scalar(&args, 3));
    lines w;
    lines_begin(&w, &args, 3);
    EACH_PIECE(&w, &args, 3)
    {
        const long base = w.at[2];
        long group, last;
        philox_groups(&w, base, WORDS * PHILOX_BLOCKS, &group, &last);
        for (; group < last; group++) {
            for (int j = w.part * TENON_VW; j < PHILOX_BLOCKS; j += args.parts * TENON_VW) {
                const long i = group * WORDS * PHILOX_BLOCKS + j - base;
                uint_v words[WORDS];
                acc_v v[WORDS];
#if TENON_GPU /* loads are in flight while the words are computed */
                TENON_UNROLL
                for (int h = 0; h < WORDS; h++) {
                    v[h] = lines_load(x, &w, w.at[0], x_stride, i + h * PHILOX_BLOCKS);
                }
#endif
                philox(&stream, (ulong)(group * PHILOX_BLOCKS + j), words);
                TENON_UNROLL
                for (int h = 0; h < WORDS; h++) {
#if !TENON_GPU
                    v[h] = lines_load(x, &w, w.at[0], x_stride, i + h * PHILOX_BLOCKS);
#endif
                    v[h] = philox_below(words[h], args.scalar[2]) ? splat(0) : v[h] * scale;
                    lines_store(y, &w, w.at[1], y_stride, i + h * PHILOX_BLOCKS, v[h]);
                }
            }
        }
    }
}

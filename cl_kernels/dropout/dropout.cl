/*
 * y = x · scale, or 0 where an element is dropped; y may be x. Any strides.
 *
 * Views: x, y, and the elements' numbers, which step by 1 along a line. A work-item does pieces of
 * lines as in random/random.cl, whose Bernoulli numbers say what is dropped.
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
    const long x_stride = args.stride[0][args.rank - 1], y_stride = args.stride[1][args.rank - 1];
    const acc_v scale = splat(lines_scalar(&args, 3));
    lines w;
    for (lines_begin(&w, &args, 3); w.left > 0; lines_next(&w, &args, 3)) {
        const long base = w.at[2];
        long group, last;
        philox_groups(&w, base, WORDS * PHILOX_BLOCKS, &group, &last);
        for (; group < last; group++) {
            for (int j = w.part * TENON_VW; j < PHILOX_BLOCKS; j += args.parts * TENON_VW) {
                uint_v words[WORDS];
                philox(&stream, (ulong)(group * PHILOX_BLOCKS + j), words);
                for (int h = 0; h < WORDS; h++) {
                    long i = (group * WORDS + h) * PHILOX_BLOCKS + j - base;
                    acc_v v = lines_load(x, &w, w.at[0], x_stride, i) * scale;
                    v = philox_below(words[h], args.scalar[2]) ? splat(0) : v;
                    lines_store(y, &w, w.at[1], y_stride, i, v);
                }
            }
        }
    }
}

/*
 * Fills a tensor with a random permutation; include/tenon/random.h has the definition.
 *
 * Views: y, and the element indices. single[0]: bits of half an index, single[1]: the elements.
 * A work-item handles pieces of lines (common/lines.clh). Scalars: 0 the seed, 1 the sequence.
 *
 * TENON_OUT_BYTES: see random/results.clh; TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#include "random/word.clh"

#define ROUNDS 8

TENON_INLINE ulong permuted(const philox_stream *stream, int bits, ulong number)
{
    const uint mask = bits == 32 ? 0xffffffffu : (1u << bits) - 1;
    uint left = (uint)(number >> bits), right = (uint)number & mask;
    for (uint round = 0; round < ROUNDS; round++) {
        uint x[4] = {right, round, stream->sequence[0], stream->sequence[1]};
        philox_words(x, stream->key[0], stream->key[1]);
        const uint next = left ^ (x[0] & mask);
        left = right;
        right = next;
    }
    return (ulong)left << bits | right;
}

TENON_KERNEL void permutation(__global out_t *y, const singles_args args)
{
    const philox_stream stream = philox_begin(&args.lines);
    lines w;
    lines_begin(&w, &args.lines, 2);
    EACH_PIECE(&w, &args.lines, 2)
    {
        for (long i = w.first; i < w.last; i++) {
            ulong number = (ulong)(w.at[1] + i);
            do {
                number = permuted(&stream, (int)args.single[0], number);
            } while (number >= (ulong)args.single[1]);
            y[w.at[0] + i * args.lines.along[0]] = (out_t)number;
        }
    }
}

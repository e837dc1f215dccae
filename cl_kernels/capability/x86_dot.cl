/* Probe of instructions of x86 that add products of small integers, with vectors of the width that
 * kernels use (common/x86_dot.clh). TENON_DOT: the instruction. */
#include "capability/args.h"
#ifndef TENON_VW
#if defined(__AVX512F__) && TENON_DOT != 3 && TENON_DOT != 5
#define TENON_VW 16
#elif defined(__AVX2__)
#define TENON_VW 8
#else
#define TENON_VW 4
#endif
#endif
#include "common/x86_dot.clh"

#define ROUNDS 64

/* Returns pseudo-random bits; those of the first rounds are extremes. */
TENON_INLINE uint bits_of(int round, int lane, uint one)
{
    const uint bits = (uint)(round * TENON_VW + lane + 1) * 2654435761u * one;
    return round == 0 ? 0xffffffffu : round == 1 ? 0x80808080u : bits ^ bits >> 15;
}

/* Returns the sum of the products of a group. */
TENON_INLINE uint products_of(uint a, uint b)
{
    uint sum = 0;
    for (int step = 0; step < TENON_GROUP; step++) {
#if TENON_GROUP == 4
        sum += (a >> (8 * step) & 255) * (uint)(int)(char)(b >> (8 * step) & 255);
#else
        sum +=
            (uint)((int)(short)(a >> (16 * step) & 65535) * (int)(short)(b >> (16 * step) & 65535));
#endif
    }
    return sum;
}

__kernel void trial(__global int *result, const trial_args args)
{
    dot_v sum = (dot_v)(0x7fffff00u);
    uint expected[TENON_VW], lanes_a[TENON_VW], lanes_b[TENON_VW];
    bool right = true;
    for (int lane = 0; lane < TENON_VW; lane++) {
        expected[lane] = 0x7fffff00u;
    }
    for (int round = 0; round < ROUNDS; round++) {
        for (int lane = 0; lane < TENON_VW; lane++) {
            lanes_a[lane] = bits_of(round, lane, (uint)args.one);
            lanes_b[lane] = bits_of(round ^ (lane & 1), lane + 7, (uint)args.one);
            expected[lane] += products_of(lanes_a[lane], lanes_b[lane]);
        }
        sum = dot_words(sum, TENON_CAT(vload, TENON_VW)(0, lanes_a),
                        TENON_CAT(vload, TENON_VW)(0, lanes_b));
    }
    TENON_CAT(vstore, TENON_VW)(sum, 0, lanes_a);
    for (int lane = 0; lane < TENON_VW; lane++) {
        right = right && lanes_a[lane] == expected[lane];
    }
    result[get_global_id(0)] = right;
}

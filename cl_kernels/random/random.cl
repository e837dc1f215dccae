/*
 * Fills a tensor of any strides with random numbers; include/tenon/random.h defines each
 * distribution.
 *
 * Views: y, and the linear element indices, which increase by 1 along a line. A work-item handles
 * pieces of lines (common/lines.clh), where args.chunk is a multiple of 64. args.parts work-items
 * share a piece, and each handles every parts-th vector of a group of Philox blocks.
 *
 * Scalars: 0 the seed, 1 the sequence; for uniform 2 low, 3 high - low, 4 and 5 the least and the
 * greatest number of the type in [low, high); for normal 2 the mean, 3 the standard deviation; for
 * Bernoulli 2 the integer p · 2³².
 *
 * TENON_RANDOM_KIND: 0 uniform, 1 normal, 2 Bernoulli.
 * TENON_OUT_BYTES, for Bernoulli: see random/results.clh.
 *
 * TENON_VW, TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_RANDOM_KIND
#define TENON_RANDOM_KIND 0
#endif
#include "common/philox.clh"
#include "random/results.clh"

#define KIND_UNIFORM   0
#define KIND_NORMAL    1
#define KIND_BERNOULLI 2

#if TENON_DTYPE == TENON_DTYPE_F64 && TENON_RANDOM_KIND != KIND_BERNOULLI
#define WORDS 2 /* per block, 64 bits each */
typedef TENON_CAT(ulong, TENON_VW) word_v;
typedef TENON_CAT(long, TENON_VW) signed_v;
#define WORD_BITS 64
#define UNIT_BITS 53 /* random bits of a uniform number */
#else
#define WORDS     4
typedef uint_v word_v;
typedef TENON_CAT(int, TENON_VW) signed_v;
#define WORD_BITS 32
#define UNIT_BITS 24
#endif
#define TO_ACC TENON_CAT(TENON_CAT(convert_, TENON_ACC), TENON_VW)
#define AS_ACC TENON_CAT(TENON_CAT(as_, TENON_ACC), TENON_VW)

TENON_INLINE void draw(const philox_stream *stream, ulong block, word_v x[WORDS])
{
#if WORDS == 2
    uint_v half_words[4];
    philox(stream, block, half_words);
    TENON_UNROLL
    for (int h = 0; h < 2; h++) {
        x[h] = TENON_CAT(convert_ulong, TENON_VW)(half_words[2 * h]) |
               TENON_CAT(convert_ulong, TENON_VW)(half_words[2 * h + 1]) << 32;
    }
#else
    philox(stream, block, x);
#endif
}

#if TENON_RANDOM_KIND == KIND_UNIFORM

#if WORDS == 2
#define UNIT TENON_ACC_LITERAL(0x1p-53)
#else
#define UNIT TENON_ACC_LITERAL(0x1p-24)
#endif

TENON_INLINE void numbers(const lines_args *args, const word_v x[WORDS], acc_v y[WORDS])
{
    const acc_v low = splat(lines_scalar(args, 2)), range = splat(lines_scalar(args, 3));
    const acc_v least = splat(lines_scalar(args, 4)), most = splat(lines_scalar(args, 5));
    TENON_UNROLL
    for (int h = 0; h < WORDS; h++) {
        acc_v u = TO_ACC(x[h] >> (WORD_BITS - UNIT_BITS)) * splat(UNIT);
        acc_v v = low + range * u;
        v = v < least ? least : v;
        y[h] = v > most ? most : v;
    }
}

#elif TENON_RANDOM_KIND == KIND_NORMAL

#if WORDS == 2
#define EIGHTH_TURN  (1L << 50) /* in units of 2^-53 turns */
#define SIN_OF(x)    sin(x)
#define COS_OF(x)    cos(x)
#define TURN_UNIT    TENON_ACC_LITERAL(6.975736996017264e-16)
#define TO_SIGNED(x) TENON_CAT(as_long, TENON_VW)(x)
TENON_INLINE acc_v radius_unit(word_v x)
{
    return TO_ACC((x >> 11) + (word_v)(1)) * splat(TENON_ACC_LITERAL(0x1p-53));
}
#else
#define EIGHTH_TURN  (1 << 21) /* in units of 2^-24 turns */
#define SIN_OF(x)    sin_near_zero(x)
#define COS_OF(x)    cos_near_zero(x)
#define TURN_UNIT    TENON_ACC_LITERAL(3.7450702829239286e-07)
#define TO_SIGNED(x) TENON_CAT(as_int, TENON_VW)(x)
/* sin and cos for |x| ≤ π/4, with the coefficients of S. Moshier's Cephes library (sinf.c):
 * within 2u of the exact value. A compiler's own functions accept any argument, and some of them
 * use memory for that. */
TENON_INLINE acc_v sin_near_zero(acc_v x)
{
    const acc_v z = x * x;
    const acc_v p = splat(8.3321608736e-3f) + z * splat(-1.9515295891e-4f);
    return x + x * (z * (splat(-1.6666654611e-1f) + z * p));
}

TENON_INLINE acc_v cos_near_zero(acc_v x)
{
    const acc_v z = x * x;
    const acc_v p = splat(-1.388731625493765e-3f) + z * splat(2.443315711809948e-5f);
    return splat(1) - (splat(0.5f) * z - z * z * (splat(4.166664568298827e-2f) + z * p));
}

/* Words below 2^24 keep all their bits, which determine the tail of the distribution. */
TENON_INLINE acc_v radius_unit(word_v x)
{
    word_v bits = x < (word_v)(1 << 24) ? x : x & (word_v)(0xffffff00u);
    return TO_ACC(max(bits, (word_v)(1))) * splat(TENON_ACC_LITERAL(0x1p-32));
}
#endif

/* Applies to v the sign in bit 1 of `bits`. */
TENON_INLINE acc_v with_sign(acc_v v, signed_v bits)
{
    return AS_ACC(TO_SIGNED(v) ^ ((bits & (signed_v)(2)) << (WORD_BITS - 2)));
}

/* Box-Muller transform of two words. The angle is reduced to within an eighth of a turn of a
 * multiple of a quarter turn, exactly, in integers. */
TENON_INLINE void pair(const lines_args *args, word_v x0, word_v x1, acc_v *y0, acc_v *y1)
{
    const acc_v mean = splat(lines_scalar(args, 2)), deviation = splat(lines_scalar(args, 3));
    acc_v r = sqrt(splat(-2) * log(radius_unit(x0)));
    signed_v turn = TO_SIGNED(x1 >> (WORD_BITS - UNIT_BITS));
    signed_v quarter = (turn + (signed_v)(EIGHTH_TURN)) >> (UNIT_BITS - 2);
    acc_v angle = TO_ACC(turn - (quarter << (UNIT_BITS - 2))) * splat(TURN_UNIT);
    acc_v c = COS_OF(angle), s = SIN_OF(angle);
    signed_v odd = -(quarter & (signed_v)(1));
    *y0 = mean + deviation * (r * with_sign(odd ? s : c, quarter + (signed_v)(1)));
    *y1 = mean + deviation * (r * with_sign(odd ? c : s, quarter));
}

TENON_INLINE void numbers(const lines_args *args, const word_v x[WORDS], acc_v y[WORDS])
{
    TENON_UNROLL
    for (int h = 0; h < WORDS; h += 2) {
        pair(args, x[h], x[h + 1], &y[h], &y[h + 1]);
    }
}

#else

TENON_INLINE void numbers(const lines_args *args, const word_v x[WORDS], acc_v y[WORDS])
{
    TENON_UNROLL
    for (int h = 0; h < WORDS; h++) {
        y[h] = philox_below(x[h], args->scalar[2]) ? splat(1) : splat(0);
    }
}

#endif

TENON_VECTOR_KERNEL void random_fill(__global out_t *y, const lines_args args)
{
    const philox_stream stream = philox_begin(&args);
    const long stride = args.along[0];
    lines w;
    lines_begin(&w, &args, 2);
    EACH_PIECE(&w, &args, 2)
    {
        const long base = w.at[1];
        long group, last;
        philox_groups(&w, base, WORDS * PHILOX_BLOCKS, &group, &last);
        for (; group < last; group++) {
            for (int j = w.part * TENON_VW; j < PHILOX_BLOCKS; j += args.parts * TENON_VW) {
                long i = group * WORDS * PHILOX_BLOCKS + j - base;
                word_v x[WORDS];
                acc_v v[WORDS];
                draw(&stream, (ulong)(group * PHILOX_BLOCKS + j), x);
                numbers(&args, x, v);
                TENON_UNROLL
                for (int h = 0; h < WORDS; h++) {
                    store_results(y, &w, w.at[0], stride, i + h * PHILOX_BLOCKS, v[h]);
                }
            }
        }
    }
}

/* Encoding and decoding of PTX's number types. */
#include "internal.h"

#include <math.h>
#include <string.h>

float f32_of(uint64_t bits)
{
    const uint32_t low = (uint32_t)bits;
    float x;
    memcpy(&x, &low, sizeof x);
    return x;
}

uint64_t bits_of_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* Returns the numbers of fraction and exponent bits of a format. */
static void format_of(ptx_type type, int *fraction, int *exponent)
{
    const bool is_half = type.bits == 16;
    *fraction = type.bits == 64           ? 52
                : type.bits == 32         ? 23
                : type.bits == 19         ? 10
                : type.kind == PTX_BFLOAT ? 7
                                          : 10;
    *exponent = type.bits == 64 ? 11 : is_half && type.kind == PTX_FLOAT ? 5 : 8;
}

double to_double(ptx_type type, uint64_t bits)
{
    int fraction, exponent;
    if (type.bits == 64) {
        double x;
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    if (type.bits == 32)
        return (double)f32_of(bits);
    if (type.bits == 19) /* in the upper bits of 32; the others are ignored */
        return (double)f32_of(bits & 0xffffe000u);
    if (type.kind == PTX_BFLOAT)
        return (double)f32_of(bits << 16);
    format_of(type, &fraction, &exponent);
    const int e = (int)(bits >> fraction & 31);
    const double f = (double)(bits & 1023), sign = bits >> 15 & 1 ? -1 : 1;
    if (e == 31)
        return f != 0 ? (double)NAN : sign * (double)INFINITY;
    return sign * (e == 0 ? ldexp(f, -24) : ldexp(f + 1024, e - 25));
}

/* Rounds to an integer in the given mode. */
double rounded_whole(double x, ptx_round round)
{
    switch (round) {
    case PTX_RZ:
        return trunc(x);
    case PTX_RM:
        return floor(x);
    case PTX_RP:
        return ceil(x);
    case PTX_RNA:
        return copysign(floor(fabs(x) + 0.5), x);
    default:
        return nearbyint(x); /* ties to even */
    }
}

static uint64_t infinite(int fraction, int exponent, bool negative, ptx_round round)
{
    const uint64_t infinity = (((uint64_t)1 << exponent) - 1) << fraction;
    const bool stays =
        round == PTX_RZ || (round == PTX_RM && !negative) || (round == PTX_RP && negative);
    return infinity - stays + ((uint64_t)negative << (fraction + exponent));
}

uint64_t from_double(ptx_type type, double x, ptx_round round)
{
    int fraction, exponent, e;
    uint64_t bits;
    if (type.bits == 64) {
        memcpy(&bits, &x, sizeof bits);
        return bits;
    }
    if (type.bits == 32 && round == PTX_RN && !isnan(x))
        return bits_of_f32((float)x);
    format_of(type, &fraction, &exponent);
    const int bias = (1 << (exponent - 1)) - 1, width = fraction + exponent;
    const int shift = type.bits == 19 ? 13 : 0;
    const bool negative = signbit(x) != 0;
    if (isnan(x))
        return type.bits == 16 ? 0x7fff : 0x7fffffff; /* the canonical NaN */
    if (isinf(x))
        return infinite(fraction, exponent, negative, PTX_RN) << shift;
    frexp(x, &e);
    e = x == 0 || e - 1 < 1 - bias ? 1 - bias : e - 1;
    double scaled = fabs(rounded_whole(ldexp(x, fraction - e), round)); /* 1.0 is 2^fraction */
    if (scaled == ldexp(2, fraction)) {
        scaled /= 2;
        e++;
    }
    if (e > bias)
        return infinite(fraction, exponent, negative, round) << shift;
    bits = (uint64_t)scaled;
    if (scaled >= ldexp(1, fraction))
        bits += (uint64_t)(e + bias - 1) << fraction;
    return (bits | (uint64_t)negative << width) << shift;
}

/* f16 values are decoded once into a table. */
float element_value(ptx_type type, uint32_t bits)
{
    static float halves[65536];
    static bool is_made;
    if (type.kind == PTX_SIGNED)
        return (float)(int8_t)bits;
    if (type.kind == PTX_UNSIGNED)
        return (float)(uint8_t)bits;
    if (type.bits == 19)
        return f32_of(bits & 0xffffe000u);
    if (type.bits == 32)
        return f32_of(bits);
    if (type.kind == PTX_BFLOAT)
        return f32_of((uint64_t)bits << 16);
    for (uint32_t b = 0; !is_made && b < 65536; b++)
        halves[b] = (float)to_double((ptx_type){PTX_FLOAT, 16, 1}, b);
    is_made = true;
    return halves[bits & 0xffff];
}

uint64_t extended(ptx_type type, uint64_t bits)
{
    const int unused = 64 - (type.bits < 64 ? type.bits : 64);
    if (unused == 0)
        return bits;
    return type.kind == PTX_SIGNED ? (uint64_t)((int64_t)(bits << unused) >> unused)
                                   : bits << unused >> unused;
}

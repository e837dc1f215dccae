/* Floating-point arithmetic, comparisons and conversions of the interpreter. */
#include "internal.h"

#include <math.h>
#include <string.h>

static double flushed(const ptx_instruction *i, ptx_type type, double x)
{
    const bool is_denormal = type.bits == 32 && fabs(x) < 0x1p-126 && x != 0;
    return i->flags & PTX_FTZ && is_denormal ? copysign(0, x) : x;
}

/* Returns the minimum or maximum. A NaN operand yields the other operand, except with .NaN. */
static double extreme(const ptx_instruction *i, double a, double b)
{
    if (isnan(a) || isnan(b)) {
        const bool stays = i->flags & PTX_NAN || (isnan(a) && isnan(b));
        return stays ? (double)NAN : isnan(a) ? b : a;
    }
    if (a == b)
        return (signbit(a) != 0) == (i->op == PTX_OP_min) ? a : b;
    return (a < b) == (i->op == PTX_OP_min) ? a : b;
}

/* Adds two numbers. For f64 the sum is rounded once. For narrower types it is exact in double, or
 * close enough that the subsequent rounding to the type gives the same result; bits beyond the 53rd
 * are folded into a sticky bit. */
static double sum_of(double a, double b, bool is_double)
{
    const double s = a + b;
    if (is_double || !isfinite(s))
        return s;
    const double t = s - a, rest = (a - (s - t)) + (b - t); /* Knuth's two-sum */
    uint64_t bits;
    memcpy(&bits, &s, sizeof bits);
    if (rest != 0 && (bits & 1) == 0) /* round to odd */
        return nextafter(s, rest > 0 ? (double)INFINITY : -(double)INFINITY);
    return s;
}

static double fused(double a, double b, double c, bool is_double)
{
    return is_double ? fma(a, b, c) : sum_of(a * b, c, false);
}

/* Computes one element. Approximate functions return the correctly rounded result. */
static double compute(machine *m, const ptx_instruction *i, const double *x, int lane)
{
    const bool is_double = i->types[0].bits == 64;
    switch (i->op) {
    case PTX_OP_add:
        return sum_of(x[0], x[1], is_double);
    case PTX_OP_sub:
        return sum_of(x[0], -x[1], is_double);
    case PTX_OP_mul:
        return x[0] * x[1];
    case PTX_OP_fma:
    case PTX_OP_mad:
        return fused(x[0], x[1], x[2], is_double);
    case PTX_OP_div:
        return is_double ? x[0] / x[1] : (double)((float)x[0] / (float)x[1]);
    case PTX_OP_rcp:
        return 1 / x[0];
    case PTX_OP_sqrt:
        return sqrt(x[0]);
    case PTX_OP_rsqrt:
        return 1 / sqrt(x[0]);
    case PTX_OP_ex2:
        return exp2(x[0]);
    case PTX_OP_lg2:
        return log2(x[0]);
    case PTX_OP_sin:
        return sin(x[0]);
    case PTX_OP_cos:
        return cos(x[0]);
    case PTX_OP_tanh:
        return tanh(x[0]);
    case PTX_OP_abs:
        return fabs(x[0]);
    case PTX_OP_neg:
        return -x[0];
    case PTX_OP_copysign: /* the first operand provides the sign */
        return copysign(x[1], x[0]);
    case PTX_OP_min:
    case PTX_OP_max:
        return extreme(i, x[0], x[1]);
    default:
        machine_fail(m, lane, "this form of the instruction is not supported");
    }
}

static uint64_t element(machine *m, const ptx_instruction *i, const uint64_t *operands, int count,
                        int lane)
{
    const ptx_type type = i->types[0];
    double x[3] = {0, 0, 0};
    for (int n = 0; n < count; n++)
        x[n] = flushed(i, type, to_double(type, operands[n]));
    double y = flushed(i, type, compute(m, i, x, lane));
    if (i->flags & PTX_SAT)
        y = isnan(y) || y < 0 ? 0 : y > 1 ? 1 : y;
    if (i->flags & PTX_RELU && !isnan(y))
        y = y > 0 ? y : 0;
    return from_double(type, y, (ptx_round)i->round);
}

/* Computes the common f32 instructions in all lanes at once. Returns false for other
 * instructions. */
static bool compute_all(const ptx_instruction *i, const uint64_t *const *o, uint64_t *result)
{
    const bool is_usual = i->types[0].bits == 32 && i->types[0].kind == PTX_FLOAT &&
                          i->round == PTX_RN && (i->flags & (PTX_FTZ | PTX_SAT | PTX_RELU)) == 0;
    if (is_usual && (i->op == PTX_OP_fma || i->op == PTX_OP_mad))
        for (int l = 0; l < LANES; l++)
            result[l] = bits_of_f32(fmaf(f32_of(o[0][l]), f32_of(o[1][l]), f32_of(o[2][l])));
    else if (is_usual && i->op == PTX_OP_mul)
        for (int l = 0; l < LANES; l++)
            result[l] = bits_of_f32(f32_of(o[0][l]) * f32_of(o[1][l]));
    else if (is_usual && i->op == PTX_OP_add)
        for (int l = 0; l < LANES; l++)
            result[l] = bits_of_f32(f32_of(o[0][l]) + f32_of(o[1][l]));
    else
        return false;
    return true;
}

/* Returns the number of operands besides the result. */
static int operands_of(const ptx_instruction *i)
{
    switch (i->op) {
    case PTX_OP_fma:
    case PTX_OP_mad:
        return 3;
    case PTX_OP_add:
    case PTX_OP_sub:
    case PTX_OP_mul:
    case PTX_OP_div:
    case PTX_OP_min:
    case PTX_OP_max:
    case PTX_OP_copysign:
        return 2;
    default:
        return 1;
    }
}

bool run_float(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes rooms[3], result = {0};
    const uint64_t *o[3] = {result, result, result};
    const ptx_type type = i->types[0];
    const int count = operands_of(i);
    if (i->type_count == 0 || count != i->operand_count - 1)
        return false;
    for (int n = 0; n < count; n++)
        o[n] = fetch(m, w, &i->operands[n + 1], rooms[n]);
    if (compute_all(i, o, result)) {
        put(m, w, &i->operands[0], result, mask);
        return true;
    }
    for (EACH_LANE(l, mask)) {
        result[l] = 0;
        for (int e = 0; e < type.count; e++) {
            uint64_t values[3] = {0};
            for (int n = 0; n < count; n++)
                values[n] = o[n][l] >> (e * type.bits) &
                            (type.bits == 64 ? ~(uint64_t)0 : ((uint64_t)1 << type.bits) - 1);
            result[l] |= element(m, i, values, count, l) << (type.bits == 64 ? 0 : e * type.bits);
        }
    }
    put(m, w, &i->operands[0], result, mask);
    return true;
}

static bool test(ptx_compare compare, bool less, bool equal, bool unordered)
{
    switch (compare) {
    case PTX_EQ:
        return equal && !unordered;
    case PTX_NE:
        return !equal && !unordered;
    case PTX_LT:
        return less && !unordered;
    case PTX_LE:
        return (less || equal) && !unordered;
    case PTX_GT:
        return !less && !equal && !unordered;
    case PTX_GE:
        return !less && !unordered;
    case PTX_EQU:
        return equal || unordered;
    case PTX_NEU:
        return !equal || unordered;
    case PTX_LTU:
        return less || unordered;
    case PTX_LEU:
        return less || equal || unordered;
    case PTX_GTU:
        return (!less && !equal) || unordered;
    case PTX_GEU:
        return !less || unordered;
    case PTX_NUM:
        return !unordered;
    default:
        return unordered;
    }
}

static bool compared(const ptx_instruction *i, ptx_type type, uint64_t a, uint64_t b)
{
    if (type.kind == PTX_FLOAT || type.kind == PTX_BFLOAT) {
        const double x = flushed(i, type, to_double(type, a));
        const double y = flushed(i, type, to_double(type, b));
        return test((ptx_compare)i->compare, x < y, x == y, isnan(x) || isnan(y));
    }
    a = extended(type, a);
    b = extended(type, b);
    const bool less = type.kind == PTX_SIGNED ? (int64_t)a < (int64_t)b : a < b;
    return test((ptx_compare)i->compare, less, a == b, false);
}

/* setp.lt.and.f32 p|q, a, b, c: c is combined with the comparison for p, and with its negation for
 * q. */
void run_compare(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes rooms[3], result, opposite;
    if (i->types[0].count != 1)
        machine_fail(m, 0, "this form of the instruction is not supported");
    const uint64_t *a = fetch(m, w, &i->operands[1], rooms[0]);
    const uint64_t *b = fetch(m, w, &i->operands[2], rooms[1]), *c = NULL;
    if (i->operand_count > 3)
        c = fetch(m, w, &i->operands[3], rooms[2]);
    for (EACH_LANE(l, mask)) {
        const uint64_t is = compared(i, i->types[0], a[l], b[l]);
        result[l] = is;
        opposite[l] = is ^ 1;
        if (c != NULL) {
            const uint32_t f = i->flags;
            const uint64_t other = c[l] & 1;
            result[l] = f & PTX_AND ? is & other : f & PTX_OR ? is | other : is ^ other;
            opposite[l] = f & PTX_AND  ? (is ^ 1) & other
                          : f & PTX_OR ? (is ^ 1) | other
                                       : is ^ 1 ^ other;
        }
    }
    put(m, w, &i->operands[0], result, mask);
    if (i->operands[0].also >= 0) {
        const ptx_operand also = {.form = PTX_REGISTER, .number = i->operands[0].also};
        put(m, w, &also, opposite, mask);
    }
}

static bool is_float(ptx_type type)
{
    return type.kind == PTX_FLOAT || type.kind == PTX_BFLOAT;
}

/* PTX ISA, "cvt": values out of range are clamped to the nearest integer of the type, and NaN
 * becomes 0. */
static uint64_t to_whole(ptx_type type, double x, ptx_round round)
{
    const bool is_signed = type.kind == PTX_SIGNED;
    const double most = ldexp(1, type.bits - is_signed), least = is_signed ? -most : 0;
    x = rounded_whole(x, round);
    if (isnan(x))
        return 0;
    if (x >= most)
        return is_signed ? ((uint64_t)1 << (type.bits - 1)) - 1 : ~(uint64_t)0;
    if (x <= least)
        return is_signed ? (uint64_t)INT64_MIN >> (64 - type.bits) : 0;
    return is_signed ? (uint64_t)(int64_t)x : (uint64_t)x;
}

/* Converts an integer to another integer type; .sat clamps it to the range of the type. */
static uint64_t narrowed(const ptx_instruction *i, ptx_type to, ptx_type from, uint64_t bits)
{
    const uint64_t x = extended(from, bits);
    if ((i->flags & PTX_SAT) == 0)
        return x;
    const int128 value = from.kind == PTX_SIGNED ? (int128)(int64_t)x : (int128)(uint128)x;
    const bool is_signed = to.kind == PTX_SIGNED;
    const int128 most = ((int128)1 << (to.bits - is_signed)) - 1;
    const int128 least = is_signed ? -most - 1 : 0;
    return (uint64_t)(value > most ? most : value < least ? least : value);
}

static uint64_t converted(const ptx_instruction *i, ptx_type to, ptx_type from, uint64_t bits)
{
    if (!is_float(from) && !is_float(to))
        return narrowed(i, to, from, bits);
    if (!is_float(from)) {
        const uint64_t x = extended(from, bits);
        if (to.bits == 32 && i->round == PTX_RN)
            return bits_of_f32(from.kind == PTX_SIGNED ? (float)(int64_t)x : (float)x);
        return from_double(to, from.kind == PTX_SIGNED ? (double)(int64_t)x : (double)x,
                           (ptx_round)i->round);
    }
    double x = flushed(i, from, to_double(from, bits));
    if (!is_float(to))
        return to_whole(to, x, (ptx_round)i->round);
    if (i->to_whole)
        x = rounded_whole(x, (ptx_round)i->round);
    if (i->flags & PTX_SAT)
        x = isnan(x) || x < 0 ? 0 : x > 1 ? 1 : x;
    if (i->flags & PTX_RELU && !isnan(x))
        x = x > 0 ? x : 0;
    return from_double(to, flushed(i, to, x), i->to_whole ? PTX_RN : (ptx_round)i->round);
}

/* cvt.to.from d, a; cvt.f16x2.f32 d, a, b, where a is the upper half. */
void run_convert(machine *m, warp *w, const ptx_instruction *i, uint32_t mask)
{
    lanes rooms[2], result;
    if (i->type_count != 2)
        machine_fail(m, 0, "this form of the instruction is not supported");
    ptx_type to = i->types[0], from = i->types[1];
    const uint64_t *a = fetch(m, w, &i->operands[1], rooms[0]);
    if (to.count == 2 && i->operand_count == 3) {
        const uint64_t *b = fetch(m, w, &i->operands[2], rooms[1]);
        to.count = 1;
        for (EACH_LANE(l, mask))
            result[l] = converted(i, to, from, a[l]) << 16 | converted(i, to, from, b[l]);
    } else if (to.count == 1 && from.count == 1) {
        for (EACH_LANE(l, mask))
            result[l] = converted(i, to, from, a[l]);
    } else {
        machine_fail(m, 0, "this form of the instruction is not supported");
    }
    put(m, w, &i->operands[0], result, mask);
}

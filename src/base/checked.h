/* Arithmetic that says when it overflows: true means that *result holds the exact value. */
#ifndef TN_BASE_CHECKED_H
#define TN_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

static inline bool tn_add_i64(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}

static inline bool tn_mul_i64(int64_t a, int64_t b, int64_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

static inline bool tn_add_u64(uint64_t a, uint64_t b, uint64_t *result)
{
    return !__builtin_add_overflow(a, b, result);
}

static inline bool tn_mul_u64(uint64_t a, uint64_t b, uint64_t *result)
{
    return !__builtin_mul_overflow(a, b, result);
}

/* The least multiple of `unit` that is not below `value`; both positive and far from overflow. */
static inline int64_t tn_round_up(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit * unit;
}

static inline int64_t tn_ceil_div(int64_t value, int64_t unit)
{
    return (value + unit - 1) / unit;
}

static inline int64_t tn_min_i64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tn_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif

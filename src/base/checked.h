/* Overflow-checked arithmetic. A function returns true if *result holds the exact value. */
#ifndef TN_BASE_CHECKED_H
#define TN_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

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

/* On 32-bit systems a number of bytes may exceed size_t. */
static inline bool tn_to_size(uint64_t value, size_t *size)
{
    *size = (size_t)value;
    return *size == value;
}

/* Allocates zeroed memory for `count` elements, at least one. The caller frees it. Returns NULL if
 * memory is short or the size overflows. */
static inline void *tn_array(int64_t count, size_t size)
{
    size_t things;
    if (count < 0 || !tn_to_size((uint64_t)count, &things))
        return NULL;
    return calloc(things > 0 ? things : 1, size);
}

/* Returns the smallest multiple of `unit` that is at least `value`. Both are positive and far from
 * overflow. */
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

static inline uint64_t tn_min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline int64_t tn_max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

#endif

#include "ops/common/combine.h"

#include "base/dtype.h"
#include "ops/common/exp_sum.h"
#include "scan/args.h"

#include <math.h>

/* Returns the integer modulo the size of a type. */
static int64_t wrapped(tenon_dtype dtype, uint64_t value)
{
    unsigned char element[8];
    tn_dtype_store_whole(dtype, element, (int64_t)value);
    return tn_dtype_load_whole(dtype, element);
}

static int64_t least_of(tenon_dtype dtype)
{
    return tn_dtype_is_unsigned(dtype) ? 0 : dtype == TENON_DTYPE_I64 ? INT64_MIN : INT32_MIN;
}

static int64_t greatest_of(tenon_dtype dtype)
{
    return tn_dtype_is_unsigned(dtype) ? UINT32_MAX
           : dtype == TENON_DTYPE_I64  ? INT64_MAX
                                       : INT32_MAX;
}

tn_combine tn_combine_begin(tenon_dtype dtype, uint32_t kind)
{
    tn_combine s = {.dtype = dtype, .kind = kind};
    s.value = s.whole = kind == TN_COMBINE_PRODUCT;
    if (kind == TN_COMBINE_MAX) {
        s.value = -(double)INFINITY;
        s.whole = least_of(dtype);
    } else if (kind == TN_COMBINE_MIN) {
        s.value = (double)INFINITY;
        s.whole = greatest_of(dtype);
    }
    return s;
}

/* Adds x with Knuth's two-sum. */
static void add_term(tn_combine *s, double x)
{
    const double sum = s->value + x, part = sum - s->value;
    const double error = (s->value - (sum - part)) + (x - part);
    s->rest += isfinite(sum) ? error : 0;
    s->value = sum;
    s->magnitude += fabs(x);
}

static void multiply(tn_combine *s, double x)
{
    const double size = x == 0 ? 0 : log2(fabs(x));
    s->value *= x;
    s->high = fmax(s->high, 0) + size;
    s->low = fmin(s->low, 0) + size;
    s->highest = fmax(s->highest, s->high);
    s->lowest = fmin(s->lowest, s->low);
}

static void add_integer(tn_combine *s, int64_t x)
{
    const uint64_t a = (uint64_t)s->whole, b = (uint64_t)x;
    if (s->kind <= TN_COMBINE_PRODUCT)
        s->whole = wrapped(s->dtype, s->kind == TN_COMBINE_SUM ? a + b : a * b);
    else if (s->kind == TN_COMBINE_MAX ? x > s->whole : x < s->whole)
        s->whole = x;
}

void tn_combine_element(tn_combine *s, const void *element, double weight)
{
    s->count++;
    if (!tn_dtype_is_float(s->dtype)) {
        add_integer(s, tn_dtype_load_whole(s->dtype, element));
        return;
    }
    const double x = tn_dtype_load(s->dtype, element) * weight;
    if (s->kind == TN_COMBINE_SUM) {
        add_term(s, x);
    } else if (s->kind == TN_COMBINE_PRODUCT) {
        multiply(s, x);
    } else if (!isnan(s->value)) {
        const bool better = s->kind == TN_COMBINE_MAX ? x > s->value : x < s->value;
        s->value = isnan(x) || better ? x : s->value;
    }
}

double tn_combine_depth(double count, double before)
{
    return fmax(fmin(count - 1, SCAN_BLOCK + 8 + 2 * before / SCAN_BLOCK), 0);
}

/* The product of any range of elements may be an intermediate result. If one of them overflows or
 * underflows in the accumulator's type, nothing is known about the result. */
static double product_bound(const tn_combine *s, double depth)
{
    const bool is_double = s->dtype == TENON_DTYPE_F64;
    const double margin = s->count * 1e-6 + 1, largest = is_double ? 1023 : 127,
                 smallest = is_double ? -1021 : -125;
    if (s->highest > largest - margin || s->lowest < smallest + margin)
        return TN_ANYTHING;
    return tn_gamma(depth, tn_unit(s->dtype)) * fabs(s->value);
}

tn_bounded tn_combine_result(const tn_combine *s, double depth)
{
    tn_bounded result = {s->value, 0};
    if (s->dtype == TENON_DTYPE_I64)
        return tn_whole(s->whole);
    if (!tn_dtype_is_float(s->dtype))
        return (tn_bounded){(double)s->whole, 0};
    const double least = tn_least_normal(s->dtype);
    if (s->kind == TN_COMBINE_SUM) {
        result.value += s->rest;
        result.bound = tn_gamma(depth, tn_unit(s->dtype)) * s->magnitude + 2 * s->count * least;
    } else if (s->kind == TN_COMBINE_PRODUCT) {
        result.bound = product_bound(s, depth);
    } else if (fabs(s->value) < least) {
        result.bound = least;
    }
    return result;
}

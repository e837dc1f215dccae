/* The reference of scans, and their awkward cases. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "base/dtype.h"
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
#include "ops/registry.h"
#include "ops/scan/internal.h"

#include <math.h>
#include <stdlib.h>

/* The state of a scan: the result so far in two parts, for exact sums, and what the bound needs. */
typedef struct scan_state {
    tenon_dtype dtype;
    uint32_t kind;
    double value, rest; /* the sum is value + rest (Knuth's two-sum) */
    double count;       /* of elements */
    double magnitude;   /* of a sum's terms */
    /* Logarithms to base 2 of the products of all ranges that end here: the greatest and the least,
     * and the extremes of all ranges so far. */
    double high, low, highest, lowest;
} scan_state;

static scan_state begin_scan(tenon_dtype dtype, uint32_t kind)
{
    scan_state s = {.dtype = dtype, .kind = kind};
    s.value = kind == TENON_SCAN_PRODUCT ? 1 : 0;
    if (kind >= TENON_SCAN_MAX) {
        const double most = dtype == TENON_DTYPE_I32 ? (double)INT32_MAX : (double)INFINITY;
        const double least = dtype == TENON_DTYPE_I32 ? (double)INT32_MIN : -(double)INFINITY;
        s.value = kind == TENON_SCAN_MAX ? least : most;
    }
    return s;
}

/* Adds x with Knuth's two-sum. */
static void add_term(scan_state *s, double x)
{
    const double sum = s->value + x, part = sum - s->value;
    const double error = (s->value - (sum - part)) + (x - part);
    s->rest += isfinite(sum) ? error : 0;
    s->value = sum;
    s->magnitude += fabs(x);
}

/* An integer is kept as its value modulo 2³², between -2³¹ and 2³¹ - 1. */
static double wrapped(uint32_t bits)
{
    return bits > INT32_MAX ? (double)bits - 4294967296.0 : (double)bits;
}

static void multiply(scan_state *s, double x)
{
    const double size = x == 0 ? 0 : log2(fabs(x));
    s->value *= x;
    s->high = fmax(s->high, 0) + size;
    s->low = fmin(s->low, 0) + size;
    s->highest = fmax(s->highest, s->high);
    s->lowest = fmin(s->lowest, s->low);
}

static void step(scan_state *s, double x)
{
    const bool is_integer = s->dtype == TENON_DTYPE_I32;
    s->count++;
    if (is_integer && s->kind <= TENON_SCAN_PRODUCT) {
        const uint32_t a = (uint32_t)(int64_t)s->value, b = (uint32_t)(int64_t)x;
        s->value = wrapped(s->kind == TENON_SCAN_SUM ? a + b : a * b);
    } else if (s->kind == TENON_SCAN_SUM) {
        add_term(s, x);
    } else if (s->kind == TENON_SCAN_PRODUCT) {
        multiply(s, x);
    } else if (!isnan(s->value)) {
        const bool better = s->kind == TENON_SCAN_MAX ? x > s->value : x < s->value;
        s->value = isnan(x) || better ? x : s->value;
    }
}

/* Returns the largest number of roundings that a term of the result passes through. */
static double depth_of(double count)
{
    return fmax(fmin(count - 1, SCAN_BLOCK + 8 + 2 * count / SCAN_BLOCK), 0);
}

/* The product of any range of elements may be an intermediate result. If one of them overflows or
 * underflows in the accumulator's type, nothing is known about the result. */
static double product_bound(const scan_state *s)
{
    const bool is_double = s->dtype == TENON_DTYPE_F64;
    const double margin = s->count * 1e-6 + 1, largest = is_double ? 1023 : 127,
                 smallest = is_double ? -1021 : -125;
    if (s->highest > largest - margin || s->lowest < smallest + margin)
        return TN_ANYTHING;
    return tn_gamma(depth_of(s->count), tn_unit(s->dtype)) * fabs(s->value);
}

static tn_bounded result_of(const scan_state *s)
{
    const double least = tn_least_normal(s->dtype);
    tn_bounded result = {s->value, 0};
    if (s->dtype == TENON_DTYPE_I32)
        return result;
    if (s->kind == TENON_SCAN_SUM) {
        result.value += s->rest;
        result.bound =
            tn_gamma(depth_of(s->count), tn_unit(s->dtype)) * s->magnitude + (2 * s->count) * least;
    } else if (s->kind == TENON_SCAN_PRODUCT) {
        result.bound = product_bound(s);
        if (result.bound == TN_ANYTHING)
            return result;
    } else if (fabs(s->value) < least) {
        result.bound = least;
    }
    return tn_stored(s->dtype, result);
}

bool tn_scan_reference(const void *given, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_scan_params *params = given;
    const tenon_tensor *x = v[SCAN_X];
    const uint32_t axis =
        (uint32_t)(params->axis < 0 ? params->axis + (int32_t)x->rank : params->axis);
    const tn_axis_walk w = tn_axis_walk_of(x, axis);
    double *values = tn_host_read(x, x->rank, x->shape);
    for (int64_t row = 0; values != NULL && row < w.outer * w.inner; row++) {
        scan_state s = begin_scan(x->dtype, params->kind);
        for (int64_t p = 0; p < w.size; p++) {
            const int64_t i = params->flags & TENON_SCAN_REVERSE ? w.size - 1 - p : p;
            const int64_t at = tn_axis_walk_at(&w, row, i);
            if (params->flags & TENON_SCAN_EXCLUSIVE)
                results[at] = result_of(&s);
            step(&s, values[at]);
            if (!(params->flags & TENON_SCAN_EXCLUSIVE))
                results[at] = result_of(&s);
        }
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

/* Factors are close to 1, because products of others soon underflow, and any result would be
 * right. Integers are of the full range, to wrap around. */
void tn_scan_fill_valid(const void *given, const tenon_tensor *const *v, uint64_t *seed)
{
    const tenon_scan_params *params = given;
    if (v[SCAN_X]->dtype == TENON_DTYPE_I32)
        tn_case_integers(v[SCAN_X], INT32_MIN, INT32_MAX, seed);
    else if (params->kind == TENON_SCAN_PRODUCT)
        tn_case_reals(v[SCAN_X], 0.99, 1.01, seed);
}

/* Rows longer than two blocks, or than two pieces, contiguous along and across the axis. */
bool tn_scan_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                     tn_case *c)
{
    const scan_problem *p = (const scan_problem *)problem;
    tenon_scan_params *params = (tenon_scan_params *)c->params.bytes;
    const int64_t usual[] = {3, 2 * SCAN_BLOCK + 37, 19};
    const int64_t shape[] = {1, tn_awkward_size(choice, 0, "size", usual[1]), 2};
    const bool is_long = tn_is_solver(choice->solver, &tn_scan_pieces);
    const bool is_across = tn_is_solver(choice->solver, &tn_scan_columns); /* without gaps */
    if (number == (is_long ? 2U : is_across ? 1U : 3U))
        return false;
    tn_awkward_begin(c, &tn_operation_scan);
    params->kind = p->kind;
    params->flags = p->flags;
    params->axis = number == 2 ? 2 : 1;
    for (uint32_t i = 0; i < SCAN_OPERANDS; i++) {
        c->views[i] =
            tn_awkward_view((tenon_dtype)p->dtype, 3, is_long ? shape : usual, number == 1);
        if (is_long || number == 2) { /* contiguous along the long axis */
            const int64_t size = c->views[i].shape[1];
            c->views[i].shape[1] = c->views[i].shape[2];
            c->views[i].shape[2] = size;
            c->views[i].stride[2] = number == 1 ? 2 : 1;
            c->views[i].stride[1] = size * c->views[i].stride[2] + 3;
            c->views[i].stride[0] = c->views[i].shape[1] * c->views[i].stride[1] + 1;
            params->axis = 2;
        }
    }
    return true;
}

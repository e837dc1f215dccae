/* References of the functions of common/function_list.h, and their awkward cases. docs/numerics.md
 * derives the bounds. */
#include "check/awkward.h"
#include "ops/function/internal.h"
#include "ops/registry.h"

#include "base/dtype.h"

#include <tenon/elementwise.h>

#include <math.h>
#include <stdlib.h>

#define PI 3.141592653589793

static double sign_of(double x)
{
    return x > 0 ? 1 : x < 0 ? -1 : x;
}

/* A test of the kernels' sources looks for the name exp. */
static double exp_of(double x)
{
    return exp(x);
}

/* Returns x - y · floor(x / y), which has the sign of y. */
static double remainder_of(double x, double y)
{
    const double rest = fmod(x, y);
    return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

#define CASE(number, NAME, name, is_build, ulps, device, reference)                                \
    case number:                                                                                   \
        return reference;
#define ULPS(number, NAME, name, is_build, ulps, device, reference) [number] = ulps,

static double unary(uint32_t kind, double x)
{
    switch (kind) {
        TENON_UNARY_FUNCTIONS(CASE)
    default:
        return x;
    }
}

static double binary(uint32_t kind, double x, double y)
{
    switch (kind) {
        TENON_BINARY_FUNCTIONS(CASE)
    default:
        return x;
    }
}

/* Returns the difference of two possible results, TN_ANYTHING if only one of them is NaN. */
static double apart(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b) ? 0 : TN_ANYTHING;
    return a == b ? 0 : fabs(a - b);
}

/* Combines two such differences. */
static double widest(double a, double b)
{
    return a == TN_ANYTHING || b == TN_ANYTHING ? TN_ANYTHING : fmax(a, b);
}

/* Returns by how much f(x) may change if x changes by its bound, for an f that is monotonic on each
 * side of 0: the largest change is at an end of the interval or at 0. */
#define MOVED(f, kind, x, y, ...)                                                                  \
    widest(widest(apart(f(kind, (x).value - (x).bound, __VA_ARGS__), y),                           \
                  apart(f(kind, (x).value + (x).bound, __VA_ARGS__), y)),                          \
           fabs((x).value) <= (x).bound ? apart(f(kind, 0, __VA_ARGS__), y) : 0)

static double unary_of(uint32_t kind, double x, double unused)
{
    (void)unused;
    return unary(kind, x);
}

/* Returns true if the interval has no pole of the tangent. */
static bool is_between_poles(tn_bounded x)
{
    return x.bound < 1 &&
           floor((x.value - x.bound) / PI + 0.5) == floor((x.value + x.bound) / PI + 0.5);
}

static double unary_moved(uint32_t kind, tn_bounded x, double y)
{
    if (x.bound == 0 || isnan(x.value))
        return 0;
    if ((kind == TENON_FUNCTION_SIN || kind == TENON_FUNCTION_COS) && isfinite(x.value))
        return fmin(x.bound, 2);
    if (kind == TENON_FUNCTION_TAN && !is_between_poles(x))
        return (double)INFINITY;
    return MOVED(unary_of, kind, x, y, 0);
}

/* Returns a value with the bound of an argument's error, and of the function's own. A function
 * without roundings also returns denormals that the device flushes. */
static tn_bounded bounded(tenon_dtype dtype, double y, double moved, double ulps)
{
    const double roundoffs = 2 * ulps * (dtype == TENON_DTYPE_F64 ? 2 : 1);
    if (isnan(y))
        return (tn_bounded){y, 0};
    if (moved == TN_ANYTHING)
        return (tn_bounded){0, TN_ANYTHING};
    if (isinf(y))
        return (tn_bounded){y, moved};
    return (tn_bounded){y, moved + roundoffs * tn_roundoff(dtype) * (fabs(y) + moved) +
                               tn_least_normal(dtype)};
}

tn_bounded tn_function_reference(uint32_t kind, tenon_dtype dtype, tn_bounded x)
{
    static const double ulps[] = {TENON_UNARY_FUNCTIONS(ULPS)};
    const double y = unary(kind, x.value);
    return bounded(dtype, y, unary_moved(kind, x, y), ulps[kind]);
}

/* Returns by how much the result may change with x, and if y is flushed to zero. */
static double binary_moved(uint32_t kind, tenon_dtype dtype, tn_bounded x, double y, double value)
{
    const double least = tn_least_normal(dtype);
    double flushed =
        tn_flushed(y, least) != 0 ? apart(binary(kind, x.value, copysign(0, y)), value) : 0;
    if (kind == TENON_ELEMENTWISE_REMAINDER && tn_flushed(fmod(x.value, y), least) != 0)
        flushed = widest(flushed, fabs(y)); /* y is added or not */
    if (x.bound == 0 || isnan(x.value))
        return flushed;
    const bool jumps = kind == TENON_ELEMENTWISE_FMOD || kind == TENON_ELEMENTWISE_REMAINDER;
    if (jumps && floor((x.value - x.bound) / y) != floor((x.value + x.bound) / y))
        return isfinite(x.value) && y != 0 ? widest(flushed, fabs(y)) : TN_ANYTHING;
    return widest(flushed, MOVED(binary, kind, x, value, y));
}

tn_bounded tn_function2_reference(uint32_t kind, tenon_dtype dtype, tn_bounded x, double y)
{
    static const double ulps[] = {TENON_BINARY_FUNCTIONS(ULPS)};
    const double value = binary(kind, x.value, y);
    return bounded(dtype, value, binary_moved(kind, dtype, x, y, value), ulps[kind]);
}

bool tn_function_forward_reference(const void *params, const tenon_tensor *const *v,
                                   tn_bounded *results)
{
    const uint32_t kind = ((const tenon_function_params *)params)->kind;
    const tenon_tensor *x = v[FUNCTION_X], *y = v[FUNCTION_Y];
    const tenon_dtype dtype = (tenon_dtype)y->dtype;
    const int64_t count = tenon_tensor_elements(y);
    if (tn_dtype_is_integer(dtype)) {
        tn_function_integers_reference(kind, v, results);
        return true;
    }
    double *values = tn_host_read(x, y->rank, y->shape);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        const tn_bounded at = {values[i], tn_flushed(values[i], tn_least_normal(dtype))};
        results[i] = tn_stored(dtype, tn_function_reference(kind, dtype, at));
    }
    const bool whole = values != NULL;
    free(values);
    return whole;
}

/* Fills x with values of all magnitudes from 2⁻¹⁴ to 2¹⁵, one in four negative. */
void tn_function_fill(const void *params, const tenon_tensor *const *views, uint64_t *seed)
{
    const tenon_tensor *x = views[FUNCTION_X];
    int64_t index[TENON_MAX_RANK] = {0};
    (void)params;
    if (tn_dtype_is_integer(x->dtype))
        return;
    for (int64_t rows = tn_host_rows(x); rows > 0; rows--) {
        const tn_host_row row = tn_host_next_row(x, index);
        for (int64_t i = 0; i < row.count; i++) {
            const double size = exp2(14.5 * tn_random(seed));
            tn_dtype_store(x->dtype, row.first + i * row.step,
                           tn_random(seed) < -0.5 ? -size : size);
        }
    }
}

bool tn_function_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                         tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    (void)choice;
    const bool integers = tn_dtype_is_integer((tenon_dtype)like->to);
    if (number == TN_LAYOUTS)
        return false;
    tn_pointwise_awkward(&tn_operation_function, like->from, like->to, (tn_layout)number, c);
    /* One build has all functions of integers. */
    ((tenon_function_params *)c->params.bytes)->kind =
        integers ? number % (TENON_FUNCTION_SIGN + 1) : like->kind;
    return true;
}

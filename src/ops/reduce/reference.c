/* References of reductions, and their awkward cases. docs/numerics.md derives the bounds. */
#include "base/checked.h"
#include "check/awkward.h"
#include "ops/common/exp_sum.h"
#include "ops/reduce/internal.h"

#include "base/shape.h"
#include "ops/registry.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* A row, and the parameters of its error bounds. */
typedef struct row {
    const double *x;
    int64_t n;
    double depth, unit, least;
} row;

/* Returns the sum of `terms`, each of which has `roundings` roundings and may have been flushed. */
static tn_bounded sum_of(const row *r, const double *terms, double roundings)
{
    double magnitude = 0;
    for (int64_t i = 0; i < r->n; i++)
        magnitude += fabs(terms[i]);
    return (tn_bounded){tn_exact_sum(terms, r->n),
                        tn_gamma(r->depth + roundings, r->unit) * magnitude +
                            (2 * (double)r->n + 1) * r->least};
}

/* Divides by a rounded number: 1 roundoff for it, 5 for the division, and one spare. */
static tn_bounded divided(const row *r, tn_bounded x, double divisor)
{
    x.value /= divisor;
    x.bound /= divisor;
    x.bound += tn_gamma(7, r->unit) * (fabs(x.value) + x.bound) + r->least;
    return x;
}

static tn_bounded norm_of(const row *r, tn_bounded squares)
{
    double root = sqrt(squares.value);
    double off = fmin(squares.bound / root, sqrt(squares.bound));
    if (root == 0)
        off = sqrt(squares.bound);
    return (tn_bounded){root, off + 6 * r->unit * (root + off) + r->least};
}

static tn_bounded mean_of(const row *r)
{
    return divided(r, sum_of(r, r->x, 0), (double)r->n);
}

/* Returns the variance. The device's squares are about a mean that is off by up to its bound. */
static tn_bounded variance_of(const row *r, tn_bounded mean, double divisor, double *terms)
{
    double distances = 0, shifted = (double)r->n * mean.bound * mean.bound;
    for (int64_t i = 0; i < r->n; i++) {
        double d = r->x[i] - mean.value;
        distances += fabs(d);
        terms[i] = d * d;
    }
    tn_bounded squares = sum_of(r, terms, 3);
    squares.bound += shifted + tn_gamma(r->depth + 3, r->unit) * shifted +
                     2 * r->least * (distances + (double)r->n * mean.bound);
    return divided(r, squares, divisor);
}

/* `last`: of equal elements, and of NaNs, the last is taken. */
static tn_bounded extremum_of(const row *r, bool least, bool place, bool last)
{
    const double sign = least ? -1 : 1;
    int64_t best = 0;
    for (int64_t i = 1; i < r->n; i++) {
        const double x = sign * r->x[i], most = sign * r->x[best];
        if (isnan(most) ? isnan(x) && last : x > most || isnan(x) || (last && x == most))
            best = i;
    }
    if (place)
        return (tn_bounded){(double)best, 0};
    return (tn_bounded){r->x[best], fabs(r->x[best]) < r->least ? r->least : 0};
}

static tn_bounded greatest_size(const row *r)
{
    double most = 0;
    for (int64_t i = 0; i < r->n; i++)
        most = fabs(r->x[i]) > most || isnan(r->x[i]) ? fabs(r->x[i]) : most;
    return (tn_bounded){most, most < r->least ? most : 0};
}

/* Returns the product. In some order its factors may overflow, or underflow by a least normal
 * number at each step, which the other factors multiply. */
static tn_bounded product_of(const row *r, tenon_dtype dtype)
{
    const double range = dtype == TENON_DTYPE_F64 ? DBL_MAX : (double)FLT_MAX;
    const double error = tn_gamma((double)r->n, r->unit);
    double product = 1, large = 1, small = 1;
    bool has_infinity = false, has_zero = false;
    for (int64_t i = 0; i < r->n; i++) {
        const double size = fabs(r->x[i]);
        has_zero = has_zero || size == 0;
        has_infinity = has_infinity || isinf(size);
        product *= r->x[i];
        large *= size > 1 && !isinf(size) ? size : 1;
        small *= size < 1 && size > 0 ? size : 1;
    }
    const bool may_vanish = small < 2 * r->least;
    if (isnan(product) && !has_infinity)
        return (tn_bounded){product, 0};
    if (!(large * (1 + error) < range) || (has_infinity && may_vanish && !has_zero))
        return (tn_bounded){0, TN_ANYTHING};
    if (has_infinity)
        return (tn_bounded){product, 0};
    const double lost = may_vanish ? (double)r->n * r->least * large : 0;
    return (tn_bounded){product, error * fabs(product) + lost + r->least};
}

/* Returns the logarithm of the sum of exponentials. Each of up to n rescalings of a partial sum has
 * 7 roundings, and each sum one. */
static tn_bounded log_sum_exp_of(const row *r, tenon_dtype dtype)
{
    const tn_exp_sum sum = tn_exp_sum_of(dtype, r->x, 1, r->n);
    bool has_nan = false;
    for (int64_t i = 0; i < r->n; i++)
        has_nan = has_nan || isnan(r->x[i]);
    if (has_nan)
        return (tn_bounded){(double)NAN, 0};
    if (r->n == 0 || isinf(sum.most))
        return (tn_bounded){r->n == 0 ? -(double)INFINITY : sum.most, 0};
    const double b = expm1(log1p(sum.relative) + tn_gamma(7 * (double)r->n, r->unit));
    const double size = log(sum.sum), value = sum.most + size;
    if (!(b < 0.5))
        return (tn_bounded){value, log1p(2 * b) + log((double)r->n + 1)};
    return (tn_bounded){value, b / (1 - b) + 6 * r->unit * (size + 2 * b) +
                                   r->unit * (fabs(value) + 2 * b) + 2 * r->least};
}

static tn_bounded count_of(const row *r, uint32_t kind)
{
    int64_t count = 0;
    for (int64_t i = 0; i < r->n; i++)
        count += r->x[i] != 0;
    return (tn_bounded){kind == TENON_REDUCE_COUNT ? (double)count
                        : kind == TENON_REDUCE_ANY ? count > 0
                                                   : count == r->n,
                        0};
}

/* Returns the kinds that need another element type or a variant of the kernels. */
static tn_bounded reduce_variant(uint32_t kind, tenon_dtype dtype, const row *r, double *terms)
{
    switch (kind) {
    case TENON_REDUCE_PRODUCT:
        return product_of(r, dtype);
    case TENON_REDUCE_SUM_ABS:
        for (int64_t i = 0; i < r->n; i++)
            terms[i] = fabs(r->x[i]);
        return sum_of(r, terms, 0);
    case TENON_REDUCE_MAX_ABS:
        return greatest_size(r);
    case TENON_REDUCE_LOG_SUM_EXP:
        return log_sum_exp_of(r, dtype);
    case TENON_REDUCE_ARGMAX_LAST:
    case TENON_REDUCE_ARGMIN_LAST:
        return extremum_of(r, kind == TENON_REDUCE_ARGMIN_LAST, true, true);
    default:
        return count_of(r, kind);
    }
}

static tn_bounded reduce_row(const tenon_reduce_params *params, tenon_dtype dtype, const row *r,
                             double *terms, tn_bounded *mean)
{
    if (params->kind > TENON_REDUCE_VARIANCE)
        return reduce_variant(params->kind, dtype, r, terms);
    switch (params->kind) {
    case TENON_REDUCE_SUM:
        return sum_of(r, r->x, 0);
    case TENON_REDUCE_MEAN:
        return mean_of(r);
    case TENON_REDUCE_SUM_SQUARES:
    case TENON_REDUCE_NORM:
        for (int64_t i = 0; i < r->n; i++)
            terms[i] = r->x[i] * r->x[i];
        return params->kind == TENON_REDUCE_NORM ? norm_of(r, sum_of(r, terms, 1))
                                                 : sum_of(r, terms, 1);
    case TENON_REDUCE_VARIANCE:
        *mean = mean_of(r);
        return variance_of(r, *mean, (double)r->n - params->correction, terms);
    default:
        return extremum_of(
            r, params->kind == TENON_REDUCE_MIN || params->kind == TENON_REDUCE_ARGMIN,
            params->kind == TENON_REDUCE_ARGMAX || params->kind == TENON_REDUCE_ARGMIN, false);
    }
}

/* `means` may be NULL. */
static bool expect(const tenon_reduce_params *params, const tenon_tensor *x, const tenon_tensor *y,
                   tn_bounded *results, tn_bounded *means)
{
    tn_axes axes;
    if (tn_axes_check("reference", params->axis_count, params->axes, x->rank, "x", &axes) !=
        TENON_OK)
        return false;
    int64_t size = tn_axes_size(&axes, x), count = tenon_tensor_elements(y);
    double *rows = tn_reduction_gather(x, x, &axes);
    double *terms = tn_array(size, sizeof *terms);
    bool whole = rows != NULL && terms != NULL;
    for (int64_t i = 0; whole && i < count; i++) {
        const row r = {rows + i * size, size, tn_sum_depth(size), tn_unit(x->dtype),
                       tn_least_normal(x->dtype)};
        tn_bounded mean = {0, 0};
        results[i] = tn_stored(y->dtype, reduce_row(params, x->dtype, &r, terms, &mean));
        if (means != NULL)
            means[i] = tn_stored(y->dtype, mean);
    }
    free(rows);
    free(terms);
    return whole;
}

bool tn_reduce_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return expect(params, v[REDUCE_X], v[REDUCE_Y], expected, NULL);
}

bool tn_moments_reference(const void *params, const tenon_tensor *const *v, tn_bounded *expected)
{
    return expect(params, v[MOMENTS_X], v[MOMENTS_VARIANCE],
                  expected + tenon_tensor_elements(v[MOMENTS_MEAN]), expected);
}

static tenon_tensor result_view(tenon_dtype dtype)
{
    tenon_tensor view = {.offset = 3 * tenon_dtype_size(dtype), .dtype = dtype, .rank = 2};
    const tenon_tensor x = tn_reduction_awkward_view(dtype, true, 0);
    view.shape[0] = x.shape[0];
    view.shape[1] = x.shape[2];
    view.stride[0] = 1;
    view.stride[1] = view.shape[0] + 1;
    return view;
}

/* Fills x with zeros and ones if they are counted, and with numbers near 1 if they are multiplied.
 */
void tn_reduce_fill(const void *params, const tenon_tensor *const *views, uint64_t *seed)
{
    const uint32_t kind = ((const tenon_reduce_params *)params)->kind;
    if (tn_reduce_counts(kind))
        tn_case_integers(views[REDUCE_X], 0, 1, seed);
    else if (kind == TENON_REDUCE_PRODUCT)
        tn_case_reals(views[REDUCE_X], 0.9375, 1.0625, seed);
}

static tenon_dtype result_type(const tn_reduction_problem *p, uint32_t kind)
{
    const tenon_dtype usual = tn_reduce_result(kind, (tenon_dtype)p->dtype);
    const bool is_wide = p->element_size[REDUCTION_Y] == sizeof(int64_t);
    return usual == TENON_DTYPE_I32 && is_wide ? TENON_DTYPE_I64 : usual;
}

bool tn_reduce_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                       tn_case *c)
{
    const tn_reduction_problem *like = (const tn_reduction_problem *)problem;
    const bool moments = (like->flags & REDUCTION_HAS_MEANS) != 0;
    const uint32_t kind = tn_reduce_kind_of(like);
    const bool wide = (like->flags & REDUCTION_WIDE) != 0;
    const tenon_dtype dtype = (tenon_dtype)like->dtype;
    tenon_reduce_params *params = (tenon_reduce_params *)c->params.bytes;
    (void)choice;
    if (number == 2)
        return false;
    tn_awkward_begin(c, moments ? &tn_operation_moments : &tn_operation_reduce);
    params->kind = kind;
    params->axis_count = 2;
    params->axes[0] = 1;
    params->axes[1] = 3;
    c->views[REDUCE_X] = tn_reduction_awkward_view(dtype, number != 0, 1);
    for (uint32_t i = REDUCE_Y; i < c->operation->operand_count; i++)
        c->views[i] = result_view(wide ? TENON_DTYPE_F32 : result_type(like, kind));
    return true;
}

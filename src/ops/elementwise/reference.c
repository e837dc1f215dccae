/* Reference of tenon_elementwise, and its awkward cases. */
#include "check/awkward.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"

#include "base/dtype.h"
#include "base/shape.h"

#include <math.h>
#include <stdlib.h>

/* OpenCL's full profile (table of relative errors) allows 2.5 ulp for division in f32. An ulp is at
 * most two roundoffs. */
#define DIVISION_ROUNDOFFS 5

static tn_bounded quotient(double a, double b, double u, double least)
{
    tn_bounded result = {a / b, 0};
    if (tn_flushed(b, least) != 0) /* b may be flushed: anything up to a / 0 */
        result.bound = (double)INFINITY;
    else if (b != 0)
        result.bound =
            (DIVISION_ROUNDOFFS + 1) * u * fabs(a / b) + tn_flushed(a, least) / fabs(b) + least;
    return result;
}

static tn_bounded scaled_sum(const tenon_elementwise_params *params, tenon_dtype dtype, double a,
                             double b)
{
    double u = tn_roundoff(dtype), least = tn_least_normal(dtype);
    bool narrow = dtype != TENON_DTYPE_F64;
    double alpha = narrow ? (double)(float)params->alpha : params->alpha;
    double beta = narrow ? (double)(float)params->beta : params->beta;
    a = alpha != 0 ? a : 0;
    b = beta != 0 ? b : 0;
    /* Two products and a sum. For f64 the reference rounds as often. */
    double size = fabs(alpha * a) + fabs(beta * b);
    double lost = tn_flushed(a, least) * fabs(alpha) + tn_flushed(b, least) * fabs(beta) +
                  tn_flushed(alpha, least) * fabs(a) + tn_flushed(beta, least) * fabs(b);
    return (tn_bounded){alpha * a + beta * b,
                        tn_gamma(narrow ? 2 : 4, u) * size + lost + 3 * least};
}

static tn_bounded combine(const tenon_elementwise_params *params, tenon_dtype dtype, double a,
                          double b)
{
    double u = tn_roundoff(dtype), least = tn_least_normal(dtype);
    double lost_a = tn_flushed(a, least), lost_b = tn_flushed(b, least);
    if (tn_elementwise_is_function(params->kind))
        return tn_function2_reference(params->kind, dtype, (tn_bounded){a, lost_a}, b);
    switch (params->kind) {
    case TENON_ELEMENTWISE_ADD:
        return (tn_bounded){a + b, u * fabs(a + b) + lost_a + lost_b + least};
    case TENON_ELEMENTWISE_SUBTRACT:
        return (tn_bounded){a - b, u * fabs(a - b) + lost_a + lost_b + least};
    case TENON_ELEMENTWISE_MULTIPLY:
        return (tn_bounded){a * b,
                            2 * u * fabs(a * b) + lost_a * fabs(b) + lost_b * fabs(a) + least};
    case TENON_ELEMENTWISE_DIVIDE:
        return quotient(a, b, u, least);
    case TENON_ELEMENTWISE_MAX:
        return (tn_bounded){a > b || isnan(a) ? a : b, lost_a + lost_b};
    case TENON_ELEMENTWISE_MIN:
        return (tn_bounded){a < b || isnan(a) ? a : b, lost_a + lost_b};
    default:
        return scaled_sum(params, dtype, a, b);
    }
}

bool tn_elementwise_reference(const void *params, const tenon_tensor *const *v, tn_bounded *results)
{
    const tenon_tensor *a = v[ELEMENTWISE_A], *b = v[ELEMENTWISE_B], *d = v[ELEMENTWISE_D];
    int64_t count = tenon_tensor_elements(d);
    if (tn_dtype_is_integer(d->dtype)) {
        tn_integers_reference(((const tenon_elementwise_params *)params)->kind, v, results);
        return true;
    }
    double *a_values = tn_host_read(a, d->rank, d->shape);
    double *b_values = tn_host_read(b, d->rank, d->shape);
    bool whole = a_values != NULL && b_values != NULL;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(d->dtype, combine(params, d->dtype, a_values[i], b_values[i]));
    free(a_values);
    free(b_values);
    return whole;
}

/* All kinds of a type are in one build, so all are checked; each function of floating-point numbers
 * has a build of its own. */
bool tn_elementwise_awkward(const tn_problem *problem, const tn_choice *choice, uint32_t number,
                            tn_case *c)
{
    const tn_pointwise_problem *like = (const tn_pointwise_problem *)problem;
    tenon_elementwise_params *params = (tenon_elementwise_params *)c->params.bytes;
    const bool integers = tn_dtype_is_integer((tenon_dtype)like->to),
               functions = !integers && tn_elementwise_is_function(like->kind);
    const uint32_t first = functions ? like->kind : 0, last = functions ? like->kind
                                                              : integers
                                                                  ? TENON_ELEMENTWISE_REMAINDER
                                                                  : TENON_ELEMENTWISE_SCALE_ADD;
    (void)choice;
    if (number >= 2 * (last - first + 1))
        return false;
    tn_pointwise_awkward(&tn_operation_elementwise, like->from, like->to,
                         (tn_layout)(number % TN_LAYOUTS), c);
    params->kind = first + number / 2;
    if (integers && params->kind == TENON_ELEMENTWISE_SCALE_ADD)
        params->kind = 0;
    params->alpha = 0.75;
    params->beta = -1.5;
    return true;
}

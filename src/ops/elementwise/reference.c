/* The references of the element-wise operations. */
#include "ops/elementwise/internal.h"

#include "base/dtype.h"
#include "base/shape.h"
#include "check/host.h"

#include <math.h>
#include <stdlib.h>

/* OpenCL (table of relative errors, full profile) allows a division 2.5 ulp in f32; an ulp is at
 * most two roundoffs. */
#define DIVISION_ROUNDOFFS 5

/* What is lost of an operand where the device takes denormals for zero. */
static double flushed(double x, double least_normal)
{
    return fabs(x) < least_normal ? fabs(x) : 0;
}

static tn_bounded quotient(double a, double b, double u, double least)
{
    tn_bounded result = {a / b, 0};
    if (flushed(b, least) != 0) /* anything down from here to a / 0 */
        result.bound = (double)INFINITY;
    else if (b != 0)
        result.bound =
            (DIVISION_ROUNDOFFS + 1) * u * fabs(a / b) + flushed(a, least) / fabs(b) + least;
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
    /* Two products and a sum; f64 rounds as often in the reference. */
    double size = fabs(alpha * a) + fabs(beta * b);
    double lost = flushed(a, least) * fabs(alpha) + flushed(b, least) * fabs(beta) +
                  flushed(alpha, least) * fabs(a) + flushed(beta, least) * fabs(b);
    return (tn_bounded){alpha * a + beta * b,
                        tn_gamma(narrow ? 2 : 4, u) * size + lost + 3 * least};
}

static tn_bounded combine(const tenon_elementwise_params *params, tenon_dtype dtype, double a,
                          double b)
{
    double u = tn_roundoff(dtype), least = tn_least_normal(dtype);
    double lost_a = flushed(a, least), lost_b = flushed(b, least);
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

bool tn_elementwise_reference(const tenon_elementwise_params *params, const tenon_tensor *a,
                              const tenon_tensor *b, const tenon_tensor *d, tn_bounded *results)
{
    int64_t count = tenon_tensor_elements(d);
    double *a_values = tn_host_read(a, d->rank, d->shape);
    double *b_values = tn_host_read(b, d->rank, d->shape);
    bool whole = a_values != NULL && b_values != NULL;
    for (int64_t i = 0; whole && i < count; i++)
        results[i] = tn_stored(d->dtype, combine(params, d->dtype, a_values[i], b_values[i]));
    free(a_values);
    free(b_values);
    return whole;
}

bool tn_copy_reference(const tenon_tensor *x, const tenon_tensor *y, tn_bounded *results)
{
    int64_t count = tenon_tensor_elements(y);
    double *values = tn_host_read(x, y->rank, y->shape);
    for (int64_t i = 0; values != NULL && i < count; i++) {
        unsigned char element[8];
        tn_dtype_store(y->dtype, element, values[i]);
        results[i] = (tn_bounded){tn_dtype_load(y->dtype, element), 0};
    }
    bool whole = values != NULL;
    free(values);
    return whole;
}

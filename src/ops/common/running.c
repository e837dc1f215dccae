#include "ops/common/running.h"

#include "ops/common/exp_sum.h"

#include <math.h>

/* Errors by OpenCL's full profile, in roundoffs; an ulp is at most two. */
#define DIVISION_ROUNDOFFS 5
#define ROOT_ROUNDOFFS     6

tn_arithmetic tn_arithmetic_of(tenon_dtype dtype)
{
    return (tn_arithmetic){dtype == TENON_DTYPE_F64, tn_unit(dtype), tn_least_normal(dtype)};
}

double tn_as_scalar(const tn_arithmetic *t, double value)
{
    return t->is_f64 ? value : (double)(float)value;
}

tn_bounded tn_operand_value(const tn_arithmetic *t, double value)
{
    return (tn_bounded){value, fabs(value) < t->least ? fabs(value) : 0};
}

/* Returns a result with `roundoffs` of its own and the error `bound` of its operands. */
static tn_bounded rounded(const tn_arithmetic *t, double value, double bound, double roundoffs)
{
    double size = fabs(value) + bound;
    return (tn_bounded){value, bound + roundoffs * t->unit * size + (size > 0 ? t->least : 0)};
}

tn_bounded tn_sum(const tn_arithmetic *t, tn_bounded a, tn_bounded b)
{
    return rounded(t, a.value + b.value, a.bound + b.bound, 1);
}

tn_bounded tn_product(const tn_arithmetic *t, tn_bounded a, tn_bounded b)
{
    double bound = fabs(a.value) * b.bound + fabs(b.value) * a.bound + a.bound * b.bound;
    return rounded(t, a.value * b.value, bound, 1);
}

tn_bounded tn_scaled(const tn_arithmetic *t, double scalar, tn_bounded a)
{
    return tn_product(t, tn_operand_value(t, scalar), a);
}

tn_bounded tn_quotient(const tn_arithmetic *t, tn_bounded a, tn_bounded b)
{
    double quotient = a.value / b.value;
    if (!(fabs(b.value) > b.bound))
        return (tn_bounded){quotient, (double)INFINITY};
    double bound = (a.bound + fabs(quotient) * b.bound) / (fabs(b.value) - b.bound);
    return rounded(t, quotient, bound, DIVISION_ROUNDOFFS);
}

/* Uses sqrt(a) - sqrt(a - e) = e / (sqrt(a) + sqrt(a - e)), which exceeds sqrt(a + e) - sqrt(a). */
tn_bounded tn_square_root(const tn_arithmetic *t, tn_bounded a)
{
    double root = sqrt(a.value);
    double below = sqrt(a.value > a.bound ? a.value - a.bound : 0);
    double bound = a.bound > 0 ? a.bound / (root + below) : 0;
    if (a.value < a.bound) /* may be as large as the root of the bound */
        bound = sqrt(2 * a.bound);
    return rounded(t, root, bound, ROOT_ROUNDOFFS);
}

/* Probe of double-precision arithmetic: a sum that f32 would round, and exp(), whose error grows
 * with the argument on drivers whose fma() of doubles rounds twice. TENON_CUSTOM_EXP: see
 * common/math.clh. */
#define TENON_DTYPE 1
#include "capability/args.h"
#include "common/math.clh"

/* True if x is within 4 ulp of `expected`; OpenCL allows 3. */
TENON_INLINE int is_near(double x, double expected)
{
    return fabs(x - expected) <= expected * (4.0 / 4503599627370496.0);
}

__kernel void trial(__global int *result, const trial_args args)
{
    double one = (double)args.one, tiny = one / 1099511627776.0;
    double sum = one + tiny;
    result[get_global_id(0)] = (sum - one) * 1099511627776.0 == 1.0 && fma(one, tiny, one) == sum &&
                               is_near(math_exp(one * -9.8125), 5.476276860109711e-05) &&
                               is_near(math_exp(one * -83.25), 6.998168281769004e-37) &&
                               is_near(math_exp(one * -282.125), 2.983110172382999e-123);
}

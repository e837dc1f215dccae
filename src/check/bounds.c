#include "check/bounds.h"

#include <float.h>
#include <math.h>
#include <string.h>

tn_bounded tn_whole(int64_t value)
{
    tn_bounded result = {0, TN_WHOLE};
    memcpy(&result.value, &value, sizeof value);
    return result;
}

int64_t tn_whole_value(tn_bounded x)
{
    int64_t value;
    memcpy(&value, &x.value, sizeof value);
    return value;
}

double tn_roundoff(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? DBL_EPSILON / 2 : (double)FLT_EPSILON / 2;
}

size_t tn_acc_size(uint32_t dtype)
{
    return dtype == TENON_DTYPE_F64 ? sizeof(double) : sizeof(float);
}

double tn_gamma(double n, double u)
{
    return n * u / (1 - n * u);
}

double tn_least_normal(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? DBL_MIN : (double)FLT_MIN;
}

bool tn_may_be_nan(double number, tn_bounded factor)
{
    return isinf(number) && factor.value != 0 && fabs(factor.value) <= factor.bound;
}

tn_bounded tn_stored(tenon_dtype dtype, tn_bounded x)
{
    if (x.bound == TN_ANYTHING)
        return x;
    /* The absolute term is half the spacing of subnormals for half, which OpenCL does not allow to
     * be flushed. A bf16 is truncated from a float, which may be flushed. */
    if (dtype == TENON_DTYPE_F16)
        x.bound += 0x1p-11 * (fabs(x.value) + x.bound) + 0x1p-25;
    else if (dtype == TENON_DTYPE_BF16)
        x.bound += 0x1p-8 * (fabs(x.value) + x.bound) + (double)FLT_MIN;
    return x;
}

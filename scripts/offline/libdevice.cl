/*
 * Placeholders for the functions of NVIDIA's libdevice that libclc calls, so that kernels compiled
 * offline have no unresolved functions. They resemble NVIDIA's functions in size and kind of
 * instruction; they are never run, and are not part of the library.
 */
#pragma OPENCL EXTENSION cl_khr_fp64 : enable

float __nv_sqrtf(float x)
{
    return __nvvm_sqrt_rn_f(x);
}

double __nv_sqrt(double x)
{
    return __nvvm_sqrt_rn_d(x);
}

float __nv_rsqrtf(float x)
{
    return __nvvm_rsqrt_approx_f(x);
}

double __nv_rsqrt(double x)
{
    double y = __nvvm_rsqrt_approx_d(x), e = __builtin_fma(-x * y, y, 1.0);
    return __builtin_fma(0.5 * e, y, y);
}

int __nv_isinff(float x)
{
    return x == __builtin_inff() || x == -__builtin_inff();
}

int __nv_isinfd(double x)
{
    return x == __builtin_inf() || x == -__builtin_inf();
}

float __nv_logf(float x)
{
    return __nvvm_lg2_approx_f(x) * 0.69314718f;
}

/* ln of the fraction by the series of artanh, and the exponent times ln 2. */
double __nv_log(double x)
{
    ulong bits = __builtin_astype(x, ulong);
    int exponent = (int)(bits >> 52) - 1023;
    double fraction =
        __builtin_astype((bits & 0x000fffffffffffffUL) | 0x3ff0000000000000UL, double);
    double s = (fraction - 1.0) / (fraction + 1.0), z = s * s, sum = 1.0 / 19.0;
    for (int k = 17; k >= 1; k -= 2)
        sum = __builtin_fma(sum, z, 1.0 / k);
    return __builtin_fma((double)exponent, 0.693147180559945309, 2.0 * s * sum);
}

float __nv_sinpif(float x)
{
    return __nvvm_sin_approx_f((x - 2.0f * __builtin_rintf(0.5f * x)) * 3.14159265f);
}

double __nv_sinpi(double x)
{
    double r = (x - 2.0 * __builtin_rint(0.5 * x)) * 3.14159265358979324, z = r * r, sum = 0.0;
    for (int k = 21; k >= 1; k -= 2)
        sum = __builtin_fma(-sum, z / (double)((k + 1) * (k + 2)), 1.0);
    return r * sum;
}

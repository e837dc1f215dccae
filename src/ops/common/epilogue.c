#include "ops/common/epilogue.h"

#include <float.h>
#include <math.h>

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
    /* The half of the spacing of subnormals: OpenCL does not let half's be flushed, while a bf16
     * is cut from a float, which may be. */
    if (dtype == TENON_DTYPE_F16)
        x.bound += 0x1p-11 * (fabs(x.value) + x.bound) + 0x1p-25;
    else if (dtype == TENON_DTYPE_BF16)
        x.bound += 0x1p-8 * (fabs(x.value) + x.bound) + (double)FLT_MIN;
    return x;
}

tenon_status tn_epilogue_terms_check(const char *operation, const tenon_epilogue *epilogue,
                                     const tenon_tensor *c)
{
    TN_TRY(tn_activation_check(operation, &epilogue->activation));
    if (epilogue->beta != 0 && c == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: c is NULL, but beta is %g", operation,
                       epilogue->beta);
    return TENON_OK;
}

tenon_status tn_epilogue_check(const char *operation, const tenon_epilogue *epilogue,
                               const tenon_tensor *c)
{
    static const char *const names[3] = {"a", "b", "d"};
    for (int i = 0; i < 3; i++)
        if (epilogue->scale[i] != NULL || epilogue->zero_point[i] != NULL)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: params: epilogue: %s of %s is given, but is only for products of "
                           "i8 and u8: it must be NULL",
                           operation, epilogue->scale[i] != NULL ? "the scale" : "the zero point",
                           names[i]);
    return tn_epilogue_terms_check(operation, epilogue, c);
}

void tn_epilogue_scalars(const tenon_epilogue *epilogue, double scalars[TN_MAX_SCALARS])
{
    scalars[TN_SCALAR_ALPHA] = epilogue->alpha;
    scalars[TN_SCALAR_BETA] = epilogue->beta;
    scalars[TN_SCALAR_ACT_ALPHA] = epilogue->activation.alpha;
    scalars[TN_SCALAR_ACT_BETA] = epilogue->activation.beta;
}

tenon_status tn_float_check(const char *operation, const char *argument, tenon_context *context,
                            tenon_dtype dtype)
{
    if (dtype < TENON_DTYPE_F64 || dtype > TENON_DTYPE_BF16)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: type %s is not supported; f64, f32, f16 and bf16 are", operation,
                       argument, tenon_dtype_string(dtype));
    if (dtype == TENON_DTYPE_F64 && !tn_context_has(context, TENON_CAPABILITY_F64))
        return tn_fail(TENON_ERROR_UNSUPPORTED_DEVICE,
                       "%s: %s: type f64 is not supported: device %s has no such arithmetic",
                       operation, argument, context->device.info.name);
    return TENON_OK;
}

tenon_status tn_moved_check(const char *operation, const char *argument, tenon_dtype dtype)
{
    if (dtype > TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: type %s is not supported; f64, f32, f16, bf16, i8, u8 and i32 are",
                       operation, argument, tenon_dtype_string(dtype));
    return TENON_OK;
}

tenon_status tn_same_dtype_check(const char *operation, const char *argument,
                                 const tenon_tensor *tensor, const char *first_argument,
                                 tenon_dtype dtype)
{
    if (tensor == NULL || tensor->dtype == dtype)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s and %s is %s; they must be of one type",
                   operation, argument, tenon_dtype_string(tensor->dtype), first_argument,
                   tenon_dtype_string(dtype));
}

tn_patch_kind tn_scalar_patch(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? TN_PATCH_SCALAR_F64 : TN_PATCH_SCALAR_F32;
}

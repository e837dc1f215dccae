/* Validation of the arguments of i8 and u8 products and convolutions. */
#include "ops/gemm/int8.h"

#include <inttypes.h>
#include <math.h>

static bool is_byte(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 || dtype == TENON_DTYPE_U8;
}

static tenon_status need_dtype(const int8_call *call, const char *argument,
                               const tenon_tensor *view, tenon_dtype first, tenon_dtype second,
                               tenon_dtype with)
{
    if (view == NULL || view->dtype == first || view->dtype == second)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED,
                   "%s: %s is %s, must be %s%s%s if %s is i8 or u8 and %s is %s", call->caller,
                   argument, tenon_dtype_string(view->dtype), tenon_dtype_string(first),
                   first != second ? " or " : "", first != second ? tenon_dtype_string(second) : "",
                   call->names[0], call->names[2], tenon_dtype_string(with));
}

static tenon_status check_types(const int8_call *call, int8_views views)
{
    const char *a = call->names[0], *b = call->names[1], *d = call->names[2];
    const tenon_dtype type = views[GEMM_D]->dtype, real = is_byte(type) ? TENON_DTYPE_F32 : type;
    if (!tn_gemm_is_int8(views[GEMM_A])) /* the operation selects another family */
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s, must be i8 or u8", call->caller, a,
                       tenon_dtype_string(views[GEMM_A]->dtype));
    if (!is_byte(views[GEMM_B]->dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s and %s is %s; %s must be i8 or u8",
                       call->caller, b, tenon_dtype_string(views[GEMM_B]->dtype), a,
                       tenon_dtype_string(views[GEMM_A]->dtype), b);
    if (!is_byte(type) && type != TENON_DTYPE_I32 && type != TENON_DTYPE_F32 &&
        type != TENON_DTYPE_F16 && type != TENON_DTYPE_BF16)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s is %s and %s is %s; %s must be i32, f32, f16, bf16, i8 or u8",
                       call->caller, d, tenon_dtype_string(type), a,
                       tenon_dtype_string(views[GEMM_A]->dtype), d);
    TN_TRY(need_dtype(call, "c", views[GEMM_C], real, real, type));
    return need_dtype(call, "bias", views[GEMM_BIAS], real, TENON_DTYPE_I32, type);
}

/* Checks that a vector has one element, or one for each of `size` rows or columns. */
static tenon_status check_vector(const char *caller, const char *kind, const char *factor,
                                 const tenon_tensor *view, tenon_dtype dtype, int64_t size)
{
    char text[160];
    if (view == NULL)
        return TENON_OK;
    if (view->dtype != dtype)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s of %s is %s, must be %s", caller, kind,
                       factor, tenon_dtype_string(view->dtype), tenon_dtype_string(dtype));
    if (view->rank == 0 || (view->rank == 1 && (view->shape[0] == 1 || view->shape[0] == size)))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: %s of %s has shape %s, must be a scalar or have 1 or %" PRId64 " elements",
                   caller, kind, factor, tn_shape_text(view->rank, view->shape, text), size);
}

static tenon_status check_vectors(const int8_call *call, const tenon_epilogue *epilogue,
                                  int8_views views)
{
    static const int factors[] = {GEMM_A, GEMM_B, GEMM_D};
    for (int i = 0; i < 3; i++) {
        TN_TRY(check_vector(call->caller, "scale", call->names[i], epilogue->scale[i],
                            TENON_DTYPE_F32, call->sizes[i]));
        TN_TRY(check_vector(call->caller, "zero point", call->names[i], epilogue->zero_point[i],
                            views[factors[i]]->dtype, call->sizes[i]));
    }
    return TENON_OK;
}

/* Rejects scales for operands that do not take any. */
static tenon_status check_presence(const int8_call *call, const tenon_epilogue *epilogue,
                                   tenon_dtype d)
{
    for (int i = 0; i < 3; i++)
        if (epilogue->scale[i] != NULL && (d == TENON_DTYPE_I32 || (i == 2 && !is_byte(d))))
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: scale of %s is given, but %s is %s: it must be NULL", call->caller,
                           call->names[i], call->names[2], tenon_dtype_string(d));
    if (epilogue->zero_point[2] != NULL && !is_byte(d))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: zero point of %s is given, but %s is %s: it must be NULL", call->caller,
                       call->names[2], call->names[2], tenon_dtype_string(d));
    return TENON_OK;
}

/* Rejects parameters that would make an i32 result inexact. */
static tenon_status check_exact(const int8_call *call, const tenon_epilogue *epilogue)
{
    const tenon_activation *activation = &epilogue->activation;
    const char *caller = call->caller, *d = call->names[2];
    if (epilogue->alpha != 1)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: params: alpha is %g, must be 1 if %s is i32",
                       caller, epilogue->alpha, d);
    if (epilogue->beta != 0 && epilogue->beta != 1)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: params: beta is %g, must be 0 or 1 if %s is i32", caller,
                       epilogue->beta, d);
    if (activation->kind != TENON_ACTIVATION_IDENTITY &&
        activation->kind != TENON_ACTIVATION_RELU &&
        activation->kind != TENON_ACTIVATION_CLIPPED_RELU)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: params: activation is %s, must be identity, relu or clipped_relu if %s is i32",
            caller, tn_activation_words[activation->kind], d);
    double ceiling = activation->alpha;
    bool whole = fabs(ceiling) < 0x1p31 && ceiling == nearbyint(ceiling) &&
                 ceiling == (double)(float)ceiling;
    if (activation->kind == TENON_ACTIVATION_CLIPPED_RELU && !whole)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: params: activation: alpha is %g, must be an i32 that f32 represents exactly "
            "if %s is i32",
            caller, ceiling, d);
    return TENON_OK;
}

tenon_status tn_int8_check(const int8_call *call, const tenon_epilogue *epilogue, int8_views views)
{
    tenon_dtype d = views[GEMM_D]->dtype;
    TN_TRY(check_types(call, views));
    TN_TRY(check_presence(call, epilogue, d));
    TN_TRY(check_vectors(call, epilogue, views));
    return d == TENON_DTYPE_I32 ? check_exact(call, epilogue) : TENON_OK;
}

/* Returns dimension `from_last` of a view, which may have any rank. */
static int64_t size_of(const tenon_tensor *view, uint32_t from_last)
{
    return view->rank >= from_last ? view->shape[view->rank - from_last] : 1;
}

tenon_status tn_gemm_int8_check(const char *caller, const tenon_epilogue *epilogue,
                                int8_views views)
{
    const int8_call call = {
        caller,
        {"a", "b", "d"},
        {size_of(views[GEMM_A], 2), size_of(views[GEMM_B], 1), size_of(views[GEMM_D], 1)}};
    return tn_int8_check(&call, epilogue, views);
}

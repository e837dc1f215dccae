/* Validation of the arguments of i8 and u8 products. */
#include "ops/gemm/int8.h"

#include <inttypes.h>
#include <math.h>

static bool is_byte(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_I8 || dtype == TENON_DTYPE_U8;
}

static tenon_status need_dtype(const char *caller, const char *argument, const tenon_tensor *view,
                               tenon_dtype first, tenon_dtype second, tenon_dtype with)
{
    if (view == NULL || view->dtype == first || view->dtype == second)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED,
                   "%s: %s is %s, must be %s%s%s if a is i8 or u8 and d is %s", caller, argument,
                   tenon_dtype_string(view->dtype), tenon_dtype_string(first),
                   first != second ? " or " : "", first != second ? tenon_dtype_string(second) : "",
                   tenon_dtype_string(with));
}

static tenon_status check_types(const char *caller, int8_views views)
{
    tenon_dtype d = views[GEMM_D]->dtype, real = is_byte(d) ? TENON_DTYPE_F32 : d;
    if (!tn_gemm_is_int8(views[GEMM_A])) /* tenon_gemm selects another family */
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: a is %s, must be i8 or u8", caller,
                       tenon_dtype_string(views[GEMM_A]->dtype));
    if (!is_byte(views[GEMM_B]->dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: b is %s and a is %s; b must be i8 or u8",
                       caller, tenon_dtype_string(views[GEMM_B]->dtype),
                       tenon_dtype_string(views[GEMM_A]->dtype));
    if (!is_byte(d) && d != TENON_DTYPE_I32 && d != TENON_DTYPE_F32 && d != TENON_DTYPE_F16 &&
        d != TENON_DTYPE_BF16)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: d is %s and a is %s; d must be i32, f32, f16, bf16, i8 or u8", caller,
                       tenon_dtype_string(d), tenon_dtype_string(views[GEMM_A]->dtype));
    TN_TRY(need_dtype(caller, "c", views[GEMM_C], real, real, d));
    return need_dtype(caller, "bias", views[GEMM_BIAS], real, TENON_DTYPE_I32, d);
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

/* Checks all vectors: those of a apply to rows, those of b and d to columns. */
static tenon_status check_vectors(const char *caller, const tenon_epilogue *epilogue,
                                  int8_views views)
{
    static const char *const names[] = {"a", "b", "d"};
    static const int factors[] = {GEMM_A, GEMM_B, GEMM_D};
    for (int i = 0; i < 3; i++) {
        const tenon_tensor *factor = views[factors[i]];
        /* The shapes have not been compared yet, so a factor may have any rank. */
        uint32_t dimension = i == 0 ? 2 : 1;
        int64_t size = factor->rank >= dimension ? factor->shape[factor->rank - dimension] : 1;
        TN_TRY(check_vector(caller, "scale", names[i], epilogue->scale[i], TENON_DTYPE_F32, size));
        TN_TRY(check_vector(caller, "zero point", names[i], epilogue->zero_point[i], factor->dtype,
                            size));
    }
    return TENON_OK;
}

/* Rejects scales for operands that do not take any. */
static tenon_status check_presence(const char *caller, const tenon_epilogue *epilogue,
                                   tenon_dtype d)
{
    for (int i = 0; i < 3; i++)
        if (epilogue->scale[i] != NULL && (d == TENON_DTYPE_I32 || (i == 2 && !is_byte(d))))
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: scale of %s is given, but d is %s: it must be NULL", caller,
                           i == 0   ? "a"
                           : i == 1 ? "b"
                                    : "d",
                           tenon_dtype_string(d));
    if (epilogue->zero_point[2] != NULL && !is_byte(d))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: zero point of d is given, but d is %s: it must be NULL", caller,
                       tenon_dtype_string(d));
    return TENON_OK;
}

/* Rejects parameters that would make an i32 result inexact. */
static tenon_status check_exact(const char *caller, const tenon_epilogue *epilogue)
{
    const tenon_activation *activation = &epilogue->activation;
    if (epilogue->alpha != 1)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: params: alpha is %g, must be 1 if d is i32",
                       caller, epilogue->alpha);
    if (epilogue->beta != 0 && epilogue->beta != 1)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: params: beta is %g, must be 0 or 1 if d is i32", caller,
                       epilogue->beta);
    if (activation->kind != TENON_ACTIVATION_IDENTITY &&
        activation->kind != TENON_ACTIVATION_RELU &&
        activation->kind != TENON_ACTIVATION_CLIPPED_RELU)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: params: activation is %s, must be identity, relu or clipped_relu if d is i32",
            caller, tn_activation_words[activation->kind]);
    double ceiling = activation->alpha;
    bool whole = fabs(ceiling) < 0x1p31 && ceiling == nearbyint(ceiling) &&
                 ceiling == (double)(float)ceiling;
    if (activation->kind == TENON_ACTIVATION_CLIPPED_RELU && !whole)
        return tn_fail(
            TENON_ERROR_UNSUPPORTED,
            "%s: params: activation: alpha is %g, must be an i32 that f32 represents exactly "
            "if d is i32",
            caller, ceiling);
    return TENON_OK;
}

tenon_status tn_gemm_int8_check(const char *caller, const tenon_epilogue *epilogue,
                                int8_views views)
{
    tenon_dtype d = views[GEMM_D]->dtype;
    TN_TRY(check_types(caller, views));
    TN_TRY(check_presence(caller, epilogue, d));
    TN_TRY(check_vectors(caller, epilogue, views));
    return d == TENON_DTYPE_I32 ? check_exact(caller, epilogue) : TENON_OK;
}

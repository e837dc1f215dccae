#include "ops/common/epilogue.h"

#include "base/dtype.h"
#include "common/post_args.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

bool tn_epilogue_adds(const tenon_epilogue *epilogue, const tenon_tensor *c)
{
    return c != NULL && epilogue->beta != 0;
}

tenon_status tn_epilogue_bias_hint(tenon_status status, const tenon_tensor *bias)
{
    if (status != TENON_OK && bias == NULL)
        tn_fail_append("; pass a bias as the argument bias");
    return status;
}

tenon_status tn_epilogue_terms_check(const char *caller, const tenon_epilogue *epilogue,
                                     const tenon_tensor *c)
{
    if (epilogue->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: epilogue: reserved is %u, must be 0", caller,
                       epilogue->reserved);
    TN_TRY(tn_activation_check(caller, &epilogue->activation));
    if (c == NULL && epilogue->beta != 0 && epilogue->beta != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: c is NULL, but beta is %g; without c it must be 1 (the default) or 0",
                       caller, epilogue->beta);
    return TENON_OK;
}

tenon_status tn_epilogue_check(const char *caller, const tenon_epilogue *epilogue,
                               const tenon_tensor *c)
{
    static const char *const names[3] = {"a", "b", "d"};
    for (int i = 0; i < 3; i++)
        if (epilogue->scale[i] != NULL || epilogue->zero_point[i] != NULL)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: params: epilogue: %s of %s is given, but is only for products of "
                           "i8 and u8: it must be NULL",
                           caller, epilogue->scale[i] != NULL ? "the scale" : "the zero point",
                           names[i]);
    return tn_epilogue_terms_check(caller, epilogue, c);
}

bool tn_epilogue_post_views(const tenon_epilogue *epilogue, const tenon_tensor **views)
{
    views[POST_SCALE] = epilogue->post_scale;
    views[POST_SHIFT] = epilogue->post_shift;
    views[POST_RESIDUAL] = epilogue->residual;
    return views[POST_SCALE] != NULL || views[POST_SHIFT] != NULL || views[POST_RESIDUAL] != NULL;
}

void tn_epilogue_set_post(tenon_epilogue *epilogue, const tenon_tensor *const *views)
{
    const tenon_tensor **members[] = {&epilogue->post_scale, &epilogue->post_shift,
                                      &epilogue->residual};
    for (int term = 0; term < POST_TERMS; term++)
        if ((size_t)((char *)(members[term] + 1) - (char *)epilogue) <= epilogue->struct_size)
            *members[term] = views[term];
}

tenon_status tn_epilogue_refuse_post(const char *caller, const tenon_epilogue *epilogue)
{
    const tenon_tensor *views[POST_TERMS];
    if (!tn_epilogue_post_views(epilogue, views))
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED,
                   "%s: params: epilogue: %s is given, but is not supported by ragged products and "
                   "by products of i8 and u8: it must be NULL",
                   caller,
                   views[POST_SCALE] != NULL   ? "post_scale"
                   : views[POST_SHIFT] != NULL ? "post_shift"
                                               : "residual");
}

uint32_t tn_epilogue_post_in_place(tn_call *call, uint32_t residual, uint32_t output)
{
    tn_argument *argument = &call->operands[residual];
    if (argument->view == NULL || argument->role == TN_INPUT)
        return 0;
    if (tn_memory_same_view(argument->view, call->operands[output].view))
        return TENON_POST_IN_PLACE;
    argument->role = TN_INPUT;
    return 0;
}

/* Flag bits that gemm/args.h and conv/args.h have in common. The path bits of the terms after the
 * activation follow those of the activations. */
enum { HAS_C = 1, HAS_BIAS = 2, SKIPS_FACTORS = 4, FIRST_ACTIVATION = 8, FIRST_POST = 29 };
_Static_assert((int)FIRST_ACTIVATION + (int)TN_ACTIVATION_KINDS <= (int)FIRST_POST,
               "an activation has a path bit");

/* Returns path bits for the terms, none if there are none: builds differ in that. */
static uint64_t post_paths(uint32_t flags)
{
    const uint64_t terms = (flags & TENON_POST_ANY) / TENON_POST_SCALE;
    return terms == 0 ? 0 : tn_paths_of_flags(terms << FIRST_POST, UINT64_C(7) << FIRST_POST);
}

uint64_t tn_epilogue_paths(uint32_t flags, uint32_t activation)
{
    return tn_paths_of_flags(flags, HAS_C | HAS_BIAS | SKIPS_FACTORS) | post_paths(flags) |
           UINT64_C(1) << (FIRST_ACTIVATION + activation);
}

tenon_epilogue tn_check_epilogue(uint32_t flags, uint32_t activation)
{
    tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    epilogue.alpha = (flags & SKIPS_FACTORS) != 0 ? 0 : 0.75;
    epilogue.beta = (flags & HAS_C) != 0 ? -0.5 : 0;
    epilogue.activation = tn_activation_tried(activation);
    return epilogue;
}

void tn_epilogue_scalars(const tenon_epilogue *epilogue, double scalars[TN_MAX_SCALARS])
{
    scalars[TN_SCALAR_ALPHA] = epilogue->alpha;
    scalars[TN_SCALAR_BETA] = epilogue->beta;
    scalars[TN_SCALAR_ACT_ALPHA] = epilogue->activation.alpha;
    scalars[TN_SCALAR_ACT_BETA] = epilogue->activation.beta;
}

/* Returns a range in words. %g would round the least number above 0 and the greatest below 1. */
static const char *range_text(double low, double high, char text[64])
{
    if (isinf(low) && isinf(high))
        return "finite";
    if (isinf(high) && low == DBL_MIN)
        return "finite and above 0";
    if (isinf(high))
        snprintf(text, 64, "finite and at least %g", low);
    else if (high == 1 - DBL_EPSILON / 2)
        snprintf(text, 64, "at least %g and below 1", low);
    else
        snprintf(text, 64, "from %g to %g", low, high);
    return text;
}

tenon_status tn_number_check(const char *caller, const char *name, double value, double low,
                             double high)
{
    char range[64];
    if (isfinite(value) && value >= low && value <= high)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: %s is %g, must be %s", caller, name,
                   value, range_text(low, high, range));
}

tenon_status tn_float_check(const char *caller, const char *argument, tenon_context *context,
                            tenon_dtype dtype)
{
    if (!tn_dtype_is_float(dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: type %s is not supported; f64, f32, f16 and bf16 are", caller,
                       argument, tenon_dtype_string(dtype));
    bool has = true;
    if (dtype == TENON_DTYPE_F64)
        TN_TRY(tn_context_try(caller, context, TENON_CAPABILITY_F64, &has));
    if (!has)
        return tn_fail(TENON_ERROR_UNSUPPORTED_DEVICE,
                       "%s: %s: type f64 is not supported by the device, %s", caller, argument,
                       context->device.info.name);
    return TENON_OK;
}

tenon_status tn_moved_check(const char *caller, const char *argument, tenon_dtype dtype)
{
    if (!tn_dtype_is_float(dtype) && !tn_dtype_is_integer(dtype) && dtype != TENON_DTYPE_BOOL)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s: type %s is not supported; f64, f32, f16, bf16, the integer types "
                       "and bool are",
                       caller, argument, tenon_dtype_string(dtype));
    return TENON_OK;
}

tenon_status tn_same_dtype_check(const char *caller, const char *argument,
                                 const tenon_tensor *tensor, const char *first_argument,
                                 tenon_dtype dtype)
{
    if (tensor == NULL || tensor->dtype == dtype)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED,
                   "%s: %s is %s and %s is %s; they must have the same type", caller, argument,
                   tenon_dtype_string(tensor->dtype), first_argument, tenon_dtype_string(dtype));
}

tn_patch_kind tn_scalar_patch(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? TN_PATCH_SCALAR_F64 : TN_PATCH_SCALAR_F32;
}

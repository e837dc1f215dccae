/* Validation of calls of normalization. */
#include "base/shape.h"
#include "ops/norm/internal.h"

#include <inttypes.h>
#include <math.h>

const char *const tn_norm_words[] = {"layer", "rms", "group", "instance", "batch", NULL};

static bool is_over_last(const tenon_norm_params *params)
{
    return params->kind == TENON_NORM_LAYER || params->kind == TENON_NORM_RMS;
}

static tenon_status check_numbers(const char *caller, const tenon_norm_params *params)
{
    if (params->kind > TENON_NORM_BATCH)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: kind is %u, which is not a tenon_norm_kind", caller,
                       params->kind);
    if (!isfinite(params->epsilon) || params->epsilon < 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: epsilon is %g, must be finite and at least 0", caller,
                       params->epsilon);
    if (!(params->momentum >= 0 && params->momentum <= 1))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: momentum is %g, must be from 0 to 1", caller, params->momentum);
    return TENON_OK;
}

static tenon_status check_dimensions(const char *caller, const tenon_norm_params *params,
                                     const tenon_tensor *x)
{
    uint32_t least = params->kind == TENON_NORM_INSTANCE ? 3 : is_over_last(params) ? 1 : 2;
    uint32_t most = is_over_last(params) ? TENON_MAX_RANK : 5;
    if (x->rank < least || x->rank > most)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x: rank is %u, must be from %u to %u",
                       caller, x->rank, least, most);
    if (is_over_last(params) && (params->dimensions < 1 || params->dimensions > x->rank))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: dimensions is %u, must be from 1 to the rank of x, %u", caller,
                       params->dimensions, x->rank);
    if (params->kind == TENON_NORM_GROUP &&
        (params->groups < 1 || x->shape[1] % params->groups != 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: groups is %" PRId64 ", must divide the %" PRId64
                       " channels of x",
                       caller, params->groups, x->shape[1]);
    return TENON_OK;
}

static tenon_status check_parameter_shape(const char *caller, const char *name,
                                          const tenon_norm_params *params, const tenon_tensor *x,
                                          const tenon_tensor *view)
{
    if (is_over_last(params))
        return tn_shape_check(caller, name, view, params->dimensions,
                              x->shape + x->rank - params->dimensions);
    return tn_shape_check(caller, name, view, 1, x->shape + 1);
}

static tenon_status check_statistic_shape(const char *caller, const char *name,
                                          const tenon_norm_params *params, const tenon_tensor *x,
                                          const tenon_tensor *view)
{
    const int64_t by_sample[] = {x->shape[0],
                                 params->kind == TENON_NORM_GROUP ? params->groups : x->shape[1]};
    if (is_over_last(params))
        return tn_shape_check(caller, name, view, x->rank - params->dimensions, x->shape);
    if (params->kind == TENON_NORM_BATCH)
        return tn_shape_check(caller, name, view, 1, x->shape + 1);
    return tn_shape_check(caller, name, view, 2, by_sample);
}

/* Checks that gamma, beta and their gradients have one type: that of x or the accumulator's. */
static tenon_status check_parameter_type(const char *caller, const norm_views *v, int number,
                                         int *first)
{
    const tenon_dtype dtype = v->view[NORM_X]->dtype, got = v->view[number]->dtype;
    const tenon_dtype acc = dtype == TENON_DTYPE_F64 ? dtype : TENON_DTYPE_F32;
    if (got != dtype && got != acc)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s and x is %s; must be x's type%s",
                       caller, v->name[number], tenon_dtype_string(got), tenon_dtype_string(dtype),
                       acc == dtype ? "" : " or f32");
    if (*first < 0)
        *first = number;
    return tn_same_dtype_check(caller, v->name[number], v->view[number], v->name[*first],
                               v->view[*first]->dtype);
}

static tenon_status check_statistic_type(const char *caller, const norm_views *v, int number)
{
    const tenon_dtype dtype = v->view[NORM_X]->dtype;
    const tenon_dtype acc = dtype == TENON_DTYPE_F64 ? dtype : TENON_DTYPE_F32;
    if (v->view[number]->dtype == acc)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s, must be %s for x of type %s", caller,
                   v->name[number], tenon_dtype_string(v->view[number]->dtype),
                   tenon_dtype_string(acc), tenon_dtype_string(dtype));
}

static bool is_like_x(const norm_views *v, int number)
{
    return number == NORM_X || number == NORM_Y || (v->backward && number == NORM_DY);
}

static bool is_parameter(const norm_views *v, int number)
{
    return number == NORM_GAMMA ||
           (v->backward ? number == NORM_DGAMMA || number == NORM_DBETA : number == NORM_BETA);
}

static tenon_status check_view(const char *caller, const tenon_norm_params *params,
                               const norm_views *v, int number, int *parameter)
{
    const tenon_tensor *x = v->view[NORM_X], *view = v->view[number];
    const char *name = v->name[number];
    if (is_like_x(v, number)) {
        TN_TRY(tn_same_dtype_check(caller, name, view, "x", x->dtype));
        return tn_shape_check(caller, name, view, x->rank, x->shape);
    }
    if (is_parameter(v, number)) {
        TN_TRY(check_parameter_type(caller, v, number, parameter));
        return check_parameter_shape(caller, name, params, x, view);
    }
    TN_TRY(check_statistic_type(caller, v, number));
    return check_statistic_shape(caller, name, params, x, view);
}

/* Checks that no operand is given that the kind does not use, and that none is missing. */
static tenon_status check_use(const char *caller, const tenon_norm_params *params,
                              const norm_views *v)
{
    const bool rms = params->kind == TENON_NORM_RMS, batch = params->kind == TENON_NORM_BATCH;
    const int rms_lacks[] = {NORM_MEAN, v->backward ? NORM_DBETA : NORM_BETA};
    for (int i = 0; i < 2 && rms; i++)
        if (v->view[rms_lacks[i]] != NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s is given, but RMS normalization has none; it must be NULL",
                           caller, v->name[rms_lacks[i]]);
    for (int i = NORM_RUNNING_MEAN; i <= NORM_RUNNING_VARIANCE && !v->backward && !batch; i++)
        if (v->view[i] != NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: %s is given, but is only for batch normalization; it must be NULL",
                           caller, v->name[i]);
    if (v->given && !batch)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: kind is %s, must be batch",
                       caller, tn_norm_words[params->kind]);
    for (int i = NORM_MEAN; i <= NORM_RSTD && (v->backward || v->given); i++)
        if (v->view[i] == NULL && !(rms && i == NORM_MEAN))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller, v->name[i]);
    if (v->backward && v->view[NORM_DX] == NULL && v->view[NORM_DGAMMA] == NULL &&
        v->view[NORM_DBETA] == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: dx, dgamma and dbeta are all NULL, at least one is required", caller);
    return TENON_OK;
}

tenon_status tn_norm_check(const char *caller, tenon_context *context,
                           const tenon_norm_params *params, const norm_views *views)
{
    const tenon_tensor *x = views->view[NORM_X];
    int parameter = -1;
    TN_TRY(check_numbers(caller, params));
    TN_TRY(tn_float_check(caller, "x", context, x->dtype));
    TN_TRY(check_use(caller, params, views));
    TN_TRY(check_dimensions(caller, params, x));
    for (int number = 0; number < NORM_VIEWS; number++)
        if (views->view[number] != NULL)
            TN_TRY(check_view(caller, params, views, number, &parameter));
    if (params->kind == TENON_NORM_BATCH && !views->given && !views->backward &&
        tenon_tensor_elements(x) == x->shape[1] && x->shape[1] > 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: a channel has only one element, must have at least 2 for a variance",
                       caller);
    return TENON_OK;
}

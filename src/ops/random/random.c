/* Argument validation of tenon_random, its scalars, and its family. */
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/common/philox.h"
#include "ops/random/internal.h"
#include "ops/common/epilogue.h"

#include <float.h>
#include <math.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_random_lines};

const tn_family tn_random_family = {
    .name = "random", TN_SOLVERS(solvers), .awkward = tn_random_awkward};

static double rounded(tenon_dtype dtype, double value)
{
    unsigned char element[8];
    tn_dtype_store(dtype, element, value);
    return tn_dtype_load(dtype, element);
}

/* Returns the type of the arithmetic. */
static tenon_dtype accumulator(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}

/* Returns the next number of a type towards an infinity. */
static double neighbor(tenon_dtype dtype, double x, double towards)
{
    if (dtype == TENON_DTYPE_F64)
        return nextafter(x, towards);
    if (dtype == TENON_DTYPE_F32)
        return (double)nextafterf((float)x, (float)towards);
    uint16_t bits = dtype == TENON_DTYPE_F16 ? tn_f16_from_double(x) : tn_bf16_from_double(x);
    if (x == 0)
        bits = towards > 0 ? 0x0001 : 0x8001;
    else
        bits = (uint16_t)(bits + ((x > 0) == (towards > 0) ? 1 : -1));
    return dtype == TENON_DTYPE_F16 ? tn_f16_to_double(bits) : tn_bf16_to_double(bits);
}

bool tn_random_limits(tenon_dtype dtype, double low, double high, double *least, double *most)
{
    *least = rounded(dtype, low);
    *most = rounded(dtype, high);
    if (*least < low)
        *least = neighbor(dtype, *least, (double)INFINITY);
    if (*most >= high)
        *most = neighbor(dtype, *most, -(double)INFINITY);
    return *least <= *most;
}

/* Sets the seed, the sequence, and the parameters of the kind. */
static void set_scalars(const tenon_random_params *params, tenon_dtype dtype,
                        double scalars[TN_MAX_SCALARS])
{
    memcpy(&scalars[0], &params->seed, sizeof params->seed);
    memcpy(&scalars[1], &params->sequence, sizeof params->sequence);
    if (params->kind == TENON_RANDOM_UNIFORM) {
        scalars[2] = params->low;
        scalars[3] = params->high - params->low;
        tn_random_limits(dtype, params->low, params->high, &scalars[4], &scalars[5]);
    } else if (params->kind == TENON_RANDOM_NORMAL) {
        scalars[2] = params->mean;
        scalars[3] = params->deviation;
    } else {
        const int64_t threshold = tn_philox_threshold(params->probability);
        memcpy(&scalars[2], &threshold, sizeof threshold);
    }
}

static tenon_status check_interval(const char *caller, const tenon_random_params *params,
                                   tenon_dtype dtype)
{
    const double any = (double)INFINITY;
    double least, most;
    TN_TRY(tn_number_check(caller, "low", params->low, -any, any));
    TN_TRY(tn_number_check(caller, "high", params->high, -any, any));
    if (!(params->low < params->high))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: low is %g, must be less than high, which is %g", caller,
                       params->low, params->high);
    if (!isfinite(rounded(dtype, params->low)) || !isfinite(rounded(dtype, params->high)) ||
        !isfinite(rounded(accumulator(dtype), params->high - params->low)))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: low and high are %g and %g, beyond the range of %s", caller,
                       params->low, params->high, tenon_dtype_string(dtype));
    if (!tn_random_limits(dtype, params->low, params->high, &least, &most))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: low and high are %.17g and %.17g, but no %s is in [low, high)",
                       caller, params->low, params->high, tenon_dtype_string(dtype));
    return TENON_OK;
}

static tenon_status random_check_params(const char *caller, const tenon_random_params *params,
                                        tenon_dtype dtype)
{
    const double most = accumulator(dtype) == TENON_DTYPE_F64 ? DBL_MAX : (double)FLT_MAX;
    TN_TRY(
        tn_kind_check(caller, "kind", params->kind, TENON_RANDOM_BERNOULLI, "tenon_random_kind"));
    TN_TRY(tn_reserved_check(caller, params->reserved));
    if (params->kind == TENON_RANDOM_UNIFORM)
        return check_interval(caller, params, dtype);
    if (params->kind == TENON_RANDOM_BERNOULLI)
        return tn_number_check(caller, "probability", params->probability, 0, 1);
    TN_TRY(tn_number_check(caller, "mean", params->mean, -most, most));
    return tn_number_check(caller, "deviation", params->deviation, 0, most);
}

static bool is_integer(uint32_t kind, tenon_dtype dtype)
{
    return kind == TENON_RANDOM_BERNOULLI && (dtype == TENON_DTYPE_U8 || dtype == TENON_DTYPE_I32);
}

tenon_status tn_random_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_random_params *params = given;
    const tenon_tensor *y = call->operands[RANDOM_Y].view;
    if (!is_integer(params->kind, y->dtype))
        TN_TRY(tn_float_check(call->caller, "y", call->context, y->dtype));
    TN_TRY(random_check_params(call->caller, params, y->dtype));
    *empty = tn_tensor_empty(y);
    tn_lines_canonicalize(&y, RANDOM_OPERANDS, TN_LINES_NUMBERED, (tn_lines_problem *)problem);
    ((tn_lines_problem *)problem)->kind = params->kind;
    set_scalars(params, y->dtype, call->scalars);
    return TENON_OK;
}

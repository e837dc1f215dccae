/* Argument validation of tenon_histogram, its problem and its family. */
#include "ops/histogram/internal.h"

#include "base/dtype.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MOST_BINS (INT64_C(1) << 30)

static const tn_solver *const solvers[] = {&tn_histogram_serial, &tn_histogram_blocks};

static uint64_t histogram_paths(const tn_problem *problem)
{
    const histogram_problem *p = (const histogram_problem *)problem;
    return tn_paths_of_flags(p->flags,
                             HISTOGRAM_HAS_EDGES | HISTOGRAM_HAS_WEIGHTS | HISTOGRAM_INDICES) |
           UINT64_C(1) << (8 + p->dtype);
}

const tn_family tn_histogram_family = {.name = "histogram",
                                       TN_SOLVERS(solvers),
                                       .awkward = tn_histogram_awkward,
                                       .paths = histogram_paths};

static tenon_status check_element_types(const tn_call *call, uint32_t flags)
{
    const char *caller = call->caller;
    const tenon_tensor *x = call->operands[HISTOGRAM_X].view;
    const tenon_tensor *weights = call->operands[HISTOGRAM_WEIGHTS].view;
    const tenon_dtype y = call->operands[HISTOGRAM_Y].view->dtype;
    if (tn_dtype_is_float(x->dtype))
        TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    else if (!tn_dtype_is_integer(x->dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: x: type is %s, must be a floating-point or integer type, except f8",
                       caller, tenon_dtype_string(x->dtype));
    if ((flags & TENON_HISTOGRAM_INDICES) != 0 && !tn_dtype_is_integer(x->dtype))
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: x: type is %s, must be an integer type with TENON_HISTOGRAM_INDICES",
                       caller, tenon_dtype_string(x->dtype));
    TN_TRY(
        tn_same_dtype_check(caller, "edges", call->operands[HISTOGRAM_EDGES].view, "x", x->dtype));
    if (weights == NULL)
        return y == TENON_DTYPE_I32 || y == TENON_DTYPE_I64
                   ? TENON_OK
                   : tn_fail(TENON_ERROR_UNSUPPORTED,
                             "%s: y: type is %s, must be i32 or i64 without weights", caller,
                             tenon_dtype_string(y));
    if (weights->dtype != TENON_DTYPE_F32 && weights->dtype != TENON_DTYPE_F64)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: weights: type is %s, must be f32 or f64",
                       caller, tenon_dtype_string(weights->dtype));
    TN_TRY(tn_float_check(caller, "weights", call->context, weights->dtype));
    return tn_same_dtype_check(caller, "y", call->operands[HISTOGRAM_Y].view, "weights",
                               weights->dtype);
}

static tenon_status check_shapes(const tn_call *call, uint32_t flags)
{
    const char *caller = call->caller;
    const tenon_tensor *x = call->operands[HISTOGRAM_X].view;
    const tenon_tensor *edges = call->operands[HISTOGRAM_EDGES].view;
    const tenon_tensor *weights = call->operands[HISTOGRAM_WEIGHTS].view;
    const tenon_tensor *y = call->operands[HISTOGRAM_Y].view;
    if (tenon_tensor_elements(x) > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: x: number of elements is %" PRId64 ", must be at most %d", caller,
                       tenon_tensor_elements(x), INT32_MAX);
    if (y->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y: rank is %u, must be 1", caller,
                       y->rank);
    if (y->shape[0] < 1 || y->shape[0] > MOST_BINS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: y: size is %" PRId64 ", must be from 1 to %" PRId64, caller,
                       y->shape[0], MOST_BINS);
    if (weights != NULL)
        TN_TRY(tn_shape_check(caller, "weights", weights, x->rank, x->shape));
    if (edges == NULL)
        return TENON_OK;
    if ((flags & TENON_HISTOGRAM_INDICES) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: edges: are present, must be absent with TENON_HISTOGRAM_INDICES",
                       caller);
    return tn_shape_check(caller, "edges", edges, 1, (const int64_t[]){y->shape[0] + 1});
}

/* Returns the bits of a number as the type in which bins of equal width are computed. */
static int64_t bits_of(tenon_dtype dtype, double value)
{
    return tn_patch_scalar(dtype == TENON_DTYPE_F64 ? TN_PATCH_SCALAR_F64 : TN_PATCH_SCALAR_F32,
                           &value);
}

/* The range is finite even where it is not used. */
static tenon_status check_range(const char *caller, const tenon_histogram_params *params)
{
    if (isfinite(params->low) && isfinite(params->high))
        return TENON_OK;
    const bool is_low = !isfinite(params->low);
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is %g, must be finite", caller,
                   is_low ? "low" : "high", is_low ? params->low : params->high);
}

/* Sets the range of bins of equal width. */
static tenon_status fill_range(const char *caller, const tenon_histogram_params *params,
                               histogram_problem *p)
{
    const tenon_dtype dtype = (tenon_dtype)p->dtype;
    const bool is_double = dtype == TENON_DTYPE_F64;
    const double low = is_double ? params->low : (double)(float)params->low;
    const double high = is_double ? params->high : (double)(float)params->high;
    const double scale = (double)p->bins / (high - low);
    const bool is_finite = isfinite(low) && isfinite(high) && isfinite(high - low) &&
                           isfinite(is_double ? scale : (double)(float)scale);
    if (!is_finite || !(low < high) || !(scale > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: range is %g to %g with %" PRId64
                       " bins, must be finite and ascending, and its bins wide enough for %s",
                       caller, params->low, params->high, p->bins, is_double ? "f64" : "f32");
    p->low = bits_of(dtype, low);
    p->high = bits_of(dtype, high);
    p->scale = bits_of(dtype, scale);
    return TENON_OK;
}

static void fill_space(const tenon_tensor *x, const tenon_tensor *weights, histogram_problem *p)
{
    tn_space space;
    p->elements = tn_space_of_two(x, weights, &space);
    p->rank = space.rank;
    memcpy(p->shape, space.shape, sizeof p->shape);
    memcpy(p->stride, space.stride, sizeof p->stride);
}

tenon_status tn_histogram_prepare(const void *given, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tenon_histogram_params *params = given;
    const tenon_tensor *x = call->operands[HISTOGRAM_X].view;
    const tenon_tensor *edges = call->operands[HISTOGRAM_EDGES].view;
    const tenon_tensor *weights = call->operands[HISTOGRAM_WEIGHTS].view;
    const tenon_tensor *y = call->operands[HISTOGRAM_Y].view;
    histogram_problem *p = (histogram_problem *)problem;
    TN_TRY(check_range(call->caller, params));
    TN_TRY(check_element_types(call, params->flags));
    TN_TRY(check_shapes(call, params->flags));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->sum_dtype = y->dtype;
    p->bins = y->shape[0];
    p->y_step = y->stride[0];
    if (edges != NULL) {
        p->flags |= HISTOGRAM_HAS_EDGES;
        p->edge_step = edges->stride[0];
    }
    if (weights != NULL)
        p->flags |= HISTOGRAM_HAS_WEIGHTS;
    if ((params->flags & TENON_HISTOGRAM_INDICES) != 0)
        p->flags |= HISTOGRAM_INDICES;
    else if (edges == NULL)
        TN_TRY(fill_range(call->caller, params, p));
    fill_space(x, weights, p);
    *empty = false; /* y is written in any case */
    return TENON_OK;
}

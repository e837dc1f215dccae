/* Argument validation of tenon_pad_forward, and its family. */
#include "base/checked.h"
#include "base/dtype.h"
#include "base/shape.h"
#include "ops/pad/internal.h"

#include <inttypes.h>

static const tn_solver *const solvers[] = {&tn_pad_rows};

static uint64_t pad_paths(const tn_problem *problem)
{
    return UINT64_C(1) << ((const pad_problem *)problem)->mode;
}

const tn_family tn_pad_family = {
    .name = "pad", TN_SOLVERS(solvers), .awkward = tn_pad_awkward, .paths = pad_paths};

static tenon_status pad_check_params(const char *caller, const tenon_pad_params *params,
                                     uint32_t rank)
{
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_kind_check(caller, "mode", params->mode, TENON_PAD_REFLECT, "tenon_pad_mode"));
    for (uint32_t d = 0; d < TENON_MAX_RANK; d++) {
        int64_t begin = params->begin[d], end = params->end[d];
        if (begin < 0 || end < 0 || (d >= rank && (begin != 0 || end != 0)))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: begin[%u] is %" PRId64 ", end[%u] is %" PRId64 ", must %s",
                           caller, d, begin, d, end,
                           d >= rank ? "be 0 beyond the rank of x" : "not be negative");
    }
    return TENON_OK;
}

static tenon_status check_types(const tn_call *call)
{
    const tenon_tensor *x = call->operands[PAD_X].view, *y = call->operands[PAD_Y].view;
    TN_TRY(tn_moved_check(call->caller, "x", x->dtype));
    return tn_same_dtype_check(call->caller, "y", y, "x", x->dtype);
}

/* Returns the bits of `value` in a type, stored in a double: the form of a run's scalar. */
static double scalar_of(tenon_dtype dtype, double value)
{
    double scalar = 0;
    tn_dtype_store(dtype, &scalar, value);
    return scalar;
}

/* Checks that a padded dimension of x has the elements that the mode repeats. */
static tenon_status check_dimension(const char *caller, const tenon_pad_params *params,
                                    const tenon_tensor *x, uint32_t d)
{
    int64_t most = params->begin[d] > params->end[d] ? params->begin[d] : params->end[d];
    if (most == 0 || params->mode == TENON_PAD_CONSTANT)
        return TENON_OK;
    if (x->shape[d] == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: dimension %u has size 0, must have an element to repeat", caller, d);
    if (params->mode == TENON_PAD_REFLECT && most >= x->shape[d])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: begin[%u] is %" PRId64 ", end[%u] is %" PRId64
                       ", must be less than the size of x, %" PRId64 ", to be reflected",
                       caller, d, params->begin[d], d, params->end[d], x->shape[d]);
    return TENON_OK;
}

static tenon_status check_shapes(const char *caller, const tenon_pad_params *params,
                                 const tenon_tensor *x, const tenon_tensor *y)
{
    char s[160], wanted_text[160];
    tenon_tensor wanted = *x;
    bool fits = true;
    for (uint32_t d = 0; d < x->rank; d++) {
        TN_TRY(check_dimension(caller, params, x, d));
        fits = fits && tn_add_i64(x->shape[d], params->begin[d], &wanted.shape[d]) &&
               tn_add_i64(wanted.shape[d], params->end[d], &wanted.shape[d]);
    }
    if (!fits)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: y: the shape of x plus begin and end overflows", caller);
    if (tn_tensor_same_shape(y, &wanted))
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: y: shape is %s, must be that of x plus begin and end, %s", caller,
                   tn_shape_text(y->rank, y->shape, s),
                   tn_shape_text(wanted.rank, wanted.shape, wanted_text));
}

tenon_status tn_pad_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_pad_params *params = given;
    const tenon_tensor *x = call->operands[PAD_X].view, *y = call->operands[PAD_Y].view;
    TN_TRY(pad_check_params(caller, params, x->rank));
    TN_TRY(check_types(call));
    TN_TRY(check_shapes(caller, params, x, y));
    *empty = tn_tensor_empty(y);
    tn_pad_canonicalize(params, x, y, (pad_problem *)problem);
    call->scalars[0] = scalar_of(y->dtype, params->value);
    return TENON_OK;
}

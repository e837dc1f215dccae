/* Argument validation of rearrangements, and their family. */
#include "base/dtype.h"
#include "ops/common/index.h"
#include "ops/common/rows.h"
#include "ops/rearrange/internal.h"

#include <inttypes.h>

static const tn_solver *const solvers[] = {&tn_rearrange_rows};

static uint64_t rearrange_paths(const tn_problem *problem)
{
    const rearrange_problem *p = (const rearrange_problem *)problem;
    return UINT64_C(1) << p->kind | tn_paths_of_flags(p->from_end ? 16 : 0, 16);
}

const tn_family tn_rearrange_family = {.name = "rearrange",
                                       TN_SOLVERS(solvers),
                                       .awkward = tn_rearrange_awkward,
                                       .paths = rearrange_paths};

/* Returns the bits of `value` in a type, stored in a double: the form of a run's scalar. */
static double rearrange_scalar(tenon_dtype dtype, double value)
{
    double scalar = 0;
    tn_dtype_store(dtype, &scalar, value);
    return scalar;
}

static tenon_status check_types(const tn_call *call, const tenon_tensor *x, const tenon_tensor *y)
{
    TN_TRY(tn_moved_check(call->caller, "x", x->dtype));
    return tn_same_dtype_check(call->caller, "y", y, "x", x->dtype);
}

static tenon_status check_rearrange(const char *caller, const tenon_rearrange_params *params,
                                    const tenon_tensor *x, const tenon_tensor *y)
{
    TN_TRY(tn_reserved_check(caller, params->reserved));
    if (x->rank != y->rank)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y: rank is %u, must be that of x, %u",
                       caller, y->rank, x->rank);
    if (params->flip >> x->rank != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: flip is 0x%x, must have no bit beyond the rank of x, %u",
                       caller, params->flip, x->rank);
    for (uint32_t d = 0; d < TENON_MAX_RANK; d++) {
        if (d >= x->rank && params->shift[d] != 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: params: shift[%u] is %" PRId64 ", must be 0 beyond the rank of x",
                           caller, d, params->shift[d]);
        if (d < x->rank && x->shape[d] == 0 && !tn_tensor_empty(y))
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: x: dimension %u has size 0, must have an element to repeat", caller,
                           d);
    }
    return TENON_OK;
}

tenon_status tn_rearrange_prepare(const void *given, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tenon_tensor *x = call->operands[REARRANGE_OPERAND_X].view,
                       *y = call->operands[REARRANGE_OPERAND_Y].view;
    TN_TRY(check_types(call, x, y));
    TN_TRY(check_rearrange(call->caller, given, x, y));
    *empty = tn_tensor_empty(y);
    if (!*empty)
        tn_rearrange_canonicalize(given, x, y, (rearrange_problem *)problem);
    return TENON_OK;
}

static tenon_status check_rank(const char *caller, const tenon_tensor *x)
{
    if (x->rank >= 2)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x: rank is %u, must be at least 2", caller,
                   x->rank);
}

tenon_status tn_triangle_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_triangle_params *params = given;
    const tenon_tensor *x = call->operands[REARRANGE_OPERAND_X].view,
                       *y = call->operands[REARRANGE_OPERAND_Y].view;
    TN_TRY(check_types(call, x, y));
    TN_TRY(check_rank(call->caller, x));
    TN_TRY(tn_shape_check(call->caller, "y", y, x->rank, x->shape));
    *empty = tn_tensor_empty(y);
    tn_triangle_canonicalize(params, x, y, (rearrange_problem *)problem);
    call->scalars[0] = rearrange_scalar(y->dtype, params->value);
    return TENON_OK;
}

tenon_status tn_reverse_lengths_prepare(const void *given, tn_call *call, tn_problem *problem,
                                        bool *empty)
{
    const char *caller = call->caller;
    const tenon_reverse_lengths_params *params = given;
    const tenon_tensor *x = call->operands[REVERSE_X].view,
                       *lengths = call->operands[REVERSE_LENGTHS].view,
                       *y = call->operands[REVERSE_Y].view;
    uint32_t axis = 0, batch = 0;
    TN_TRY(check_types(call, x, y));
    TN_TRY(tn_index_check(caller, "lengths", lengths));
    TN_TRY(check_rank(caller, x));
    TN_TRY(tn_axis_check(caller, params->axis, x->rank, "x", &axis));
    TN_TRY(tn_axis_check(caller, params->batch_axis, x->rank, "x", &batch));
    if (axis == batch)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: axis is %d, batch_axis is %d, must differ", caller,
                       params->axis, params->batch_axis);
    TN_TRY(tn_shape_check(caller, "lengths", lengths, 1, &x->shape[batch]));
    TN_TRY(tn_shape_check(caller, "y", y, x->rank, x->shape));
    *empty = tn_tensor_empty(y);
    tn_reverse_canonicalize(axis, batch, x, lengths, y, (rearrange_problem *)problem);
    return TENON_OK;
}

tenon_status tn_one_hot_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_one_hot_params *params = given;
    const tenon_tensor *indices = call->operands[ONE_HOT_INDICES].view,
                       *y = call->operands[ONE_HOT_Y].view;
    int64_t shape[TENON_MAX_RANK + 1];
    uint32_t axis = 0, rank = 0;
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(tn_index_check(caller, "indices", indices));
    TN_TRY(tn_moved_check(caller, "y", y->dtype));
    TN_TRY(tn_axis_check(caller, params->axis, y->rank, "y", &axis));
    for (uint32_t d = 0; d < indices->rank + 1; d++)
        shape[rank++] = d == axis ? y->shape[axis] : indices->shape[d < axis ? d : d - 1];
    TN_TRY(tn_shape_check(caller, "y", y, rank, shape));
    *empty = tn_tensor_empty(y);
    tn_one_hot_canonicalize(axis, params->flags & TENON_ONE_HOT_FROM_END, indices, y,
                            (rearrange_problem *)problem);
    call->scalars[0] = rearrange_scalar(y->dtype, params->on);
    call->scalars[1] = rearrange_scalar(y->dtype, params->off);
    return TENON_OK;
}

/* Argument validation of tenon_gather_forward and tenon_gather_backward, and their families. */
#include "ops/common/rows.h"
#include "ops/gather/internal.h"

#include <inttypes.h>
#include <string.h>

static const tn_solver *const forward_solvers[] = {&tn_gather_rows};
static const tn_solver *const backward_solvers[] = {&tn_gather_backward_scan,
                                                    &tn_gather_backward_sorted};

const tn_family tn_gather_family = {
    .name = "gather", TN_SOLVERS(forward_solvers), .awkward = tn_gather_awkward};

const tn_family tn_gather_backward_family = {
    .name = "gather_backward", TN_SOLVERS(backward_solvers), .awkward = tn_gather_backward_awkward};

static tenon_status check_types(const tn_call *call, bool backward)
{
    const char *caller = call->caller;
    const tn_argument *from = &call->operands[GATHER_FROM], *to = &call->operands[GATHER_TO];
    const tenon_tensor *indices = call->operands[GATHER_INDICES].view;
    if (indices->dtype != TENON_DTYPE_I32)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: indices: type is %s, must be i32", caller,
                       tenon_dtype_string(indices->dtype));
    if (backward)
        TN_TRY(tn_float_check(caller, from->name, call->context, from->view->dtype));
    else
        TN_TRY(tn_moved_check(caller, from->name, from->view->dtype));
    return tn_same_dtype_check(caller, to->name, to->view, from->name, from->view->dtype);
}

/* Checks the shape of `picked` (y, dy): the table's, with the axis replaced by that of indices. */
static tenon_status check_shapes(const char *caller, const tn_argument *picked,
                                 const tn_argument *table, const tenon_tensor *indices,
                                 uint32_t axis)
{
    char s[160], wanted[160];
    const tenon_tensor *t = table->view;
    int64_t shape[2 * TENON_MAX_RANK];
    uint32_t rank = t->rank - 1 + indices->rank;
    memcpy(shape, t->shape, axis * sizeof *shape);
    memcpy(shape + axis, indices->shape, indices->rank * sizeof *shape);
    memcpy(shape + axis + indices->rank, t->shape + axis + 1, (t->rank - 1 - axis) * sizeof *shape);
    if (picked->view->rank == rank && memcmp(picked->view->shape, shape, rank * sizeof *shape) == 0)
        return TENON_OK;
    return tn_fail(
        TENON_ERROR_INVALID_ARGUMENT,
        "%s: %s: shape is %s, must be that of %s with axis %u replaced by the shape of indices, %s",
        caller, picked->name, tn_shape_text(picked->view->rank, picked->view->shape, s),
        table->name, axis, tn_shape_text(rank, shape, wanted));
}

/* Checks that row numbers and positions of indices fit in 32 bits, as the kernels require. */
static tenon_status check_counts(const char *caller, const tenon_tensor *dx,
                                 const tenon_tensor *indices, uint32_t axis)
{
    if (dx->shape[axis] > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: dx: axis %u has size %" PRId64 ", must be at most %d", caller, axis,
                       dx->shape[axis], INT32_MAX);
    if (tenon_tensor_elements(indices) > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: indices: number of elements is %" PRId64 ", must be at most %d", caller,
                       tenon_tensor_elements(indices), INT32_MAX);
    return TENON_OK;
}

static tenon_status check_call(const tenon_gather_params *params, const tn_call *call,
                               bool backward, uint32_t *axis)
{
    const char *caller = call->caller;
    const tn_argument *table = &call->operands[backward ? GATHER_TO : GATHER_FROM];
    const tn_argument *picked = &call->operands[backward ? GATHER_FROM : GATHER_TO];
    const tenon_tensor *indices = call->operands[GATHER_INDICES].view;
    TN_TRY(tn_reserved_check(caller, params->reserved));
    TN_TRY(check_types(call, backward));
    TN_TRY(tn_axis_check(caller, params->axis, table->view->rank, table->name, axis));
    TN_TRY(check_shapes(caller, picked, table, indices, *axis));
    if (backward)
        return check_counts(caller, table->view, indices, *axis);
    if (table->view->shape[*axis] == 0 && !tn_tensor_empty(picked->view))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x: axis %u has size 0, must have at least one row", caller, *axis);
    return TENON_OK;
}

tenon_status tn_gather_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_gather_params *params = given;
    const tenon_tensor *y = call->operands[GATHER_TO].view;
    uint32_t axis = 0;
    TN_TRY(check_call(params, call, false, &axis));
    *empty = tn_tensor_empty(y);
    tn_gather_canonicalize(call->operands[GATHER_FROM].view, call->operands[GATHER_INDICES].view, y,
                           axis, (gather_problem *)problem);
    return TENON_OK;
}

tenon_status tn_gather_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                        bool *empty)
{
    const tenon_gather_params *params = given;
    const tenon_tensor *dx = call->operands[GATHER_TO].view;
    uint32_t axis = 0;
    TN_TRY(check_call(params, call, true, &axis));
    *empty = tn_tensor_empty(dx);
    tn_gather_backward_canonicalize(call->operands[GATHER_FROM].view,
                                    call->operands[GATHER_INDICES].view, dx, axis,
                                    (gather_backward_problem *)problem);
    return TENON_OK;
}

/* Argument validation of tenon_sort and tenon_top_k, and their family. */
#include "ops/sort/internal.h"

#include <inttypes.h>

static const tn_solver *const solvers[] = {&tn_sort_rank, &tn_sort_select,  &tn_sort_merge,
                                           &tn_sort_rows, &tn_sort_buckets, &tn_sort_radix};

/* Path bits: operands and order, the interpretation of the bits, the size of the payload. */
static uint64_t sort_paths(const tn_problem *problem)
{
    enum { DESCENDING = 4, LIMITED = 8 };
    const sort_problem *p = (const sort_problem *)problem;
    const uint32_t flags =
        p->flags | (p->descending != 0 ? DESCENDING : 0) | (p->limit < p->space.size ? LIMITED : 0);
    return tn_paths_of_flags(flags, SORT_HAS_INDICES | SORT_HAS_PAYLOAD | DESCENDING | LIMITED) |
           UINT64_C(1) << (8 + p->dtype) | (uint64_t)p->payload_size << 24;
}

const tn_family tn_sort_family = {
    .name = "sort", TN_SOLVERS(solvers), .awkward = tn_sort_awkward, .paths = sort_paths};

static tenon_status check_indices(const tn_call *call, uint32_t operand, const tenon_tensor *x,
                                  uint32_t axis)
{
    const tenon_tensor *indices = call->operands[operand].view;
    if (x->shape[axis] > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: x: axis %u has size %" PRId64 ", must be at most %d", call->caller,
                       axis, x->shape[axis], INT32_MAX);
    if (indices != NULL && indices->dtype != TENON_DTYPE_I32 && indices->dtype != TENON_DTYPE_I64)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: indices: type is %s, must be i32 or i64",
                       call->caller, tenon_dtype_string(indices->dtype));
    return TENON_OK;
}

static tenon_status check_payload(const tn_call *call)
{
    const tenon_tensor *payload = call->operands[SORT_CALL_PAYLOAD].view;
    const tenon_tensor *moved = call->operands[SORT_CALL_MOVED].view;
    if ((payload == NULL) != (moved == NULL))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: is absent, must be present like %s",
                       call->caller, payload == NULL ? "payload" : "moved",
                       payload == NULL ? "moved" : "payload");
    if (payload == NULL)
        return TENON_OK;
    TN_TRY(tn_moved_check(call->caller, "payload", payload->dtype));
    return tn_same_dtype_check(call->caller, "moved", moved, "payload", payload->dtype);
}

/* Fills in the problem. `operand` has the number of each view among the operands; views that the
 * operation lacks have the number of x. */
static void make_problem(const tn_call *call, const uint32_t operand[SORT_VIEWS], bool descending,
                         uint32_t axis, sort_problem *p)
{
    const tenon_tensor *views[SORT_VIEWS] = {NULL};
    tn_problem_begin(&p->head, sizeof *p);
    for (uint32_t v = 0; v < SORT_VIEWS; v++) {
        const bool present = v == SORT_X || operand[v] != operand[SORT_X];
        views[v] = present ? call->operands[operand[v]].view : NULL;
        p->operand[v] =
            views[v] != NULL ? operand[v] : operand[v == SORT_PAYLOAD ? SORT_X : SORT_Y];
    }
    p->dtype = views[SORT_X]->dtype;
    p->descending = descending;
    if (views[SORT_INDICES] != NULL) {
        p->flags |= SORT_HAS_INDICES;
        p->wide = views[SORT_INDICES]->dtype == TENON_DTYPE_I64;
    }
    if (views[SORT_PAYLOAD] != NULL) {
        p->flags |= SORT_HAS_PAYLOAD;
        p->payload_size = (uint32_t)tenon_dtype_size(views[SORT_PAYLOAD]->dtype);
    }
    p->limit = views[SORT_Y]->shape[axis];
    tn_axis_space_fill(views, SORT_VIEWS, SORT_Y, axis, &p->space);
}

tenon_status tn_sort_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    static const uint32_t operand[SORT_VIEWS] = {[SORT_X] = SORT_CALL_X,
                                                 [SORT_Y] = SORT_CALL_Y,
                                                 [SORT_INDICES] = SORT_CALL_INDICES,
                                                 [SORT_PAYLOAD] = SORT_CALL_PAYLOAD,
                                                 [SORT_MOVED] = SORT_CALL_MOVED};
    const tenon_sort_params *params = given;
    const tenon_tensor *x = call->operands[SORT_CALL_X].view;
    uint32_t axis = 0;
    TN_TRY(tn_reserved_check(call->caller, params->reserved));
    TN_TRY(tn_moved_check(call->caller, "x", x->dtype));
    TN_TRY(tn_axis_check(call->caller, params->axis, x->rank, "x", &axis));
    TN_TRY(tn_same_dtype_check(call->caller, "y", call->operands[SORT_CALL_Y].view, "x", x->dtype));
    TN_TRY(check_indices(call, SORT_CALL_INDICES, x, axis));
    TN_TRY(check_payload(call));
    for (uint32_t i = SORT_CALL_PAYLOAD; i < SORT_CALL_OPERANDS; i++)
        TN_TRY(tn_axis_shape_check(call, i, axis, x->shape[axis]));
    *empty = tn_tensor_empty(x);
    make_problem(call, operand, (params->flags & TENON_SORT_DESCENDING) != 0, axis,
                 (sort_problem *)problem);
    return TENON_OK;
}

tenon_status tn_top_k_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    static const uint32_t operand[SORT_VIEWS] = {[SORT_X] = TOP_K_X,
                                                 [SORT_Y] = TOP_K_Y,
                                                 [SORT_INDICES] = TOP_K_INDICES,
                                                 [SORT_PAYLOAD] = TOP_K_X,
                                                 [SORT_MOVED] = TOP_K_X};
    const tenon_top_k_params *params = given;
    const tenon_tensor *x = call->operands[TOP_K_X].view, *y = call->operands[TOP_K_Y].view;
    uint32_t axis = 0;
    TN_TRY(tn_reserved_check(call->caller, params->reserved));
    TN_TRY(tn_moved_check(call->caller, "x", x->dtype));
    TN_TRY(tn_axis_check(call->caller, params->axis, x->rank, "x", &axis));
    TN_TRY(tn_same_dtype_check(call->caller, "y", y, "x", x->dtype));
    TN_TRY(check_indices(call, TOP_K_INDICES, x, axis));
    if (y->rank == x->rank && y->shape[axis] > x->shape[axis])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: y: axis %u has size %" PRId64
                       ", must be at most the size of that of x, %" PRId64,
                       call->caller, axis, y->shape[axis], x->shape[axis]);
    const int64_t k = y->rank == x->rank ? y->shape[axis] : x->shape[axis];
    TN_TRY(tn_axis_shape_check(call, TOP_K_Y, axis, k));
    TN_TRY(tn_axis_shape_check(call, TOP_K_INDICES, axis, k));
    *empty = tn_tensor_empty(y);
    make_problem(call, operand, (params->flags & TENON_TOP_K_SMALLEST) == 0, axis,
                 (sort_problem *)problem);
    return TENON_OK;
}

/* Argument validation of tenon_compact and tenon_masked_put, their problem and their families. */
#include "ops/compact/internal.h"

#include <inttypes.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_compact_serial, &tn_compact_blocks};

static uint64_t compact_paths(const tn_problem *problem)
{
    const compact_problem *p = (const compact_problem *)problem;
    return tn_paths_of_flags(p->flags, COMPACT_HAS_X | COMPACT_HAS_INDICES | COMPACT_COORDINATES) |
           UINT64_C(1) << (8 + p->mask_dtype) | (uint64_t)p->size << 24;
}

const tn_family tn_compact_family = {
    .name = "compact", TN_SOLVERS(solvers), .awkward = tn_compact_awkward, .paths = compact_paths};

const tn_family tn_masked_put_family = {.name = "masked_put",
                                        TN_SOLVERS(solvers),
                                        .awkward = tn_masked_put_awkward,
                                        .paths = compact_paths};

static tenon_status check_i32(const tn_call *call, uint32_t operand)
{
    const tn_argument *a = &call->operands[operand];
    if (a->view == NULL || a->view->dtype == TENON_DTYPE_I32)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be i32", call->caller,
                   a->name, tenon_dtype_string(a->view->dtype));
}

static tenon_status check_presence(const tn_call *call)
{
    const tn_argument *v = call->operands;
    if ((v[COMPACT_X].view == NULL) != (v[COMPACT_Y].view == NULL))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: is absent, must be present like %s",
                       call->caller, v[COMPACT_X].view == NULL ? "x" : "y",
                       v[COMPACT_X].view == NULL ? "y" : "x");
    if (v[COMPACT_Y].view == NULL && v[COMPACT_INDICES].view == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: y: is absent, must be present if indices are absent", call->caller);
    return TENON_OK;
}

static tenon_status check_mask(const tn_call *call)
{
    const tenon_tensor *mask = call->operands[COMPACT_MASK].view;
    TN_TRY(tn_moved_check(call->caller, "mask", mask->dtype));
    if (tenon_tensor_elements(mask) <= INT32_MAX)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED,
                   "%s: mask: number of elements is %" PRId64 ", must be at most %d", call->caller,
                   tenon_tensor_elements(mask), INT32_MAX);
}

static tenon_status check_inputs(const tn_call *call)
{
    const tenon_tensor *mask = call->operands[COMPACT_MASK].view;
    const tenon_tensor *x = call->operands[COMPACT_X].view;
    TN_TRY(check_mask(call));
    if (x == NULL)
        return TENON_OK;
    TN_TRY(tn_moved_check(call->caller, "x", x->dtype));
    TN_TRY(tn_shape_check(call->caller, "x", x, mask->rank, mask->shape));
    return tn_same_dtype_check(call->caller, "y", call->operands[COMPACT_Y].view, "x", x->dtype);
}

static tenon_status check_outputs(const tn_call *call)
{
    const tenon_tensor *mask = call->operands[COMPACT_MASK].view;
    const tenon_tensor *y = call->operands[COMPACT_Y].view;
    const tenon_tensor *indices = call->operands[COMPACT_INDICES].view;
    const tenon_tensor *count = call->operands[COMPACT_COUNT].view;
    char s[160];
    TN_TRY(check_i32(call, COMPACT_INDICES));
    TN_TRY(check_i32(call, COMPACT_COUNT));
    if (count->rank > 1 || tenon_tensor_elements(count) != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: count: shape is %s, must be that of a scalar or 1", call->caller,
                       tn_shape_text(count->rank, count->shape, s));
    if (y != NULL && y->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: y: rank is %u, must be 1", call->caller,
                       y->rank);
    if (indices == NULL)
        return TENON_OK;
    const bool coordinates = indices->rank == 2;
    if (indices->rank != 1 && !(coordinates && indices->shape[1] == mask->rank))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: shape is %s, must be of rank 1, or of rank 2 with the rank of "
                       "mask, %u, as its last size",
                       call->caller, tn_shape_text(indices->rank, indices->shape, s), mask->rank);
    if (y != NULL && y->shape[0] != indices->shape[0])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: first size is %" PRId64 ", must be the size of y, %" PRId64,
                       call->caller, indices->shape[0], y->shape[0]);
    return TENON_OK;
}

static void fill_space(const tenon_tensor *mask, const tenon_tensor *x, compact_problem *p)
{
    tn_space space;
    p->elements = tn_space_of_two(mask, x, &space);
    p->rank = space.rank;
    memcpy(p->shape, space.shape, sizeof p->shape);
    memcpy(p->stride, space.stride, sizeof p->stride);
}

tenon_status tn_compact_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_tensor *mask = call->operands[COMPACT_MASK].view;
    const tenon_tensor *x = call->operands[COMPACT_X].view, *y = call->operands[COMPACT_Y].view;
    const tenon_tensor *indices = call->operands[COMPACT_INDICES].view;
    compact_problem *p = (compact_problem *)problem;
    (void)given;
    TN_TRY(check_presence(call));
    TN_TRY(check_inputs(call));
    TN_TRY(check_outputs(call));
    tn_problem_begin(&p->head, sizeof *p);
    fill_space(mask, x, p);
    p->mask_dtype = mask->dtype;
    for (uint32_t v = 0; v < COMPACT_OPERANDS; v++)
        p->operand[v] = v;
    p->capacity = y != NULL ? y->shape[0] : indices->shape[0];
    if (x != NULL) {
        p->flags |= COMPACT_HAS_X;
        p->size = (uint32_t)tenon_dtype_size(x->dtype);
        p->step[0] = y->stride[0];
    }
    if (indices != NULL) {
        p->flags |= COMPACT_HAS_INDICES;
        p->step[1] = indices->stride[0];
    }
    if (indices != NULL && indices->rank == 2) {
        p->flags |= COMPACT_COORDINATES;
        p->coordinate_step = indices->stride[1];
        p->dimensions = mask->rank;
        memcpy(p->sizes, mask->shape, sizeof p->sizes);
    }
    *empty = false; /* count is written in any case */
    return TENON_OK;
}

tenon_status tn_masked_put_prepare(const void *given, tn_call *call, tn_problem *problem,
                                   bool *empty)
{
    static const uint32_t operand[COMPACT_OPERANDS] = {PUT_MASK, PUT_Y, PUT_SOURCE, PUT_Y, PUT_Y};
    const tenon_tensor *mask = call->operands[PUT_MASK].view;
    const tenon_tensor *source = call->operands[PUT_SOURCE].view, *y = call->operands[PUT_Y].view;
    compact_problem *p = (compact_problem *)problem;
    (void)given;
    TN_TRY(check_mask(call));
    TN_TRY(tn_moved_check(call->caller, "y", y->dtype));
    TN_TRY(tn_same_dtype_check(call->caller, "source", source, "y", y->dtype));
    TN_TRY(tn_shape_check(call->caller, "y", y, mask->rank, mask->shape));
    if (source->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: source: rank is %u, must be 1",
                       call->caller, source->rank);
    tn_problem_begin(&p->head, sizeof *p);
    fill_space(mask, y, p);
    p->mask_dtype = mask->dtype;
    p->capacity = source->shape[0];
    p->flags = COMPACT_HAS_X | COMPACT_PUTS;
    p->size = (uint32_t)tenon_dtype_size(y->dtype);
    p->step[0] = source->stride[0];
    memcpy(p->operand, operand, sizeof p->operand);
    *empty = tn_tensor_empty(y) || tn_tensor_empty(source);
    return TENON_OK;
}

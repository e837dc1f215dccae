/* Argument validation of tenon_unique, its problem and its family. */
#include "ops/unique/internal.h"

#include <inttypes.h>
#include <string.h>

/* The flag of each operand that may be absent. */
static const uint32_t present[UNIQUE_OPERANDS] = {[UNIQUE_Y] = UNIQUE_HAS_Y,
                                                  [UNIQUE_FIRST] = UNIQUE_HAS_FIRST,
                                                  [UNIQUE_INVERSE] = UNIQUE_HAS_INVERSE,
                                                  [UNIQUE_COUNTS] = UNIQUE_HAS_COUNTS};

static const tn_solver *const solvers[] = {&tn_unique_serial, &tn_unique_blocks};

static uint64_t unique_paths(const tn_problem *problem)
{
    const unique_problem *p = (const unique_problem *)problem;
    return tn_paths_of_flags(p->flags, UNIQUE_HAS_Y | UNIQUE_HAS_FIRST | UNIQUE_HAS_INVERSE |
                                           UNIQUE_HAS_COUNTS | UNIQUE_RUNS) |
           UINT64_C(1) << (8 + p->dtype);
}

const tn_family tn_unique_family = {
    .name = "unique", TN_SOLVERS(solvers), .awkward = tn_unique_awkward, .paths = unique_paths};

/* Checks an output with one element for each different one, and sets the capacity, which is -1
 * before the first of them. */
static tenon_status check_list(const tn_call *call, uint32_t operand, int64_t *capacity)
{
    const tn_argument *a = &call->operands[operand];
    if (a->view == NULL)
        return TENON_OK;
    if (a->view->rank != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is %u, must be 1", call->caller,
                       a->name, a->view->rank);
    if (*capacity >= 0 && a->view->shape[0] != *capacity)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: size is %" PRId64
                       ", must be that of the other outputs of rank 1, %" PRId64,
                       call->caller, a->name, a->view->shape[0], *capacity);
    *capacity = a->view->shape[0];
    return TENON_OK;
}

static tenon_status check_outputs(const tn_call *call, int64_t *capacity)
{
    const tenon_tensor *x = call->operands[UNIQUE_X].view;
    const tenon_tensor *count = call->operands[UNIQUE_COUNT].view;
    char s[160];
    TN_TRY(tn_same_dtype_check(call->caller, "y", call->operands[UNIQUE_Y].view, "x", x->dtype));
    for (uint32_t v = UNIQUE_FIRST; v < UNIQUE_OPERANDS; v++) {
        const tn_argument *a = &call->operands[v];
        if (a->view != NULL && a->view->dtype != TENON_DTYPE_I32)
            return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s: type is %s, must be i32", call->caller,
                           a->name, tenon_dtype_string(a->view->dtype));
    }
    TN_TRY(check_list(call, UNIQUE_Y, capacity));
    TN_TRY(check_list(call, UNIQUE_FIRST, capacity));
    TN_TRY(check_list(call, UNIQUE_COUNTS, capacity));
    if (call->operands[UNIQUE_INVERSE].view != NULL)
        TN_TRY(tn_shape_check(call->caller, "inverse", call->operands[UNIQUE_INVERSE].view, x->rank,
                              x->shape));
    if (count->rank > 1 || tenon_tensor_elements(count) != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: count: shape is %s, must be that of a scalar or 1", call->caller,
                       tn_shape_text(count->rank, count->shape, s));
    return TENON_OK;
}

static void fill_space(const tenon_tensor *x, const tenon_tensor *inverse, unique_problem *p)
{
    tn_space space;
    p->elements = tn_space_of_two(x, inverse, &space);
    p->rank = space.rank;
    memcpy(p->shape, space.shape, sizeof p->shape);
    memcpy(p->stride, space.stride, sizeof p->stride);
}

tenon_status tn_unique_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_unique_params *params = given;
    const tenon_tensor *x = call->operands[UNIQUE_X].view;
    unique_problem *p = (unique_problem *)problem;
    int64_t capacity = -1;
    TN_TRY(tn_moved_check(call->caller, "x", x->dtype));
    if (tenon_tensor_elements(x) > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: x: number of elements is %" PRId64 ", must be at most %d", call->caller,
                       tenon_tensor_elements(x), INT32_MAX);
    TN_TRY(check_outputs(call, &capacity));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->flags = params->flags & TENON_UNIQUE_CONSECUTIVE ? UNIQUE_RUNS : 0;
    p->capacity = capacity > 0 ? capacity : 0;
    for (uint32_t v = 0; v < UNIQUE_OPERANDS; v++) {
        const tenon_tensor *view = call->operands[v].view;
        if (view == NULL || present[v] == 0)
            continue;
        p->flags |= present[v];
        p->step[v] = v != UNIQUE_INVERSE ? view->stride[0] : 0;
    }
    fill_space(x, call->operands[UNIQUE_INVERSE].view, p);
    *empty = false; /* count is written in any case */
    return TENON_OK;
}

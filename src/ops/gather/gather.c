/* Argument validation of tenon_gather_forward, tenon_gather_backward and tenon_scatter, and their
 * families. */
#include "base/checked.h"
#include "ops/common/index.h"
#include "ops/common/rows.h"
#include "ops/gather/internal.h"

#include <inttypes.h>
#include <string.h>

static const tn_solver *const forward_solvers[] = {&tn_gather_rows};
static const tn_solver *const scatter_solvers[] = {&tn_scatter_scan, &tn_scatter_sorted,
                                                   &tn_scatter_ordered};

static uint64_t gather_paths(const tn_problem *problem)
{
    return tn_paths_of_flags((uint64_t)((const gather_problem *)problem)->tuple.from_end, 1);
}

static uint64_t scatter_paths(const tn_problem *problem)
{
    const scatter_problem *p = (const scatter_problem *)problem;
    return tn_paths_of_flags((uint64_t)p->tuple.from_end, 1) | UINT64_C(2) << p->op;
}

const tn_family tn_gather_family = {.name = "gather",
                                    TN_SOLVERS(forward_solvers),
                                    .awkward = tn_gather_awkward,
                                    .paths = gather_paths};

const tn_family tn_gather_backward_family = {.name = "gather_backward",
                                             TN_SOLVERS(scatter_solvers),
                                             .awkward = tn_gather_backward_awkward,
                                             .paths = scatter_paths};

const tn_family tn_scatter_family = {.name = "scatter",
                                     TN_SOLVERS(scatter_solvers),
                                     .awkward = tn_scatter_awkward,
                                     .paths = scatter_paths};

static tenon_status check_types(const tn_call *call, bool is_float)
{
    const char *caller = call->caller;
    const tn_argument *from = &call->operands[GATHER_FROM], *to = &call->operands[GATHER_TO];
    const tenon_tensor *indices = call->operands[GATHER_INDICES].view;
    TN_TRY(tn_index_check(caller, "indices", indices));
    if (is_float)
        TN_TRY(tn_float_check(caller, from->name, call->context, from->view->dtype));
    else
        TN_TRY(tn_moved_check(caller, from->name, from->view->dtype));
    return tn_same_dtype_check(caller, to->name, to->view, from->name, from->view->dtype);
}

/* The operands by their part in the index mode, with the caller's name. */
typedef struct indexed_call {
    const char *caller;
    const tn_argument *table, *picked;
    const tenon_tensor *indices;
} indexed_call;

/* Checks the rank of the indices, and sets the ranks of `index`. */
static tenon_status check_index_rank(const indexed_call *c, tn_index *index)
{
    const tenon_tensor *table = c->table->view, *indices = c->indices;
    index->count = 1;
    index->rank = indices->rank;
    if (index->mode == TENON_INDEX_ELEMENTS && indices->rank != table->rank)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: rank is %u, must be that of %s, %u, for elements", c->caller,
                       indices->rank, c->table->name, table->rank);
    if (index->mode != TENON_INDEX_TUPLES)
        return TENON_OK;
    if (indices->rank < index->axis + 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: rank is %u, must be at least %u, for tuples from axis %u on",
                       c->caller, indices->rank, index->axis + 1, index->axis);
    index->rank--;
    const int64_t count = indices->shape[index->rank], most = table->rank - index->axis;
    if (count < 1 || count > most)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: indices: last dimension is %" PRId64 ", must be from 1 to %" PRId64
                       ", the number of dimensions of %s from axis %u on",
                       c->caller, count, most, c->table->name, index->axis);
    index->count = (uint32_t)count;
    return TENON_OK;
}

/* Checks the dimensions that the table and the indices have in common. */
static tenon_status check_common(const indexed_call *c, const tn_index *index, uint32_t rank)
{
    for (uint32_t d = 0; d < rank; d++) {
        const int32_t table = tn_index_table_dimension(index, d),
                      own = tn_index_own_dimension(index, d);
        if (table < 0 || own < 0)
            continue;
        const int64_t size = c->indices->shape[own], most = c->table->view->shape[table];
        const bool is_exact = index->mode == TENON_INDEX_TUPLES;
        if (is_exact ? size != most : size > most)
            return tn_fail(
                TENON_ERROR_INVALID_ARGUMENT,
                "%s: indices: dimension %d has size %" PRId64 ", must be %s that of %s, %" PRId64,
                c->caller, own, size, is_exact ? "equal to" : "at most", c->table->name, most);
    }
    return TENON_OK;
}

/* Checks the shape of the picked tensor. */
static tenon_status check_shapes(const indexed_call *c, const tn_index *index)
{
    static const char *const rules[] = {"that of %s with axis %u replaced by the shape of indices",
                                        "that of indices",
                                        "those of the tuples in indices and of %s after them"};
    char s[160], wanted[160], rule[160];
    const tenon_tensor *picked = c->picked->view, *table = c->table->view;
    int64_t shape[2 * TENON_MAX_RANK];
    uint32_t rank = index->mode == TENON_INDEX_ELEMENTS ? table->rank
                    : index->mode == TENON_INDEX_SLICES
                        ? table->rank - 1 + index->rank
                        : index->rank + table->rank - index->axis - index->count;
    TN_TRY(check_common(c, index, rank));
    for (uint32_t d = 0; d < rank; d++) {
        const int32_t own = tn_index_own_dimension(index, d);
        shape[d] =
            own >= 0 ? c->indices->shape[own] : table->shape[tn_index_table_dimension(index, d)];
    }
    if (picked->rank == rank && memcmp(picked->shape, shape, rank * sizeof *shape) == 0)
        return TENON_OK;
    snprintf(rule, sizeof rule, rules[index->mode], c->table->name, index->axis);
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: shape is %s, must be %s, %s", c->caller,
                   c->picked->name, tn_shape_text(picked->rank, picked->shape, s), rule,
                   tn_shape_text(rank, shape, wanted));
}

/* Checks that keys and positions of tuples fit in 32 bits, as the kernels require. */
static tenon_status check_counts(const indexed_call *c, const tn_index *index)
{
    const tenon_tensor *table = c->table->view;
    const uint32_t first = index->mode == TENON_INDEX_SLICES ? index->axis : 0;
    const uint32_t end =
        index->mode == TENON_INDEX_ELEMENTS ? table->rank : index->axis + index->count;
    int64_t keys = 1;
    for (uint32_t d = first; d < end; d++)
        if (!tn_mul_i64(keys, table->shape[d], &keys) || keys > INT32_MAX)
            return tn_fail(TENON_ERROR_UNSUPPORTED,
                           "%s: %s: axis %u has size %" PRId64
                           ", indexed dimensions must have at most %d entries",
                           c->caller, c->table->name, d, table->shape[d], INT32_MAX);
    if (tenon_tensor_elements(c->indices) > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: indices: number of elements is %" PRId64 ", must be at most %d",
                       c->caller, tenon_tensor_elements(c->indices), INT32_MAX);
    return TENON_OK;
}

/* Checks all views but their types, and sets `index`, whose mode and from_end are set. */
static tenon_status check_index(const indexed_call *c, int32_t axis, tn_index *index)
{
    TN_TRY(tn_kind_check(c->caller, "mode", index->mode, TENON_INDEX_TUPLES, "tenon_index_mode"));
    TN_TRY(tn_axis_check(c->caller, axis, c->table->view->rank, c->table->name, &index->axis));
    TN_TRY(check_index_rank(c, index));
    return check_shapes(c, index);
}

tenon_status tn_gather_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_gather_params *params = given;
    const tn_argument *operands = call->operands;
    const indexed_call c = {call->caller, &operands[GATHER_FROM], &operands[GATHER_TO],
                            operands[GATHER_INDICES].view};
    const tenon_tensor *x = c.table->view, *y = c.picked->view;
    tn_index index = {.mode = params->mode, .from_end = params->flags & TENON_INDEX_FROM_END};
    TN_TRY(check_types(call, false));
    TN_TRY(check_index(&c, params->axis, &index));
    *empty = tn_tensor_empty(y);
    for (uint32_t d = index.axis; d < index.axis + index.count && !*empty; d++)
        if (x->shape[d] == 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: x: axis %u has size 0, must have at least one row", c.caller, d);
    tn_gather_canonicalize(x, c.indices, y, &index, (gather_problem *)problem);
    return TENON_OK;
}

/* Prepares the gradient or a scatter. */
static tenon_status prepare_scatter(tn_call *call, tn_index index, int32_t axis,
                                    scatter_problem *problem)
{
    const tn_argument *operands = call->operands;
    const indexed_call c = {call->caller, &operands[GATHER_TO], &operands[GATHER_FROM],
                            operands[GATHER_INDICES].view};
    TN_TRY(check_index(&c, axis, &index));
    TN_TRY(check_counts(&c, &index));
    tn_scatter_canonicalize(c.picked->view, c.indices, c.table->view, &index, problem);
    return TENON_OK;
}

tenon_status tn_gather_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                        bool *empty)
{
    const tenon_gather_params *params = given;
    const tn_index index = {.mode = params->mode, .from_end = params->flags & TENON_INDEX_FROM_END};
    TN_TRY(check_types(call, true));
    TN_TRY(prepare_scatter(call, index, params->axis, (scatter_problem *)problem));
    ((scatter_problem *)problem)->op = TENON_SCATTER_ADD;
    ((scatter_problem *)problem)->from_zero = 1;
    *empty = tn_tensor_empty(call->operands[GATHER_TO].view);
    return TENON_OK;
}

tenon_status tn_scatter_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_scatter_params *params = given;
    const tenon_tensor *updates = call->operands[GATHER_FROM].view,
                       *y = call->operands[GATHER_TO].view;
    const tn_index index = {.mode = params->mode, .from_end = params->flags & TENON_INDEX_FROM_END};
    TN_TRY(tn_reserved_check(call->caller, params->reserved));
    TN_TRY(tn_kind_check(call->caller, "op", params->op, TENON_SCATTER_MAX, "tenon_scatter_op"));
    TN_TRY(check_types(call, false));
    if (params->op != TENON_SCATTER_SET && y->dtype == TENON_DTYPE_BOOL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: y: type is bool, op must be set",
                       call->caller);
    if (params->op != TENON_SCATTER_SET && y->dtype == TENON_DTYPE_F64)
        TN_TRY(tn_float_check(call->caller, "y", call->context, y->dtype));
    TN_TRY(prepare_scatter(call, index, params->axis, (scatter_problem *)problem));
    ((scatter_problem *)problem)->op = params->op;
    *empty = tn_tensor_empty(y) || tn_tensor_empty(updates);
    return TENON_OK;
}

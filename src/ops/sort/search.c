/* Argument validation of tenon_search_sorted, its family, and the solver search_sorted/binary. */
#include "base/checked.h"
#include "ops/sort/internal.h"

#include <inttypes.h>

/* Least values per work-item of a CPU, to be worth its launch. */
#define CPU_CHUNK 512

static const tn_solver search_sorted_binary;
static const tn_solver *const search_solvers[] = {&search_sorted_binary};

static uint64_t search_paths(const tn_problem *problem)
{
    const sort_problem *p = (const sort_problem *)problem;
    return tn_paths_of_flags(p->flags, SORT_RIGHT) | UINT64_C(1) << (8 + p->dtype);
}

const tn_family tn_search_sorted_family = {.name = "search_sorted",
                                           TN_SOLVERS(search_solvers),
                                           .awkward = tn_search_sorted_awkward,
                                           .paths = search_paths};

static tenon_status check_search(const tn_call *call)
{
    const tenon_tensor *sorted = call->operands[SEARCH_SORTED].view;
    const tenon_tensor *values = call->operands[SEARCH_VALUES].view;
    const tenon_tensor *indices = call->operands[SEARCH_INDICES].view;
    const char *caller = call->caller;
    TN_TRY(tn_moved_check(caller, "sorted", sorted->dtype));
    TN_TRY(tn_same_dtype_check(caller, "values", values, "sorted", sorted->dtype));
    if (indices->dtype != TENON_DTYPE_I32 && indices->dtype != TENON_DTYPE_I64)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: indices: type is %s, must be i32 or i64",
                       caller, tenon_dtype_string(indices->dtype));
    if (sorted->rank == 0 || values->rank == 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: rank is 0, must be at least 1",
                       caller, sorted->rank == 0 ? "sorted" : "values");
    if (sorted->shape[sorted->rank - 1] > INT32_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: sorted: last dimension has size %" PRId64 ", must be at most %d",
                       caller, sorted->shape[sorted->rank - 1], INT32_MAX);
    return tn_shape_check(caller, "indices", indices, values->rank, values->shape);
}

tenon_status tn_search_sorted_prepare(const void *given, tn_call *call, tn_problem *problem,
                                      bool *empty)
{
    const tenon_search_sorted_params *params = given;
    const tenon_tensor *sorted = call->operands[SEARCH_SORTED].view;
    const tenon_tensor *values = call->operands[SEARCH_VALUES].view;
    sort_problem *p = (sort_problem *)problem;
    TN_TRY(check_search(call));
    const uint32_t axis = values->rank - 1;
    tenon_tensor rows = *values;
    rows.shape[axis] = sorted->shape[sorted->rank - 1];
    TN_TRY(tn_broadcast(call->caller, "sorted", sorted, rows.rank, rows.shape, rows.stride));
    const tenon_tensor *const views[] = {&rows, values, call->operands[SEARCH_INDICES].view};
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = sorted->dtype;
    p->flags = params->flags & TENON_SEARCH_RIGHT ? SORT_RIGHT : 0;
    p->flags |= SORT_HAS_INDICES;
    p->wide = call->operands[SEARCH_INDICES].view->dtype == TENON_DTYPE_I64;
    p->limit = values->shape[axis];
    for (uint32_t v = 0; v < SEARCH_OPERANDS; v++)
        p->operand[v] = v;
    tn_axis_space_fill(views, SEARCH_OPERANDS, SORT_INDICES, axis, &p->space);
    *empty = tn_tensor_empty(values);
    return TENON_OK;
}

static int64_t values_each(const tenon_context *context)
{
    return context->device.is_cpu ? CPU_CHUNK : 1;
}

static const char *configure_search(tenon_context *context, const tn_problem *problem,
                                    tn_choice *choice)
{
    tn_sort_options(context, (const sort_problem *)problem, choice);
    return NULL;
}

static tenon_status launch_search(const char *caller, tn_recording *recording,
                                  const tn_problem *problem, const tn_choice *choice)
{
    const sort_problem *p = (const sort_problem *)problem;
    sort_args args;
    tn_launch launch = {.source = "sort/search",
                        .kernel = "search",
                        .operands = {SEARCH_SORTED, SEARCH_VALUES, SEARCH_INDICES},
                        .operand_count = SEARCH_OPERANDS,
                        TN_ARGS(args)};
    tn_sort_args_fill(p, &args);
    args.length = values_each(recording->context);
    args.pieces = tn_ceil_div(p->limit, args.length);
    return tn_sort_record(caller, recording, p, choice, args.axis.rows * args.pieces, &launch);
}

/* Sets no time estimate, because there is no other solver. */
static const tn_solver search_sorted_binary = {.name = "binary",
                                               .serves = "everything; binary search",
                                               .configure = configure_search,
                                               .launch = launch_search};

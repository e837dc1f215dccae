/* Argument validation of tenon_pool_forward and tenon_pool_backward, and their families. */
#include "base/shape.h"
#include "ops/pool/internal.h"
#include "pool/windows_args.h"

static const tn_solver *const solvers[] = {&tn_pool_values, &tn_pool_rows,   &tn_pool_channels,
                                           &tn_pool_items,  &tn_pool_groups, &tn_pool_lines,
                                           &tn_pool_windows};
static const tn_solver *const backward_solvers[] = {
    &tn_pool_backward_scatter,         &tn_pool_backward_rows,
    &tn_pool_backward_channels,        &tn_pool_backward_items,
    &tn_pool_backward_windows_scatter, &tn_pool_backward_windows};

/* Bits for the kind, with the exponents that need no powers, the flags, and images with contiguous
 * channels. */
static uint64_t pool_paths(const tn_problem *problem)
{
    const pool_problem *p = (const pool_problem *)problem;
    const uint32_t by_channels = p->x[1] == 1 && p->x[4] != 1;
    return tn_paths_of_flags(1U << p->kind, 1U << p->kind) |
           tn_paths_of_flags((p->p == 1   ? 1U
                              : p->p == 2 ? 2U
                              : p->p > 0  ? 4U
                                          : 0U)
                                 << 4,
                             7U << 4) |
           tn_paths_of_flags(p->flags << 8,
                             (uint64_t)(POOL_HAS_INDICES | POOL_COUNT_PADDED | POOL_ADAPTIVE)
                                 << 8) |
           tn_paths_of_flags((uint64_t)by_channels << 16, 1U << 16);
}

const tn_family tn_pool_family = {
    .name = "pool", TN_SOLVERS(solvers), .awkward = tn_pool_awkward, .paths = pool_paths};

const tn_family tn_pool_backward_family = {.name = "pool_backward",
                                           TN_SOLVERS(backward_solvers),
                                           .awkward = tn_pool_backward_awkward,
                                           .paths = pool_paths};

tenon_status tn_pool_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_pool_params *params = given;
    const tenon_tensor *x = call->operands[POOL_X].view, *y = call->operands[POOL_Y].view;
    const pool_views views = {"x", "y", x, y, call->operands[POOL_INDICES].view, NULL};
    TN_TRY(tn_float_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(caller, "y", y, "x", x->dtype));
    TN_TRY(tn_pool_canonicalize(caller, params, &views, (pool_problem *)problem));
    *empty = tn_tensor_empty(y);
    return TENON_OK;
}

static tenon_status check_sources(const char *caller, const tenon_pool_params *params,
                                  const tenon_tensor *x, const tenon_tensor *indices)
{
    if (params->kind == TENON_POOL_LP && x == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: x is NULL, the norm needs it", caller);
    if (params->kind == TENON_POOL_MAX && x == NULL && indices == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: x and indices are both NULL, max pooling needs one of them", caller);
    return TENON_OK;
}

tenon_status tn_pool_backward_prepare(const void *given, tn_call *call, tn_problem *problem,
                                      bool *empty)
{
    const char *caller = call->caller;
    const tenon_pool_params *params = given;
    const tenon_tensor *x = call->operands[POOL_BACKWARD_X].view,
                       *dy = call->operands[POOL_BACKWARD_DY].view,
                       *indices = call->operands[POOL_BACKWARD_INDICES].view,
                       *dx = call->operands[POOL_BACKWARD_DX].view;
    const pool_views views = {"dx", "dy", dx, dy, indices, x};
    TN_TRY(tn_float_check(caller, "dy", call->context, dy->dtype));
    TN_TRY(tn_same_dtype_check(caller, "dx", dx, "dy", dy->dtype));
    TN_TRY(tn_same_dtype_check(caller, "x", x, "dy", dy->dtype));
    TN_TRY(check_sources(caller, params, x, indices));
    TN_TRY(tn_pool_canonicalize(caller, params, &views, (pool_problem *)problem));
    *empty = tn_tensor_empty(dx);
    return TENON_OK;
}

/* Argument validation of tenon_scan, and its family. */
#include "ops/common/values.h"
#include "ops/scan/internal.h"

_Static_assert((int)TENON_SCAN_SUM == SCAN_SUM && (int)TENON_SCAN_MIN == SCAN_MIN &&
                   TENON_SCAN_EXCLUSIVE == SCAN_EXCLUSIVE && TENON_SCAN_REVERSE == SCAN_REVERSE,
               "kernels take the numbers of the public kinds and flags");

static const tn_solver *const solvers[] = {&tn_scan_rows, &tn_scan_pieces, &tn_scan_columns};

static uint64_t scan_paths(const tn_problem *problem)
{
    const scan_problem *p = (const scan_problem *)problem;
    return UINT64_C(1) << (8 + p->kind) |
           tn_paths_of_flags(p->flags, SCAN_EXCLUSIVE | SCAN_REVERSE);
}

const tn_family tn_scan_family = {
    .name = "scan", TN_SOLVERS(solvers), .awkward = tn_scan_awkward, .paths = scan_paths};

const char *const tn_scan_words[] = {"sum", "product", "max", "min", NULL};

tenon_status tn_scan_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *caller = call->caller;
    const tenon_scan_params *params = given;
    const tenon_tensor *x = call->operands[SCAN_X].view, *y = call->operands[SCAN_Y].view;
    const tenon_tensor *const views[] = {x, y};
    scan_problem *p = (scan_problem *)problem;
    uint32_t axis = 0;
    TN_TRY(tn_kind_check(caller, "kind", params->kind, TENON_SCAN_MIN, "tenon_scan_kind"));
    TN_TRY(tn_value_check(caller, "x", call->context, x->dtype));
    TN_TRY(tn_axis_check(caller, params->axis, x->rank, "x", &axis));
    TN_TRY(tn_same_dtype_check(caller, "y", y, "x", x->dtype));
    TN_TRY(tn_axis_shape_check(call, SCAN_Y, axis, x->shape[axis]));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
    p->kind = params->kind;
    p->flags = params->flags;
    *empty = tn_tensor_empty(y);
    tn_axis_space_fill(views, SCAN_OPERANDS, SCAN_Y, axis, &p->space);
    return TENON_OK;
}

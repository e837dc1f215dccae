/* What tenon_im2col refuses, and the family. */
#include "base/shape.h"
#include "ops/conv/internal.h"

static const tn_solver *const solvers[] = {&tn_im2col_channels, &tn_im2col_rows};

const tn_family tn_im2col_family = {.name = "im2col",
                                    .solvers = solvers,
                                    .solver_count = sizeof solvers / sizeof *solvers,
                                    .awkward = tn_im2col_awkward};

tenon_status tn_im2col_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_im2col_params *params = given;
    const tenon_tensor *x = call->operands[IM2COL_X].view, *col = call->operands[IM2COL_COL].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "x", call->context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "col", col, "x", x->dtype));
    TN_TRY(tn_im2col_canonicalise(operation, params, x, col, (im2col_problem *)problem));
    *empty = tn_tensor_empty(col);
    return TENON_OK;
}

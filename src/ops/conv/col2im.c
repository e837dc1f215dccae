/* What tenon_col2im refuses, the family, and col2im within a convolution. */
#include "base/shape.h"
#include "ops/conv/gradient.h"

#include <string.h>

enum { OPERAND_COL, OPERAND_X }; /* as the caller numbers them */

static const tn_solver *const solvers[] = {&tn_col2im_channels, &tn_col2im_rows,
                                           &tn_col2im_elements};

static uint64_t paths(const tn_problem *problem)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    return tn_epilogue_paths(p->flags, p->activation);
}

const tn_family tn_col2im_family = {.name = "col2im",
                                    .solvers = solvers,
                                    .solver_count = sizeof solvers / sizeof *solvers,
                                    .awkward = tn_col2im_awkward,
                                    .paths = paths};

tenon_status tn_col2im_canonicalise(const char *operation, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    col2im_problem *p)
{
    static const uint8_t operand[COL2IM_OPERANDS] = {OPERAND_COL, OPERAND_X, OPERAND_X, OPERAND_X};
    im2col_problem unfolding;
    TN_TRY(tn_im2col_canonicalise(operation, params, x, col, &unfolding));
    memset(p, 0, sizeof *p);
    p->head.size = sizeof *p;
    p->head.forced = -1;
    p->dtype = x->dtype;
    p->first_scalar = CONV_SCALAR_ONES;
    p->n = unfolding.n;
    p->c = unfolding.c;
    p->window = unfolding.window;
    memcpy(p->operand, operand, sizeof operand);
    memcpy(p->col, unfolding.col, sizeof p->col);
    memcpy(p->x, unfolding.x, sizeof p->x);
    return TENON_OK;
}

tenon_status tn_col2im_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_im2col_params *params = given;
    const tenon_tensor *col = call->operands[OPERAND_COL].view, *x = call->operands[OPERAND_X].view;
    const tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "col", col));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "col", call->context, col->dtype));
    TN_TRY(tn_same_dtype_check(operation, "x", x, "col", col->dtype));
    TN_TRY(tn_col2im_canonicalise(operation, params, col, x, (col2im_problem *)problem));
    *empty = tn_tensor_empty(x);
    tn_conv_scalars(&epilogue, call->scalars);
    return TENON_OK;
}

/* Makes of a problem, which is that of col2im alone, that of a convolution which ends with it. */
static tenon_status prepare_folding(const void *given, tn_call *call, tn_problem *head, bool *empty)
{
    const conv_folding_params *params = given;
    const tn_argument *o = call->operands;
    const tenon_tensor *col = o[COL2IM_COL].view, *x = o[COL2IM_X].view;
    col2im_problem *p = (col2im_problem *)head;
    TN_TRY(tn_col2im_canonicalise(call->operation, &params->columns, col, x, p));
    p->activation = params->epilogue.activation.kind;
    p->flags = tn_conv_flags(&params->epilogue, o[COL2IM_BIAS].view);
    p->col_acc = col->dtype != x->dtype;
    p->first_scalar = 0;
    p->bias = 1;
    tn_conv_copy_strides(p->res, x);
    for (int i = 0; i < COL2IM_OPERANDS; i++)
        p->operand[i] = (uint8_t)i;
    *empty = false;
    tn_conv_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

static tenon_status plan_folding(tenon_context *context, const void *params,
                                 const tenon_tensor *const *views, tenon_plan **plan)
{
    return tn_operation_plan(&tn_conv_folding, context, params, views, plan);
}

static const tn_field fields[] = {
    TN_FIELD_ARRAY("filter", TN_FIELD_I64, conv_folding_params, columns.filter),
    TN_GEOMETRY_FIELDS(conv_folding_params, columns.geometry),
    TN_EPILOGUE_FIELDS(conv_folding_params, epilogue)};
static const conv_folding_params folding_defaults = {TENON_IM2COL_PARAMS_INIT, TENON_EPILOGUE_INIT};

const tn_operation tn_conv_folding = {
    .name = "conv_folding",
    .plan_name = "conv_folding",
    .family = &tn_col2im_family,
    .operands = {{.name = "col"},
                 {.name = "c", .optional = true},
                 {.name = "bias", .optional = true},
                 {.name = "x", .role = TN_OUTPUT}},
    .operand_count = COL2IM_OPERANDS,
    .output_count = 1,
    TN_FIELDS(fields),
    TN_PARAMS(folding),
    TN_PROBLEM(col2im_problem),
    .prepare = prepare_folding,
    .plan = plan_folding,
    .reference = tn_conv_folding_reference,
};

/* tenon_col2im: argument validation, the solver family, col2im within a convolution, and the
 * solvers. `elements` computes one image element at a time, `rows` and `channels` compute vectors
 * along w or along the channels. Each serves any strides, on any device, without workspace. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/common/lanes.h"
#include "ops/conv/problem/gradient.h"
#include "ops/conv/problem/product.h"

#include <stddef.h>
#include <string.h>

enum { OPERAND_COL, OPERAND_X }; /* operand numbers of the public call */

/* Minimum elements per CPU work-item for which its launch is worthwhile. */
#define CPU_WORK 1024

static bool channels_last(const col2im_problem *p)
{
    return p->x[1] == 1 && p->x[4] != 1;
}

/* Returns the work. CPUs process vectors along the contiguous dimension, preferably that of the
 * columns. On GPUs adjacent work-items access adjacent elements. */
static tn_work conv_columns_col2im_work_of(tenon_context *context, const col2im_problem *p,
                                           const tn_solver *solver)
{
    const conv_window *v = &p->window;
    const double image =
        (double)p->n * (double)p->c * (double)v->size[0] * (double)v->size[1] * (double)v->size[2];
    const double columns =
        (double)p->n * (double)p->c * (double)tn_window_taps(v) * (double)tn_window_pixels(v);
    const bool fills = p->c >= (int64_t)tn_lanes(context, p->dtype);
    const bool elements = tn_is_solver(solver, &tn_col2im_elements),
               rows = tn_is_solver(solver, &tn_col2im_rows);
    const double apart =
        rows ? (p->col[7] == 1 ? 0 : 2) + (p->x[4] == 1 ? 0 : 0.5)
             : 0.25 + (p->col[1] == 1 ? 0 : 2) + (p->x[1] == 1 ? 0 : 0.5) + (fills ? 0 : 2);
    tn_work work = tn_conv_fold_work(p->dtype, image, columns);
    work.single_elements *= elements ? 10 : 1 + apart;
    work.reads = elements ? TN_COALESCED : TN_LONG_ROWS;
    work.reach = elements ? 1 : 1 / (1 + apart);
    return work;
}

static const char *conv_columns_col2im_configure(tenon_context *context, const tn_problem *problem,
                                                 tn_choice *choice)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    const tn_work work = conv_columns_col2im_work_of(context, p, choice->solver);
    tn_choice_add(context, choice, &work);
    tn_choice_options(context, choice,
                      "-DTENON_DTYPE=%u -DTENON_ACT_BUILD=%u -DTENON_VW=%u -DTENON_COL_ACC=%u",
                      p->dtype, tn_activation_is_build(p->activation) ? p->activation : 0u,
                      tn_lanes(context, p->dtype), p->col_acc);
    return NULL;
}

static col2im_args arguments(const col2im_problem *p)
{
    const conv_window *v = &p->window;
    const int64_t shape[8] = {p->n,         p->c,      v->filter[0], v->filter[1],
                              v->filter[2], v->out[0], v->out[1],    v->out[2]};
    col2im_args args = {.bias_c = p->bias,
                        .col_span = 1,
                        .c = p->c,
                        .window = *v,
                        .subfilter = tn_conv_find_subfilter(v),
                        .activation = (tenon_i32)p->activation,
                        .flags = (tenon_i32)p->flags};
    memcpy(args.col_stride, p->col, sizeof args.col_stride);
    memcpy(args.res_stride, p->res, sizeof args.res_stride);
    memcpy(args.x_stride, p->x, sizeof args.x_stride);
    for (int d = 0; d < 8; d++)
        args.col_span += (shape[d] - 1) * p->col[d];
    return args;
}

static bool is_read(const col2im_problem *p, int operand)
{
    switch (operand) {
    case COL2IM_COL:
        return tn_window_pixels(&p->window) > 0;
    case COL2IM_RES:
        return (p->flags & CONV_HAS_C) != 0;
    case COL2IM_BIAS:
        return (p->flags & CONV_HAS_BIAS) != 0;
    default:
        return true;
    }
}

static tenon_status conv_columns_col2im_record(const char *caller, tn_recording *recording,
                                               const col2im_problem *p, const tn_choice *choice,
                                               const col2im_args *args, tn_launch launch)
{
    static const uint16_t offset_at[] = {
        offsetof(col2im_args, col_offset), offsetof(col2im_args, res_offset),
        offsetof(col2im_args, bias_offset), offsetof(col2im_args, x_offset)};
    static const uint16_t scalar_at[] = {offsetof(col2im_args, alpha), offsetof(col2im_args, beta),
                                         offsetof(col2im_args, act_alpha),
                                         offsetof(col2im_args, act_beta)};
    tn_patch patches[COL2IM_OPERANDS + TN_EPILOGUE_SCALARS];
    size_t size = tenon_dtype_size((tenon_dtype)p->dtype);
    for (int i = 0; i < COL2IM_OPERANDS; i++) {
        uint8_t operand = p->operand[is_read(p, i) ? i : COL2IM_X];
        bool sums = i == COL2IM_COL && p->col_acc;
        launch.operands[i] = operand;
        patches[launch.patch_count++] = (tn_patch){TN_PATCH_OFFSET, operand, offset_at[i],
                                                   (uint32_t)(sums ? tn_acc_size(p->dtype) : size)};
    }
    for (uint32_t i = 0; i < TN_EPILOGUE_SCALARS; i++)
        patches[launch.patch_count++] = (tn_patch){(uint8_t)tn_scalar_patch((tenon_dtype)p->dtype),
                                                   (uint8_t)i, scalar_at[i], 1};
    /* If the driver chose the work-group size from the global size, PoCL would compile again for
     * each new size. */
    launch.local[0] = launch.local[1] = launch.local[2] = recording->context->device.is_cpu ? 1 : 0;
    launch.source = "conv/columns/col2im";
    launch.options = choice->options;
    launch.dimensions = 3;
    launch.global[2] = (size_t)p->n;
    launch.operand_count = COL2IM_OPERANDS;
    launch.args = args;
    launch.args_size = sizeof *args;
    launch.patches = patches;
    return tn_record(caller, recording, &launch);
}

static tenon_status launch_elements(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    const int64_t *size = p->window.size;
    col2im_args args = arguments(p);
    tn_launch launch = {.kernel = "col2im_elements"};
    args.run = channels_last(p);
    launch.global[0] = (size_t)(size[0] * size[1] * size[2] * p->c);
    launch.global[1] = 1;
    return conv_columns_col2im_record(caller, recording, p, choice, &args, launch);
}

static tenon_status launch_rows(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    col2im_args args = arguments(p);
    tn_launch launch = {.kernel = "col2im_rows"};
    int64_t rows = p->window.size[1];
    args.run = tn_max_i64(1, tn_min_i64(rows, CPU_WORK / p->window.size[2]));
    launch.global[0] = (size_t)tn_ceil_div(rows, args.run);
    launch.global[1] = (size_t)(p->c * p->window.size[0]);
    return conv_columns_col2im_record(caller, recording, p, choice, &args, launch);
}

static tenon_status launch_channels(const char *caller, tn_recording *recording,
                                    const tn_problem *problem, const tn_choice *choice)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    col2im_args args = arguments(p);
    tn_launch launch = {.kernel = "col2im_channels"};
    int64_t width = p->window.size[2];
    args.run = tn_max_i64(1, tn_min_i64(width, CPU_WORK / p->c));
    launch.global[0] = (size_t)tn_ceil_div(width, args.run);
    launch.global[1] = (size_t)(p->window.size[0] * p->window.size[1]);
    return conv_columns_col2im_record(caller, recording, p, choice, &args, launch);
}

const tn_solver tn_col2im_elements = {.name = "elements",
                                      .serves = "everything; chosen on GPUs",
                                      .configure = conv_columns_col2im_configure,
                                      .launch = launch_elements};

const tn_solver tn_col2im_rows = {.name = "rows",
                                  .serves = "everything; vectors lie along w",
                                  .configure = conv_columns_col2im_configure,
                                  .launch = launch_rows};

const tn_solver tn_col2im_channels = {.name = "channels",
                                      .serves = "everything; vectors lie along the channels",
                                      .configure = conv_columns_col2im_configure,
                                      .launch = launch_channels};

static const tn_solver *const solvers[] = {&tn_col2im_channels, &tn_col2im_rows,
                                           &tn_col2im_elements};

static uint64_t conv_columns_col2im_paths(const tn_problem *problem)
{
    const col2im_problem *p = (const col2im_problem *)problem;
    return tn_epilogue_paths(p->flags, p->activation);
}

const tn_family tn_col2im_family = {.name = "col2im",
                                    TN_SOLVERS(solvers),
                                    .awkward = tn_col2im_awkward,
                                    .paths = conv_columns_col2im_paths};

tenon_status tn_col2im_canonicalize(const char *caller, const tenon_im2col_params *params,
                                    const tenon_tensor *col, const tenon_tensor *x,
                                    col2im_problem *p)
{
    static const uint8_t operand[COL2IM_OPERANDS] = {OPERAND_COL, OPERAND_X, OPERAND_X, OPERAND_X};
    im2col_problem unfolding;
    TN_TRY(tn_im2col_canonicalize(caller, params, x, col, &unfolding));
    tn_problem_begin(&p->head, sizeof *p);
    p->dtype = x->dtype;
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
    const char *caller = call->caller;
    const tenon_im2col_params *params = given;
    const tenon_tensor *col = call->operands[OPERAND_COL].view, *x = call->operands[OPERAND_X].view;
    const tenon_epilogue epilogue = TENON_EPILOGUE_INIT;
    TN_TRY(tn_float_check(caller, "col", call->context, col->dtype));
    TN_TRY(tn_same_dtype_check(caller, "x", x, "col", col->dtype));
    TN_TRY(tn_col2im_canonicalize(caller, params, col, x, (col2im_problem *)problem));
    *empty = tn_tensor_empty(x);
    tn_epilogue_scalars(&epilogue, call->scalars);
    return TENON_OK;
}

/* Converts a problem of plain col2im to that of a convolution that ends with it. */
static tenon_status prepare_folding(const void *given, tn_call *call, tn_problem *head, bool *empty)
{
    const conv_folding_params *params = given;
    const tn_argument *o = call->operands;
    const tenon_tensor *col = o[COL2IM_COL].view, *x = o[COL2IM_X].view;
    col2im_problem *p = (col2im_problem *)head;
    TN_TRY(tn_col2im_canonicalize(call->caller, &params->columns, col, x, p));
    p->activation = params->epilogue.activation.kind;
    p->flags = tn_conv_flags(&params->epilogue, o[COL2IM_RES].view, o[COL2IM_BIAS].view);
    p->col_acc = col->dtype != x->dtype;
    p->bias = 1;
    tn_conv_copy_strides(p->res, x);
    for (int i = 0; i < COL2IM_OPERANDS; i++)
        p->operand[i] = (uint8_t)i;
    *empty = false;
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

static const tn_field fields[] = {
    TN_FIELD_ARRAY("filter", TN_FIELD_I64, conv_folding_params, columns.filter),
    TN_GEOMETRY_FIELDS(conv_folding_params, columns.geometry),
    TN_EPILOGUE_FIELDS(conv_folding_params, epilogue)};
static const conv_folding_params folding_defaults = {
    {sizeof(conv_folding_params), 0, NULL, {1, 1, 1}, TENON_CONV_GEOMETRY_INIT},
    TENON_EPILOGUE_INIT};

const tn_operation tn_conv_folding = {
    .name = "conv_folding",
    .plan_name = "conv_folding",
    .family = &tn_col2im_family,
    .operands = {{.name = "col"},
                 {.name = "c", .optional = true},
                 {.name = "bias", .optional = true},
                 {.name = "x", .role = TN_OUTPUT}},
    .operand_count = COL2IM_OPERANDS,
    TN_FIELDS(fields),
    TN_OWN_PARAMS(folding_defaults),
    TN_PROBLEM(col2im_problem),
    .prepare = prepare_folding,
    .reference = tn_conv_folding_reference,
};

/* tenon_im2col: the public entry, the family, and its one solver. */
#include "base/checked.h"
#include "base/shape.h"
#include "ops/conv/internal.h"

#include <stddef.h>
#include <string.h>

TENON_API tenon_im2col_params tenon_im2col_params_default(void)
{
    return (tenon_im2col_params)TENON_IM2COL_PARAMS_INIT;
}

static const char *refuses(tenon_context *context, const tn_problem *problem)
{
    (void)context;
    (void)problem;
    return NULL;
}

static double estimate(tenon_context *context, const tn_problem *problem, const int32_t *values)
{
    (void)context;
    (void)problem;
    (void)values;
    return 0; /* there is no other */
}

static void options(tenon_context *context, const tn_problem *problem, const int32_t *values,
                    char text[TN_OPTIONS_SIZE])
{
    (void)values;
    tn_build_options(context, text, "-DTENON_DTYPE=%u",
                     (unsigned)((const im2col_problem *)problem)->dtype);
}

/* A CPU's work-item takes a whole row, or all channels, of a pixel; a GPU's one element, beside its
 * neighbours'. */
static void set_sizes(const im2col_problem *p, bool is_cpu, im2col_args *args, tn_launch *launch)
{
    const conv_window *v = &p->window;
    bool by_channels = p->col[1] == 1 && p->col[5] != 1;
    int64_t along = by_channels ? p->c : v->q;
    args->run = is_cpu ? tn_max_i64(along, 1) : 1;
    int64_t runs = tn_ceil_div(along, args->run);
    launch->kernel = by_channels ? "im2col_channels" : "im2col_rows";
    launch->global[0] = (size_t)(by_channels ? runs * v->r * v->s : runs * v->p);
    launch->global[1] = (size_t)(by_channels ? v->p * v->q : p->c * v->r * v->s);
    launch->global[2] = (size_t)p->n;
}

tenon_status tn_im2col_record(const char *operation, tn_recording *recording,
                              const im2col_problem *p, uint8_t col_operand, int64_t x_shift,
                              int64_t col_shift)
{
    char text[TN_OPTIONS_SIZE];
    uint32_t size = (uint32_t)tenon_dtype_size((tenon_dtype)p->dtype);
    im2col_args args = {.x_offset = x_shift,
                        .col_offset = col_shift,
                        .x_n = p->x[0],
                        .x_c = p->x[1],
                        .x_h = p->x[2],
                        .x_w = p->x[3],
                        .col_n = p->col[0],
                        .col_c = p->col[1],
                        .col_r = p->col[2],
                        .col_s = p->col[3],
                        .col_p = p->col[4],
                        .col_q = p->col[5],
                        .c = p->c,
                        .window = p->window};
    const tn_patch patches[] = {
        {TN_PATCH_OFFSET, IM2COL_X, offsetof(im2col_args, x_offset), size},
        {TN_PATCH_OFFSET, col_operand, offsetof(im2col_args, col_offset), size}};
    tn_launch launch = {
        .source = "conv/im2col",
        .options = text,
        .dimensions = 3,
        /* An empty image has no memory; nothing of it is read. */
        .operands = {p->window.h > 0 && p->window.w > 0 ? IM2COL_X : col_operand, col_operand},
        .operand_count = IM2COL_OPERANDS,
        .args = &args,
        .args_size = sizeof args,
        .patches = patches,
        .patch_count = 2};
    options(recording->context, &p->head, NULL, text);
    set_sizes(p, recording->context->device.is_cpu, &args, &launch);
    return tn_record(operation, recording, &launch);
}

static tenon_status record(const char *operation, tn_recording *recording,
                           const tn_problem *problem, const int32_t *values)
{
    (void)values;
    return tn_im2col_record(operation, recording, (const im2col_problem *)problem, IM2COL_COL, 0,
                            0);
}

static const tn_solver gather = {.name = "gather",
                                 .refuses = refuses,
                                 .estimate = estimate,
                                 .options = options,
                                 .record = record};

static const tn_solver *const solvers[] = {&gather};

const tn_family tn_im2col_family = {
    .name = "im2col", .solvers = solvers, .solver_count = 1, .self_check = tn_im2col_self_check};

static tenon_status prepare(tenon_context *context, const tenon_im2col_params *params,
                            tn_call *call, im2col_problem *problem, bool *empty)
{
    const char *operation = call->operation;
    const tenon_tensor *x = call->operands[IM2COL_X].view, *col = call->operands[IM2COL_COL].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags, 0));
    TN_TRY(tn_tensor_check(operation, "x", x));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, context, x->dtype));
    TN_TRY(tn_same_dtype_check(operation, "col", col, "x", x->dtype));
    TN_TRY(tn_im2col_canonicalise(operation, params, x, col, problem));
    *empty = tn_tensor_empty(col);
    return tn_solver_force(operation, &tn_im2col_family, params->solver, &problem->head);
}

static tn_call make_call(const char *operation, const tenon_tensor *x, const tenon_tensor *col)
{
    return (tn_call){.operation = operation,
                     .operands = {{"x", x, TN_INPUT}, {"col", col, TN_OUTPUT}},
                     .operand_count = IM2COL_OPERANDS};
}

TENON_API tenon_status tenon_im2col(tenon_stream *stream, const tenon_im2col_params *params,
                                    const tenon_tensor *x, const tenon_tensor *col,
                                    const tenon_sync *sync)
{
    static const tenon_im2col_params defaults = TENON_IM2COL_PARAMS_INIT;
    tn_call call = make_call("tenon_im2col", x, col);
    im2col_problem problem;
    bool empty = false;
    TN_TRY(tn_stream_check(call.operation, stream));
    TN_TRY(prepare(stream->context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_run(stream, &tn_im2col_family, empty ? NULL : &problem.head, &call, sync);
}

TENON_API tenon_status tenon_im2col_plan(tenon_context *context, const tenon_im2col_params *params,
                                         const tenon_tensor *x, const tenon_tensor *col,
                                         tenon_plan **plan)
{
    static const tenon_im2col_params defaults = TENON_IM2COL_PARAMS_INIT;
    tn_call call = make_call("tenon_im2col_plan", x, col);
    im2col_problem problem;
    bool empty = false;
    TN_TRY(tn_plan_check(call.operation, context, plan));
    TN_TRY(prepare(context, params != NULL ? params : &defaults, &call, &problem, &empty));
    return tn_call_plan(context, &tn_im2col_family, empty ? NULL : &problem.head, &call, plan);
}

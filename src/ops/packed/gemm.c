/* tenon_gemm_packed: the public entry points, the canonical problem, and the solver family for
 * panels. Matrices packed as rows are multiplied by tenon_gemm's solvers. */
#include "base/shape.h"
#include "check/case.h"
#include "dispatch/plan.h"
#include "ops/packed/pattern.h"
#include "ops/registry.h"

#include <stddef.h>
#include <string.h>

static const tn_solver *const solvers[] = {&tn_gemm_packed_cpu, &tn_gemm_packed_plain};

const tn_family tn_gemm_packed_family = {.name = "gemm_packed",
                                         TN_SOLVERS(solvers),
                                         .awkward = tn_gemm_packed_awkward,
                                         .paths = tn_gemm_paths};

static const tn_solver *const post_solvers[] = {&tn_gemm_packed_cpu, &tn_gemm_packed_two_steps,
                                                &tn_gemm_packed_plain};

const tn_family tn_gemm_packed_post_family = {.name = "gemm_packed_post",
                                              TN_SOLVERS(post_solvers),
                                              .awkward = tn_gemm_packed_awkward,
                                              .paths = tn_gemm_paths};

/* Arguments of a kernel that is built with terms after the activation. */
typedef struct packed_post_args {
    gemm_args gemm;
    gemm_post_args post;
    tenon_i64 panel;
} packed_post_args;

tenon_status tn_gemm_packed_record(const char *caller, tn_recording *recording,
                                   const packed_problem *problem, int64_t tile_rows,
                                   int64_t tile_cols, tn_launch *launch)
{
    const gemm_problem *p = &problem->gemm;
    const bool has_post = (p->flags & TENON_POST_ANY) != 0;
    gemm_arguments arguments;
    tn_gemm_arguments(p, &arguments);
    arguments.args.tile_rows = (tenon_i32)tile_rows;
    arguments.args.tile_cols = (tenon_i32)tile_cols;
    packed_gemm_args args = {arguments.args, problem->panel};
    packed_post_args post = {arguments.args, arguments.post, problem->panel};
    launch->args = has_post ? (const void *)&post : &args;
    launch->args_size = has_post ? sizeof post : sizeof args;
    launch->patches = arguments.patches;
    launch->patch_count = arguments.patch_count;
    tn_gemm_launch_operands(p, launch);
    return tn_gemm_record_batches(caller, recording, p, has_post ? &post.gemm : &args.gemm, launch);
}

/* Parameters of by_panels: GEMM's, and the packed matrix. */
typedef struct panels_params {
    tenon_gemm_params gemm;
    const tenon_packed *packed;
} panels_params;

tenon_status tn_gemm_packed_canonicalize(const char *caller, const tenon_gemm_params *params,
                                         const tenon_packed *packed,
                                         const tenon_tensor *const given[GEMM_MATRICES],
                                         packed_problem *problem, bool *empty)
{
    const tenon_tensor padded = tn_packed_padded_view(packed);
    const tenon_tensor *views[GEMM_MATRICES];
    memcpy(views, given, sizeof views);
    views[GEMM_B] = &padded;
    *problem = (packed_problem){.panel = packed->panel};
    TN_TRY(tn_gemm_canonicalize_packed(caller, params, views, &problem->gemm, empty));
    problem->gemm.head.size = sizeof *problem;
    return TENON_OK;
}

static tenon_status prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const panels_params *all = given;
    const tenon_gemm_params *params = &all->gemm;
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    TN_TRY(tn_float_check(caller, "a", call->context, operands[GEMM_A].view->dtype));
    TN_TRY(tn_epilogue_check(caller, &params->epilogue, operands[GEMM_C].view));
    const tenon_tensor *views[GEMM_MATRICES];
    for (int x = 0; x < GEMM_MATRICES; x++) {
        views[x] = operands[x].view;
        TN_TRY(tn_same_dtype_check(caller, operands[x].name, views[x], "packed",
                                   all->packed->view.dtype));
    }
    TN_TRY(tn_gemm_packed_canonicalize(caller, params, all->packed, views,
                                       (packed_problem *)problem, empty));
    ((packed_problem *)problem)->gemm.flags |=
        tn_epilogue_post_in_place(call, GEMM_POST + POST_RESIDUAL, GEMM_D);
    if (params->epilogue.beta == 0)
        call->operands[GEMM_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

/* Makes the call of the registered operation of the family that has the same problem. */
static void repeat(const tn_call *call, tn_case *c)
{
    const panels_params *given = call->params;
    const tn_argument *o = call->operands;
    const tenon_tensor *b = &given->packed->view;
    const tn_argument *term = o + GEMM_POST;
    const tenon_tensor *const views[] = {
        o[GEMM_A].view, o[GEMM_C].view,        o[GEMM_BIAS].view,       o[GEMM_D].view,
        term->view,     term[POST_SHIFT].view, term[POST_RESIDUAL].view};
    pattern_gemm params = {
        .gemm = given->gemm, .k = b->shape[b->rank - 2], .n = b->shape[b->rank - 1]};
    memcpy(params.batch, b->shape, (b->rank - 2) * sizeof *params.batch);
    params.gemm.struct_size = sizeof params;
    tn_case_make(tn_operation_of_family(call->operation->family), &params, views, NULL, 1, c);
}

static const panels_params panels_defaults = {
    .gemm = {.struct_size = sizeof(panels_params), .epilogue = TENON_EPILOGUE_INIT}};
static const tn_field fields[] = {TN_FIELD("flags", TN_FIELD_U32, panels_params, gemm.flags),
                                  TN_EPILOGUE_FIELDS(panels_params, gemm.epilogue)};

/* Descriptions of the product with panels, which are its second operand, without and with terms
 * after the activation. */
#define PANELS_OPERANDS                                                                            \
    {.name = "a"}, {.name = "packed"}, {.name = "c", .optional = true, .role = TN_INPUT_OR_SAME},  \
        {.name = "bias", .optional = true},                                                        \
    {                                                                                              \
        .name = "d", .role = TN_OUTPUT                                                             \
    }
#define PANELS_OPERATION                                                                           \
    TN_NAMES("tenon_gemm_packed"), TN_FIELDS(fields), TN_OWN_PARAMS(panels_defaults),              \
        .flags = TENON_GEMM_BATCH_INVARIANT, TN_PROBLEM(packed_problem), .prepare = prepare,       \
        .repeat = repeat

static const tn_operation by_panels_post = {PANELS_OPERATION, .family = &tn_gemm_packed_post_family,
                                            .operands = {PANELS_OPERANDS, POST_OPERANDS},
                                            .operand_count = GEMM_MATRICES};

static const tn_operation *served_as(const void *given, const tenon_tensor **views);

static const tn_operation by_panels = {PANELS_OPERATION, .family = &tn_gemm_packed_family,
                                       .operands = {PANELS_OPERANDS},
                                       .operand_count = GEMM_OPERANDS, .served_as = served_as};

static const tn_operation *served_as(const void *given, const tenon_tensor **views)
{
    const panels_params *params = given;
    return params != NULL && tn_epilogue_post_views(&params->gemm.epilogue, views + GEMM_POST)
               ? &by_panels_post
               : &by_panels;
}

/* Returns the operation that multiplies the packed matrix; elements() returns the operand for it.
 * Both operations accept panels_params, which begins with GEMM's parameters. */
static const tn_operation *serving(const tenon_packed *packed)
{
    return packed->layout == PACKED_ROWS ? &tn_operation_gemm : &by_panels;
}

static tenon_tensor elements(const tenon_packed *packed)
{
    return packed->layout == PACKED_ROWS ? tn_packed_dense(packed) : packed->memory;
}

/* Combines the caller's parameters and the packed matrix, as the operation requires them. */
static tenon_status take_params(const char *caller, const tenon_gemm_params *given,
                                const tenon_packed *packed, panels_params *all)
{
    const void *params;
    TN_TRY(tn_operation_take_params(caller, &tn_operation_gemm, given, &all->gemm, &params));
    if (params != &all->gemm)
        all->gemm = *(const tenon_gemm_params *)params;
    all->gemm.struct_size = (uint32_t)serving(packed)->params_size;
    all->packed = packed;
    return TENON_OK;
}

TENON_API tenon_status tenon_gemm_packed(tenon_stream *stream, const tenon_gemm_params *params,
                                         const tenon_tensor *a, const tenon_packed *packed,
                                         const tenon_tensor *c, const tenon_tensor *bias,
                                         const tenon_tensor *d, const tenon_sync *sync)
{
    const char *caller = by_panels.name;
    panels_params all;
    TN_TRY(tn_stream_check(caller, stream));
    TN_TRY(tn_packed_check(caller, stream->context, packed, PACKED_GEMM));
    TN_TRY(tn_packed_check_types(caller, packed, "a", a, "d", d));
    TN_TRY(take_params(caller, params, packed, &all));
    const tenon_tensor b = elements(packed), *const views[] = {a, &b, c, bias, d};
    return tn_operation_run_as(caller, serving(packed), stream, &all, views, sync);
}

TENON_API tenon_status tenon_gemm_packed_plan(tenon_context *context,
                                              const tenon_gemm_params *params,
                                              const tenon_tensor *a, const tenon_packed *packed,
                                              const tenon_tensor *c, const tenon_tensor *bias,
                                              const tenon_tensor *d, tenon_plan **plan)
{
    const char *caller = by_panels.plan_name;
    panels_params all;
    TN_TRY(tn_plan_check(caller, context, plan));
    TN_TRY(tn_packed_check(caller, context, packed, PACKED_GEMM));
    TN_TRY(tn_packed_check_types(caller, packed, "a", a, "d", d));
    TN_TRY(take_params(caller, params, packed, &all));
    const tenon_tensor b = elements(packed), *const views[] = {a, &b, c, bias, d};
    TN_TRY(tn_operation_plan_as(caller, serving(packed), context, &all, views, plan));
    tn_packed_keep(*plan, GEMM_B, packed);
    return TENON_OK;
}

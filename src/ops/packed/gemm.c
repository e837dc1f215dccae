/* tenon_gemm_packed: the public entries, the canonical problem, and the family that multiplies
 * panels. A matrix that is packed as rows is GEMM's. */
#include "base/shape.h"
#include "ops/packed/internal.h"

#include <stddef.h>

#include <string.h>

static const tn_solver *const solvers[] = {&tn_gemm_packed_cpu, &tn_gemm_packed_plain};

const tn_family tn_gemm_packed_family = {.name = "gemm_packed",
                                         .solvers = solvers,
                                         .solver_count = sizeof solvers / sizeof *solvers,
                                         .self_check = tn_gemm_packed_self_check,
                                         .paths = tn_gemm_paths};

tenon_status tn_gemm_packed_canonicalise(const char *operation, const tenon_gemm_params *params,
                                         const tenon_tensor *a, const tenon_tensor *b,
                                         int64_t panel, const tenon_tensor *c,
                                         const tenon_tensor *bias, const tenon_tensor *d,
                                         packed_problem *problem, bool *empty)
{
    int64_t shape[TENON_MAX_RANK];
    memcpy(shape, b->shape, sizeof shape);
    shape[b->rank - 1] = tn_packed_padded(shape[b->rank - 1], panel);
    tenon_tensor padded = tenon_tensor_view(b->dtype, b->rank, shape);
    padded.shape[b->rank - 1] = b->shape[b->rank - 1];
    *problem = (packed_problem){.panel = panel};
    TN_TRY(tn_gemm_canonicalise_packed(operation, params, a, &padded, c, bias, d, &problem->gemm,
                                       empty));
    problem->gemm.head.size = sizeof *problem;
    return TENON_OK;
}

tenon_status tn_gemm_packed_record(const char *operation, tn_recording *recording,
                                   const packed_problem *problem, int64_t tile_rows,
                                   int64_t tile_cols, tn_launch *launch)
{
    const gemm_problem *p = &problem->gemm;
    gemm_arguments arguments;
    packed_gemm_args args = {.panel = problem->panel};
    tn_gemm_arguments(p, &arguments);
    args.gemm = arguments.args;
    args.gemm.tile_rows = (tenon_i32)tile_rows;
    args.gemm.tile_cols = (tenon_i32)tile_cols;
    launch->args = &args;
    launch->args_size = sizeof args;
    launch->patches = arguments.patches;
    launch->patch_count = arguments.patch_count;
    tn_gemm_launch_operands(p, launch);
    return tn_gemm_record_batches(operation, recording, p, &args.gemm, launch);
}

static tn_call make_call(const char *operation, const tenon_tensor *a, const tenon_tensor *b,
                         const tenon_tensor *c, const tenon_tensor *bias, const tenon_tensor *d)
{
    return (tn_call){.operation = operation,
                     .operands = {{"a", a, TN_INPUT},
                                  {"packed", b, TN_INPUT},
                                  {"c", c, TN_INPUT_OR_SAME},
                                  {"bias", bias, TN_INPUT},
                                  {"d", d, TN_OUTPUT}},
                     .operand_count = GEMM_OPERANDS};
}

/* Checks all that needs no memory, and makes the problem of a call by panels. */
static tenon_status prepare(tenon_context *context, const tenon_gemm_params *params,
                            const tenon_packed *packed, tn_call *call, packed_problem *problem,
                            bool *empty)
{
    const char *operation = call->operation;
    const tn_argument *operands = call->operands;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_GEMM_BATCH_INVARIANT));
    TN_TRY(tn_tensor_check(operation, "a", operands[GEMM_A].view));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_float_check(operation, "a", context, operands[GEMM_A].view->dtype));
    TN_TRY(tn_epilogue_check(operation, &params->epilogue, operands[GEMM_C].view));
    for (int x = 0; x < GEMM_OPERANDS; x++)
        TN_TRY(tn_same_dtype_check(operation, operands[x].name, operands[x].view, "packed",
                                   packed->view.dtype));
    TN_TRY(tn_gemm_packed_canonicalise(
        operation, params, operands[GEMM_A].view, &packed->view, packed->panel,
        operands[GEMM_C].view, operands[GEMM_BIAS].view, operands[GEMM_D].view, problem, empty));
    TN_TRY(tn_solver_force(operation, &tn_gemm_packed_family, params->solver, &problem->gemm.head));
    if (params->epilogue.beta == 0)
        call->operands[GEMM_C].view = NULL; /* not read: it need not have memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

TENON_API tenon_status tenon_gemm_packed(tenon_stream *stream, const tenon_gemm_params *params,
                                         const tenon_tensor *a, const tenon_packed *packed,
                                         const tenon_tensor *c, const tenon_tensor *bias,
                                         const tenon_tensor *d, const tenon_sync *sync)
{
    static const char operation[] = "tenon_gemm_packed";
    static const tenon_gemm_params defaults = TENON_GEMM_PARAMS_INIT;
    packed_problem problem;
    bool empty = false;
    params = params != NULL ? params : &defaults;
    TN_TRY(tn_stream_check(operation, stream));
    TN_TRY(tn_packed_check(operation, stream->context, packed, PACKED_GEMM));
    if (packed->layout == PACKED_ROWS) {
        const tenon_tensor b = tn_packed_dense(packed);
        return tn_gemm_call(operation, stream, params, a, &b, c, bias, d, sync);
    }
    tn_call call = make_call(operation, a, &packed->memory, c, bias, d);
    TN_TRY(prepare(stream->context, params, packed, &call, &problem, &empty));
    return tn_call_run(stream, &tn_gemm_packed_family, empty ? NULL : &problem.gemm.head, &call,
                       sync);
}

TENON_API tenon_status tenon_gemm_packed_plan(tenon_context *context,
                                              const tenon_gemm_params *params,
                                              const tenon_tensor *a, const tenon_packed *packed,
                                              const tenon_tensor *c, const tenon_tensor *bias,
                                              const tenon_tensor *d, tenon_plan **plan)
{
    static const char operation[] = "tenon_gemm_packed_plan";
    static const tenon_gemm_params defaults = TENON_GEMM_PARAMS_INIT;
    packed_problem problem;
    bool empty = false;
    params = params != NULL ? params : &defaults;
    TN_TRY(tn_plan_check(operation, context, plan));
    TN_TRY(tn_packed_check(operation, context, packed, PACKED_GEMM));
    if (packed->layout == PACKED_ROWS) {
        const tenon_tensor b = tn_packed_dense(packed);
        TN_TRY(tn_gemm_call_plan(operation, context, params, a, &b, c, bias, d, plan));
    } else {
        tn_call call = make_call(operation, a, &packed->memory, c, bias, d);
        TN_TRY(prepare(context, params, packed, &call, &problem, &empty));
        TN_TRY(tn_call_plan(context, &tn_gemm_packed_family, empty ? NULL : &problem.gemm.head,
                            &call, plan));
    }
    tn_packed_keep(*plan, GEMM_B, packed);
    return TENON_OK;
}

/* Argument validation and the solver table of tenon_gemm, and products as children of other
 * operations. */
#include "ops/gemm/internal.h"

#include "dispatch/self_check.h"

static const tn_solver *const post_solvers[] = {&tn_gemm_cpu_packed, &tn_gemm_cpu_direct,
                                                &tn_gemm_two_steps, &tn_gemm_plain};
static const tn_solver *const solvers[] = {
    &tn_gemm_cpu_packed, &tn_gemm_cpu_direct, &tn_gemm_gemv_dot, &tn_gemm_gemv_axpy,
    &tn_gemm_gemv_split, &tn_gemm_tiled,      &tn_gemm_plain,    &tn_gemm_cpu_split_k,
    &tn_gemm_split_k,    &tn_gemm_cpu_skinny, &tn_gemm_skinny,   &tn_gemm_skinny_split,
    &tn_gemm_clblast,    &tn_gemm_mma,        &tn_gemm_mfma,     &tn_gemm_wmma,
    &tn_gemm_xmx,        &tn_gemm_wgmma};

const tn_family tn_gemm_family = {
    .name = "gemm", TN_SOLVERS(solvers), .awkward = tn_gemm_awkward, .paths = tn_gemm_paths};

const tn_family tn_gemm_post_family = {.name = "gemm_post",
                                       TN_SOLVERS(post_solvers),
                                       .awkward = tn_gemm_awkward,
                                       .paths = tn_gemm_paths};

static tenon_status check_type(const char *caller, tenon_context *context, tenon_dtype dtype)
{
    if (dtype > TENON_DTYPE_BF16)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: a: type %s is not supported; f64, f32, f16 and bf16 are, and i8 and u8 "
                       "with b of either and d of i32 or a floating-point type",
                       caller, tenon_dtype_string(dtype));
    return tn_float_check(caller, "a", context, dtype);
}

tenon_status tn_gemm_prepare(const void *given, tn_call *call, tn_problem *problem, bool *empty)
{
    const tenon_gemm_params *params = given;
    const char *caller = call->caller;
    const tn_argument *operands = call->operands;
    const tenon_tensor *views[GEMM_MATRICES];
    for (int x = 0; x < GEMM_MATRICES; x++)
        views[x] = operands[x].view;
    const tenon_dtype dtype = views[GEMM_A]->dtype;
    TN_TRY(check_type(caller, call->context, dtype));
    TN_TRY(tn_epilogue_check(caller, &params->epilogue, views[GEMM_C]));
    for (int x = GEMM_B; x < GEMM_MATRICES; x++)
        TN_TRY(tn_same_dtype_check(caller, operands[x].name, views[x], "a", dtype));
    TN_TRY(tn_gemm_canonicalize_views(caller, params, views, (gemm_problem *)problem, empty));
    ((gemm_problem *)problem)->flags |=
        tn_epilogue_post_in_place(call, GEMM_POST + POST_RESIDUAL, GEMM_D);
    if (params->epilogue.beta == 0)
        call->operands[GEMM_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

/* Returns the family that serves a problem. */
static const tn_family *family_of(const gemm_problem *problem)
{
    return (problem->flags & TENON_POST_ANY) != 0 ? &tn_gemm_post_family : &tn_gemm_family;
}

tenon_status tn_gemm_record(const char *caller, tn_recording *recording, tn_frame *frame,
                            const gemm_problem *problem)
{
    gemm_problem own = *problem;
    const tn_family *family = family_of(problem);
    /* In a self-check of another operation the kernel that builds fastest is used. The variants of
     * GEMM are checked when they are first used. */
    if (tn_self_check_runs(recording->context))
        TN_TRY(tn_solver_force(caller, family,
                               family == &tn_gemm_family ? "gemm/plain" : "gemm_post/plain",
                               &own.head));
    return tn_child_record(caller, recording, frame, family, &own.head);
}

double tn_gemm_estimate(tenon_context *context, const gemm_problem *problem)
{
    return tn_problem_time(context, family_of(problem), &problem->head);
}

/* tenon_gemm for i8 and u8: the solver family and the preparation of a problem from a call. */
#include "ops/gemm/int8.h"

static const tn_solver *const solvers[] = {
    &tn_gemm_int8_cpu,   &tn_gemm_int8_cpu_dot, &tn_gemm_int8_gemv, &tn_gemm_int8_tiled,
    &tn_gemm_int8_plain, &tn_gemm_int8_mma,     &tn_gemm_int8_mfma, &tn_gemm_int8_wmma,
    &tn_gemm_int8_xmx,   &tn_gemm_int8_wgmma};

static uint64_t bit_of(uint32_t dtype, uint32_t of, int bit)
{
    return (uint64_t)(dtype == of) << bit;
}

/* Paths in addition to those of GEMM: the types, and from bit 40 on the vectors that are present.
 */
static uint64_t gemm_int8_paths(const tn_problem *problem)
{
    const int8_problem *p = (const int8_problem *)problem;
    const uint32_t *types = p->types, all = (1U << INT8_VECTORS) - 1;
    const bool has_bias = (p->gemm.flags & GEMM_HAS_BIAS) != 0;
    return tn_gemm_paths(problem) | (uint64_t)(p->present & all) << 40 |
           (uint64_t)(~p->present & all) << 46 | bit_of(types[GEMM_A], TENON_DTYPE_I8, 52) |
           bit_of(types[GEMM_A], TENON_DTYPE_U8, 53) | bit_of(types[GEMM_B], TENON_DTYPE_I8, 54) |
           bit_of(types[GEMM_B], TENON_DTYPE_U8, 55) | bit_of(types[GEMM_D], TENON_DTYPE_I8, 56) |
           bit_of(types[GEMM_D], TENON_DTYPE_U8, 57) | bit_of(types[GEMM_D], TENON_DTYPE_I32, 58) |
           (has_bias ? bit_of(types[GEMM_BIAS] == TENON_DTYPE_I32, true, 59) |
                           bit_of(types[GEMM_BIAS] == TENON_DTYPE_I32, false, 60)
                     : 0);
}

_Static_assert(INT8_VECTORS == 6, "paths has six bits for them");

const tn_family tn_gemm_int8_family = {.name = "gemm_int8",
                                       TN_SOLVERS(solvers),
                                       .awkward = tn_gemm_int8_awkward,
                                       .paths = gemm_int8_paths};

bool tn_gemm_is_int8(const tenon_tensor *a)
{
    return a != NULL && (a->dtype == TENON_DTYPE_I8 || a->dtype == TENON_DTYPE_U8);
}

void tn_int8_restore_vectors(const tenon_tensor *const *views, tenon_epilogue *epilogue)
{
    for (int i = 0; i < 3; i++) {
        epilogue->scale[i] = views[INT8_VECTOR(INT8_SCALE_A + i)];
        epilogue->zero_point[i] = views[INT8_VECTOR(INT8_ZERO_A + i)];
    }
}

void tn_int8_take_vectors(const tenon_epilogue *epilogue, const tenon_tensor **views)
{
    for (int i = 0; i < 3; i++) {
        views[INT8_VECTOR(INT8_SCALE_A + i)] = epilogue->scale[i];
        views[INT8_VECTOR(INT8_ZERO_A + i)] = epilogue->zero_point[i];
    }
}

tenon_status tn_gemm_int8_prepare(const void *given, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    tenon_gemm_params own = *(const tenon_gemm_params *)given;
    const tenon_gemm_params *params = &own;
    const char *caller = call->caller;
    int8_views views;
    for (uint32_t i = 0; i < INT8_OPERANDS; i++)
        views[i] = call->operands[i].view;
    tn_int8_restore_vectors(views, &own.epilogue);
    TN_TRY(tn_params_check(caller, params->struct_size, sizeof *params, params->flags,
                           TENON_GEMM_BATCH_INVARIANT | TENON_GEMM_ALLOW_TF32));
    own.flags &= ~TENON_GEMM_ALLOW_TF32; /* no factor is f32 */
    TN_TRY(tn_tensor_check(caller, "a", views[GEMM_A]));
    TN_TRY(tn_tensor_check(caller, "b", views[GEMM_B]));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_epilogue_terms_check(caller, &params->epilogue, views[GEMM_C]));
    TN_TRY(tn_epilogue_refuse_post(caller, &params->epilogue));
    TN_TRY(tn_gemm_int8_check(caller, &params->epilogue, views));
    TN_TRY(tn_gemm_int8_canonicalize(caller, params, views, (int8_problem *)problem, empty));
    if (params->epilogue.beta == 0)
        call->operands[GEMM_C].view = NULL; /* not read: c may have no memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

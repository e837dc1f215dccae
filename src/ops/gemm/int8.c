/* tenon_gemm for i8 and u8: the entry, and the family. */
#include "ops/gemm/int8.h"

#include "base/shape.h"

static const tn_solver *const solvers[] = {
    &tn_gemm_int8_cpu, &tn_gemm_int8_gemv, &tn_gemm_int8_tiled, &tn_gemm_int8_plain,
    &tn_gemm_int8_mma, &tn_gemm_int8_mfma, &tn_gemm_int8_wmma,  &tn_gemm_int8_xmx};

static uint64_t bit_of(uint32_t dtype, uint32_t of, int bit)
{
    return (uint64_t)(dtype == of) << bit;
}

/* Beyond GEMM's: which vectors there are, from bit 40 on, and the types. */
static uint64_t paths(const tn_problem *problem)
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
                                       .solvers = solvers,
                                       .solver_count = sizeof solvers / sizeof *solvers,
                                       .self_check = tn_gemm_int8_self_check,
                                       .paths = paths};

bool tn_gemm_is_int8(const tenon_tensor *a)
{
    return a != NULL && (a->dtype == TENON_DTYPE_I8 || a->dtype == TENON_DTYPE_U8);
}

static void set_operand(tn_call *call, uint32_t number, const char *name, const tenon_tensor *view,
                        tn_role role)
{
    call->operands[number] = (tn_argument){name, view, role};
}

static tn_call make_call(const char *operation, const tenon_epilogue *epilogue,
                         const tenon_tensor *a, const tenon_tensor *b, const tenon_tensor *c,
                         const tenon_tensor *bias, const tenon_tensor *d)
{
    static const char *const names[INT8_VECTORS] = {"scale of a",      "scale of b",
                                                    "scale of d",      "zero point of a",
                                                    "zero point of b", "zero point of d"};
    tn_call call = {.operation = operation, .operand_count = INT8_OPERANDS};
    set_operand(&call, GEMM_A, "a", a, TN_INPUT);
    set_operand(&call, GEMM_B, "b", b, TN_INPUT);
    set_operand(&call, GEMM_C, "c", c, TN_INPUT_OR_SAME);
    set_operand(&call, GEMM_BIAS, "bias", bias, TN_INPUT);
    set_operand(&call, GEMM_D, "d", d, TN_OUTPUT);
    for (uint32_t i = 0; i < 3; i++) {
        uint32_t scale = INT8_SCALE_A + i, zero = INT8_ZERO_A + i;
        set_operand(&call, GEMM_OPERANDS + scale, names[scale], epilogue->scale[i], TN_INPUT);
        set_operand(&call, GEMM_OPERANDS + zero, names[zero], epilogue->zero_point[i], TN_INPUT);
    }
    return call;
}

/* Checks all that needs no memory, and makes the problem of the call. */
static tenon_status prepare(const tenon_gemm_params *params, tn_call *call, int8_problem *problem,
                            bool *empty)
{
    const char *operation = call->operation;
    int8_views views;
    for (uint32_t i = 0; i < INT8_OPERANDS; i++)
        views[i] = call->operands[i].view;
    TN_TRY(tn_params_check(operation, params->struct_size, sizeof *params, params->flags,
                           TENON_GEMM_BATCH_INVARIANT | TENON_GEMM_ALLOW_TF32));
    TN_TRY(tn_tensor_check(operation, "a", views[GEMM_A]));
    TN_TRY(tn_tensor_check(operation, "b", views[GEMM_B]));
    TN_TRY(tn_call_check_views(call));
    TN_TRY(tn_epilogue_terms_check(operation, &params->epilogue, views[GEMM_C]));
    TN_TRY(tn_gemm_int8_check(operation, &params->epilogue, views));
    TN_TRY(tn_gemm_int8_canonicalise(operation, params, views, problem, empty));
    TN_TRY(tn_solver_force(operation, &tn_gemm_int8_family, params->solver, &problem->gemm.head));
    if (params->epilogue.beta == 0)
        call->operands[GEMM_C].view = NULL; /* not read: it need not have memory */
    tn_epilogue_scalars(&params->epilogue, call->scalars);
    return TENON_OK;
}

tenon_status tn_gemm_int8_call(const char *operation, tenon_stream *stream,
                               const tenon_gemm_params *params, const tenon_tensor *a,
                               const tenon_tensor *b, const tenon_tensor *c,
                               const tenon_tensor *bias, const tenon_tensor *d,
                               const tenon_sync *sync)
{
    tn_call call = make_call(operation, &params->epilogue, a, b, c, bias, d);
    int8_problem problem;
    bool empty = false;
    TN_TRY(prepare(params, &call, &problem, &empty));
    return tn_call_run(stream, &tn_gemm_int8_family, empty ? NULL : &problem.gemm.head, &call,
                       sync);
}

tenon_status tn_gemm_int8_plan(const char *operation, tenon_context *context,
                               const tenon_gemm_params *params, const tenon_tensor *a,
                               const tenon_tensor *b, const tenon_tensor *c,
                               const tenon_tensor *bias, const tenon_tensor *d, tenon_plan **plan)
{
    tn_call call = make_call(operation, &params->epilogue, a, b, c, bias, d);
    int8_problem problem;
    bool empty = false;
    TN_TRY(prepare(params, &call, &problem, &empty));
    return tn_call_plan(context, &tn_gemm_int8_family, empty ? NULL : &problem.gemm.head, &call,
                        plan);
}

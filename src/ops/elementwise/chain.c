/* Argument validation of tenon_elementwise_chain, its family and its general solver. */
#include "elementwise/chain_args.h"
#include "base/checked.h"
#include "base/shape.h"
#include "ops/elementwise/internal.h"

#include <stddef.h>
#include <stdio.h>

/* Vectors of a block on a CPU: enough to hide the cost of decoding a step. A GPU keeps its vectors
 * in flight in registers. */
#define CPU_VECTORS 16
/* Elements per work-item of a GPU if a dimension has gaps. */
#define GPU_UNIT 4

static int32_t vectors_of(const tenon_context *context, const elementwise_chain_problem *p)
{
    return context->device.is_cpu ? CPU_VECTORS
                                  : tn_pointwise_share(context, &p->views, GPU_UNIT).vectors;
}

static const char *elementwise_chain_configure(tenon_context *context, const tn_problem *problem,
                                               tn_choice *choice)
{
    const elementwise_chain_problem *p = (const elementwise_chain_problem *)problem;
    char more[64];
    for (uint64_t n = 0; n < p->step_count; n++)
        if (p->steps[n].op >= CHAIN_BINARY)
            return "functions are compiled for each list of steps";
    snprintf(more, sizeof more, " -DTENON_ACT_BUILD=%u -DCHAIN_VECTORS=%d", p->views.kind,
             vectors_of(context, p));
    tn_pointwise_configure(context, &p->views, more, choice);
    return NULL;
}

tenon_status tn_chain_record(const char *caller, tn_recording *recording,
                             const elementwise_chain_problem *p, const char *source,
                             const char *kernel, const char *options)
{
    const uint8_t scalar = (uint8_t)tn_scalar_patch((tenon_dtype)p->views.to);
    tn_patch patches[2 * CHAIN_STEPS];
    chain_args args = {.steps = (tenon_i32)p->step_count};
    tn_launch launch = {.source = source,
                        .options = options,
                        .kernel = kernel,
                        .args_size = sizeof args,
                        .patches = patches};
    for (uint32_t n = 0; n < p->step_count; n++) {
        const size_t alpha = offsetof(chain_args, alpha) + n * sizeof(tenon_i64);
        const size_t beta = offsetof(chain_args, beta) + n * sizeof(tenon_i64);
        args.step[n] = p->steps[n];
        patches[launch.patch_count++] = (tn_patch){scalar, (uint8_t)(2 * n), (uint16_t)alpha, 1};
        patches[launch.patch_count++] = (tn_patch){scalar, (uint8_t)(2 * n + 1), (uint16_t)beta, 1};
    }
    return tn_pointwise_record(caller, recording, &p->views, launch, &args.walk,
                               tn_pointwise_share(recording->context, &p->views, GPU_UNIT));
}

static tenon_status elementwise_chain_launch(const char *caller, tn_recording *recording,
                                             const tn_problem *problem, const tn_choice *choice)
{
    return tn_chain_record(caller, recording, (const elementwise_chain_problem *)problem,
                           "elementwise/chain", "chain", choice->options);
}

static const tn_solver rows = {
    .name = "rows",
    .serves = "any strides and broadcasts; uses vectors if the last dimension allows",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = elementwise_chain_configure,
    .launch = elementwise_chain_launch};

static const tn_solver *const solvers[] = {&tn_chain_fixed, &rows};

/* Bits for the operations and, from bit 16 on, for the activations of the steps. The functions
 * share a bit: each list of steps with functions has its own build. */
static uint64_t elementwise_chain_paths(const tn_problem *problem)
{
    const elementwise_chain_problem *p = (const elementwise_chain_problem *)problem;
    uint64_t taken = 0;
    for (uint64_t n = 0; n < p->step_count; n++) {
        const chain_step_args *step = &p->steps[n];
        taken |= UINT64_C(1) << tn_min_i64(step->op, CHAIN_BINARY);
        if (step->op == CHAIN_ACTIVATE)
            taken |= UINT64_C(1) << (16 + step->activation);
    }
    return taken;
}

const tn_family tn_elementwise_chain_family = {.name = "elementwise_chain",
                                               TN_SOLVERS(solvers),
                                               .awkward = tn_elementwise_chain_awkward,
                                               .paths = elementwise_chain_paths};

/* Fills in the parts of a problem other than the views, and two scalars for each step. */
static void fill(const tenon_elementwise_chain_params *params, elementwise_chain_problem *problem,
                 double *scalars)
{
    problem->step_count = params->step_count;
    for (uint32_t n = 0; n < params->step_count; n++) {
        const tenon_chain_step *step = &params->steps[n];
        problem->steps[n] = (chain_step_args){(tenon_i32)step->op, (tenon_i32)step->operand,
                                              (tenon_i32)step->addend, (tenon_i32)step->activation};
        if (step->op == TENON_CHAIN_ACTIVATE && tn_activation_is_build(step->activation))
            problem->views.kind = step->activation;
        scalars[2 * n] = step->alpha;
        scalars[2 * n + 1] = step->beta;
    }
}

const char *const tn_chain_words[] = {"add",
                                      "subtract",
                                      "multiply",
                                      "divide",
                                      "max",
                                      "min",
                                      "fma",
                                      "activate",
                                      TENON_BINARY_FUNCTIONS(TN_FUNCTION_WORD)
                                          TENON_UNARY_FUNCTIONS(TN_FUNCTION_WORD) NULL};

#define CHECK_BINARY(number, NAME, name, is_build, ulps, device, reference)                        \
    _Static_assert((int)TENON_CHAIN_##NAME == (number)-TENON_ELEMENTWISE_POW + CHAIN_BINARY,       \
                   "steps are in the order of the list");
#define CHECK_UNARY(number, NAME, name, is_build, ulps, device, reference)                         \
    _Static_assert((int)TENON_CHAIN_##NAME == (number) + CHAIN_UNARY,                              \
                   "steps are in the order of the list");
TENON_BINARY_FUNCTIONS(CHECK_BINARY)
TENON_UNARY_FUNCTIONS(CHECK_UNARY)
const char *const tn_chain_source_words[] = {"scalar", "x0", "x1", "x2", "x3", NULL};

static tenon_status check_source(const tn_call *call, uint32_t n, const char *name, uint32_t source)
{
    const char *caller = call->caller;
    if (source > TENON_CHAIN_X3)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: %s of step %u is %u, which is not a tenon_chain_source", caller,
                       name, n, source);
    if (source != TENON_CHAIN_SCALAR && call->operands[source - 1].view == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL, but is the %s of step %u",
                       caller, call->operands[source - 1].name, name, n);
    return TENON_OK;
}

/* Checks that a value which the operation does not use is 0. `words` names the values. */
static tenon_status check_unused(const char *caller, uint32_t n, const tenon_chain_step *step,
                                 const char *name, const char *const *words, uint32_t value)
{
    uint32_t known = 0;
    while (known < value && words[known] != NULL)
        known++;
    return value == 0
               ? TENON_OK
               : tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                         "%s: params: %s of step %u is %s, which %s does not use: it must be 0",
                         caller, name, n, words[known] != NULL ? words[known] : "no such value",
                         tn_chain_words[step->op]);
}

static tenon_status check_step(const tn_call *call, uint32_t n, const tenon_chain_step *step)
{
    const char *caller = call->caller;
    const tenon_activation activation = {step->activation, 0, step->alpha, step->beta};
    if (step->op >= CHAIN_UNARY + TN_FUNCTION_KINDS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: op of step %u is %u, which is not a tenon_chain_op", caller, n,
                       step->op);
    TN_TRY(check_source(call, n, "operand", step->operand));
    TN_TRY(check_source(call, n, "addend", step->addend));
    if (step->op != TENON_CHAIN_FMA)
        TN_TRY(check_unused(caller, n, step, "addend", tn_chain_source_words, step->addend));
    if (step->op == TENON_CHAIN_ACTIVATE || step->op >= CHAIN_UNARY)
        TN_TRY(check_unused(caller, n, step, "operand", tn_chain_source_words, step->operand));
    if (step->op != TENON_CHAIN_ACTIVATE)
        return check_unused(caller, n, step, "activation", tn_activation_words, step->activation);
    return tn_activation_check(caller, &activation);
}

/* Checks that there is at most one transcendental activation: a program is built for one. */
static tenon_status check_activations(const char *caller,
                                      const tenon_elementwise_chain_params *params)
{
    uint32_t seen = 0;
    for (uint32_t n = 0; n < params->step_count; n++) {
        const tenon_chain_step *step = &params->steps[n];
        if (step->op != TENON_CHAIN_ACTIVATE || !tn_activation_is_build(step->activation))
            continue;
        if (seen != 0 && seen != step->activation)
            return tn_fail(
                TENON_ERROR_UNSUPPORTED,
                "%s: params: steps have the activations %s and %s; a chain can have only one of "
                "those that are compiled",
                caller, tn_activation_words[seen], tn_activation_words[step->activation]);
        seen = step->activation;
    }
    return TENON_OK;
}

static tenon_status elementwise_chain_check_params(const tn_call *call,
                                                   const tenon_elementwise_chain_params *params)
{
    const char *caller = call->caller;
    if (params->step_count > TENON_CHAIN_MAX_STEPS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: step_count is %u, must be at most %d", caller,
                       params->step_count, TENON_CHAIN_MAX_STEPS);
    TN_TRY(tn_reserved_check(caller, params->reserved));
    for (uint32_t n = 0; n < params->step_count; n++)
        TN_TRY(check_step(call, n, &params->steps[n]));
    return check_activations(caller, params);
}

tenon_status tn_elementwise_chain_prepare(const void *given, tn_call *call, tn_problem *problem,
                                          bool *empty)
{
    const char *caller = call->caller;
    const tenon_elementwise_chain_params *params = given;
    const tn_argument *x0 = &call->operands[CHAIN_X0], *y = &call->operands[CHAIN_Y];
    TN_TRY(elementwise_chain_check_params(call, params));
    TN_TRY(tn_float_check(caller, "x0", call->context, (tenon_dtype)x0->view->dtype));
    TN_TRY(tn_alike_check(call, false));
    *empty = tn_tensor_empty(y->view);
    TN_TRY(tn_pointwise_canonicalize(call, 1, sizeof(elementwise_chain_problem), problem));
    fill(params, (elementwise_chain_problem *)problem, call->scalars);
    return TENON_OK;
}

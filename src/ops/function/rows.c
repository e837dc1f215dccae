/* The solver function/rows, and the launch of its kernel for functions of two tensors. */
#include "base/dtype.h"
#include "function/args.h"
#include "ops/function/internal.h"

#include <inttypes.h>
#include <stdio.h>

const char *tn_function_mask_option(uint64_t mask, char text[TN_FUNCTION_OPTIONS])
{
    snprintf(text, TN_FUNCTION_OPTIONS, " -DFUNCTION_MASK=0x%" PRIx64 "L", mask);
    return text;
}

/* Returns the functions of the build that has a function of one tensor. */
static uint64_t unary_mask(uint32_t kind)
{
#define UNARY_BIT(number, NAME, name, is_build, ulps, device, reference)                           \
    | (is_build ? 0 : TN_FUNCTION_BIT(number))
    return tn_function_is_build(kind) ? TN_FUNCTION_BIT(kind)
                                      : UINT64_C(0) TENON_UNARY_FUNCTIONS(UNARY_BIT);
}

const char *tn_function_configure(tenon_context *context, const tn_problem *problem,
                                  tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    if (!tn_dtype_is_float((tenon_dtype)p->to))
        return "the type is not a floating-point type";
    const bool is_binary = p->operands > FUNCTION_OPERANDS;
    const uint64_t functions = is_binary ? TN_FUNCTION2_BIT(p->kind) : unary_mask(p->kind);
    char mask[TN_FUNCTION_OPTIONS], more[2 * TN_FUNCTION_OPTIONS];
    snprintf(more, sizeof more, "%s -DFUNCTION_INPUTS=%u -DFUNCTION_KIND=%d",
             tn_function_mask_option(functions, mask), p->operands - 1,
             is_binary || tn_function_is_build(p->kind) ? (int)p->kind : -1);
    tn_pointwise_configure(context, p, more, choice);
    return NULL;
}

tenon_status tn_function_launch(const char *caller, tn_recording *recording,
                                const tn_problem *problem, const tn_choice *choice)
{
    const tn_pointwise_problem *p = (const tn_pointwise_problem *)problem;
    function_args args = {.kind = (tenon_i32)p->kind};
    const tn_launch launch = {.source = "function/rows",
                              .options = choice->options,
                              .kernel = "function_rows",
                              .args_size = sizeof args};
    return tn_pointwise_record(caller, recording, p, launch, &args.walk,
                               tn_pointwise_share(recording->context, p, 1));
}

const tn_solver tn_function_rows = {
    .name = "rows",
    .serves = "any strides and broadcasts; uses vectors if the last dimension allows",
    TN_PARAMETERS(tn_stores_parameter, 1),
    .configure = tn_function_configure,
    .launch = tn_function_launch};

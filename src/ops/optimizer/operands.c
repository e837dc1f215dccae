/* Common parts of the optimizers: validation of operands, configuration and awkward cases. */
#include "check/awkward.h"
#include "base/shape.h"
#include "ops/common/gpu.h"
#include "ops/optimizer/internal.h"
#include "optimizer/flags.h"
#include "ops/common/epilogue.h"

#define CPU_CHUNK 4096

tenon_dtype tn_state_dtype(tenon_dtype dtype)
{
    return dtype == TENON_DTYPE_F64 ? TENON_DTYPE_F64 : TENON_DTYPE_F32;
}

static tenon_status check_type(const char *caller, const tn_argument *operand, tenon_dtype wanted,
                               tenon_dtype parameter)
{
    if (operand->view == NULL || operand->view->dtype == wanted)
        return TENON_OK;
    return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s is %s, must be %s for a parameter of type %s",
                   caller, operand->name, tenon_dtype_string(operand->view->dtype),
                   tenon_dtype_string(wanted), tenon_dtype_string(parameter));
}

static tenon_status check_types(const tn_call *call, uint32_t count)
{
    const char *caller = call->caller;
    const tn_argument *gradient = &call->operands[OPTIMIZER_GRADIENT],
                      *master = &call->operands[count - 1];
    const tenon_dtype dtype = call->operands[OPTIMIZER_PARAMETER].view->dtype;
    const tenon_dtype state = tn_state_dtype(dtype);
    TN_TRY(tn_float_check(caller, "parameter", call->context, dtype));
    if (gradient->view->dtype != state)
        TN_TRY(check_type(caller, gradient, dtype, dtype));
    for (uint32_t i = OPTIMIZER_PARAMETER + 1; i < count; i++)
        TN_TRY(check_type(caller, &call->operands[i], state, dtype));
    if (master->view != NULL && dtype == state)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: %s is given, but a parameter of type %s needs none; it must be NULL",
                       caller, master->name, tenon_dtype_string(dtype));
    return TENON_OK;
}

tenon_status tn_optimizer_prepare(const tn_call *call, uint32_t count, uint32_t flags,
                                  tn_lines_problem *problem, bool *empty)
{
    const tn_argument *operands = call->operands, *first = &operands[OPTIMIZER_GRADIENT];
    const tenon_tensor *parameter = operands[OPTIMIZER_PARAMETER].view;
    const tenon_tensor *views[TN_MAX_OPERANDS];
    TN_TRY(check_types(call, count));
    for (uint32_t i = 0; i < count; i++) {
        views[i] = operands[i].view;
        TN_TRY(tn_lines_shape_check(call->caller, operands[i].name, views[i], first->name,
                                    first->view));
    }
    *empty = tn_tensor_empty(parameter);
    tn_lines_canonicalize(views, count, OPTIMIZER_PARAMETER, problem);
    /* 1 if the gradient has the state's type and not the parameter's. */
    problem->kind = first->view->dtype != parameter->dtype;
    problem->flags = flags | (operands[count - 1].view != NULL ? OPTIMIZER_HAS_MASTER : 0);
    return tn_guard_prepare(call, count, problem);
}

const char *tn_optimizer_configure(tenon_context *context, const tn_problem *problem,
                                   const char *source, const char *kernel, uint32_t scalars,
                                   tn_choice *choice)
{
    const tn_lines_problem *p = (const tn_lines_problem *)problem;
    /* Vectors of the state, whose type is the accumulator's, have 16 bytes. */
    const int32_t vectors = tn_stream_vectors(context, tn_state_dtype(p->dtype), p->operands);
    char gpu[TN_GPU_OPTIONS];
    *TN_LAYOUT(tn_lines_launch, choice) = (tn_lines_launch){.source = source,
                                                            .kernel = kernel,
                                                            .cpu_chunk = CPU_CHUNK,
                                                            .gpu_chunk = tn_gpu_lanes(p->dtype),
                                                            .gpu_vectors = vectors,
                                                            .numbers = scalars};
    tn_choice_options(context, choice, "-DTENON_DTYPE=%u -DTENON_VW=%u%s -DTENON_GRADIENT_ACC=%u",
                      p->dtype, tn_lanes(context, p->dtype),
                      tn_stream_option(context, vectors, gpu), p->kind);
    tn_guard_option(p, choice->options);
    return NULL;
}

void tn_optimizer_awkward(const tn_lines_problem *like, uint32_t layout, tn_case *c)
{
    const tenon_dtype dtype = (tenon_dtype)like->dtype, state = tn_state_dtype(dtype);
    const uint32_t count =
        like->operands - (dtype == state ? 1 : 0); /* excludes the master, the last operand */
    for (uint32_t i = 0; i < count; i++) {
        const bool wide = i == OPTIMIZER_GRADIENT ? like->kind != 0 : i != OPTIMIZER_PARAMETER;
        c->views[i] = tn_lines_awkward(wide ? state : dtype, layout, i);
    }
}

tenon_status tn_sum_check(const char *caller, const tenon_tensor *sum, tenon_dtype dtype)
{
    char text[160];
    const tenon_dtype wanted = tn_state_dtype(dtype);
    if (sum->dtype != wanted)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: sum is %s, must be %s for x of type %s",
                       caller, tenon_dtype_string(sum->dtype), tenon_dtype_string(wanted),
                       tenon_dtype_string(dtype));
    if (tenon_tensor_elements(sum) != 1)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: sum: shape is %s, must have one element",
                       caller, tn_shape_text(sum->rank, sum->shape, text));
    return TENON_OK;
}

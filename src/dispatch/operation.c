/* The immediate and the planned call of any operation, through its description. */
#include "dispatch/operation.h"

#include "base/shape.h"
#include "dispatch/channels_last.h"
#include "dispatch/plan.h"
#include "dispatch/select.h"

#include <stdio.h>
#include <string.h>

static tn_call call_of(const tn_operation *operation, const char *name, tenon_context *context,
                       const void *params, const tenon_tensor *const *given)
{
    const tenon_tensor *views[TN_MAX_OPERANDS] = {NULL};
    memcpy(views, given, operation->operand_count * sizeof *views);
    if (operation->served_as != NULL)
        operation = operation->served_as(params, views);
    tn_call call = {name, operation, context,
                    .params = params != NULL ? params : operation->defaults,
                    .operand_count = operation->operand_count};
    for (uint32_t i = 0; i < operation->operand_count; i++)
        call.operands[i] =
            (tn_argument){operation->operands[i].name, views[i], operation->operands[i].role};
    memcpy(call.given, views, sizeof call.given);
    return call;
}

tenon_status tn_operation_try(const void *params, tn_call *call, tn_problem *problem, bool *empty)
{
    const tn_operation *operation = call->operation;
    const tn_params_head *head = params;
    *problem = (tn_problem){.size = operation->problem_size, .forced = -1};
    TN_TRY(tn_params_check(call->caller, head->struct_size, operation->params_size, head->flags,
                           operation->flags));
    TN_TRY(tn_call_check_views(call));
    return operation->prepare(params, call, problem, empty);
}

tenon_status tn_operation_prepare(const void *params, tn_call *call, tn_problem *problem,
                                  bool *empty)
{
    const tn_operation *operation = call->operation;
    params = params != NULL ? params : operation->defaults;
    const tenon_status status = tn_operation_try(params, call, problem, empty);
    if (status != TENON_OK)
        return tn_channels_last_hint(params, call, status);
    return tn_solver_force(call->caller, operation->family,
                           ((const tn_params_head *)params)->solver, problem);
}

tenon_status tn_operation_take_params(const char *name, const tn_operation *operation,
                                      const void *given, void *room, const void **params)
{
    const tn_last_member epilogue = {"epilogue", operation->epilogue_at,
                                     "TENON_EPILOGUE_INIT or, in C, tenon_epilogue(.beta = 1); "
                                     ".epilogue = {…} sets the members that it does not name to 0"};
    if (operation->epilogue_at == 0)
        return tn_params_take(name, given, operation->defaults, operation->params_size,
                              operation->initializer, room, params);
    return tn_params_take_with(name, given, operation->defaults, operation->params_size,
                               operation->initializer, &epilogue, room, params);
}

tenon_status tn_operation_run_as(const char *name, const tn_operation *operation,
                                 tenon_stream *stream, const void *params,
                                 const tenon_tensor *const *views, const tenon_sync *sync)
{
    tn_any_problem problem;
    tn_any_params room;
    bool empty = false;
    TN_TRY(tn_stream_check(name, stream));
    TN_TRY(tn_operation_take_params(name, operation, params, &room, &params));
    tn_call call = call_of(operation, name, stream->context, params, views);
    TN_TRY(tn_operation_prepare(params, &call, &problem.head, &empty));
    return tn_call_run(stream, call.operation->family, empty ? NULL : &problem.head, &call, sync);
}

tenon_status tn_operation_plan_as(const char *name, const tn_operation *operation,
                                  tenon_context *context, const void *params,
                                  const tenon_tensor *const *views, tenon_plan **plan)
{
    tn_any_problem problem;
    tn_any_params room;
    bool empty = false;
    TN_TRY(tn_plan_check(name, context, plan));
    TN_TRY(tn_operation_take_params(name, operation, params, &room, &params));
    tn_call call = call_of(operation, name, context, params, views);
    TN_TRY(tn_operation_prepare(params, &call, &problem.head, &empty));
    return tn_call_plan(context, call.operation->family, empty ? NULL : &problem.head, &call, plan);
}

tenon_status tn_operation_run(const tn_operation *operation, tenon_stream *stream,
                              const void *params, const tenon_tensor *const *views,
                              const tenon_sync *sync)
{
    return tn_operation_run_as(operation->name, operation, stream, params, views, sync);
}

tenon_status tn_operation_plan(const tn_operation *operation, tenon_context *context,
                               const void *params, const tenon_tensor *const *views,
                               tenon_plan **plan)
{
    return tn_operation_plan_as(operation->plan_name, operation, context, params, views, plan);
}

tenon_status tn_operation_supported(const tn_operation *operation, tenon_context *context,
                                    const void *params, const tenon_tensor *const *views)
{
    tn_any_problem problem;
    tn_any_params room;
    bool empty = false;
    TN_TRY(tn_operation_take_params(operation->name, operation, params, &room, &params));
    tn_call call = call_of(operation, operation->name, context, params, views);
    TN_TRY(tn_operation_prepare(params, &call, &problem.head, &empty));
    if (empty)
        return TENON_OK;
    problem.head.workspace_limit = context->memory.workspace_limit;
    const tn_request request = {operation->name, context, call.operation->family, &problem.head,
                                &call};
    return tn_select_serves(&request);
}

/* Fails for an output whose shape cannot be derived from these inputs. */
static tenon_status misfit(const tn_operation *operation, const tenon_tensor *const *views,
                           uint32_t index)
{
    char inputs[512] = "", text[160];
    size_t used = 0;
    for (uint32_t i = 0; i < operation->operand_count; i++)
        if (views[i] != NULL && !tn_operation_writes(operation, i) && used < sizeof inputs)
            used += (size_t)snprintf(inputs + used, sizeof inputs - used, "%s%s %s",
                                     used > 0 ? ", " : "", operation->operands[i].name,
                                     tn_shape_text(views[i]->rank, views[i]->shape, text));
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: cannot infer the shape of %s from %s and the parameters", operation->name,
                   operation->operands[index].name, inputs);
}

static tenon_status check_inputs(const tn_operation *operation, const tenon_tensor *const *views)
{
    for (uint32_t i = 0; i < operation->operand_count; i++) {
        const tn_operand_info *operand = &operation->operands[i];
        if (!tn_is_output(operand->role) && (views[i] != NULL || !operand->optional))
            TN_TRY(tn_tensor_check(operation->name, operand->name, views[i]));
    }
    return TENON_OK;
}

tenon_status tn_operation_output_shape(const tn_operation *operation, const void *params,
                                       const tenon_tensor *const *views, uint32_t index,
                                       tenon_tensor *output)
{
    const char *name = operation->name;
    const tn_operand_info *operand = &operation->operands[index];
    tn_any_params room;
    tenon_tensor found = {.dtype = TENON_DTYPE_INVALID};
    if (operand->shape == NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED,
                       "%s: the shape of %s cannot be inferred; the caller chooses it", name,
                       operand->name);
    TN_TRY(tn_operation_take_params(name, operation, params, &room, &params));
    TN_TRY(tn_params_check(name, ((const tn_params_head *)params)->struct_size,
                           operation->params_size, ((const tn_params_head *)params)->flags,
                           operation->flags));
    TN_TRY(check_inputs(operation, views));
    if (!operand->shape(params != NULL ? params : operation->defaults, views, &found))
        return misfit(operation, views, index);
    found = tenon_tensor_view(found.dtype, found.rank, found.shape);
    if (found.dtype == TENON_DTYPE_INVALID)
        return misfit(operation, views, index);
    *output = found;
    return TENON_OK;
}

tenon_status tn_operation_call(const tn_operation *operation, tenon_stream *stream,
                               const void *params, const tenon_tensor *const *views,
                               const tenon_sync *sync)
{
    return operation->run != NULL ? operation->run(stream, params, views, sync)
                                  : tn_operation_run(operation, stream, params, views, sync);
}

tenon_status tn_operation_call_plan(const tn_operation *operation, tenon_context *context,
                                    const void *params, const tenon_tensor *const *views,
                                    tenon_plan **plan)
{
    return operation->plan != NULL ? operation->plan(context, params, views, plan)
                                   : tn_operation_plan(operation, context, params, views, plan);
}

void tn_operation_defaults(const tn_operation *operation, void *params)
{
    memcpy(params, operation->defaults, operation->params_size);
}

bool tn_operation_writes(const tn_operation *operation, uint32_t operand)
{
    return tn_is_output(operation->operands[operand].role);
}

size_t tn_field_size(tn_field_type type)
{
    return type == TN_FIELD_I32 || type == TN_FIELD_U32 ? 4 : 8;
}

const char *tn_field_word(const tn_field *field, uint32_t value)
{
    for (uint32_t i = 0; field->words != NULL && field->words[i] != NULL; i++)
        if (i == value)
            return field->words[i];
    return NULL;
}

const tn_operation *tn_operation_of_family(const tn_family *family)
{
    const tn_registry *registry = family->registry;
    for (uint32_t i = 0; registry != NULL && i < registry->operation_count; i++)
        if (registry->operations[i]->family == family)
            return registry->operations[i];
    return NULL;
}

void tn_call_text(const tn_call *call, char text[TN_REPEAT_SIZE])
{
    call->operation->family->registry->call_text(call, text);
}

bool tn_field_is_fixed(const void *params, const void *value)
{
    (void)params;
    (void)value;
    return false;
}

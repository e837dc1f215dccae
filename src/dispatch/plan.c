#include "dispatch/plan.h"

#include "dispatch/alternatives.h"
#include "dispatch/numerics.h"
#include "dispatch/operation.h"
#include "dispatch/plan_table.h"
#include "dispatch/prepare.h"
#include "dispatch/record_calls.h"
#include "dispatch/select.h"
#include "dispatch/verbose.h"
#include "runtime/opencl/gate.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void free_plan(tenon_plan *plan)
{
    tenon_context *context = plan->keeps_context ? plan->recording.context : NULL;
    tn_recording_destroy(&plan->recording);
    if (plan->bound_owner != NULL)
        plan->release_bound_owner(plan->bound_owner);
    free(plan->problem);
    free(plan->params);
    free(plan->message);
    free(plan);
    tenon_context_release(context);
}

static tenon_status plan_record(const tn_request *r, tenon_plan *plan)
{
    tn_choice choice;
    if (r->problem == NULL) {
        snprintf(plan->name, sizeof plan->name, "%s/nothing", r->family->name);
        return TENON_OK;
    }
    TN_TRY(tn_select(r, &choice));
    tn_solver_name(r->family, &choice, plan->name);
    plan->time = choice.time < TN_NO_ESTIMATE ? choice.time : 0;
    TN_TRY(tn_choice_record(r->caller, &plan->recording, r->problem, &choice));
    tn_log_send(&r->context->reports.log, TENON_LOG_DEBUG, "%s: planned %s", r->caller, plan->name);
    tn_layout_advice_log(r);
    return TENON_OK;
}

tenon_status tn_plan_record(tenon_plan *plan, const tn_request *r)
{
    const uint64_t began = tn_now();
    tn_kept_message kept;
    /* The error message is preserved, since solvers may fail before one serves. */
    if (!tn_message_keep(&kept))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan", r->caller);
    const tenon_status status = plan_record(r, plan);
    if (status == TENON_OK && r->context->owner == NULL) {
        tn_count(r->context, TN_PLANS_MADE, began);
        tn_call_record(r->context, r->call);
    }
    return tn_message_end(&kept, status);
}

static tenon_plan *new_plan(const char *caller, tenon_context *context)
{
    tenon_plan *plan = calloc(1, sizeof *plan);
    if (plan == NULL) {
        tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan", caller);
        return NULL;
    }
    atomic_init(&plan->references, 1);
    atomic_init(&plan->is_pending, false);
    plan->caller = caller;
    plan->recording.context = context;
    return plan;
}

tenon_status tn_plan_create(const tn_request *request, tenon_plan **out)
{
    tenon_plan *plan = new_plan(request->caller, request->context);
    if (plan == NULL)
        return TENON_ERROR_OUT_OF_MEMORY;
    const tenon_status status = tn_plan_record(plan, request);
    if (status != TENON_OK) {
        free_plan(plan);
        return status;
    }
    *out = plan;
    return TENON_OK;
}

TENON_API void tenon_plan_retain(tenon_plan *plan)
{
    if (plan != NULL)
        atomic_fetch_add(&plan->references, 1);
}

TENON_API void tenon_plan_release(tenon_plan *plan)
{
    if (plan != NULL && atomic_fetch_sub(&plan->references, 1) == 1)
        free_plan(plan);
}

TENON_API uint64_t tenon_plan_workspace(const tenon_plan *plan)
{
    return plan != NULL && tn_plan_await(plan) == TENON_OK ? plan->recording.workspace : 0;
}

TENON_API uint32_t tenon_plan_operands(const tenon_plan *plan)
{
    return plan != NULL ? plan->operand_count - plan->kept_count : 0;
}

TENON_API size_t tenon_plan_describe(const tenon_plan *plan, char *text, size_t size)
{
    if (plan == NULL || tn_plan_await(plan) != TENON_OK) {
        if (text != NULL && size > 0)
            text[0] = '\0';
        return 0;
    }
    size_t used = (size_t)snprintf(text, size, "%s workspace %" PRIu64 " launches %u: ", plan->name,
                                   plan->recording.workspace, plan->recording.step_count);
    return used + tn_recording_describe(&plan->recording, used < size ? text + used : NULL,
                                        used < size ? size - used : 0);
}

tenon_status tn_plan_check(const char *caller, const tenon_context *context, tenon_plan **plan)
{
    if (plan != NULL)
        *plan = NULL;
    if (context == NULL || plan == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       plan == NULL ? "plan" : "context");
    return tn_gate_check(caller);
}

static tenon_status enqueue_unchecked(tenon_stream *stream, const tenon_plan *plan,
                                      const tn_call *call, const tenon_sync *sync)
{
    tn_operand operands[TN_MAX_OPERANDS];
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const tenon_tensor *view = call->operands[i].view;
        operands[i] = view != NULL ? (tn_operand){view->memory, view->offset} : (tn_operand){0};
    }
    if (!stream->context->reports.is_verbose)
        return tn_recording_run(call->caller, plan->name, stream, &plan->recording, operands,
                                call->scalars, sync);
    tn_verbose_operand named[TN_MAX_OPERANDS];
    for (uint32_t i = 0; i < call->operand_count; i++)
        named[i] = (tn_verbose_operand){call->operands[i].name, call->operands[i].view};
    return tn_verbose_run(plan, stream, operands, call->scalars, named, call->operand_count, "",
                          sync);
}

static tenon_status enqueue(tenon_stream *stream, const tenon_plan *plan, const tn_call *call,
                            const tenon_sync *sync)
{
    tn_numerics numerics;
    if (!tn_numerics_enabled(stream, call->operation))
        return enqueue_unchecked(stream, plan, call, sync);
    tn_numerics_of_call(plan, call, &numerics);
    tn_numerics_before(stream, &numerics, sync);
    TN_TRY(enqueue_unchecked(stream, plan, call, sync));
    tn_numerics_after(stream, &numerics);
    return TENON_OK;
}

tenon_status tn_call_run(tenon_stream *stream, const tn_family *family, tn_problem *problem,
                         const tn_call *call, const tenon_sync *sync)
{
    tenon_plan *plan;
    TN_TRY(tn_sync_check(call->caller, sync));
    TN_TRY(tn_call_check_memory(call, stream->context));
    if (problem == NULL) {
        const tn_recording nothing = {.context = stream->context};
        return tn_recording_run(call->caller, "", stream, &nothing, NULL, NULL, sync);
    }
    problem->workspace_limit = stream->arena.limit;
    const tn_request request = {call->caller, stream->context, family, problem, call};
    TN_TRY(tn_plan_table_get(&request, &plan));
    tenon_status status = enqueue(stream, plan, call, sync);
    tenon_plan_release(plan);
    return status;
}

/* The views of a plan may omit memory, or have that of a sequence. Any other memory is checked. */
static tenon_status check_some_memory(const tn_call *call, tenon_context *context)
{
    tn_call given = *call;
    for (uint32_t i = 0; i < given.operand_count; i++)
        if (given.operands[i].view != NULL &&
            (given.operands[i].view->memory.kind == TENON_MEMORY_NONE ||
             given.operands[i].view->memory.kind == TENON_MEMORY_SEQUENCE))
            given.operands[i].view = NULL;
    return tn_call_check_memory(&given, context);
}

/* Returns the first operand that was given as the same view of the same memory. */
static uint8_t find_same(const tn_call *call, uint32_t operand)
{
    const tenon_tensor *view = call->given[operand];
    uint32_t i = 0;
    while (i < operand &&
           (view == NULL || call->given[i] == NULL || !tn_memory_same_view(call->given[i], view)))
        i++;
    return (uint8_t)i;
}

static void take_operands(tenon_plan *plan, const tn_call *call)
{
    plan->operand_count = call->operand_count;
    memcpy(plan->scalars, call->scalars, sizeof plan->scalars);
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const tn_argument *operand = &call->operands[i];
        plan->operands[i] = (tn_plan_operand){.name = operand->name,
                                              .present = operand->view != NULL,
                                              .output = tn_is_output(operand->role),
                                              .unread = operand->unread,
                                              .given = call->given[i] != NULL,
                                              .role = operand->role};
        if (call->given[i] != NULL)
            plan->operands[i].view = *call->given[i];
        if (operand->view != NULL)
            plan->operands[i].end = tn_tensor_extent(operand->view).end;
        plan->operands[i].same = find_same(call, i);
        memset(&plan->operands[i].view.memory, 0, sizeof plan->operands[i].view.memory);
    }
}

static void *copy_of(const void *data, size_t size)
{
    void *copy = malloc(size);
    if (copy != NULL)
        memcpy(copy, data, size);
    return copy;
}

/* Keeps what is needed to prepare a run with other scalars. */
static tenon_status take_params(tenon_plan *plan, const tn_problem *problem, const tn_call *call)
{
    plan->operation = call->operation;
    plan->params = copy_of(call->params, call->operation->params_size);
    plan->problem = problem != NULL ? copy_of(problem, problem->size) : NULL;
    if (plan->params == NULL || (problem != NULL && plan->problem == NULL))
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan", call->caller);
    ((tn_params_head *)plan->params)->solver = NULL; /* the problem names it */
    return TENON_OK;
}

tenon_status tn_call_plan(tenon_context *context, const tn_family *family, tn_problem *problem,
                          const tn_call *call, tenon_plan **out)
{
    TN_TRY(check_some_memory(call, context));
    if (problem != NULL)
        problem->workspace_limit = context->memory.workspace_limit;
    tenon_plan *plan = new_plan(call->caller, context);
    if (plan == NULL)
        return TENON_ERROR_OUT_OF_MEMORY;
    tenon_context_retain(context);
    plan->keeps_context = true;
    take_operands(plan, call);
    tenon_status status = take_params(plan, problem, call);
    const tn_request request = {call->caller, context, family, problem, call};
    if (status == TENON_OK)
        status = tn_prepares(context) ? tn_prepare_later(plan, &request)
                                      : tn_plan_record(plan, &request);
    if (status != TENON_OK) {
        free_plan(plan);
        return status;
    }
    *out = plan;
    return TENON_OK;
}

void tn_plan_bind(tenon_plan *plan, uint32_t operand, tenon_memory memory, void *object,
                  void (*release)(void *object))
{
    plan->operands[operand].is_bound = true;
    plan->operands[operand].view.memory = memory;
    plan->kept_count++;
    plan->bound_owner = object;
    plan->release_bound_owner = release;
}

/* The immediate and the planned call of any operation, and what its description says. */
#include "dispatch/operation.h"

#include <string.h>

/* Room for the problem of any family. */
typedef union any_problem {
    tn_problem head;
    uint64_t words[TN_PROBLEM_SIZE / sizeof(uint64_t)];
} any_problem;

static tn_call call_of(const tn_operation *operation, const char *name, tenon_context *context,
                       const tenon_tensor *const *views)
{
    tn_call call = {name, context, .operand_count = operation->operand_count};
    for (uint32_t i = 0; i < operation->operand_count; i++)
        call.operands[i] =
            (tn_argument){operation->operands[i].name, views[i], operation->operands[i].role};
    return call;
}

static tenon_status prepare(const tn_operation *operation, const void *params, tn_call *call,
                            any_problem *problem, tn_problem **wanted)
{
    bool empty = false;
    TN_TRY(operation->prepare(params != NULL ? params : operation->defaults, call, &problem->head,
                              &empty));
    *wanted = empty ? NULL : &problem->head;
    return TENON_OK;
}

tenon_status tn_operation_run(const tn_operation *operation, tenon_stream *stream,
                              const void *params, const tenon_tensor *const *views,
                              const tenon_sync *sync)
{
    any_problem problem;
    tn_problem *wanted = NULL;
    TN_TRY(tn_stream_check(operation->name, stream));
    tn_call call = call_of(operation, operation->name, stream->context, views);
    TN_TRY(prepare(operation, params, &call, &problem, &wanted));
    return tn_call_run(stream, operation->family, wanted, &call, sync);
}

tenon_status tn_operation_plan(const tn_operation *operation, tenon_context *context,
                               const void *params, const tenon_tensor *const *views,
                               tenon_plan **plan)
{
    any_problem problem;
    tn_problem *wanted = NULL;
    TN_TRY(tn_plan_check(operation->plan_name, context, plan));
    tn_call call = call_of(operation, operation->plan_name, context, views);
    TN_TRY(prepare(operation, params, &call, &problem, &wanted));
    return tn_call_plan(context, operation->family, wanted, &call, plan);
}

void tn_operation_defaults(const tn_operation *operation, void *params)
{
    memcpy(params, operation->defaults, operation->params_size);
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
    for (uint32_t i = 0; i < tn_operation_count; i++)
        if (tn_operations[i]->family == family)
            return tn_operations[i];
    return NULL;
}

const tn_family *tn_family_at(uint32_t number)
{
    for (uint32_t i = 0; i < tn_operation_count; i++)
        if (tn_operation_of_family(tn_operations[i]->family) == tn_operations[i] && number-- == 0)
            return tn_operations[i]->family;
    return NULL;
}

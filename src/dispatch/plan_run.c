/* Running a caller's plan: the most frequent operation, kept direct. */
#include "dispatch/numerics.h"
#include "dispatch/plan_scalars.h"
#include "dispatch/prepare.h"
#include "dispatch/verbose.h"

#include <stdio.h>
#include <string.h>

static tenon_status check_stream(const char *caller, const tenon_stream *stream,
                                 const tenon_plan *plan)
{
    if (stream->context == plan->recording.context)
        return TENON_OK;
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                   "%s: stream %p and the plan belong to different contexts", caller,
                   (const void *)stream);
}

static tenon_status check_run(const char *caller, tenon_stream *stream, const tenon_plan *plan,
                              const tenon_memory *memories, uint32_t count)
{
    if (count != tenon_plan_operands(plan))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is %u, %s has %u operands", caller,
                       count, plan->caller, tenon_plan_operands(plan));
    TN_TRY(check_stream(caller, stream, plan));
    for (uint32_t i = 0; i < count; i++)
        if (memories[i].kind > TENON_MEMORY_SEQUENCE || memories[i].reserved != 0) {
            char name[24];
            snprintf(name, sizeof name, "memories[%u]", i);
            return tn_handle_check(caller, name, &memories[i]);
        }
    return TENON_OK;
}

static bool takes(const tenon_plan *plan, uint32_t number)
{
    return plan->operands[number].present && !plan->operands[number].is_bound;
}

/* Writes the operands' names, for messages. */
static const char *list_names(const tenon_plan *plan, char text[512])
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < plan->operand_count; i++)
        if (takes(plan, i) && used < 512)
            used += (size_t)snprintf(text + used, 512 - used, "%s%s", used > 0 ? ", " : "",
                                     plan->operands[i].name);
    return text;
}

static uint32_t number_of(const tenon_plan *plan, const char *name)
{
    uint32_t i = 0;
    while (i < plan->operand_count &&
           (plan->operands[i].is_bound || strcmp(plan->operands[i].name, name) != 0))
        i++;
    return i;
}

/* Stores a named operand at its index. */
static tenon_status take_operand(const char *caller, const tenon_plan *plan, uint32_t at,
                                 const tenon_operand *given, bool *is_given, tn_operand *operands)
{
    char names[512], argument[32];
    snprintf(argument, sizeof argument, "operands[%u]", at);
    if (given->name == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: name is NULL", caller, argument);
    const uint32_t i = number_of(plan, given->name);
    if (i == plan->operand_count ||
        (!plan->operands[i].present && given->memory.kind != TENON_MEMORY_NONE))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: \"%s\" is not an operand of %s, whose operands are %s", caller,
                       argument, given->name, plan->caller, list_names(plan, names));
    if (is_given[i])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: \"%s\" is given twice; the operands of %s are %s", caller, argument,
                       given->name, plan->caller, list_names(plan, names));
    TN_TRY(tn_handle_check(caller, argument, &given->memory));
    is_given[i] = true;
    if (!plan->operands[i].present)
        return TENON_OK;
    tenon_tensor view = plan->operands[i].view;
    view.offset = given->offset;
    TN_TRY(tn_tensor_check(caller, given->name, &view)); /* only its offset is new */
    operands[i] = (tn_operand){given->memory, given->offset};
    return TENON_OK;
}

static tenon_status take_operands(const char *caller, const tenon_plan *plan,
                                  const tenon_operand *given, uint32_t count,
                                  tn_operand operands[TN_MAX_OPERANDS])
{
    bool is_given[TN_MAX_OPERANDS] = {false};
    char names[512];
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(take_operand(caller, plan, i, &given[i], is_given, operands));
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        const tn_plan_operand *x = &plan->operands[i];
        if (x->is_bound)
            operands[i] = (tn_operand){x->view.memory, x->view.offset};
        else if (x->present && !is_given[i])
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: \"%s\" is missing; the operands of %s are %s", caller, x->name,
                           plan->caller, list_names(plan, names));
    }
    return TENON_OK;
}

TENON_API const char *tenon_plan_operand_name(const tenon_plan *plan, uint32_t index)
{
    for (uint32_t i = 0; plan != NULL && i < plan->operand_count; i++)
        if (!plan->operands[i].is_bound && index-- == 0)
            return plan->operands[i].name;
    return NULL;
}

/* Quick check for the common case: long enough buffers that are no sub-buffers, and outputs in
 * buffers of their own. */
static bool is_plain(const tenon_plan *plan, const tenon_context *context,
                     const tenon_memory *memories)
{
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        const tn_plan_operand *x = &plan->operands[i];
        if (!x->present)
            continue;
        if (!tn_memory_is_plain(context, &memories[i], x->end))
            return false;
        for (uint32_t j = 0; j < i; j++)
            if (plan->operands[j].present && memories[j].u.buffer == memories[i].u.buffer &&
                (x->output || plan->operands[j].output))
                return false;
    }
    return true;
}

/* The complete check of memory and overlaps, with detailed messages. */
static tenon_status check_operands(const tenon_plan *plan, tenon_context *context,
                                   const tn_operand *operands)
{
    tenon_tensor views[TN_MAX_OPERANDS];
    tn_call call = {.caller = plan->caller, .operand_count = plan->operand_count};
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        const tn_plan_operand *planned = &plan->operands[i];
        views[i] = planned->view;
        views[i].memory = operands[i].memory;
        views[i].offset = operands[i].offset;
        call.operands[i] =
            (tn_argument){planned->name, planned->present ? &views[i] : NULL, planned->role};
    }
    return tn_call_check_memory(&call, context);
}

/* Returns the memories of all operands: the caller's, and those bound to the plan. */
static const tenon_memory *all_memories(const tenon_plan *plan, const tenon_memory *memories,
                                        tenon_memory all[TN_MAX_OPERANDS])
{
    if (plan->kept_count == 0)
        return memories;
    for (uint32_t i = 0; i < plan->operand_count; i++)
        all[i] = plan->operands[i].is_bound ? plan->operands[i].view.memory : *memories++;
    return all;
}

/* Scalars of a run: the plan's own, with the values that the run sets. */
typedef struct run_scalars {
    const double *values;
    const tenon_scalar *given;
    uint32_t given_count;
} run_scalars;

static tenon_status run_verbosely(tenon_stream *stream, const tenon_plan *plan,
                                  const tn_operand *operands, const run_scalars *scalars,
                                  const tenon_sync *sync)
{
    char text[TN_SCALARS_TEXT_SIZE];
    tn_verbose_operand named[TN_MAX_OPERANDS];
    for (uint32_t i = 0; i < plan->operand_count; i++)
        named[i] = (tn_verbose_operand){plan->operands[i].name,
                                        plan->operands[i].present ? &plan->operands[i].view : NULL};
    return tn_verbose_run(plan, stream, operands, scalars->values, named, plan->operand_count,
                          tn_scalars_text(scalars->given, scalars->given_count, text), sync);
}

static tenon_status run_unchecked(tenon_stream *stream, const tenon_plan *plan,
                                  const tn_operand *operands, const run_scalars *scalars,
                                  const tenon_sync *sync)
{
    if (stream->context->reports.is_verbose)
        return run_verbosely(stream, plan, operands, scalars, sync);
    return tn_recording_run(plan->caller, plan->name, stream, &plan->recording, operands,
                            scalars->values, sync);
}

static tenon_status plan_run_run(tenon_stream *stream, const tenon_plan *plan,
                                 const tn_operand *operands, const run_scalars *scalars,
                                 const tenon_sync *sync)
{
    tn_numerics numerics;
    if (!tn_numerics_enabled(stream, plan->operation))
        return run_unchecked(stream, plan, operands, scalars, sync);
    tn_numerics_of_plan(plan, operands, &numerics);
    tn_numerics_before(stream, &numerics, sync);
    TN_TRY(run_unchecked(stream, plan, operands, scalars, sync));
    tn_numerics_after(stream, &numerics);
    return TENON_OK;
}

TENON_API tenon_status tenon_plan_run(tenon_stream *stream, const tenon_plan *plan,
                                      const tenon_memory *memories, uint32_t count,
                                      const tenon_sync *sync)
{
    tn_operand operands[TN_MAX_OPERANDS];
    tenon_memory all[TN_MAX_OPERANDS];
    static const char caller[] = "tenon_plan_run";
    TN_TRY(tn_stream_check(caller, stream));
    if (plan == NULL || memories == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       plan == NULL ? "plan" : "memories");
    TN_TRY(check_run(caller, stream, plan, memories, count));
    TN_TRY(tn_plan_await(plan));
    memories = all_memories(plan, memories, all);
    for (uint32_t i = 0; i < plan->operand_count; i++)
        operands[i] = plan->operands[i].present
                          ? (tn_operand){memories[i], plan->operands[i].view.offset}
                          : (tn_operand){0};
    if (!is_plain(plan, stream->context, memories))
        TN_TRY(check_operands(plan, stream->context, operands));
    return plan_run_run(stream, plan, operands, &(run_scalars){plan->scalars, NULL, 0}, sync);
}

TENON_API tenon_status tenon_plan_run_operands(tenon_stream *stream, const tenon_plan *plan,
                                               const tenon_operand *given, uint32_t count,
                                               const tenon_scalar *scalars, uint32_t scalar_count,
                                               const tenon_sync *sync)
{
    static const char caller[] = "tenon_plan_run_operands";
    tn_operand operands[TN_MAX_OPERANDS] = {{{0}, 0}};
    double own[TN_MAX_SCALARS];
    TN_TRY(tn_stream_check(caller, stream));
    if (plan == NULL || (given == NULL && count > 0) || (scalars == NULL && scalar_count > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       plan == NULL                 ? "plan"
                       : given == NULL && count > 0 ? "operands"
                                                    : "scalars");
    TN_TRY(check_stream(caller, stream, plan));
    TN_TRY(take_operands(caller, plan, given, count, operands));
    if (scalar_count > 0)
        TN_TRY(tn_scalars_take(caller, plan, scalars, scalar_count, own));
    const run_scalars taken = {scalar_count > 0 ? own : plan->scalars, scalars, scalar_count};
    TN_TRY(tn_plan_await(plan));
    TN_TRY(check_operands(plan, stream->context, operands));
    return plan_run_run(stream, plan, operands, &taken, sync);
}

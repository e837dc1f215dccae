/* The object of tenon/sequence.h: its references, its memory and its steps. */
#include "base/grow.h"
#include "base/platform.h"
#include "ops/sequence/internal.h"
#include "runtime/opencl/gate.h"

#include <stdlib.h>
#include <string.h>

static tenon_status sequence_no_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a sequence", caller);
}

TENON_API tenon_status tenon_sequence_create(tenon_context *context, tenon_sequence **sequence)
{
    static const char caller[] = "tenon_sequence_create";
    if (sequence != NULL)
        *sequence = NULL;
    if (context == NULL || sequence == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       sequence == NULL ? "sequence" : "context");
    TN_TRY(tn_gate_check(caller));
    tenon_sequence *made = calloc(1, sizeof *made);
    if (made == NULL)
        return sequence_no_memory(caller);
    atomic_init(&made->references, 1);
    tenon_context_retain(context);
    made->context = context;
    made->recording.context = context;
    *sequence = made;
    return TENON_OK;
}

TENON_API void tenon_sequence_retain(tenon_sequence *sequence)
{
    if (sequence != NULL)
        atomic_fetch_add(&sequence->references, 1);
}

void tn_sequence_drop_step(sequence_step *step)
{
    tenon_plan_release(step->plan);
    free(step->label);
    free(step->given);
}

void tn_sequence_shorten(tenon_sequence *sequence, uint32_t count)
{
    while (sequence->step_count > count)
        tn_sequence_drop_step(&sequence->steps[--sequence->step_count]);
    tn_sequence_count_uses(sequence);
}

TENON_API void tenon_sequence_release(tenon_sequence *sequence)
{
    if (sequence == NULL || atomic_fetch_sub(&sequence->references, 1) != 1)
        return;
    tn_recording_destroy(&sequence->recording);
    for (uint32_t i = 0; i < sequence->step_count; i++)
        tn_sequence_drop_step(&sequence->steps[i]);
    for (uint32_t i = 0; i < sequence->memory_count; i++) {
        free(sequence->memories[i]->name);
        free(sequence->memories[i]);
    }
    for (uint32_t i = 0; i < sequence->constant_count; i++)
        tenon_memory_destroy(&sequence->constants[i]);
    tenon_context *context = sequence->context;
    free(sequence->constants);
    free(sequence->memories);
    free(sequence->steps);
    free(sequence->scalars);
    free(sequence->bound);
    free(sequence);
    tenon_context_release(context);
}

tenon_status tn_sequence_check(const char *caller, const tenon_sequence *sequence)
{
    if (sequence == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: sequence is NULL", caller);
    if (sequence->is_finished)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: sequence %p is finished and cannot be changed", caller,
                       (const void *)sequence);
    return tn_gate_check(caller);
}

sequence_memory *tn_sequence_memory(const tenon_sequence *sequence, const tenon_memory *memory)
{
    for (uint32_t i = 0; memory->kind == TENON_MEMORY_SEQUENCE && i < sequence->memory_count; i++)
        if (sequence->memories[i] == memory->u.svm)
            return sequence->memories[i];
    return NULL;
}

static tenon_status check_name(const char *caller, const tenon_sequence *sequence, const char *name)
{
    if (name == NULL)
        return TENON_OK;
    if (name[0] == '\0')
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: name is an empty string", caller);
    for (uint32_t i = 0; i < sequence->operand_count; i++)
        if (strcmp(sequence->operands[i]->name, name) == 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: name: \"%s\" is an operand of the sequence already", caller, name);
    if (sequence->operand_count == SEQUENCE_OPERANDS)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: name: \"%s\" would be operand %d, at most %d",
                       caller, name, SEQUENCE_OPERANDS + 1, SEQUENCE_OPERANDS);
    return TENON_OK;
}

static tenon_status add_memory(const char *caller, tenon_sequence *sequence, const char *name,
                               sequence_memory **out)
{
    sequence_memory *memory = calloc(1, sizeof *memory);
    if (memory != NULL && name != NULL)
        memory->name = tn_text_copy(name);
    if (memory == NULL || (name != NULL && memory->name == NULL) ||
        !tn_grow(&sequence->memories, sequence->memory_count, &sequence->memory_capacity,
                 sizeof *sequence->memories)) {
        if (memory != NULL)
            free(memory->name);
        free(memory);
        return sequence_no_memory(caller);
    }
    sequence->memories[sequence->memory_count++] = memory;
    if (name != NULL) {
        memory->number = (uint16_t)sequence->operand_count;
        sequence->operands[sequence->operand_count++] = memory;
    }
    *out = memory;
    return TENON_OK;
}

TENON_API tenon_status tenon_sequence_tensor(tenon_sequence *sequence, const char *name,
                                             tenon_dtype dtype, uint32_t rank, const int64_t *shape,
                                             tenon_tensor *tensor)
{
    static const char caller[] = "tenon_sequence_tensor";
    sequence_memory *memory = NULL;
    TN_TRY(tn_sequence_check(caller, sequence));
    if (tensor == NULL || (shape == NULL && rank > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       tensor == NULL ? "tensor" : "shape");
    TN_TRY(check_name(caller, sequence, name));
    tenon_tensor view = tenon_tensor_view(dtype, rank, shape);
    TN_TRY(tn_tensor_check(caller, "tensor", &view));
    TN_TRY(add_memory(caller, sequence, name, &memory));
    view.memory = (tenon_memory){.kind = TENON_MEMORY_SEQUENCE, .u.svm = memory};
    *tensor = view;
    return TENON_OK;
}

TENON_API uint64_t tenon_sequence_workspace(const tenon_sequence *sequence)
{
    return sequence != NULL ? sequence->recording.workspace : 0;
}

TENON_API uint32_t tenon_sequence_steps(const tenon_sequence *sequence)
{
    return sequence != NULL ? sequence->step_count : 0;
}

TENON_API const tenon_plan *tenon_sequence_step(const tenon_sequence *sequence, uint32_t step)
{
    return sequence != NULL && step < sequence->step_count ? sequence->steps[step].plan : NULL;
}

TENON_API const char *tenon_sequence_operand_name(const tenon_sequence *sequence, uint32_t index)
{
    return sequence != NULL && index < sequence->operand_count ? sequence->operands[index]->name
                                                               : NULL;
}

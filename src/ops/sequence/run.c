/* Running a sequence. */
#include "base/platform.h"
#include "ops/sequence/internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char run_caller[] = "tenon_sequence_run";

/* Writes the operands' names, for messages. */
static const char *list_operands(const tenon_sequence *sequence, char text[512])
{
    size_t used = 0;
    snprintf(text, 512, "none");
    for (uint32_t i = 0; i < sequence->operand_count && used < 512; i++)
        used += (size_t)snprintf(text + used, 512 - used, "%s%s", i > 0 ? ", " : "",
                                 sequence->operands[i]->name);
    return text;
}

/* Returns the operand with this name, or NULL. `guess` is a likely index. */
static const sequence_memory *find_memory(const tenon_sequence *sequence, const char *name,
                                          uint32_t guess)
{
    if (guess < sequence->operand_count && strcmp(sequence->operands[guess]->name, name) == 0)
        return sequence->operands[guess];
    for (uint32_t i = 0; i < sequence->operand_count; i++)
        if (strcmp(sequence->operands[i]->name, name) == 0)
            return sequence->operands[i];
    return NULL;
}

/* Returns all bytes of an operand that steps use. */
static tenon_tensor bytes_of(uint64_t offset, uint64_t bytes, tenon_memory memory)
{
    return (tenon_tensor){.memory = memory,
                          .offset = offset,
                          .dtype = TENON_DTYPE_U8,
                          .rank = 1,
                          .shape = {(int64_t)bytes},
                          .stride = {1}};
}

static tenon_status take_one(const tenon_sequence *sequence, const tenon_operand *given,
                             uint32_t at, bool *is_given, tn_operand *operands)
{
    char names[512], argument[32];
    snprintf(argument, sizeof argument, "operands[%u]", at);
    if (given->name == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: name is NULL", run_caller, argument);
    const sequence_memory *memory = find_memory(sequence, given->name, at);
    if (memory == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: \"%s\" is not an operand of the sequence, whose operands are %s",
                       run_caller, argument, given->name, list_operands(sequence, names));
    if (is_given[memory->number])
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: \"%s\" is given twice", run_caller,
                       argument, given->name);
    TN_TRY(tn_handle_check(run_caller, given->name, &given->memory));
    if (given->offset % memory->unit != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: offset is %" PRIu64
                       " bytes, must be a multiple of the element size %zu",
                       run_caller, given->name, given->offset, memory->unit);
    const tenon_tensor view = bytes_of(given->offset, memory->bytes, given->memory);
    TN_TRY(tn_tensor_check(run_caller, given->name, &view));
    is_given[memory->number] = true;
    operands[memory->number] = (tn_operand){given->memory, given->offset};
    return TENON_OK;
}

static tenon_status take_all(const tenon_sequence *sequence, const tenon_operand *given,
                             uint32_t count, tn_operand *operands)
{
    bool is_given[SEQUENCE_OPERANDS] = {false};
    char names[512];
    /* For the static analysis, which does not know that tn_fail never returns TENON_OK. */
    for (uint32_t i = 0; i < sequence->operand_count; i++)
        operands[i] = (tn_operand){0};
    for (uint32_t i = 0; i < count; i++)
        TN_TRY(take_one(sequence, &given[i], i, is_given, operands));
    for (uint32_t i = 0; i < sequence->operand_count; i++)
        if (!is_given[i])
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: \"%s\" is missing; the operands of the sequence are %s", run_caller,
                           sequence->operands[i]->name, list_operands(sequence, names));
    return TENON_OK;
}

static tenon_tensor operand_bytes(const tenon_sequence *sequence, const tn_operand *operands,
                                  uint32_t i)
{
    return bytes_of(operands[i].offset, sequence->operands[i]->bytes, operands[i].memory);
}

/* Checks an operand against those before it and all bound memory. */
static tenon_status check_one_apart(const tenon_sequence *sequence, const tn_operand *operands,
                                    uint32_t i)
{
    const sequence_memory *memory = sequence->operands[i];
    const tenon_tensor own = operand_bytes(sequence, operands, i);
    for (uint32_t k = 0; k < i; k++) {
        const tenon_tensor other = operand_bytes(sequence, operands, k);
        const bool writes_own = memory->is_written;
        if (writes_own || sequence->operands[k]->is_written)
            TN_TRY(tn_memory_check_apart(run_caller, sequence->operands[writes_own ? k : i]->name,
                                         writes_own ? &other : &own,
                                         sequence->operands[writes_own ? i : k]->name,
                                         writes_own ? &own : &other, false));
    }
    for (uint32_t k = 0; k < sequence->bound_count; k++) {
        const sequence_bound *bound = &sequence->bound[k];
        const tenon_tensor other = bytes_of(0, bound->bytes, sequence->recording.bound[k].memory);
        if (memory->is_written)
            TN_TRY(tn_memory_check_apart(run_caller, "the memory bound to a step", &other,
                                         memory->name, &own, false));
        else if (bound->is_written)
            TN_TRY(tn_memory_check_apart(run_caller, memory->name, &own, "bound to a step", &other,
                                         false));
    }
    return TENON_OK;
}

/* Returns true if an operand's buffer is neither that of another operand nor bound, or if nothing
 * writes to either of them. */
static bool has_own_buffer(const tenon_sequence *sequence, const tn_operand *operands, uint32_t i)
{
    const cl_mem buffer = operands[i].memory.u.buffer;
    const bool is_written = sequence->operands[i]->is_written;
    for (uint32_t k = 0; k < i; k++)
        if (operands[k].memory.u.buffer == buffer &&
            (is_written || sequence->operands[k]->is_written))
            return false;
    for (uint32_t k = 0; k < sequence->bound_count; k++)
        if (sequence->recording.bound[k].memory.u.buffer == buffer &&
            (is_written || sequence->bound[k].is_written))
            return false;
    return true;
}

/* Quick check for the common case: long enough buffers, of which none is a sub-buffer. */
static bool all_are_plain(const tenon_sequence *sequence, const tn_operand *operands)
{
    for (uint32_t i = 0; i < sequence->operand_count; i++)
        if (!tn_memory_is_plain(sequence->context, &operands[i].memory,
                                operands[i].offset + sequence->operands[i]->bytes) ||
            !has_own_buffer(sequence, operands, i))
            return false;
    return sequence->bound_is_plain;
}

/* Checks the memory of all operands. */
static tenon_status check_memories(const tenon_sequence *sequence, const tn_operand *operands)
{
    if (all_are_plain(sequence, operands))
        return TENON_OK;
    for (uint32_t i = 0; i < sequence->operand_count; i++) {
        const tenon_tensor own = operand_bytes(sequence, operands, i);
        TN_TRY(tn_memory_check(run_caller, sequence->operands[i]->name, sequence->context, &own));
        TN_TRY(check_one_apart(sequence, operands, i));
    }
    return TENON_OK;
}

/* Returns the part of a scalar's name after "label.", or NULL if it has another label. */
static const char *own_name(const char *name, const char *label)
{
    const size_t length = label != NULL ? strlen(label) : 0;
    return label != NULL && strncmp(name, label, length) == 0 && name[length] == '.'
               ? name + length + 1
               : NULL;
}

/* Sets the scalars of a step that are given, and marks them as used. */
static tenon_status set_step(const sequence_step *step, const tenon_scalar *given, uint32_t count,
                             bool *is_used, double *scalars)
{
    tenon_scalar own[TN_MAX_SCALARS];
    uint32_t own_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = own_name(given[i].name, step->label);
        if (name == NULL)
            continue;
        is_used[i] = true;
        if (own_count == TN_MAX_SCALARS)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: scalars[%u]: \"%s\": the steps with this label have at most %d",
                           run_caller, i, given[i].name, TN_MAX_SCALARS);
        own[own_count] = given[i];
        own[own_count++].name = name;
    }
    return own_count > 0
               ? tn_sequence_scalars(run_caller, step, own, own_count, scalars + step->first_scalar)
               : TENON_OK;
}

static tenon_status set_scalars(const tenon_sequence *sequence, const tenon_scalar *given,
                                uint32_t count, bool *is_used, double *scalars)
{
    memcpy(scalars, sequence->scalars, sequence->scalar_count * sizeof *scalars);
    for (uint32_t i = 0; i < count; i++)
        if (given[i].name == NULL)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: scalars[%u]: name is NULL",
                           run_caller, i);
    for (uint32_t s = 0; s < sequence->step_count; s++)
        TN_TRY(set_step(&sequence->steps[s], given, count, is_used, scalars));
    for (uint32_t i = 0; i < count; i++)
        if (!is_used[i])
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: scalars[%u]: \"%s\": no step of the sequence has this label; names "
                           "are LABEL.SCALAR",
                           run_caller, i, given[i].name);
    return TENON_OK;
}

static tenon_status run_recording(tenon_stream *stream, const tenon_sequence *sequence,
                                  const tn_operand *operands, const double *scalars,
                                  const tenon_sync *sync)
{
    if (!stream->context->reports.is_verbose)
        return tn_recording_run(run_caller, "sequence", stream, &sequence->recording, operands,
                                scalars, sync);
    TN_TRY(tenon_stream_finish(stream)); /* excludes the time of work that was enqueued before */
    const uint64_t began = tn_now();
    TN_TRY(tn_recording_run(run_caller, "sequence", stream, &sequence->recording, operands, scalars,
                            sync));
    TN_TRY(tenon_stream_finish(stream));
    fprintf(stderr, "tenon: %.1f us %s steps=%u launches=%u workspace=%" PRIu64 "\n",
            1e-3 * (double)(tn_now() - began), run_caller, sequence->step_count,
            sequence->recording.step_count, sequence->recording.workspace);
    return TENON_OK;
}

/* Runs with other scalars than those of the steps. */
static tenon_status run_with_scalars(tenon_stream *stream, const tenon_sequence *sequence,
                                     const tn_operand *operands, const tenon_scalar *given,
                                     uint32_t count, const tenon_sync *sync)
{
    double *scalars = malloc((sequence->scalar_count + 1) * sizeof *scalars);
    bool *is_used = calloc(count, sizeof *is_used);
    tenon_status status =
        scalars != NULL && is_used != NULL
            ? set_scalars(sequence, given, count, is_used, scalars)
            : tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the scalars", run_caller);
    if (status == TENON_OK)
        status = run_recording(stream, sequence, operands, scalars, sync);
    free(scalars);
    free(is_used);
    return status;
}

static tenon_status check_call(const tenon_stream *stream, const tenon_sequence *sequence,
                               const tenon_operand *operands, uint32_t count,
                               const tenon_scalar *scalars, uint32_t scalar_count)
{
    if (sequence == NULL || (operands == NULL && count > 0) ||
        (scalars == NULL && scalar_count > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", run_caller,
                       sequence == NULL                ? "sequence"
                       : operands == NULL && count > 0 ? "operands"
                                                       : "scalars");
    if (!sequence->is_finished)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: sequence %p is not finished: tenon_sequence_finish", run_caller,
                       (const void *)sequence);
    if (stream->context != sequence->context)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: stream %p and the sequence belong to different contexts", run_caller,
                       (const void *)stream);
    return TENON_OK;
}

TENON_API tenon_status tenon_sequence_run(tenon_stream *stream, const tenon_sequence *sequence,
                                          const tenon_operand *operands, uint32_t count,
                                          const tenon_scalar *scalars, uint32_t scalar_count,
                                          const tenon_sync *sync)
{
    tn_operand taken[SEQUENCE_OPERANDS];
    TN_TRY(tn_stream_check(run_caller, stream));
    TN_TRY(check_call(stream, sequence, operands, count, scalars, scalar_count));
    TN_TRY(take_all(sequence, operands, count, taken));
    TN_TRY(check_memories(sequence, taken));
    return scalar_count > 0 ? run_with_scalars(stream, sequence, taken, scalars, scalar_count, sync)
                            : run_recording(stream, sequence, taken, sequence->scalars, sync);
}

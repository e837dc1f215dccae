/* Finishing a sequence: placing its intermediates, and recording the launches of its plans. */
#include "base/grow.h"
#include "ops/sequence/internal.h"

#include <stdlib.h>
#include <string.h>

static tenon_status record_no_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the launches of a sequence",
                   caller);
}

/* Something to be placed in the workspace: an intermediate, or the workspace of a plan. */
typedef struct placement {
    uint64_t bytes, *at;
    uint32_t first, last; /* steps during which it is in use */
} placement;

/* Orders by decreasing size, since large pieces are placed best while there are few others. */
static int compare_placements(const void *a, const void *b)
{
    const placement *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->first != y->first ? (x->first < y->first ? -1 : 1) : 0;
}

static uint32_t list_placements(tenon_sequence *sequence, placement *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < sequence->memory_count; i++) {
        sequence_memory *m = sequence->memories[i];
        if (m->name == NULL && m->uses > 0)
            list[count++] = (placement){m->bytes, &m->at, m->first, m->last};
    }
    for (uint32_t s = 0; s < sequence->step_count; s++) {
        sequence_step *step = &sequence->steps[s];
        if (step->plan->recording.workspace > 0)
            list[count++] = (placement){step->plan->recording.workspace, &step->workspace_at, s, s};
    }
    return count;
}

static tenon_status place(const char *caller, tenon_sequence *sequence)
{
    const size_t room = (size_t)sequence->memory_count + sequence->step_count + 1;
    placement *list = malloc(room * sizeof *list);
    tn_pieces pieces = {.piece = malloc(room * sizeof *pieces.piece)};
    const bool has_memory = list != NULL && pieces.piece != NULL;
    if (has_memory) {
        const uint32_t count = list_placements(sequence, list);
        qsort(list, count, sizeof *list, compare_placements);
        for (uint32_t i = 0; i < count; i++)
            *list[i].at = tn_pieces_add(&pieces, list[i].bytes, list[i].first, list[i].last);
    }
    sequence->recording.workspace = pieces.bytes;
    free(list);
    free(pieces.piece);
    return has_memory ? TENON_OK : record_no_memory(caller);
}

/* Sets `*number` to the operand number of memory that is not the sequence's. Absent operands have
 * one too, since launches may name them. */
static tenon_status bind(const char *caller, tenon_sequence *sequence, const tenon_memory *memory,
                         uint16_t *number)
{
    tn_recording *recording = &sequence->recording;
    uint32_t i = 0, capacity = sequence->bound_capacity;
    while (i < sequence->bound_count && !tn_memory_is_same(&recording->bound[i].memory, memory))
        i++;
    if (TN_BOUND + i > UINT16_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: steps use more than %u different memories",
                       caller, i);
    if (i == sequence->bound_count) {
        if (!tn_grow(&recording->bound, i, &capacity, sizeof *recording->bound) ||
            !tn_grow(&sequence->bound, i, &sequence->bound_capacity, sizeof *sequence->bound))
            return record_no_memory(caller);
        recording->bound[i] = (tn_operand){*memory, 0};
        sequence->bound[i] = (sequence_bound){0};
        sequence->bound_count++;
    }
    *number = (uint16_t)(TN_BOUND + i);
    return TENON_OK;
}

/* Maps an operand of a step. */
static tenon_status map_operand(const char *caller, tenon_sequence *sequence,
                                const sequence_step *step, uint32_t operand, tn_frame *frame)
{
    const tn_operand *given = &step->operands[operand];
    const sequence_memory *memory = tn_sequence_memory(sequence, &given->memory);
    uint16_t number = TN_BOUND;
    if (memory != NULL) {
        const bool is_operand = memory->name != NULL;
        tn_frame_operand(frame, operand, is_operand ? memory->number : TN_WORKSPACE,
                         (int64_t)(given->offset + (is_operand ? 0 : memory->at)));
        return TENON_OK;
    }
    TN_TRY(bind(caller, sequence, &given->memory, &number));
    tn_frame_operand(frame, operand, number, (int64_t)given->offset);
    if (tn_sequence_has(step, operand)) {
        const tenon_tensor view = tn_sequence_view(step, operand);
        sequence_bound *bound = &sequence->bound[number - TN_BOUND];
        const uint64_t end = tn_tensor_extent(&view).end;
        bound->bytes = end > bound->bytes ? end : bound->bytes;
        bound->is_written |= step->plan->operands[operand].output;
    }
    return TENON_OK;
}

static tenon_status record_step(const char *caller, tenon_sequence *sequence,
                                const sequence_step *step)
{
    tn_frame frame = tn_frame_after(step->workspace_at);
    for (uint32_t i = 0; i < step->plan->operand_count; i++)
        TN_TRY(map_operand(caller, sequence, step, i, &frame));
    if (step->label != NULL)
        tn_frame_scalars(&frame, (uint16_t)step->first_scalar, TN_MAX_SCALARS);
    else
        tn_frame_constants(&frame, step->scalars, TN_MAX_SCALARS);
    tn_frame_enter(&sequence->recording, &frame);
    const tenon_status status =
        tn_recording_append(caller, step->plan->name, &sequence->recording, &step->plan->recording);
    tn_frame_leave(&sequence->recording);
    return status;
}

/* Numbers the scalars of the steps with a label, and stores their values. */
static tenon_status number_scalars(const char *caller, tenon_sequence *sequence)
{
    uint32_t count = 0;
    for (uint32_t s = 0; s < sequence->step_count; s++)
        if (sequence->steps[s].label != NULL) {
            sequence->steps[s].first_scalar = count;
            count += TN_MAX_SCALARS;
        }
    if (count > UINT16_MAX)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %u steps have labels, at most %d", caller,
                       count / TN_MAX_SCALARS, UINT16_MAX / TN_MAX_SCALARS);
    sequence->scalars = malloc((count + 1) * sizeof *sequence->scalars);
    if (sequence->scalars == NULL)
        return record_no_memory(caller);
    sequence->scalar_count = count;
    for (uint32_t s = 0; s < sequence->step_count; s++) {
        const sequence_step *step = &sequence->steps[s];
        if (step->label != NULL)
            memcpy(sequence->scalars + step->first_scalar, step->scalars, sizeof step->scalars);
    }
    return TENON_OK;
}

static tenon_status record_all(const char *caller, tenon_sequence *sequence)
{
    TN_TRY(place(caller, sequence));
    TN_TRY(number_scalars(caller, sequence));
    for (uint32_t s = 0; s < sequence->step_count; s++)
        TN_TRY(record_step(caller, sequence, &sequence->steps[s]));
    sequence->bound_is_plain = true;
    for (uint32_t i = 0; i < sequence->bound_count; i++) {
        const tenon_memory *memory = &sequence->recording.bound[i].memory;
        sequence->bound_is_plain &=
            memory->kind == TENON_MEMORY_NONE ||
            tn_memory_is_plain(sequence->context, memory, sequence->bound[i].bytes);
    }
    return TENON_OK;
}

/* Removes an incomplete recording. */
static void forget(tenon_sequence *sequence)
{
    tn_recording_destroy(&sequence->recording);
    sequence->recording.context = sequence->context;
    free(sequence->scalars);
    free(sequence->bound);
    sequence->scalars = NULL;
    sequence->bound = NULL;
    sequence->bound_count = sequence->bound_capacity = sequence->scalar_count = 0;
}

TENON_API tenon_status tenon_sequence_finish(tenon_sequence *sequence)
{
    static const char caller[] = "tenon_sequence_finish";
    TN_TRY(tn_sequence_check(caller, sequence));
    for (uint32_t i = 0; i < sequence->operand_count; i++)
        if (sequence->operands[i]->uses == 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: no step uses the operand \"%s\"",
                           caller, sequence->operands[i]->name);
    TN_TRY(tn_sequence_merge(caller, sequence));
    const tenon_status status = record_all(caller, sequence);
    if (status != TENON_OK)
        forget(sequence);
    sequence->is_finished = status == TENON_OK;
    return status;
}

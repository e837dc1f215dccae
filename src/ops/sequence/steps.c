/* Adding steps to a sequence. */
#include "base/grow.h"
#include "base/platform.h"
#include "dispatch/operation.h"
#include "dispatch/plan_scalars.h"
#include "dispatch/prepare.h"
#include "ops/elementwise/internal.h"
#include "ops/registry.h"
#include "ops/sequence/internal.h"

#include <stdlib.h>
#include <string.h>

bool tn_sequence_has(const sequence_step *step, uint32_t operand)
{
    return step->operands[operand].memory.kind != TENON_MEMORY_NONE;
}

tenon_tensor tn_sequence_view(const sequence_step *step, uint32_t operand)
{
    tenon_tensor view = step->plan->operands[operand].view;
    view.memory = step->operands[operand].memory;
    view.offset = step->operands[operand].offset;
    return view;
}

/* Returns true if a plan reads the operand. */
static bool is_read(const tenon_plan *plan, uint32_t operand)
{
    const tn_plan_operand *o = &plan->operands[operand];
    return !o->output || (plan->operation->operands[operand].read && !o->unread);
}

static void count_use(tenon_sequence *sequence, uint32_t number, uint32_t operand)
{
    const sequence_step *step = &sequence->steps[number];
    sequence_memory *memory = tn_sequence_memory(sequence, &step->operands[operand].memory);
    if (memory == NULL)
        return;
    const tenon_tensor view = tn_sequence_view(step, operand);
    const tn_extent extent = tn_tensor_extent(&view);
    const size_t unit = tenon_dtype_size(view.dtype);
    if (memory->uses++ == 0)
        memory->first = number;
    memory->last = number;
    memory->is_written |= step->plan->operands[operand].output;
    if (extent.end > memory->bytes)
        memory->bytes = extent.end;
    if (unit > memory->unit)
        memory->unit = unit;
}

void tn_sequence_count_uses(tenon_sequence *sequence)
{
    for (uint32_t i = 0; i < sequence->memory_count; i++) {
        sequence_memory *memory = sequence->memories[i];
        *memory = (sequence_memory){.name = memory->name, .number = memory->number};
    }
    for (uint32_t s = 0; s < sequence->step_count; s++)
        for (uint32_t i = 0; i < sequence->steps[s].plan->operand_count; i++)
            count_use(sequence, s, i);
}

/* Returns true if a tensor has the layout that an operand of the plan was planned with. */
static bool fits(const tenon_tensor *tensor, const tenon_tensor *planned)
{
    tenon_tensor moved = *tensor;
    moved.offset = planned->offset;
    return tn_tensor_same_view(&moved, planned);
}

/* Checks the memory of a present, non-empty operand. */
static tenon_status check_operand_memory(const char *caller, const tenon_sequence *sequence,
                                         const tenon_plan *plan, uint32_t operand,
                                         const tenon_tensor *tensor)
{
    const char *name = plan->operands[operand].name;
    if (tensor->memory.kind != TENON_MEMORY_SEQUENCE)
        return tn_memory_check(caller, name, sequence->context, tensor);
    const sequence_memory *memory = tn_sequence_memory(sequence, &tensor->memory);
    if (memory == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s: its memory is of another sequence",
                       caller, name);
    if (memory->name == NULL && !memory->is_written && is_read(plan, operand))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: reads an intermediate that no step has written", caller, name);
    return TENON_OK;
}

/* Checks the tensor for an operand, and stores its memory. */
static tenon_status take_tensor(const char *caller, const tenon_sequence *sequence,
                                const tenon_plan *plan, uint32_t operand,
                                const tenon_tensor *tensor, tn_operand *out)
{
    const tn_plan_operand *planned = &plan->operands[operand];
    char shape[160];
    if (!planned->present && (tensor == NULL || planned->given))
        return TENON_OK;
    if (!planned->present || tensor == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is %s, the plan of %s was made %s it",
                       caller, planned->name, tensor == NULL ? "NULL" : "given", plan->caller,
                       tensor == NULL ? "with" : "without");
    TN_TRY(tn_tensor_check(caller, planned->name, tensor));
    if (!fits(tensor, &planned->view))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %s: type is %s and shape is %s, which is not the type, shape and "
                       "strides that the plan of %s was made with",
                       caller, planned->name, tenon_dtype_string(tensor->dtype),
                       tn_shape_text(tensor->rank, tensor->shape, shape), plan->caller);
    if (tn_tensor_empty(tensor))
        return TENON_OK;
    TN_TRY(check_operand_memory(caller, sequence, plan, operand, tensor));
    *out = (tn_operand){tensor->memory, tensor->offset};
    return TENON_OK;
}

static tenon_status take_tensors(const char *caller, const tenon_sequence *sequence,
                                 const tenon_tensor *const *tensors, uint32_t count,
                                 sequence_step *step)
{
    const tenon_plan *plan = step->plan;
    uint32_t next = 0;
    for (uint32_t i = 0; i < plan->operand_count; i++)
        if (plan->operands[i].is_bound)
            step->operands[i] =
                (tn_operand){plan->operands[i].view.memory, plan->operands[i].view.offset};
        else if (next < count)
            TN_TRY(take_tensor(caller, sequence, plan, i, tensors[next++], &step->operands[i]));
    return TENON_OK;
}

tenon_status tn_sequence_check_apart(const char *caller, const sequence_step *step)
{
    const tenon_plan *plan = step->plan;
    tenon_tensor views[TN_MAX_OPERANDS];
    tn_call call = {.caller = caller, .operand_count = plan->operand_count};
    for (uint32_t i = 0; i < plan->operand_count; i++) {
        views[i] = tn_sequence_view(step, i);
        call.operands[i] =
            (tn_argument){plan->operands[i].name, tn_sequence_has(step, i) ? &views[i] : NULL,
                          plan->operands[i].role};
    }
    return tn_call_check_apart(&call);
}

/* Stores the scalars under the names in the plan, which are static strings. */
static void store_scalars(const tenon_plan *plan, const tenon_scalar *given, uint32_t count,
                          tenon_scalar *out)
{
    for (uint32_t i = 0; i < count; i++) {
        out[i] = given[i];
        tenon_scalar planned = tenon_plan_scalar(plan, 0);
        for (uint32_t k = 0; planned.name != NULL; planned = tenon_plan_scalar(plan, ++k))
            if (strcmp(planned.name, given[i].name) == 0)
                out[i].name = planned.name;
    }
}

tenon_status tn_sequence_scalars(const char *caller, const sequence_step *step,
                                 const tenon_scalar *given, uint32_t count,
                                 double scalars[TN_MAX_SCALARS])
{
    tenon_scalar all[2 * TN_MAX_SCALARS];
    uint32_t all_count = 0;
    if (count > TN_MAX_SCALARS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: %u scalars are given for a step of %s, at most %d", caller, count,
                       step->plan->caller, TN_MAX_SCALARS);
    for (uint32_t i = 0; i < step->given_count; i++) {
        bool is_replaced = false;
        for (uint32_t k = 0; k < count; k++)
            is_replaced |= given[k].name != NULL && strcmp(given[k].name, step->given[i].name) == 0;
        if (!is_replaced)
            all[all_count++] = step->given[i];
    }
    memcpy(scalars, step->plan->scalars, sizeof step->plan->scalars);
    if (count > 0)
        memcpy(all + all_count, given, count * sizeof *given);
    all_count += count;
    return all_count > 0 ? tn_scalars_take(caller, step->plan, all, all_count, scalars) : TENON_OK;
}

/* Copies the label and the scalars of a step. */
static tenon_status take_own(const char *caller, const char *label, const tenon_scalar *scalars,
                             uint32_t count, sequence_step *step)
{
    TN_TRY(tn_sequence_scalars(caller, step, scalars, count, step->scalars));
    step->label = label != NULL ? tn_text_copy(label) : NULL;
    step->given = malloc((count + 1) * sizeof *step->given);
    if ((label != NULL && step->label == NULL) || step->given == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a step", caller);
    store_scalars(step->plan, scalars, count, step->given);
    step->given_count = count;
    return TENON_OK;
}

static tenon_status check_arguments(const char *caller, const tenon_sequence *sequence,
                                    const tenon_plan *plan, const tenon_tensor *const *tensors,
                                    uint32_t count, const tenon_scalar *scalars,
                                    uint32_t scalar_count)
{
    TN_TRY(tn_sequence_check(caller, sequence));
    if (plan == NULL || (tensors == NULL && count > 0) || (scalars == NULL && scalar_count > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       plan == NULL                   ? "plan"
                       : tensors == NULL && count > 0 ? "tensors"
                                                      : "scalars");
    if (plan->recording.context != sequence->context)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: the plan and the sequence belong to different contexts", caller);
    if (count != tenon_plan_operands(plan))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: count is %u, %s has %u operands", caller,
                       count, plan->caller, tenon_plan_operands(plan));
    return tn_plan_await(plan);
}

static tenon_status add_step(const char *caller, tenon_sequence *sequence, const char *label,
                             const tenon_plan *plan, const tenon_tensor *const *tensors,
                             uint32_t count, const tenon_scalar *scalars, uint32_t scalar_count)
{
    /* Casts away const: only the reference count of the plan changes. */
    sequence_step step = {.plan = (tenon_plan *)(uintptr_t)plan};
    TN_TRY(check_arguments(caller, sequence, plan, tensors, count, scalars, scalar_count));
    TN_TRY(take_tensors(caller, sequence, tensors, count, &step));
    TN_TRY(tn_sequence_check_apart(caller, &step));
    tenon_plan_retain(step.plan);
    tenon_status status = take_own(caller, label, scalars, scalar_count, &step);
    if (status == TENON_OK && !tn_grow(&sequence->steps, sequence->step_count,
                                       &sequence->step_capacity, sizeof *sequence->steps))
        status = tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a step", caller);
    if (status != TENON_OK) {
        tn_sequence_drop_step(&step);
        return status;
    }
    sequence->steps[sequence->step_count++] = step;
    for (uint32_t i = 0; i < plan->operand_count; i++)
        count_use(sequence, sequence->step_count - 1, i);
    return TENON_OK;
}

TENON_API tenon_status tenon_sequence_add(tenon_sequence *sequence, const char *label,
                                          const tenon_plan *plan,
                                          const tenon_tensor *const *tensors, uint32_t count,
                                          const tenon_scalar *scalars, uint32_t scalar_count)
{
    return add_step("tenon_sequence_add", sequence, label, plan, tensors, count, scalars,
                    scalar_count);
}

static tenon_status add_copy(const char *caller, tenon_sequence *sequence,
                             const tenon_copy_params *params, const tenon_tensor *x,
                             const tenon_tensor *y)
{
    tenon_plan *plan;
    const tenon_tensor *const views[] = {x, y};
    TN_TRY(
        tn_operation_plan_as(caller, &tn_operation_copy, sequence->context, params, views, &plan));
    const tenon_status status = add_step(caller, sequence, NULL, plan, views, 2, NULL, 0);
    tenon_plan_release(plan);
    return status;
}

TENON_API tenon_status tenon_sequence_copy(tenon_sequence *sequence,
                                           const tenon_copy_params *params, const tenon_tensor *x,
                                           const tenon_tensor *y)
{
    static const char caller[] = "tenon_sequence_copy";
    TN_TRY(tn_sequence_check(caller, sequence));
    return add_copy(caller, sequence, params, x, y);
}

static tenon_status add_copies(const tn_concat *c, tenon_sequence *sequence,
                               const tenon_copy_params *copy)
{
    int64_t start = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        tenon_tensor slice;
        tn_concat_slice(c, i, &start, &slice);
        if (!tn_tensor_empty(&slice) && !tn_same_elements(c->inputs[i], &slice))
            TN_TRY(add_copy(c->caller, sequence, copy, c->inputs[i], &slice));
    }
    return TENON_OK;
}

TENON_API tenon_status tenon_sequence_concat(tenon_sequence *sequence,
                                             const tenon_concat_params *params,
                                             const tenon_tensor *const *inputs, uint32_t count,
                                             const tenon_tensor *y)
{
    static const char caller[] = "tenon_sequence_concat";
    tenon_copy_params copy;
    TN_TRY(tn_sequence_check(caller, sequence));
    tn_concat c = {caller, sequence->context, inputs, count, 0, y, true};
    TN_TRY(tn_concat_take(&c, params, &copy));
    const uint32_t before = sequence->step_count;
    const tenon_status status = add_copies(&c, sequence, &copy);
    if (status != TENON_OK)
        tn_sequence_shorten(sequence, before);
    return status;
}

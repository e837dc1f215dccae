/* Checks of a call that are independent of the operation. */
#include "dispatch/operation.h"

tenon_status tn_params_check(const char *caller, uint32_t size, size_t known_size, uint32_t flags,
                             uint32_t known_flags)
{
    if (size != known_size)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: struct_size is %u, must be %zu",
                       caller, size, known_size);
    if ((flags & ~known_flags) != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: flags is %#x, valid flags are %#x", caller, flags, known_flags);
    return TENON_OK;
}

tenon_status tn_reserved_check(const char *caller, uint32_t reserved)
{
    if (reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: reserved is %u, must be 0",
                       caller, reserved);
    return TENON_OK;
}

tenon_status tn_kind_check(const char *caller, const char *parameter, uint32_t kind, uint32_t last,
                           const char *type)
{
    if (kind > last)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: %s is %u, which is not a %s",
                       caller, parameter, kind, type);
    return TENON_OK;
}

bool tn_is_output(tn_role role)
{
    return role == TN_OUTPUT || role == TN_OPTIONAL_OUTPUT || role == TN_OWN_OUTPUT;
}

static bool is_output(const tn_argument *operand)
{
    return tn_is_output(operand->role);
}

tenon_status tn_call_check_views(const tn_call *call)
{
    for (uint32_t i = 0; i < call->operand_count; i++) {
        const tn_argument *operand = &call->operands[i];
        if (operand->view != NULL || !call->operation->operands[i].optional)
            TN_TRY(tn_tensor_check(call->caller, operand->name, operand->view));
        if (operand->view != NULL && is_output(operand))
            TN_TRY(tn_output_check(call->caller, operand->name, operand->view));
    }
    return TENON_OK;
}

/* No input may overlap an output, and no two outputs may overlap. */
static tenon_status check_apart(const tn_call *call, const tn_argument *output)
{
    for (const tn_argument *other = call->operands; other < call->operands + call->operand_count;
         other++) {
        if (other->view == NULL || other == output || (is_output(other) && other > output))
            continue; /* each pair of outputs is compared once */
        TN_TRY(tn_memory_check_apart(
            call->caller, other->name, other->view, output->name, output->view,
            other->role == TN_INPUT_OR_SAME && output->role != TN_OWN_OUTPUT));
    }
    return TENON_OK;
}

/* Quick check for the common case: all buffers are plain and cannot overlap. */
static bool is_plain(const tn_call *call, const tenon_context *context)
{
    for (const tn_argument *x = call->operands; x < call->operands + call->operand_count; x++) {
        if (x->view == NULL)
            continue;
        if (!tn_memory_is_plain(context, &x->view->memory, tn_tensor_extent(x->view).end))
            return false;
        for (const tn_argument *y = call->operands; y < x; y++)
            if (y->view != NULL && y->view->memory.u.buffer == x->view->memory.u.buffer &&
                (is_output(x) || is_output(y)))
                return false;
    }
    return true;
}

tenon_status tn_call_check_apart(const tn_call *call)
{
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (call->operands[i].view != NULL && is_output(&call->operands[i]))
            TN_TRY(check_apart(call, &call->operands[i]));
    return TENON_OK;
}

tenon_status tn_call_check_memory(const tn_call *call, tenon_context *context)
{
    if (is_plain(call, context))
        return TENON_OK;
    for (uint32_t i = 0; i < call->operand_count; i++)
        if (call->operands[i].view != NULL)
            TN_TRY(tn_memory_check(call->caller, call->operands[i].name, context,
                                   call->operands[i].view));
    return tn_call_check_apart(call);
}

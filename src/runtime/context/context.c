#include "runtime/context/context.h"

#include "base/sized.h"
#include "runtime/opencl/gate.h"
#include "runtime/memory/heap.h"
#include "runtime/program/binary_writer.h"

TENON_API void tenon_context_retain(tenon_context *context)
{
    if (context != NULL)
        atomic_fetch_add(&context->references, 1);
}

TENON_API cl_context tenon_context_cl(const tenon_context *context)
{
    if (context == NULL)
        return NULL;
    tn_binary_writer_shares(context);
    return context->cl;
}

TENON_API tenon_status tenon_context_device(const tenon_context *context, tenon_device_info *info)
{
    static const char caller[] = "tenon_context_device";
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", caller);
    TN_TRY(tn_sized_check(caller, "info", info));
    tn_sized_fill(info, &context->device.info, sizeof context->device.info);
    return TENON_OK;
}

TENON_API tenon_status tenon_context_trim(tenon_context *context, uint64_t bytes)
{
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "tenon_context_trim: context is NULL");
    TN_TRY(tn_gate_check("tenon_context_trim"));
    if (context->memory.heap != NULL)
        tn_heap_trim(context->memory.heap, bytes);
    return TENON_OK;
}

void *tn_context_slot(tenon_context *context, tn_slot_id id, void *(*create)(void),
                      void (*destroy)(void *))
{
    tn_slot *slot = &context->slots[id];
    tn_mutex_lock(&context->slot_lock);
    if (slot->data == NULL) {
        slot->data = create();
        slot->destroy = destroy;
    }
    void *data = slot->data;
    tn_mutex_unlock(&context->slot_lock);
    return data;
}

tenon_context *tn_validation_if_made(tenon_context *context)
{
    return atomic_load(&context->validation.context);
}

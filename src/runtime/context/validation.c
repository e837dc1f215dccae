#include "runtime/context/validation.h"

#include "runtime/context/context_create.h"
#include "runtime/program/binary_writer.h"
#include "runtime/queue/stream.h"

#include <tenon/tensor.h>

static tenon_status make(tenon_context *context, tenon_context **validation, tenon_stream **stream)
{
    TN_TRY(tn_context_for_validation("private context", context, validation));
    tenon_status status = tenon_stream_create(*validation, NULL, stream);
    if (status != TENON_OK)
        tenon_context_release(*validation);
    return status;
}

static tenon_status make_first(tenon_context *context)
{
    tenon_context *made;
    TN_TRY(make(context, &made, &context->validation.stream));
    atomic_store(&context->validation.context, made);
    return TENON_OK;
}

tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream)
{
    context = context->owner != NULL ? context->owner : context;
    tn_recursive_mutex_lock(&context->validation.lock);
    tenon_status status =
        atomic_load(&context->validation.context) != NULL ? TENON_OK : make_first(context);
    *stream = context->validation.stream;
    if (status == TENON_OK && context->validation.depth++ == 0)
        tn_binary_writer_hold();
    if (status != TENON_OK)
        tn_recursive_mutex_unlock(&context->validation.lock);
    return status;
}

void tn_validation_leave(tenon_context *context)
{
    tn_deferred_line *lines = NULL;
    context = context->owner != NULL ? context->owner : context;
    if (--context->validation.depth == 0) {
        lines = context->validation.lines;
        context->validation.lines = NULL;
        tn_binary_writer_release();
    }
    tn_recursive_mutex_unlock(&context->validation.lock);
    tn_deferred_lines_send(&context->reports.log, lines);
}

/* Returns true if a number can be written to the device and read back. */
static bool takes_commands(tenon_stream *stream)
{
    const float sent = 1;
    float received = 0;
    tenon_tensor tensor;
    if (tenon_tensor_create(stream->context, TENON_DTYPE_F32, 0, NULL, &tensor) != TENON_OK)
        return false;
    const bool takes =
        tenon_tensor_upload(stream, &sent, sizeof sent, &tensor, NULL) == TENON_OK &&
        tenon_tensor_download(stream, &tensor, &received, sizeof received, NULL) == TENON_OK;
    tenon_memory_destroy(&tensor.memory);
    return takes && received == sent;
}

/* Replaces the validation context. The old one is released with its owner, since other threads may
 * hold programs of it, and outer callers its stream. */
static void replace(tn_validation *validation, tenon_context *made, tenon_stream *stream)
{
    tenon_context *old = atomic_load(&validation->context);
    old->validation.replaced.stream = validation->stream;
    old->validation.replaced.next = validation->retired;
    validation->retired = old;
    validation->stream = stream;
    atomic_store(&validation->context, made);
}

static bool renew(tenon_context *context)
{
    tenon_context *made;
    tenon_stream *stream;
    if (takes_commands(context->validation.stream) || make(context, &made, &stream) != TENON_OK)
        return false;
    if (takes_commands(stream)) {
        replace(&context->validation, made, stream);
        return true;
    }
    /* The device itself is lost or out of resources: no kernel variant is at fault. */
    tenon_stream_destroy(stream);
    tenon_context_release(made);
    return false;
}

bool tn_validation_renewed(tenon_context *context, tenon_stream **stream)
{
    tn_kept_message kept;
    context = context->owner != NULL ? context->owner : context;
    if (!tn_message_keep(&kept))
        return false;
    const bool renewed = renew(context);
    *stream = context->validation.stream;
    tn_message_restore(&kept);
    return renewed;
}

#include "runtime/validation.h"

#include "runtime/context_create.h"

static tenon_status make_validation(tenon_context *context)
{
    tenon_context *validation = NULL;
    TN_TRY(tn_context_for_validation("private context", context, &validation));
    tenon_status status = tenon_stream_create(validation, NULL, &context->validation.stream);
    if (status != TENON_OK) {
        tenon_context_release(validation);
        return status;
    }
    atomic_store(&context->validation.context, validation);
    return TENON_OK;
}

tenon_status tn_validation_enter(tenon_context *context, tenon_stream **stream)
{
    context = context->owner != NULL ? context->owner : context;
    pthread_mutex_lock(&context->validation.lock);
    tenon_status status =
        atomic_load(&context->validation.context) != NULL ? TENON_OK : make_validation(context);
    *stream = context->validation.stream;
    if (status == TENON_OK)
        context->validation.depth++;
    else
        pthread_mutex_unlock(&context->validation.lock);
    return status;
}

void tn_validation_leave(tenon_context *context)
{
    tn_late_line *lines = NULL;
    context = context->owner != NULL ? context->owner : context;
    if (--context->validation.depth == 0) {
        lines = context->validation.lines;
        context->validation.lines = NULL;
    }
    pthread_mutex_unlock(&context->validation.lock);
    tn_late_lines_send(&context->log, lines);
}

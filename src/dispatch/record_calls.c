#include "dispatch/record_calls.h"

#include "base/platform.h"

void tn_call_record(tenon_context *context, const tn_call *call)
{
    char text[TN_REPEAT_SIZE + 1];
    if (context->policy.record == NULL || context->owner != NULL || call == NULL)
        return;
    tn_call_text(call, text);
    const size_t length = strlen(text);
    text[length] = '\n';
    const int error = tn_file_append(context->policy.record, text, length + 1);
    if (error == 0 || atomic_exchange(&context->policy.record_failed, true))
        return;
    tn_log_send(&context->reports.log, TENON_LOG_WARNING, "TENON_RECORD: file %s: error %d",
                context->policy.record, error);
}

#include "dispatch/verbose.h"

#include "base/shape_text.h"

#include <stdio.h>
#include <string.h>

/* Appends an operand, truncated to the room that is left. */
static void add(char text[TN_REPEAT_SIZE], const char *name, const tenon_tensor *view)
{
    char shape[160];
    const size_t length = strlen(text);
    snprintf(text + length, TN_REPEAT_SIZE - length, " %s=%s:%s", name,
             tenon_dtype_string(view->dtype), tn_shape_text(view->rank, view->shape, shape));
}

tenon_status tn_verbose_run(const tenon_plan *plan, tenon_stream *stream,
                            const tn_operand *operands, const double *scalars,
                            const tn_verbose_operand *named, uint32_t count,
                            const char *scalars_text, const tenon_sync *sync)
{
    char text[TN_REPEAT_SIZE] = "";
    TN_TRY(tenon_stream_finish(stream)); /* excludes the time of work that was enqueued before */
    const uint64_t began = tn_now();
    TN_TRY(tn_recording_run(plan->caller, plan->name, stream, &plan->recording, operands, scalars,
                            sync));
    TN_TRY(tenon_stream_finish(stream));
    const double microseconds = 1e-3 * (double)(tn_now() - began);
    for (uint32_t i = 0; i < count; i++)
        if (named[i].view != NULL)
            add(text, named[i].name, named[i].view);
    fprintf(stderr, "tenon: %.1f us %s %s%s%s\n", microseconds, plan->caller, plan->name, text,
            scalars_text);
    return TENON_OK;
}

#include "runtime/keeper.h"

#include "base/platform.h"
#include "runtime/followed.h"
#include "runtime/opencl.h"
#include "runtime/program.h"
#include "runtime/validation.h"

#include <tenon/statistics.h>

#include <stdlib.h>

/* How long the end of a context may take; what is left then is for the next process. */
#define MOST_END_NANOSECONDS UINT64_C(1000000000)

/* What PoCL must not be doing is done in the whole process: this is global for its sake alone. */
static tn_mutex lock = TN_MUTEX_INIT;
static tn_condition changed = TN_CONDITION_INIT;
static unsigned contexts;
static bool is_keeping;
static _Thread_local bool keeps; /* this thread does */

/* What is built in a validation context is its owner's to keep. */
static bool waits_to_keep(const tenon_context *context)
{
    return context->owner == NULL && context->store != NULL && context->device.keeps_builds;
}

/* With the lock held. A callback of the log may make a context or a stream on the thread that
 * writes, which is between two programs then. */
static void wait_for_others(void)
{
    while (is_keeping && !keeps)
        tn_condition_wait(&changed, &lock);
}

void tn_keeper_enter(void)
{
    tn_mutex_lock(&lock);
    wait_for_others();
    contexts++;
    tn_mutex_unlock(&lock);
}

void tn_keeper_stream_begins(tenon_context *context)
{
    if (!waits_to_keep(context))
        return;
    tn_mutex_lock(&lock);
    wait_for_others();
    context->work.streams++;
    tn_mutex_unlock(&lock);
}

/* With the lock held: forgets what is over; whether there is anything else. */
static bool has_work(tn_pending_work *work)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < work->end_count; i++)
        if (tn_event_is_over(work->ends[i]))
            clReleaseEvent(work->ends[i]);
        else
            work->ends[left++] = work->ends[i];
    work->end_count = left;
    return left > 0 || work->is_unknown;
}

/* With the lock held. */
static bool append_end(tn_pending_work *work, cl_event end)
{
    cl_event *ends = realloc(work->ends, (work->end_count + 1) * sizeof(cl_event));
    if (ends == NULL)
        return false;
    work->ends = ends;
    ends[work->end_count++] = end;
    return true;
}

void tn_keeper_stream_ends(tenon_context *context, cl_command_queue queue)
{
    cl_event end = NULL;
    if (!waits_to_keep(context))
        return;
    bool is_known = clEnqueueMarkerWithWaitList(queue, 0, NULL, &end) == CL_SUCCESS &&
                    clFlush(queue) == CL_SUCCESS;
    tn_mutex_lock(&lock);
    has_work(&context->work);
    is_known = is_known && append_end(&context->work, end);
    context->work.is_unknown |= !is_known;
    context->work.streams--;
    tn_mutex_unlock(&lock);
    if (!is_known && end != NULL)
        clReleaseEvent(end);
}

/* With the lock held. */
static bool wait_for_work(tn_pending_work *work, uint64_t until)
{
    while (has_work(work)) {
        if (work->is_unknown || tn_now() > until)
            return false;
        tn_sleep(1000000);
    }
    return true;
}

static void keep_until(tenon_context *context, uint64_t until)
{
    for (uint32_t at = 0; tn_now() <= until && tn_programs_keep_next(context, &at);)
        ;
}

/* The validation context's come first: they have run all that they have. It is held, so that
 * nobody who makes a plan runs anything there. */
static void keep_all(tenon_context *context, uint64_t until)
{
    tenon_context *validation = tn_validation_if_made(context);
    tenon_stream *stream;
    const bool is_held = validation != NULL && tn_validation_enter(context, &stream) == TENON_OK;
    if (is_held && tenon_stream_finish(stream) == TENON_OK)
        keep_until(validation, until);
    if (validation == NULL || is_held)
        keep_until(context, until);
    if (is_held)
        tn_validation_leave(context);
}

/* With the lock held, which is free meanwhile, since the log may be told. */
static void keep(tenon_context *context, uint64_t until)
{
    is_keeping = keeps = true;
    tn_mutex_unlock(&lock);
    keep_all(context, until);
    tn_mutex_lock(&lock);
    is_keeping = keeps = false;
    tn_condition_broadcast(&changed);
}

void tn_keeper_leave(tenon_context *context)
{
    const uint64_t until = tn_now() + MOST_END_NANOSECONDS;
    tn_pending_work *work = &context->work;
    tn_mutex_lock(&lock);
    if (waits_to_keep(context) && contexts == 1 && !is_keeping && wait_for_work(work, until))
        keep(context, until);
    contexts--;
    tn_mutex_unlock(&lock);
    for (uint32_t i = 0; i < work->end_count; i++)
        clReleaseEvent(work->ends[i]);
    free(work->ends);
}

/* Why nothing can be written now; NULL where it can. With the lock held. */
static const char *why_not(tenon_context *context)
{
    if (context->work.streams > 0)
        return "the context has streams";
    if (contexts > 1 || is_keeping)
        return "the process has other contexts";
    return wait_for_work(&context->work, UINT64_MAX)
               ? NULL
               : "it is not known whether a stream has ended its work";
}

TENON_API tenon_status tenon_context_keep(tenon_context *context)
{
    static const char operation[] = "tenon_context_keep";
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", operation);
    if (!waits_to_keep(context))
        return TENON_OK;
    tn_mutex_lock(&lock);
    const char *why = why_not(context);
    if (why == NULL)
        keep(context, UINT64_MAX);
    tn_mutex_unlock(&lock);
    if (why != NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s, and a kernel may be running", operation,
                       why);
    return TENON_OK;
}

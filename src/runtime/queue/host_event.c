#include "runtime/queue/host_event.h"

#include "base/platform.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/opencl.h"

#include <stdlib.h>

tenon_status tn_host_event_enqueue(const char *caller, tenon_stream *stream, cl_event *event,
                                   cl_event *after)
{
    cl_int error;
    *event = clCreateUserEvent(stream->context->cl, &error);
    TN_CL_TRY(caller, "clCreateUserEvent", error);
    stream->awaits_host = true;
    const tenon_sync sync = {.wait_list = event, .wait_count = 1, .event = after};
    const tenon_status status = tn_sync_marker(caller, stream, &sync);
    if (status != TENON_OK)
        tn_host_event_complete(*event);
    return status;
}

/* Attempts to complete an event, a millisecond apart. */
#define ATTEMPTS 1000

void tn_host_event_complete(cl_event event)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        const cl_int error = clSetUserEventStatus(event, CL_COMPLETE);
        if (error != CL_OUT_OF_RESOURCES && error != CL_OUT_OF_HOST_MEMORY)
            return;
        tn_sleep(1000000);
    }
}

static tenon_status fail_earlier(const char *caller, const char *function, cl_int error)
{
    return tn_fail_cl(TENON_ERROR_ASYNCHRONOUS, error, "%s: earlier work has failed: %s: %s",
                      caller, function, tn_cl_error_string(error));
}

tenon_status tn_event_wait(const char *caller, cl_event event)
{
    const cl_int error = clWaitForEvents(1, &event);
    return error == CL_SUCCESS ? TENON_OK : fail_earlier(caller, "clWaitForEvents", error);
}

tenon_status tn_event_test(const char *caller, cl_event event, bool *over)
{
    cl_int state = CL_QUEUED;
    const cl_int error =
        clGetEventInfo(event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
    *over = state == CL_COMPLETE;
    if (error == CL_SUCCESS && state >= CL_COMPLETE)
        return TENON_OK;
    return fail_earlier(caller, "clGetEventInfo", error != CL_SUCCESS ? error : state);
}

static void CL_CALLBACK free_block(cl_event event, cl_int state, void *block)
{
    (void)event;
    (void)state;
    free(block);
}

void tn_event_free_after(cl_event event, void *block)
{
    clSetEventCallback(event, CL_COMPLETE, free_block, block);
}

void tn_event_release(cl_event event)
{
    if (event != NULL)
        clReleaseEvent(event);
}

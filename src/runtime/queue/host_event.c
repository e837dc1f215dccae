#include "runtime/queue/host_event.h"

#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/opencl.h"

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

void tn_host_event_complete(cl_event event)
{
    clSetUserEventStatus(event, CL_COMPLETE);
}

tenon_status tn_event_wait(const char *caller, cl_event event)
{
    const cl_int error = clWaitForEvents(1, &event);
    return error == CL_SUCCESS ? TENON_OK
                               : tn_fail_cl(TENON_ERROR_ASYNCHRONOUS, error,
                                            "%s: earlier work has failed: clWaitForEvents: %s",
                                            caller, tn_cl_error_string(error));
}

void tn_event_release(cl_event event)
{
    if (event != NULL)
        clReleaseEvent(event);
}

/* The next call queries the event of each command. If the driver reports a failure earlier, the
 * application is told at once. Callbacks alone are not enough: PoCL 3.1 makes none for an event
 * that fails (tests/drivers/test_failed_events.c). */
#include "runtime/queue/watch.h"

#include "base/platform.h"
#include "runtime/opencl/cl_error.h"
#include "runtime/opencl/listener.h"
#include "runtime/opencl/opencl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE 512

typedef struct watched {
    struct watched *next;
    cl_event event;
    const char *caller;
    bool is_told;
    char label[TN_WATCH_LABEL];
} watched;

struct tn_watch {
    tenon_failure_callback callback;
    void *user;
    tn_listener *listener;
    tn_mutex lock; /* guards the members below; only the stream's thread changes the list */
    watched *first, **last; /* in order of completion */
    /* Kept until the stream is destroyed: PoCL 3.1 still uses an event after its status says that
     * it has failed (tests/drivers/test_failed_events.c). */
    watched *failed;
    watched *spare; /* for the next command; used by the stream's thread */
    cl_int error;   /* of the first failure that was not reported yet; or CL_SUCCESS */
    char text[TEXT_SIZE];
};

tn_watch *tn_watch_create(tenon_failure_callback callback, void *user)
{
    tn_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    watch->callback = callback;
    watch->user = user;
    watch->last = &watch->first;
    if (tn_mutex_init(&watch->lock)) {
        watch->listener = tn_listener_begin(watch);
        if (watch->listener != NULL)
            return watch;
        tn_mutex_destroy(&watch->lock);
    }
    free(watch);
    return NULL;
}

static void release(tn_watch *watch, watched *w)
{
    tn_listener_wait(watch->listener); /* the driver may be inside the callback for this event */
    clReleaseEvent(w->event);
    free(w);
}

static watched *take_first(tn_watch *watch)
{
    watched *w = watch->first;
    tn_mutex_lock(&watch->lock);
    watch->first = w->next;
    if (watch->first == NULL)
        watch->last = &watch->first;
    tn_mutex_unlock(&watch->lock);
    return w;
}

void tn_watch_destroy(tn_watch *watch)
{
    if (watch == NULL)
        return;
    tn_listener_stop(watch->listener);
    while (watch->first != NULL)
        release(watch, take_first(watch));
    while (watch->failed != NULL) {
        watched *w = watch->failed;
        watch->failed = w->next;
        release(watch, w);
    }
    tn_listener_end(watch->listener);
    tn_mutex_destroy(&watch->lock);
    free(watch->spare);
    free(watch);
}

static tenon_status status_of(cl_int error)
{
    return tn_cl_loses_device(error) ? TENON_ERROR_DEVICE_LOST : TENON_ERROR_ASYNCHRONOUS;
}

static void describe(char text[TEXT_SIZE], const char *caller, const char *label, cl_int error)
{
    snprintf(text, TEXT_SIZE, "work of %s%s%s has failed on the device: %s (%d)", caller,
             label[0] != '\0' ? ", by " : "", label, tn_cl_error_string(error), error);
}

tenon_status tn_fail_earlier(const char *caller, const char *earlier, cl_int error)
{
    char text[TEXT_SIZE];
    describe(text, earlier, "", error);
    return tn_fail_cl(status_of(error), error, "%s: earlier %s", caller, text);
}

/* Reports a failure once, from the stream's thread or the driver's, whichever comes first. The
 * command stays in the list. */
static void tell(tn_watch *watch, watched *w, cl_int error)
{
    char text[TEXT_SIZE];
    tn_mutex_lock(&watch->lock);
    const bool was_told = w->is_told;
    w->is_told = true;
    describe(text, w->caller, w->label, error);
    if (!was_told && watch->error == CL_SUCCESS) {
        watch->error = error;
        memcpy(watch->text, text, sizeof text);
    }
    tn_mutex_unlock(&watch->lock);
    const tenon_failure failure = {.struct_size = sizeof failure,
                                   .status = (uint32_t)status_of(error),
                                   .cl_error = error,
                                   .operation = w->caller,
                                   .solver = w->label,
                                   .message = text};
    if (!was_told)
        watch->callback(watch->user, &failure);
}

static void CL_CALLBACK hear(cl_event event, cl_int state, void *number)
{
    tn_watch *watch = state < 0 ? tn_listener_enter(number) : NULL;
    if (watch == NULL)
        return;
    tn_mutex_lock(&watch->lock);
    watched *w = watch->first;
    while (w != NULL && w->event != event)
        w = w->next;
    tn_mutex_unlock(&watch->lock);
    if (w != NULL)
        tell(watch, w, state);
    tn_listener_leave(number);
}

bool tn_watch_reserve(tn_watch *watch)
{
    if (watch->spare == NULL)
        watch->spare = malloc(sizeof *watch->spare);
    return watch->spare != NULL;
}

void tn_watch_event(tn_watch *watch, cl_event event, const char *caller, const char *label)
{
    watched *w = watch->spare;
    watch->spare = NULL;
    *w = (watched){.event = event, .caller = caller};
    snprintf(w->label, sizeof w->label, "%s", label != NULL ? label : "");
    tn_mutex_lock(&watch->lock);
    *watch->last = w;
    watch->last = &w->next;
    tn_mutex_unlock(&watch->lock);
    clSetEventCallback(event, CL_COMPLETE, hear, tn_listener_number(watch->listener));
}

tenon_status tn_watch_take(const char *caller, tn_watch *watch)
{
    cl_int state;
    while (watch->first != NULL &&
           clGetEventInfo(watch->first->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state,
                          &state, NULL) == CL_SUCCESS &&
           state <= CL_COMPLETE) {
        if (state == CL_COMPLETE) {
            release(watch, take_first(watch));
            continue;
        }
        tell(watch, watch->first, state);
        watched *w = take_first(watch);
        w->next = watch->failed;
        watch->failed = w;
    }
    tn_mutex_lock(&watch->lock);
    const cl_int error = watch->error;
    if (error != CL_SUCCESS)
        tn_fail_cl(status_of(error), error, "%s: earlier %s", caller, watch->text);
    watch->error = CL_SUCCESS;
    tn_mutex_unlock(&watch->lock);
    return error != CL_SUCCESS ? status_of(error) : TENON_OK;
}

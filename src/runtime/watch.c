#include "runtime/watch.h"

#include "runtime/cl_error.h"
#include "runtime/opencl.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_SIZE    512
#define MOST_SECONDS 2 /* that a driver may take to tell what has ended */

struct tn_watch {
    atomic_uint references; /* the stream's, and that of each event that is still to come */
    tenon_failure_callback callback;
    void *user;
    atomic_bool has_failed;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t told;
    unsigned pending;
    cl_int error; /* of the first failure */
    char text[TEXT_SIZE];
};

/* What a driver's callback is given. */
typedef struct watched {
    tn_watch *watch;
    const char *operation;
    char label[];
} watched;

tn_watch *tn_watch_create(tenon_failure_callback callback, void *user)
{
    tn_watch *watch = calloc(1, sizeof *watch);
    if (watch == NULL)
        return NULL;
    if (pthread_mutex_init(&watch->lock, NULL) != 0) {
        free(watch);
        return NULL;
    }
    if (pthread_cond_init(&watch->told, NULL) != 0) {
        pthread_mutex_destroy(&watch->lock);
        free(watch);
        return NULL;
    }
    atomic_init(&watch->references, 1);
    atomic_init(&watch->has_failed, false);
    watch->callback = callback;
    watch->user = user;
    return watch;
}

void tn_watch_release(tn_watch *watch)
{
    if (watch == NULL || atomic_fetch_sub(&watch->references, 1) != 1)
        return;
    pthread_cond_destroy(&watch->told);
    pthread_mutex_destroy(&watch->lock);
    free(watch);
}

static tenon_status status_of(cl_int error)
{
    return tn_cl_loses_device(error) ? TENON_ERROR_DEVICE_LOST : TENON_ERROR_ASYNCHRONOUS;
}

static void describe(char text[TEXT_SIZE], const char *operation, const char *label, cl_int error)
{
    const bool has_label = label != NULL && label[0] != '\0';
    snprintf(text, TEXT_SIZE, "work of %s%s%s has failed on the device: %s (%d)", operation,
             has_label ? ", by " : "", has_label ? label : "", tn_cl_error_string(error), error);
}

tenon_status tn_fail_earlier(const char *operation, const char *earlier, const char *label,
                             cl_int error)
{
    char text[TEXT_SIZE];
    describe(text, earlier, label, error);
    return tn_fail_cl(status_of(error), error, "%s: earlier %s", operation, text);
}

/* On a thread of the driver's. */
static void CL_CALLBACK end(cl_event event, cl_int state, void *user)
{
    watched *w = user;
    tn_watch *watch = w->watch;
    char text[TEXT_SIZE];
    (void)event;
    if (state < 0) {
        describe(text, w->operation, w->label, state);
        const tenon_failure failure = {.struct_size = sizeof failure,
                                       .status = (uint32_t)status_of(state),
                                       .cl_error = state,
                                       .operation = w->operation,
                                       .solver = w->label,
                                       .message = text};
        pthread_mutex_lock(&watch->lock);
        if (!atomic_load(&watch->has_failed)) {
            watch->error = state;
            memcpy(watch->text, text, sizeof text);
            atomic_store(&watch->has_failed, true);
        }
        pthread_mutex_unlock(&watch->lock);
        watch->callback(watch->user, &failure);
    }
    free(w);
    pthread_mutex_lock(&watch->lock);
    watch->pending--;
    pthread_cond_broadcast(&watch->told);
    pthread_mutex_unlock(&watch->lock);
    tn_watch_release(watch);
}

void tn_watch_event(tn_watch *watch, cl_event event, const char *operation, const char *label)
{
    const size_t length = label != NULL ? strlen(label) : 0;
    watched *w = malloc(sizeof *w + length + 1);
    if (w == NULL)
        return;
    *w = (watched){watch, operation};
    memcpy(w->label, label != NULL ? label : "", length + 1);
    atomic_fetch_add(&watch->references, 1);
    pthread_mutex_lock(&watch->lock);
    watch->pending++;
    pthread_mutex_unlock(&watch->lock);
    if (clSetEventCallback(event, CL_COMPLETE, end, w) == CL_SUCCESS)
        return;
    end(event, CL_COMPLETE, w);
}

tenon_status tn_watch_take(const char *operation, tn_watch *watch)
{
    if (!atomic_load_explicit(&watch->has_failed, memory_order_acquire))
        return TENON_OK;
    pthread_mutex_lock(&watch->lock);
    const cl_int error = watch->error;
    tn_fail_cl(status_of(error), error, "%s: earlier %s", operation, watch->text);
    atomic_store(&watch->has_failed, false);
    pthread_mutex_unlock(&watch->lock);
    return status_of(error);
}

void tn_watch_settle(tn_watch *watch)
{
    struct timespec until;
    timespec_get(&until, TIME_UTC);
    until.tv_sec += MOST_SECONDS;
    pthread_mutex_lock(&watch->lock);
    while (watch->pending > 0)
        if (pthread_cond_timedwait(&watch->told, &watch->lock, &until) != 0)
            break;
    pthread_mutex_unlock(&watch->lock);
}

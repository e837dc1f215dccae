#include "runtime/keeper.h"

#include "runtime/program.h"

#include <errno.h>
#include <time.h>

#define QUIET_SECONDS 1
/* How long the end of a context may wait; what is left then is for the next process. */
#define MOST_END_NANOSECONDS UINT64_C(1000000000)

tenon_status tn_keeper_init(const char *operation, tn_keeper *keeper)
{
    if (pthread_mutex_init(&keeper->lock, NULL) != 0)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: the context's locks cannot be made",
                       operation);
    if (pthread_cond_init(&keeper->changed, NULL) == 0)
        return TENON_OK;
    pthread_mutex_destroy(&keeper->lock);
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: the context's locks cannot be made", operation);
}

/* With the lock held. */
static bool is_late(const tn_keeper *keeper)
{
    return keeper->is_ending && tn_now() > keeper->ends;
}

/* The validation context's come first: they have run all that they have. */
static void keep_all(tenon_context *context)
{
    tenon_context *contexts[2] = {tn_validation_if_made(context), context};
    for (int i = 0; i < 2; i++) {
        bool goes_on = contexts[i] != NULL;
        for (uint32_t at = 0; goes_on && tn_programs_keep_next(contexts[i], &at);) {
            pthread_mutex_lock(&context->keeper.lock);
            goes_on = !is_late(&context->keeper);
            pthread_mutex_unlock(&context->keeper.lock);
        }
    }
}

/* With the lock held: waits until nothing has been noted for a while. */
static void wait_for_quiet(tn_keeper *keeper)
{
    unsigned seen;
    do {
        struct timespec until;
        seen = keeper->noted;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += QUIET_SECONDS;
        while (!keeper->is_ending && seen == keeper->noted &&
               pthread_cond_timedwait(&keeper->changed, &keeper->lock, &until) != ETIMEDOUT)
            ;
    } while (!keeper->is_ending && seen != keeper->noted);
}

static void *work(void *data)
{
    tenon_context *context = data;
    tn_keeper *keeper = &context->keeper;
    pthread_mutex_lock(&keeper->lock);
    while (!keeper->is_ending || keeper->done != keeper->noted) {
        if (keeper->done == keeper->noted) {
            pthread_cond_wait(&keeper->changed, &keeper->lock);
            continue;
        }
        wait_for_quiet(keeper);
        keeper->done = keeper->noted;
        pthread_mutex_unlock(&keeper->lock);
        keep_all(context);
        pthread_mutex_lock(&keeper->lock);
    }
    pthread_mutex_unlock(&keeper->lock);
    return NULL;
}

void tn_keeper_note(tenon_context *context)
{
    context = context->owner != NULL ? context->owner : context;
    tn_keeper *keeper = &context->keeper;
    if (context->store == NULL || !context->device.keeps_builds)
        return;
    pthread_mutex_lock(&keeper->lock);
    keeper->noted++;
    if (!keeper->has_thread)
        keeper->has_thread = pthread_create(&keeper->thread, NULL, work, context) == 0;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
}

void tn_keeper_finish(tenon_context *context)
{
    tn_keeper *keeper = &context->keeper;
    pthread_mutex_lock(&keeper->lock);
    keeper->is_ending = true;
    keeper->ends = tn_now() + MOST_END_NANOSECONDS;
    pthread_cond_signal(&keeper->changed);
    pthread_mutex_unlock(&keeper->lock);
    if (keeper->has_thread)
        pthread_join(keeper->thread, NULL);
    pthread_cond_destroy(&keeper->changed);
    pthread_mutex_destroy(&keeper->lock);
}

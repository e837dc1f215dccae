/* Writes built programs to the store when the driver, PoCL, cannot return them directly after the
 * build. */
#include "runtime/program/binary_writer.h"

#include "runtime/context/context.h"
#include "base/checked.h"
#include "base/platform.h"
#include "runtime/opencl/gate.h"
#include "runtime/opencl/opencl.h"
#include "runtime/context/process_end.h"
#include "runtime/program/program.h"

#include <tenon/statistics.h>

#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)

/* Time limit for the release of a context. The next process writes the programs that remain. */
#define MAX_END (1000 * MILLISECOND)

/* The thread polls every TICK. It writes a program when no call was made for `patience`, which is
 * as long as the last write took, from MIN_IDLE to MAX_IDLE. A call that arrives during the write
 * must wait; `patience` is then doubled. */
#define TICK     (20 * MILLISECOND)
#define MIN_IDLE (100 * MILLISECOND)
#define MAX_IDLE (2000 * MILLISECOND)

typedef enum outcome { WRITTEN, NOTHING_LEFT, BUSY } outcome;

/* These are global because PoCL's restriction (binary_writer.h) concerns the whole process. */
static tn_mutex lock = TN_MUTEX_INIT;
static tn_condition changed = TN_CONDITION_INIT;
static tenon_context *all; /* list of all contexts with a device, except validation contexts */
static unsigned contexts;
static bool is_writing;
static atomic_uint holders; /* calls of tn_binary_writer_hold that were not ended */
static unsigned
    waiters; /* threads that wait for the writer, which pauses after its current program */
static _Thread_local bool writes; /* true if this thread is writing */

/* The background thread. `has_news` is true if there may be a program to write. */
static tn_thread thread;
static bool has_thread, is_ending, has_news;
static uint64_t last_entries, idle_since, patience = MIN_IDLE;

/* Returns true if the context's programs are written later instead of directly after the build: the
 * driver is PoCL and there is a store. Programs of a validation context, which runs the
 * self-checks, are written by its owner. */
static bool waits_to_write(const tenon_context *context)
{
    return context->owner == NULL && context->persistence.store != NULL &&
           context->device.keeps_builds;
}

/* The caller holds the lock. */
static void wait_for_writer(void)
{
    waiters++;
    while (is_writing && !writes)
        tn_condition_wait(&changed, &lock);
    waiters--;
}

void tn_binary_writer_enter(tenon_context *context)
{
    tn_mutex_lock(&lock);
    context->binary_writer.next = all;
    all = context;
    contexts++;
    tn_mutex_unlock(&lock);
}

void tn_binary_writer_hold(void)
{
    atomic_fetch_add(&holders, 1);
}

void tn_binary_writer_release(void)
{
    atomic_fetch_sub(&holders, 1);
}

/* Returns true if the context's queues must be tracked: the driver compiles and runs kernels on
 * threads of this process. */
static bool tracks_streams(const tenon_context *context)
{
    return context->device.is_cpu || context->device.keeps_builds;
}

tenon_status tn_binary_writer_stream_begins(const char *caller, tenon_context *context,
                                            cl_command_queue queue)
{
    tenon_context *owner = context->owner != NULL ? context->owner : context;
    return tracks_streams(owner)
               ? tn_queue_tracker_begin(caller, &owner->binary_writer.streams, queue)
               : TENON_OK;
}

void tn_binary_writer_stream_ends(tenon_context *context, cl_command_queue queue)
{
    tenon_context *owner = context->owner != NULL ? context->owner : context;
    if (waits_to_write(context))
        tn_queue_tracker_end(&owner->binary_writer.streams, queue);
    else if (tracks_streams(owner))
        tn_queue_tracker_drop(&owner->binary_writer.streams, queue);
}

void tn_binary_writer_shares(const tenon_context *context)
{
    atomic_store(&((tenon_context *)(uintptr_t)context)->binary_writer.is_shared, true);
}

static void forget_markers(tn_binary_writer *keeping)
{
    tn_events_release(keeping->markers, keeping->mark_count);
    keeping->markers = NULL;
    keeping->mark_count = 0;
}

/* Returns true if all work in the context's queues ends before the time `until`. The gate must be
 * closed, so that no work is added. To detect the end, each queue receives a marker; the markers
 * are used again until something else is enqueued, so that a blocked queue does not fill with them.
 */
static bool is_idle(tenon_context *context, uint64_t until)
{
    tn_binary_writer *keeping = &context->binary_writer;
    const uint64_t entries = tn_gate_entries();
    if (keeping->markers == NULL || keeping->marked_entries != entries) {
        forget_markers(keeping);
        keeping->mark_count = tn_queue_tracker_mark(&keeping->streams, &keeping->markers);
        keeping->marked_entries = entries;
    }
    for (uint32_t i = 0; i < keeping->mark_count; i++)
        while (!tn_event_is_over(keeping->markers[i])) {
            if (tn_now() >= until)
                return false;
            tn_sleep(MILLISECOND / 2);
        }
    return true;
}

/* Writes one program of the context, or else of its validation context: the next process needs the
 * application's own programs first. */
static bool write_next(tenon_context *context, bool validations, tn_written *written)
{
    tenon_context *validation = validations ? tn_validation_if_made(context) : NULL;
    return tn_programs_keep_next(context, written) ||
           (validation != NULL && tn_programs_keep_next(validation, written));
}

/* Writes one program while the gate is closed and no kernel runs. Then logs it without holding a
 * lock, since the application's log callback may release the context. */
static outcome write_one(tenon_context *context, bool validations, uint64_t until)
{
    tn_written written = {.name = NULL};
    outcome result = BUSY;
    const bool is_shut = tn_gate_is_shut();
    const uint64_t began = tn_now();
    if (!tn_programs_wait(context) && !(validations && tn_validation_if_made(context) != NULL &&
                                        tn_programs_wait(tn_validation_if_made(context))))
        return NOTHING_LEFT;
    if (!is_shut && !tn_gate_close(until))
        return BUSY;
    if (is_idle(context, until)) {
        tn_process_is_idle();
        result = write_next(context, validations, &written) ? WRITTEN : NOTHING_LEFT;
        tn_process_reregister(NULL);
    }
    if (result == WRITTEN && tn_now() - began > MIN_IDLE)
        patience = tn_now() - began;
    if (!is_shut && tn_gate_open())
        patience *= 2;
    patience = tn_min_u64(patience, MAX_IDLE);
    if (result == WRITTEN) {
        const tn_log log = tn_context_log(context);
        tn_log_send(&log, TENON_LOG_INFO, "kernel %s was written to the store in %.1f ms (%s)",
                    written.name, written.milliseconds, written.options);
    }
    return result;
}

/* Writes one program. The caller holds the lock, which is released during the write. */
static outcome begin_writing(tenon_context *context, bool validations, uint64_t until)
{
    is_writing = writes = true;
    tn_mutex_unlock(&lock);
    const outcome result = write_one(context, validations, until);
    tn_mutex_lock(&lock);
    is_writing = writes = false;
    tn_condition_broadcast(&changed);
    return result;
}

/* Writes at least one program, and more until the time `until`. The caller holds the lock. */
static unsigned write_until(tenon_context *context, bool validations, uint64_t until)
{
    unsigned count = 0;
    while (begin_writing(context, validations, until) == WRITTEN) {
        count++;
        if (tn_now() > until)
            break;
    }
    return count;
}

/* Returns the process's only context if the library knows of every kernel that may run in it;
 * otherwise NULL: there is another context, or an imported one, or the application has received its
 * OpenCL objects. The caller holds the lock. */
static tenon_context *only_known(void)
{
    return contexts == 1 && waits_to_write(all) && !all->binary_writer.is_imported &&
                   !atomic_load(&all->binary_writer.is_shared)
               ? all
               : NULL;
}

/* Writes a program if no call was made for `patience`. Returns true if the thread should call again
 * immediately instead of after a TICK. The caller holds the lock. */
static bool look(void)
{
    const uint64_t now = tn_now(), entries = tn_gate_entries();
    tenon_context *context = only_known();
    if (context == NULL || tn_gate_is_shut()) {
        has_news = false;
        return false;
    }
    const bool is_used = entries != last_entries || tn_gate_is_used() || atomic_load(&holders) > 0;
    if (is_writing || is_used || now - idle_since < patience) {
        idle_since = is_used ? now : idle_since;
        last_entries = entries;
        return false;
    }
    has_news = false; /* set again if a program is used for the first time meanwhile */
    const outcome result = begin_writing(context, true, now);
    has_news |= result != NOTHING_LEFT;
    return result == WRITTEN && waiters == 0 && tn_gate_entries() == last_entries;
}

static void *work(void *nothing)
{
    tn_mutex_lock(&lock);
    while (!is_ending) {
        if (!has_news) {
            tn_condition_wait(&changed, &lock);
            continue;
        }
        tn_mutex_unlock(&lock);
        tn_sleep(TICK);
        tn_mutex_lock(&lock);
        while (!is_ending && has_news && look())
            ;
    }
    tn_mutex_unlock(&lock);
    return nothing;
}

/* Starts the background thread, or wakes it. The caller holds the lock. */
static void begin_thread(void)
{
    has_news = true;
    idle_since = tn_now();
    if (!has_thread && !is_ending && only_known() != NULL)
        has_thread = tn_thread_create(&thread, work, NULL);
    tn_condition_broadcast(&changed);
}

void tn_binary_writer_wake(tenon_context *context)
{
    context = context->owner != NULL ? context->owner : context;
    if (!waits_to_write(context))
        return;
    tn_mutex_lock(&lock);
    begin_thread();
    tn_mutex_unlock(&lock);
}

/* Ends the thread, unless called from a callback on that thread. The caller holds the lock, which
 * is released while waiting. */
static void end_thread(void)
{
    if (!has_thread || is_ending || tn_thread_is_this(thread))
        return;
    is_ending = true;
    tn_condition_broadcast(&changed);
    tn_mutex_unlock(&lock);
    tn_thread_join(thread);
    tn_mutex_lock(&lock);
    has_thread = is_ending = false;
    if (contexts > 0) /* another thread has created a context meanwhile */
        begin_thread();
}

static void tell_of_end(tenon_context *context, unsigned count, uint64_t began)
{
    const tn_log log = tn_context_log(context);
    if (count > 0)
        tn_log_send(&log, TENON_LOG_INFO,
                    "the release of the context took %.1f ms to write %u programs to the store",
                    1e-6 * (double)(tn_now() - began), count);
}

void tn_binary_writer_leave(tenon_context *context)
{
    const uint64_t began = tn_now();
    unsigned count = 0;
    tn_mutex_lock(&lock);
    wait_for_writer();
    if (waits_to_write(context) && contexts == 1 && !writes && !context->binary_writer.is_imported)
        count = write_until(context, true, began + MAX_END);
    tn_mutex_unlock(&lock);
    tell_of_end(context, count, began);
    tn_mutex_lock(&lock);
    wait_for_writer();
    tenon_context **link = &all;
    while (*link != context)
        link = &(*link)->binary_writer.next;
    *link = context->binary_writer.next;
    contexts--;
    if (contexts == 1)
        begin_thread();
    const bool is_last = contexts == 0;
    if (is_last)
        end_thread();
    tn_mutex_unlock(&lock);
    if (is_last)
        tn_process_stop_watch();
    forget_markers(&context->binary_writer);
}

/* Returns the reason why nothing can be written now, or NULL. The caller holds the lock. */
static const char *why_not(void)
{
    if (tn_gate_depth() > 0 || writes)
        return "it was called from a callback inside another call";
    return contexts > 1 ? "the process has other contexts, whose kernels may be running" : NULL;
}

/* Writes all programs of the context, and waits for other threads. Returns why not, or NULL. The
 * caller holds the lock, which is released meanwhile. */
static const char *write_all(tenon_context *context)
{
    const char *why;
    outcome result = BUSY;
    while ((why = why_not()) == NULL && result != NOTHING_LEFT) {
        wait_for_writer();
        result = begin_writing(context, true, UINT64_MAX);
        if (tn_gate_is_shut())
            break;
        if (result == BUSY) { /* another thread keeps the gate closed */
            tn_mutex_unlock(&lock);
            tn_sleep(MILLISECOND);
            tn_mutex_lock(&lock);
        }
    }
    return result == NOTHING_LEFT ? NULL : why;
}

TENON_API tenon_status tenon_context_keep(tenon_context *context)
{
    static const char caller[] = "tenon_context_keep";
    if (context == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: context is NULL", caller);
    TN_TRY(tn_gate_check(caller));
    if (!waits_to_write(context))
        return TENON_OK;
    tn_mutex_lock(&lock);
    const char *why = write_all(context);
    tn_mutex_unlock(&lock);
    if (why != NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: %s", caller, why);
    return tn_gate_check(caller);
}

void tn_binary_writer_finish_streams(uint64_t until)
{
    tn_mutex_lock(&lock);
    wait_for_writer();
    is_writing = writes = true; /* no context can be released meanwhile */
    tenon_context *context = all;
    tn_mutex_unlock(&lock);
    for (; context != NULL; context = context->binary_writer.next)
        (void)is_idle(context, until);
    tn_mutex_lock(&lock);
    is_writing = writes = false;
    tn_condition_broadcast(&changed);
    tn_mutex_unlock(&lock);
}

void tn_binary_writer_write(uint64_t until)
{
    tn_mutex_lock(&lock);
    wait_for_writer();
    if (only_known() != NULL)
        (void)write_until(all, false, until);
    tn_mutex_unlock(&lock);
}

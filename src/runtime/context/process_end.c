#include "runtime/context/process_end.h"

#include "base/platform.h"
#include "runtime/opencl/gate.h"
#include "runtime/program/binary_writer.h"
#include "runtime/probe/crash_guard.h"

#include <tenon/statistics.h>

#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)

/* Limits of handlers to register, since each costs memory: in all, after launches since the last
 * build, and by threads that end. A driver may register handlers beyond these limits; the process
 * then stays unsettled, and the thread that ends it registers one more. */
#define MAX_HANDLERS        4096
#define MAX_LAUNCH_HANDLERS 64
#define MAX_LATE_HANDLERS   4096
#define MAX_HOOKS           4

/* Maximum number of handlers that the watch thread registers, and the number of milliseconds
 * without activity after which it ends. */
#define MAX_WATCHED   2000
#define WATCHED_QUIET 1000

/* Steps of the end of the process, and the time limit of each. A build is waited for since it
 * cannot be interrupted. The limits apply if a thread never returns because a signal handler that
 * calls exit has interrupted it. */
enum { STOP, DRAIN, FINISH, WRITE, STEPS };
static const uint64_t most[STEPS] = {2000 * MILLISECOND, 60000 * MILLISECOND, 10000 * MILLISECOND,
                                     20000 * MILLISECOND};
#define MAX_WRITE (1000 * MILLISECOND)

static tn_once once = TN_ONCE_INIT;
static atomic_uint handlers, launch_handlers, late_handlers;
/* The gate's entry count when nothing was running and a handler had been registered since. */
static atomic_uint_fast64_t seen;
/* The stream whose kernels may be running, &several for more than one, NULL for none. */
static const char several;
static _Atomic(const void *) runner;
static atomic_bool was_watched, has_watch, watch_ends;
static tn_thread watching;
static void (*_Atomic hooks[MAX_HOOKS])(void);
static atomic_uint hook_count;

/* State of one end. The steps run on a separate thread, so that the thread that ends the process
 * never waits for a lock. */
typedef struct ending {
    atomic_int step;
    unsigned depth; /* gate depth of the thread that ends the process */
} ending;

static void stop(void)
{
    const unsigned count = atomic_load(&hook_count);
    for (unsigned i = 0; i < count && i < MAX_HOOKS; i++) {
        void (*hook)(void) = atomic_load(&hooks[i]);
        if (hook != NULL)
            hook();
    }
}

/* Waits until no thread other than the one that ends the process builds or enqueues anything. If
 * calls may follow (tenon_settle), threads that enter meanwhile wait as well. A gate that another
 * thread has closed to write a program is left for that thread to open. */
static bool drain(unsigned own, uint64_t until)
{
    while (own == 0 && !tn_gate_is_shut()) {
        if (tn_gate_close(until)) {
            (void)tn_gate_open();
            return true;
        }
        if (tn_now() >= until)
            return false;
        tn_sleep(MILLISECOND / 2);
    }
    return tn_gate_drain(own > 0, until);
}

static void *end(void *data)
{
    ending *e = data;
    stop();
    tn_crash_guard_withdraw_all();
    atomic_store(&e->step, DRAIN);
    const bool is_drained = drain(e->depth, tn_now() + most[DRAIN] - MILLISECOND);
    atomic_store(&e->step, FINISH);
    /* If a signal or a callback ended the process in the middle of a driver call, the interrupted
     * thread may hold the driver's locks: nothing is written then. */
    if (is_drained && e->depth == 0) {
        tn_binary_writer_finish_streams(tn_now() + most[FINISH] - MILLISECOND);
        atomic_store(&e->step, WRITE);
        tn_binary_writer_write(tn_now() + MAX_WRITE);
    }
    atomic_store(&e->step, STEPS);
    return NULL;
}

/* Waits for all steps, and for each no longer than its limit. Returns false if a limit is
 * exceeded. */
static bool await(const ending *e)
{
    int step, last = STOP;
    uint64_t began = tn_now();
    while ((step = atomic_load(&e->step)) != STEPS) {
        if (step != last)
            began = tn_now();
        last = step;
        if (tn_now() - began > most[step])
            return false;
        tn_sleep(MILLISECOND / 4);
    }
    return true;
}

static void end_all(void)
{
    tn_thread thread;
    ending *e = calloc(1, sizeof *e);
    if (e == NULL)
        return;
    atomic_init(&e->step, STOP);
    e->depth = tn_gate_depth();
    if (!tn_thread_create(&thread, end, e)) {
        free(e);
        return;
    }
    if (await(e)) {
        tn_thread_join(thread);
        free(e);
    } else {
        tn_thread_detach(thread); /* it still uses `e`, which is therefore not freed */
    }
}

static void at_exit(void)
{
    if (tn_gate_is_shut())
        return;
    tn_gate_shut(TN_GATE_ENDED);
    if (!tn_threads_have_ended())
        end_all();
}

/* Held around atexit and during fork: a child forked while another thread is inside atexit could
 * never exit. */
static tn_mutex registering = TN_MUTEX_INIT;

static void register_handler(void)
{
    tn_mutex_lock(&registering);
    atexit(at_exit);
    tn_mutex_unlock(&registering);
}

/* Returns true if the driver is working, or may have worked since the last handler was registered.
 * The gate is closed while a program is written. */
static bool is_unsettled(void)
{
    return tn_gate_is_used() || tn_gate_is_closed() || atomic_load(&seen) != tn_gate_entries();
}

/* Counts one more. Returns false if the limit is reached. */
static bool count_up(atomic_uint *count, unsigned limit)
{
    return atomic_load_explicit(count, memory_order_relaxed) < limit &&
           atomic_fetch_add(count, 1) < limit;
}

/* Also called when only the thread ends, not the process. */
static void thread_ends(void *nothing)
{
    (void)nothing;
    if (!tn_gate_is_shut() && is_unsettled() && count_up(&late_handlers, MAX_LATE_HANDLERS))
        register_handler();
}

void tn_process_register_thread(void)
{
    static _Thread_local bool is_known;
    if (!is_known)
        (void)tn_at_thread_end(thread_ends);
    is_known = true;
}

static void *watch(void *nothing)
{
    unsigned count = 0, quiet = 0;
    while (count < MAX_WATCHED && quiet < WATCHED_QUIET && !atomic_load(&watch_ends) &&
           !tn_gate_is_shut()) {
        tn_sleep(MILLISECOND);
        quiet = is_unsettled() ? 0 : quiet + 1;
        if (quiet > 0)
            continue;
        register_handler();
        count++;
    }
    return nothing;
}

void tn_process_watch_builds(void)
{
    if (!atomic_load_explicit(&was_watched, memory_order_relaxed) &&
        !atomic_exchange(&was_watched, true))
        atomic_store(&has_watch, tn_thread_create(&watching, watch, NULL));
}

void tn_process_stop_watch(void)
{
    if (!atomic_exchange(&has_watch, false))
        return;
    atomic_store(&watch_ends, true);
    tn_thread_join(watching);
}

static void before_fork(void)
{
    tn_mutex_lock(&registering);
}

static void after_fork(void)
{
    tn_mutex_unlock(&registering);
}

static void in_child(void)
{
    tn_gate_shut(TN_GATE_FORKED);
    tn_mutex_unlock(&registering);
}

static void begin(void)
{
    (void)tn_at_fork(before_fork, after_fork, in_child);
    register_handler();
}

void tn_process_begin(void)
{
    tn_once_run(&once, begin);
}

void tn_process_note_launch(const void *stream)
{
    const void *none = NULL;
    if (atomic_load(&runner) != stream && !atomic_compare_exchange_strong(&runner, &none, stream) &&
        none != stream)
        atomic_store(&runner, &several);
}

/* Returns false if no handler is registered, because of a limit or the end of the process. */
static bool renew(void)
{
    if (tn_gate_is_shut() || !count_up(&launch_handlers, MAX_LAUNCH_HANDLERS) ||
        !count_up(&handlers, MAX_HANDLERS))
        return false;
    register_handler();
    return true;
}

void tn_process_reregister(const void *stream)
{
    const uint64_t entries = tn_gate_entries();
    if (stream == NULL)
        atomic_store(&launch_handlers, 0);
    const bool is_renewed = (stream == NULL || atomic_load(&seen) != entries) && renew();
    if (stream != NULL)
        (void)atomic_compare_exchange_strong(&runner, &stream, NULL);
    if (is_renewed && atomic_load(&runner) == NULL && !tn_gate_is_used())
        atomic_store(&seen, entries);
}

void tn_process_is_idle(void)
{
    const uint64_t entries = tn_gate_entries();
    const bool is_renewed = atomic_load(&seen) != entries && renew();
    atomic_store(&runner, NULL);
    if (is_renewed)
        atomic_store(&seen, entries);
}

void tn_process_on_end(void (*hook)(void))
{
    const unsigned at = atomic_fetch_add(&hook_count, 1);
    if (at < MAX_HOOKS)
        atomic_store(&hooks[at], hook);
}

TENON_API void tenon_settle(void)
{
    if (!tn_gate_is_shut())
        end_all();
}

#include "runtime/context/process_end.h"

#include "base/platform.h"
#include "runtime/opencl/gate.h"
#include "runtime/program/binary_writer.h"
#include "runtime/probe/crash_guard.h"

#include <tenon/statistics.h>

#include <stdlib.h>

#define MILLISECOND UINT64_C(1000000)

/* Registering again costs memory; what a driver registers later than that does not matter to a
 * build. */
#define MOST_HANDLERS      64
#define MOST_LATE_HANDLERS 4096
#define MOST_HOOKS         4

/* The most handlers that the watch registers, and after how many quiet milliseconds it ends. */
#define MOST_WATCHED  2000
#define WATCHED_QUIET 1000

/* What the end goes through, and the most that each step may take. A build is waited for, since it
 * cannot be broken off; the limits are for a thread that never comes back, because a signal's
 * handler that calls exit has interrupted it. */
enum { STOP, DRAIN, FINISH, WRITE, STEPS };
static const uint64_t most[STEPS] = {2000 * MILLISECOND, 60000 * MILLISECOND, 10000 * MILLISECOND,
                                     20000 * MILLISECOND};
#define MOST_WRITE (1000 * MILLISECOND)

static tn_once once = TN_ONCE_INIT;
static atomic_uint handlers, late_handlers;
/* Entries of the gate when the last handler was registered, and when nothing was running. */
static atomic_uint_fast64_t registered, seen;
/* The stream whose kernels may be running; NULL: none. */
static const char several;
static _Atomic(const void *) runner;
static atomic_bool was_watched, has_watch, watch_ends;
static tn_thread watching;
static void (*_Atomic hooks[MOST_HOOKS])(void);
static atomic_uint hook_count;

/* One end: its steps are made on a thread of their own, so that the thread that ends the process
 * never waits for a lock. */
typedef struct ending {
    atomic_int step;
    unsigned depth; /* how often the thread that ends the process is within the gate */
} ending;

static void stop(void)
{
    const unsigned count = atomic_load(&hook_count);
    for (unsigned i = 0; i < count && i < MOST_HOOKS; i++) {
        void (*hook)(void) = atomic_load(&hooks[i]);
        if (hook != NULL)
            hook();
    }
}

/* Waits until no thread but the one that ends the process builds or enqueues anything. Where calls
 * may follow, threads that enter meanwhile wait for as long; a gate that another thread has closed,
 * to write a program, is that thread's to open. */
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
    /* What the ending thread was doing when a signal or a callback made it end may hold the
     * driver's locks. */
    if (is_drained && e->depth == 0) {
        tn_binary_writer_finish_streams(tn_now() + most[FINISH] - MILLISECOND);
        atomic_store(&e->step, WRITE);
        tn_binary_writer_write(tn_now() + MOST_WRITE);
    }
    atomic_store(&e->step, STEPS);
    return NULL;
}

/* Waits for the end, and for each step no longer than it may take. */
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
        tn_thread_detach(thread); /* with what it still uses */
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

/* A child that is forked while another thread is within atexit could not exit. */
static tn_mutex registering = TN_MUTEX_INIT;

static void register_handler(void)
{
    tn_mutex_lock(&registering);
    atexit(at_exit);
    tn_mutex_unlock(&registering);
}

/* Whether something is being built, or may be running since the last handler was registered. */
static bool is_unsettled(void)
{
    return tn_gate_is_used() || atomic_load(&seen) != tn_gate_entries();
}

/* Also called where the thread alone ends. */
static void thread_ends(void *nothing)
{
    (void)nothing;
    if (!tn_gate_is_shut() && is_unsettled() &&
        atomic_fetch_add(&late_handlers, 1) < MOST_LATE_HANDLERS)
        register_handler();
}

void tn_process_know_thread(void)
{
    static _Thread_local bool is_known;
    if (!is_known)
        (void)tn_at_thread_end(thread_ends);
    is_known = true;
}

static void *watch(void *nothing)
{
    unsigned count = 0, quiet = 0;
    while (count < MOST_WATCHED && quiet < WATCHED_QUIET && !atomic_load(&watch_ends) &&
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

void tn_process_rest(void)
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

void tn_process_runs(const void *stream)
{
    const void *none = NULL;
    if (atomic_load(&runner) != stream && !atomic_compare_exchange_strong(&runner, &none, stream) &&
        none != stream)
        atomic_store(&runner, &several);
}

static void renew(uint64_t entries)
{
    if (atomic_load_explicit(&handlers, memory_order_relaxed) < MOST_HANDLERS &&
        atomic_exchange(&registered, entries) != entries && !tn_gate_is_shut() &&
        atomic_fetch_add(&handlers, 1) < MOST_HANDLERS)
        register_handler();
}

void tn_process_renew(const void *stream)
{
    const uint64_t entries = tn_gate_entries();
    renew(entries);
    if (stream != NULL)
        (void)atomic_compare_exchange_strong(&runner, &stream, NULL);
    if (atomic_load(&runner) == NULL && !tn_gate_is_used())
        atomic_store(&seen, entries);
}

void tn_process_is_idle(void)
{
    const uint64_t entries = tn_gate_entries();
    renew(entries);
    atomic_store(&runner, NULL);
    atomic_store(&seen, entries);
}

void tn_process_on_end(void (*hook)(void))
{
    const unsigned at = atomic_fetch_add(&hook_count, 1);
    if (at < MOST_HOOKS)
        atomic_store(&hooks[at], hook);
}

TENON_API void tenon_settle(void)
{
    if (!tn_gate_is_shut())
        end_all();
}

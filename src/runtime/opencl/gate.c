#include "runtime/opencl/gate.h"

#include "base/platform.h"
#include "base/status.h"
#include "runtime/context/process_end.h"

/* Polling interval in nanoseconds. No lock is used here, so that exit inside a signal handler
 * cannot wait for the thread that it interrupted. */
#define POLL_INTERVAL UINT64_C(500000)

/* The lower half counts the entries that have not left, the upper half all entries so far. */
#define ENTRY  ((UINT64_C(1) << 32) + 1)
#define WITHIN UINT64_C(0xffffffff)

atomic_int tn_gate_now;
static atomic_uint_fast64_t entries;
static atomic_bool has_waiter;
static _Thread_local unsigned depth;

tenon_status tn_gate_refuse(const char *caller)
{
    if (atomic_load(&tn_gate_now) == TN_GATE_FORKED)
        return tn_fail(TENON_ERROR_PROCESS,
                       "%s: this process was forked after Tenon's first use, and has none of the "
                       "driver's threads: fork before the first use, start the process by exec or "
                       "spawn, or use Tenon in the parent",
                       caller);
    return tn_fail(TENON_ERROR_PROCESS,
                   "%s: the process is ending: its exit handlers run, and the driver may be torn "
                   "down",
                   caller);
}

static unsigned within(void)
{
    return (unsigned)(atomic_load(&entries) & WITHIN);
}

tenon_status tn_gate_enter(const char *caller)
{
    tn_process_register_thread();
    while (depth == 0) {
        atomic_fetch_add(&entries, ENTRY);
        const int state = atomic_load(&tn_gate_now);
        if (state == TN_GATE_OPEN)
            break;
        atomic_fetch_sub(&entries, 1);
        if (state != TN_GATE_CLOSED)
            return tn_gate_refuse(caller);
        atomic_store(&has_waiter, true);
        tn_sleep(POLL_INTERVAL);
    }
    depth++;
    return TENON_OK;
}

void tn_gate_leave(void)
{
    if (--depth == 0)
        atomic_fetch_sub(&entries, 1);
}

unsigned tn_gate_depth(void)
{
    return depth;
}

uint64_t tn_gate_entries(void)
{
    return atomic_load_explicit(&entries, memory_order_relaxed) >> 32;
}

bool tn_gate_is_used(void)
{
    return within() > 0;
}

bool tn_gate_is_closed(void)
{
    return atomic_load(&tn_gate_now) == TN_GATE_CLOSED;
}

bool tn_gate_drain(unsigned own, uint64_t until)
{
    while (within() > own) {
        if (tn_now() >= until)
            return false;
        tn_sleep(POLL_INTERVAL);
    }
    return true;
}

bool tn_gate_close(uint64_t until)
{
    int open = TN_GATE_OPEN;
    atomic_store(&has_waiter, false);
    if (depth > 0 || !atomic_compare_exchange_strong(&tn_gate_now, &open, TN_GATE_CLOSED))
        return false;
    if (tn_gate_drain(0, until))
        return true;
    tn_gate_open();
    return false;
}

bool tn_gate_open(void)
{
    int closed = TN_GATE_CLOSED;
    (void)atomic_compare_exchange_strong(&tn_gate_now, &closed, TN_GATE_OPEN);
    return atomic_exchange(&has_waiter, false);
}

void tn_gate_shut(tn_gate_state state)
{
    int was = atomic_load(&tn_gate_now);
    while (was < TN_GATE_ENDED && !atomic_compare_exchange_weak(&tn_gate_now, &was, (int)state))
        ;
}

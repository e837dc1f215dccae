/* The gate: controls when threads may call the driver. A thread enters the gate before it builds a
 * program or enqueues a kernel, and leaves it afterwards. Programs are read back from the driver
 * while the gate is closed and nothing runs (runtime/program/binary_writer.c). The gate is shut
 * for good when the process ends, since the driver's own exit handlers tear down its compiler, and
 * in a process forked after the first use, which lacks the driver's threads. */
#ifndef TN_RUNTIME_OPENCL_GATE_H
#define TN_RUNTIME_OPENCL_GATE_H

#include <tenon/status.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum tn_gate_state {
    TN_GATE_OPEN,
    TN_GATE_CLOSED, /* temporarily: a thread that wants to enter waits */
    TN_GATE_ENDED,  /* the process is ending */
    TN_GATE_FORKED  /* the process was forked after the first use */
} tn_gate_state;

extern atomic_int tn_gate_now; /* a tn_gate_state */

/* Returns true if the driver must not be called any more. Its objects are then left to the
 * operating system. */
static inline bool tn_gate_is_shut(void)
{
    return atomic_load_explicit(&tn_gate_now, memory_order_relaxed) >= TN_GATE_ENDED;
}

/* Fails with TENON_ERROR_PROCESS and the reason. */
tenon_status tn_gate_refuse(const char *caller);

/* Fails if the gate is shut. For calls that use the driver in any way. Cheap. */
static inline tenon_status tn_gate_check(const char *caller)
{
    return tn_gate_is_shut() ? tn_gate_refuse(caller) : TENON_OK;
}

/* Enters the gate; waits while it is closed. Returns TENON_ERROR_PROCESS if it is shut. A thread
 * may enter again before it leaves. */
tenon_status tn_gate_enter(const char *caller);
void tn_gate_leave(void);

/* Returns how many times this thread has entered without leaving. */
unsigned tn_gate_depth(void);

/* Returns a number that changes whenever a thread enters. */
uint64_t tn_gate_entries(void);

/* Returns true if any thread is inside. */
bool tn_gate_is_used(void);

/* Returns true if the gate is closed, which includes the wait for threads to leave. */
bool tn_gate_is_closed(void);

/* Closes the gate and waits, until the time `until` of tn_now(), for all threads to leave. Returns
 * false if a thread is still inside then, or if the gate was already closed or shut. */
bool tn_gate_close(uint64_t until);

/* Opens the gate again. Returns true if a thread has waited meanwhile. */
bool tn_gate_open(void);

/* Shuts the gate for good. Does nothing if it is shut. */
void tn_gate_shut(tn_gate_state state);

/* Waits until at most `own` entries are inside. Returns false if the time `until` passes first. */
bool tn_gate_drain(unsigned own, uint64_t until);

#endif

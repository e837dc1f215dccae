/*
 * Who may call the driver now. A call that builds a program or enqueues a kernel enters the gate
 * and leaves it. Programs are read from the driver while the gate is closed and nothing runs
 * (runtime/program/binary_writer.c). The gate stays shut once the process ends, since a driver's
 * compiler is torn down by exit handlers of its own, and in a process that was forked after the
 * first use, which has none of the driver's threads.
 */
#ifndef TN_RUNTIME_OPENCL_GATE_H
#define TN_RUNTIME_OPENCL_GATE_H

#include <tenon/status.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef enum tn_gate_state {
    TN_GATE_OPEN,
    TN_GATE_CLOSED, /* for a while: who wants to enter waits */
    TN_GATE_ENDED,  /* the process ends */
    TN_GATE_FORKED  /* the process was forked after the first use */
} tn_gate_state;

extern atomic_int tn_gate_now; /* a tn_gate_state */

/* Whether the driver must not be called any more, and objects are left to the system. */
static inline bool tn_gate_is_shut(void)
{
    return atomic_load_explicit(&tn_gate_now, memory_order_relaxed) >= TN_GATE_ENDED;
}

/* Fails with TENON_ERROR_PROCESS and the reason. */
tenon_status tn_gate_refuse(const char *caller);

/* For calls that use the driver in any way. Cheap. */
static inline tenon_status tn_gate_check(const char *caller)
{
    return tn_gate_is_shut() ? tn_gate_refuse(caller) : TENON_OK;
}

/* Waits while the gate is closed; TENON_ERROR_PROCESS where it is shut. A thread may enter again
 * before it leaves. */
tenon_status tn_gate_enter(const char *caller);
void tn_gate_leave(void);

/* How often this thread has entered. */
unsigned tn_gate_depth(void);

/* A number that changes whenever a thread enters. */
uint64_t tn_gate_entries(void);

/* Whether a thread is within. */
bool tn_gate_is_used(void);

/* Closes the gate once nobody is within, and waits for that until a time of tn_now(); false where
 * somebody still is, the gate is closed already, or shut. */
bool tn_gate_close(uint64_t until);

/* Opens it again; true where a thread has waited meanwhile. */
bool tn_gate_open(void);

/* Shuts it for good; nothing where it is shut. */
void tn_gate_shut(tn_gate_state state);

/* Waits until at most so many entries have not left; false at that time. */
bool tn_gate_drain(unsigned own, uint64_t until);

#endif

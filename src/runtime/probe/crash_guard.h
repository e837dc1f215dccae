/*
 * The crash guard. While a check or trial runs, a record in the store names this process. If the
 * process ends meanwhile, a later process finds the record and skips the check or trial for some
 * time, since it may have caused the crash.
 *
 * An orderly end (a return from main, exit) is not a crash: tn_crash_guard_withdraw_all removes
 * the records. Any other end (a crash, a signal, _exit) counts once, for the innermost check or
 * trial: while a trial runs within a check, the record of the check is set aside.
 */
#ifndef TN_RUNTIME_PROBE_CRASH_GUARD_H
#define TN_RUNTIME_PROBE_CRASH_GUARD_H

#include "runtime/context/context.h"
#include "runtime/probe/crash_record.h"

/* A guarded check or trial. */
typedef struct tn_guard tn_guard;

/* Returns true, and the reason in `why`, if `least` or more processes have ended during this check
 * or trial and it must not run now. `key` is the key of its result (tn_identity_key; NULL: nothing
 * is stored). */
bool tn_crash_guard_bars(tenon_context *context, const char *key, unsigned least, char why[256]);

/* Begins to guard a check or trial on this thread. Returns NULL if nothing is stored, memory is
 * short, or the process is ending. */
tn_guard *tn_crash_guard_begin(tenon_context *context, const char *key, unsigned least);

/* Ends the guard, on the thread that began it, in reverse order of beginning. NULL is allowed. */
void tn_crash_guard_end(tn_guard *guard);

/* Removes all records of this process and prevents new ones, for an orderly end of the process.
 * Callable from any thread; needs no context and does not call OpenCL. In a forked child, records
 * of the parent are kept. */
void tn_crash_guard_withdraw_all(void);

/* Returns true, and the reason, if the text of a record disables something. Accepts any text. */
bool tn_crash_guard_explain(const char *text, char why[256]);

#endif

/*
 * The crash guard. While a check or trial runs, a mark of it in the store names this process; where
 * the process ends meanwhile, the next one finds the mark and does without the check or trial for
 * some time, since it may have been what ended the process.
 *
 * An orderly end (a return from main, exit) is no crash: tn_crash_guard_withdraw_all takes the
 * marks back. Any other (a crash, a signal, _exit) counts once, for what was tried last: a trial
 * within a check has the mark of that check set aside.
 */
#ifndef TN_RUNTIME_PROBE_CRASH_GUARD_H
#define TN_RUNTIME_PROBE_CRASH_GUARD_H

#include "runtime/context/context.h"
#include "runtime/probe/crash_record.h"

/* One check or trial that is guarded. */
typedef struct tn_guard tn_guard;

/* Whether `least` processes or more have ended while they were at it, and it must not be begun now:
 * then `why` says so. `key` is that of its outcome (tn_identity_key; NULL: nothing is kept). */
bool tn_crash_guard_bars(tenon_context *context, const char *key, unsigned least, char why[256]);

/* Guards what begins now on this thread; NULL where nothing is kept, without memory, and once the
 * process ends. */
tn_guard *tn_crash_guard_begin(tenon_context *context, const char *key, unsigned least);

/* It has ended, and the process has not; on the thread that began it, the last begun first. NULL is
 * allowed. */
void tn_crash_guard_end(tn_guard *guard);

/* Takes back all marks that this process has set, and sets none from here on. For an orderly end of
 * the process, from any thread; needs no context and calls no OpenCL. The marks of a parent that
 * this process was forked from stay. */
void tn_crash_guard_withdraw_all(void);

/* Whether the text of a mark says that something is barred, and why. Takes any text. */
bool tn_crash_guard_explain(const char *text, char why[256]);

#endif

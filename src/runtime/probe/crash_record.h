/*
 * Records of the crash guard: the text of a store entry that names the process running a check or
 * trial, and counts the processes that have ended during it ("strikes").
 *
 * This file neither reads a clock nor queries processes, so tests can simulate both.
 */
#ifndef TN_RUNTIME_PROBE_CRASH_RECORD_H
#define TN_RUNTIME_PROBE_CRASH_RECORD_H

#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Value of `least` for a check or trial that is never disabled. */
#define TN_NEVER_BARRED 1000000u

typedef struct tn_crash_record {
    char process[TN_PROCESS_SIZE]; /* "-": no process is running it */
    unsigned strikes;
    unsigned least; /* number of strikes that disable it */
    int64_t since;  /* seconds since 1970: when the process began, or when the last strike was
                     * counted */
} tn_crash_record;

#define TN_CRASH_RECORD_TEXT 192
size_t tn_crash_record_write(const tn_crash_record *record, char text[TN_CRASH_RECORD_TEXT]);

/* Parses any text. Returns false if it is not a record, or one from the future. */
bool tn_crash_record_read(const char *text, int64_t now, tn_crash_record *record);

/* Counts a strike if the record's process, whose state is `state`, has ended. The state of a
 * process on another host is unknown; after a day it is assumed to have ended. */
bool tn_crash_record_count(tn_crash_record *record, tn_process_state state, int64_t now);

/* Returns true, and the reason, if the check or trial is disabled now: for an hour after `least`
 * strikes, for a day after one more, then for 30 days. */
bool tn_crash_record_bars(const tn_crash_record *record, int64_t now, char why[256]);

#endif

/*
 * The crash guard's marks: the text of an entry of the store that names a check or trial, the
 * process that is at it, and how many processes have ended while they were at it ("strikes").
 *
 * Nothing here reads a clock or asks for a process, so that both can be imaginary.
 */
#ifndef TN_RUNTIME_PROBE_CRASH_RECORD_H
#define TN_RUNTIME_PROBE_CRASH_RECORD_H

#include "base/process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* `least` of a check or trial that is never barred for this. */
#define TN_NEVER_BARRED 1000000u

typedef struct tn_crash_record {
    char process[TN_PROCESS_SIZE]; /* "-": none is at it */
    unsigned strikes;
    unsigned least; /* so many strikes bar it */
    int64_t since;  /* seconds since 1970: when the process began, or the last strike was counted */
} tn_crash_record;

#define TN_CRASH_RECORD_TEXT 192
size_t tn_crash_record_write(const tn_crash_record *mark, char text[TN_CRASH_RECORD_TEXT]);

/* Reads any text; false where it is no mark, or one of a time to come. */
bool tn_crash_record_read(const char *text, int64_t now, tn_crash_record *mark);

/* Counts a strike where the process of the mark has ended. `state` is that process's; whether one
 * of another host has ended is not known, and is assumed after a day. */
bool tn_crash_record_count(tn_crash_record *mark, tn_process_state state, int64_t now);

/* Whether the check or trial is barred now, and why: with `least` strikes for an hour, with one
 * more for a day, then for 30 days. */
bool tn_crash_record_bars(const tn_crash_record *mark, int64_t now, char why[256]);

#endif

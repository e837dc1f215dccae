#include "runtime/probe/crash_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR  (60 * 60)
#define DAY   (24 * HOUR)
#define MONTH (30 * DAY)

size_t tn_crash_record_write(const tn_crash_record *record, char text[TN_CRASH_RECORD_TEXT])
{
    return (size_t)snprintf(text, TN_CRASH_RECORD_TEXT,
                            "process %s strikes %u since %" PRId64 " least %u", record->process,
                            record->strikes, record->since, record->least);
}

bool tn_crash_record_read(const char *text, int64_t now, tn_crash_record *record)
{
    record->least = 1;
    return sscanf(text, "process %63s strikes %u since %" SCNd64 " least %u", record->process,
                  &record->strikes, &record->since, &record->least) >= 3 &&
           record->since >= 0 && record->since <= now + DAY;
}

bool tn_crash_record_count(tn_crash_record *record, tn_process_state state, int64_t now)
{
    if (strcmp(record->process, "-") == 0 || state == TN_PROCESS_ALIVE ||
        (state == TN_PROCESS_ELSEWHERE && now - record->since <= DAY))
        return false;
    strcpy(record->process, "-");
    record->strikes++;
    record->since = now;
    return true;
}

/* Returns for how many seconds the strikes disable a check or trial. */
static int64_t disabled_seconds(unsigned strikes, unsigned least)
{
    return strikes <= least ? HOUR : strikes == least + 1 ? DAY : MONTH;
}

bool tn_crash_record_bars(const tn_crash_record *record, int64_t now, char why[256])
{
    const int64_t left = record->since + disabled_seconds(record->strikes, record->least) - now;
    if (strcmp(record->process, "-") != 0 || record->strikes < record->least || left <= 0)
        return false;
    snprintf(why, 256,
             "a process crashed or was killed during this test (%u so far); the next attempt "
             "is in %" PRId64 " minutes",
             record->strikes, left / 60 + 1);
    return true;
}

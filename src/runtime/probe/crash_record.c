#include "runtime/probe/crash_record.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define HOUR  (60 * 60)
#define DAY   (24 * HOUR)
#define MONTH (30 * DAY)

size_t tn_crash_record_write(const tn_crash_record *mark, char text[TN_CRASH_RECORD_TEXT])
{
    return (size_t)snprintf(text, TN_CRASH_RECORD_TEXT,
                            "process %s strikes %u since %" PRId64 " least %u", mark->process,
                            mark->strikes, mark->since, mark->least);
}

bool tn_crash_record_read(const char *text, int64_t now, tn_crash_record *mark)
{
    mark->least = 1;
    return sscanf(text, "process %63s strikes %u since %" SCNd64 " least %u", mark->process,
                  &mark->strikes, &mark->since, &mark->least) >= 3 &&
           mark->since >= 0 && mark->since <= now + DAY;
}

bool tn_crash_record_count(tn_crash_record *mark, tn_process_state state, int64_t now)
{
    if (strcmp(mark->process, "-") == 0 || state == TN_PROCESS_ALIVE ||
        (state == TN_PROCESS_ELSEWHERE && now - mark->since <= DAY))
        return false;
    strcpy(mark->process, "-");
    mark->strikes++;
    mark->since = now;
    return true;
}

/* Returns for how many seconds the strikes disable a check or trial. */
static int64_t term(unsigned strikes, unsigned least)
{
    return strikes <= least ? HOUR : strikes == least + 1 ? DAY : MONTH;
}

bool tn_crash_record_bars(const tn_crash_record *mark, int64_t now, char why[256])
{
    const int64_t left = mark->since + term(mark->strikes, mark->least) - now;
    if (strcmp(mark->process, "-") != 0 || mark->strikes < mark->least || left <= 0)
        return false;
    snprintf(why, 256,
             "a process crashed or was killed during this test (%u so far); the next attempt "
             "is in %" PRId64 " minutes",
             mark->strikes, left / 60 + 1);
    return true;
}

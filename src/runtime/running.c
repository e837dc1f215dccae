#include "runtime/running.h"

#include "base/process.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define HOUR  (60 * 60)
#define DAY   (24 * HOUR)
#define MONTH (30 * DAY)

/* A mark: who is at it ("-": nobody, since it ended them), how often it has ended a process, and
 * since when this is so. */
typedef struct mark {
    char process[TN_PROCESS_SIZE];
    unsigned strikes;
    int64_t since;
} mark;

static void write_mark(tenon_context *context, const char *key, const mark *m)
{
    char text[TN_PROCESS_SIZE + 64];
    const int length = snprintf(text, sizeof text, "process %s strikes %u since %" PRId64,
                                m->process, m->strikes, m->since);
    tn_store_put(context->store, TN_STORE_RUNNING, key, text, (size_t)length);
}

/* Takes any text; false for one of a day to come, too. */
static bool parse_mark(const char *text, int64_t now, mark *m)
{
    return sscanf(text, "process %63s strikes %u since %" SCNd64, m->process, &m->strikes,
                  &m->since) == 3 &&
           m->since >= 0 && m->since <= now + DAY;
}

/* False where there is none, or one that makes no sense. */
static bool read_mark(tenon_context *context, const char *key, int64_t now, mark *m)
{
    size_t size;
    char *text = tn_store_get(context->store, TN_STORE_RUNNING, key, &size);
    const bool found = text != NULL && parse_mark(text, now, m);
    free(text);
    return found;
}

static int64_t term(unsigned strikes)
{
    return strikes <= 1 ? HOUR : strikes == 2 ? DAY : MONTH;
}

/* Whether whoever set the mark is no more; of another host that is known after a day. */
static bool has_ended(const mark *m, int64_t now)
{
    const tn_process_state state = tn_process_look(m->process);
    return state == TN_PROCESS_ENDED || (state == TN_PROCESS_ELSEWHERE && now - m->since > DAY);
}

/* Whether it is barred now. */
static bool is_barred(const mark *m, int64_t now, char why[256])
{
    if (strcmp(m->process, "-") != 0 || now - m->since >= term(m->strikes))
        return false;
    snprintf(why, 256,
             "a process ended while it was tried (%u so far); it is tried again in %" PRId64
             " minutes",
             m->strikes, (m->since + term(m->strikes) - now) / 60 + 1);
    return true;
}

bool tn_running_explain(const char *text, char why[256])
{
    const int64_t now = (int64_t)time(NULL);
    mark m;
    return parse_mark(text, now, &m) && is_barred(&m, now, why);
}

bool tn_running_begin(tenon_context *context, const char *key, unsigned least, char why[256])
{
    const int64_t now = (int64_t)time(NULL);
    mark m = {.strikes = 0};
    if (key == NULL)
        return true;
    const bool is_marked = read_mark(context, key, now, &m);
    if (is_marked && strcmp(m.process, "-") != 0 && has_ended(&m, now)) {
        m = (mark){.process = "-", .strikes = m.strikes + 1, .since = now};
        write_mark(context, key, &m);
    }
    if (is_marked && m.strikes >= least && is_barred(&m, now, why))
        return false;
    m.strikes = is_marked ? m.strikes : 0;
    tn_process_name(m.process);
    m.since = now;
    write_mark(context, key, &m);
    return true;
}

void tn_running_end(tenon_context *context, const char *key)
{
    if (key != NULL)
        tn_store_remove(context->store, TN_STORE_RUNNING, key);
}

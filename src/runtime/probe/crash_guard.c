#include "runtime/probe/crash_guard.h"

#include "base/platform.h"

#include <time.h>

struct tn_guard {
    tn_guard *next;  /* next guard of the process */
    tn_guard *outer; /* enclosing guard of this thread, set aside until this one ends */
    bool is_set_aside;
    tn_store *store;
    char *key;
    tn_crash_record record, before; /* before.strikes is 0 if there was no record */
};

/* Records belong to the process, which ends as a whole. The lock is held while a record is
 * written, so that none is set after tn_crash_guard_withdraw_all. */
static tn_mutex lock = TN_MUTEX_INIT;
static tn_guard *guards;
static atomic_bool is_over;
static _Atomic int64_t process; /* ID of the process that sets records; 0: none yet */
static _Thread_local tn_guard *innermost;

/* Returns true if this process may set records. A child forked from a process that sets records
 * may not, since its copy of the lock may be held forever. */
static bool may_write_records(void)
{
    int64_t none = 0;
    const int64_t number = tn_process_number();
    return !atomic_load(&is_over) &&
           (atomic_compare_exchange_strong(&process, &none, number) || none == number);
}

static void write_record(tn_store *store, const char *key, const tn_crash_record *record)
{
    char text[TN_CRASH_RECORD_TEXT];
    const size_t length = tn_crash_record_write(record, text);
    tn_store_put(store, TN_STORE_RUNNING, key, text, length);
}

/* Reads a record and counts the end of its process. A missing or invalid record has no strikes. */
static tn_crash_record read_record(tn_store *store, const char *key, unsigned least)
{
    size_t size;
    const int64_t now = (int64_t)time(NULL);
    tn_crash_record record, none = {.process = "-", .least = least};
    char *text = tn_store_get(store, TN_STORE_RUNNING, key, &size);
    const bool found = text != NULL && tn_crash_record_read(text, now, &record);
    free(text);
    if (!found)
        return none;
    record.least = least;
    if (tn_crash_record_count(&record, tn_process_look(record.process), now))
        write_record(store, key, &record);
    return record;
}

bool tn_crash_guard_bars(tenon_context *context, const char *key, unsigned least, char why[256])
{
    if (key == NULL)
        return false;
    const tn_crash_record record = read_record(context->persistence.store, key, least);
    return tn_crash_record_bars(&record, (int64_t)time(NULL), why);
}

bool tn_crash_guard_explain(const char *text, char why[256])
{
    const int64_t now = (int64_t)time(NULL);
    tn_crash_record record;
    return tn_crash_record_read(text, now, &record) && tn_crash_record_bars(&record, now, why);
}

static tn_guard *create(tenon_context *context, const char *key, unsigned least)
{
    tn_guard *guard = calloc(1, sizeof *guard);
    if (guard == NULL || (guard->key = tn_text_copy(key)) == NULL) {
        free(guard);
        return NULL;
    }
    guard->store = context->persistence.store;
    guard->before = read_record(guard->store, key, least);
    guard->record = (tn_crash_record){
        .strikes = guard->before.strikes, .least = least, .since = (int64_t)time(NULL)};
    tn_process_name(guard->record.process);
    return guard;
}

static void destroy(tn_guard *guard)
{
    free(guard->key);
    free(guard);
}

/* Restores the record that existed before the guard began. The caller holds the lock. */
static void withdraw(const tn_guard *guard)
{
    if (guard->before.strikes > 0)
        write_record(guard->store, guard->key, &guard->before);
    else
        tn_store_remove(guard->store, TN_STORE_RUNNING, guard->key);
}

/* The caller holds the lock. */
static void set(tn_guard *guard)
{
    guard->outer = innermost;
    if (guard->outer != NULL) {
        withdraw(guard->outer);
        guard->outer->is_set_aside = true;
    }
    write_record(guard->store, guard->key, &guard->record);
    guard->next = guards;
    guards = innermost = guard;
}

/* The caller holds the lock. */
static void unset(tn_guard *guard)
{
    tn_guard **at = &guards;
    while (*at != guard)
        at = &(*at)->next;
    *at = guard->next;
    tn_store_remove(guard->store, TN_STORE_RUNNING, guard->key);
    if (guard->outer != NULL) {
        write_record(guard->outer->store, guard->outer->key, &guard->outer->record);
        guard->outer->is_set_aside = false;
    }
}

tn_guard *tn_crash_guard_begin(tenon_context *context, const char *key, unsigned least)
{
    tn_guard *guard = key != NULL && may_write_records() ? create(context, key, least) : NULL;
    if (guard == NULL)
        return NULL;
    tn_mutex_lock(&lock);
    const bool is_set = !atomic_load(&is_over);
    if (is_set)
        set(guard);
    tn_mutex_unlock(&lock);
    if (is_set)
        return guard;
    destroy(guard);
    return NULL;
}

void tn_crash_guard_end(tn_guard *guard)
{
    if (guard == NULL)
        return;
    innermost = guard->outer;
    if (atomic_load(&process) == tn_process_number()) {
        tn_mutex_lock(&lock);
        if (!atomic_load(&is_over))
            unset(guard);
        tn_mutex_unlock(&lock);
    }
    destroy(guard);
}

void tn_crash_guard_withdraw_all(void)
{
    atomic_store(&is_over, true);
    if (atomic_load(&process) != tn_process_number())
        return;
    tn_mutex_lock(&lock);
    for (const tn_guard *guard = guards; guard != NULL; guard = guard->next)
        if (!guard->is_set_aside)
            withdraw(guard);
    guards = NULL;
    tn_mutex_unlock(&lock);
}

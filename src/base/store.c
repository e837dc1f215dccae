#include "base/store.h"

#include "base/store_entry.h"
#include "base/store_folder.h"
#include "base/status.h"

#include "base/platform.h"
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

struct tn_store {
    tenon_store where;
    char *folder; /* NULL: uses the application's functions */
    const tn_log *log;
    tn_mutex lock; /* protects is_prepared and written */
    bool is_prepared;
    uint64_t written;       /* bytes since the folder was last trimmed */
    atomic_bool is_off;     /* the store is unusable */
    atomic_bool is_full;    /* writing failed; reading may work */
    atomic_bool is_blocked; /* an entry was not written, because a directory has its name */
};

static tenon_status check(const char *caller, const tenon_store *where)
{
    if (where->kind > TENON_STORE_FUNCTIONS)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                       "%s: params: store.kind is %u, which is not a tenon_store_kind", caller,
                       where->kind);
    if (where->reserved != 0)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: store.reserved is %u, must be 0",
                       caller, where->reserved);
    if (where->kind == TENON_STORE_FOLDER && (where->folder == NULL || where->folder[0] == '\0'))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: store.folder is %s", caller,
                       where->folder == NULL ? "NULL" : "empty");
    if (where->kind == TENON_STORE_FUNCTIONS && (where->get == NULL || where->set == NULL))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: params: store.%s is NULL", caller,
                       where->get == NULL ? "get" : "set");
    return TENON_OK;
}

static tenon_status no_memory(const char *caller)
{
    return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the store", caller);
}

tenon_status tn_store_create(const char *caller, const tenon_store *where, const tn_log *log,
                             tn_store **out)
{
    char *folder = NULL;
    *out = NULL;
    TN_TRY(check(caller, where));
    if (where->kind == TENON_STORE_USUAL && (folder = tn_folder_usual()) == NULL)
        return TENON_OK;
    if (where->kind == TENON_STORE_NONE)
        return TENON_OK;
    if (where->kind == TENON_STORE_FOLDER && (folder = tn_text_copy(where->folder)) == NULL)
        return no_memory(caller);
    tn_store *store = calloc(1, sizeof *store);
    if (store == NULL || !tn_mutex_init(&store->lock)) {
        free(folder);
        free(store);
        return no_memory(caller);
    }
    store->where = *where;
    store->where.folder = NULL;
    if (where->limit == TENON_STORE_LIMIT_DEFAULT)
        store->where.limit = TN_STORE_LIMIT;
    store->folder = folder;
    store->log = log;
    *out = store;
    return TENON_OK;
}

void tn_store_destroy(tn_store *store)
{
    if (store == NULL)
        return;
    tn_mutex_destroy(&store->lock);
    free(store->folder);
    free(store);
}

const char *tn_store_folder(const tn_store *store)
{
    return store != NULL ? store->folder : NULL;
}

static void prepare_folder(tn_store *store)
{
    char why[256];
    bool is_first = false;
    tn_mutex_lock(&store->lock);
    if (!store->is_prepared) {
        store->is_prepared = is_first = true;
        atomic_store(&store->is_off, tn_folder_make(store->folder, why) != NULL);
        if (!atomic_load(&store->is_off))
            tn_folder_sweep(store->folder);
    }
    tn_mutex_unlock(&store->lock);
    if (is_first && atomic_load(&store->is_off))
        tn_log_send(store->log, TENON_LOG_WARNING, "results are not kept: folder %s: %s",
                    store->folder, why);
}

/* Returns true if the store is usable. Prepares the folder on first use. */
static bool is_usable(tn_store *store)
{
    if (store == NULL)
        return false;
    if (store->folder != NULL)
        prepare_folder(store);
    return !atomic_load(&store->is_off);
}

/* Reads a value through the application's function. Returns NULL if its size changed between the
 * query of the size and the copy. */
static unsigned char *read_value(const tn_store *store, const char *name, size_t *size)
{
    const tenon_store *where = &store->where;
    const size_t capacity = where->get(where->user, name, NULL, 0);
    unsigned char *bytes =
        capacity == 0 || capacity > TN_ENTRY_MAX_SIZE ? NULL : malloc(capacity + 1);
    if (bytes == NULL)
        return NULL;
    *size = where->get(where->user, name, bytes, capacity);
    if (*size == capacity)
        return bytes;
    free(bytes);
    return NULL;
}

/* Removes an invalid entry, since existing entries are not overwritten. */
static void *discard_entry(tn_store *store, tn_store_kind kind, const char *key, const char *why,
                           unsigned char *bytes)
{
    char name[TN_STORE_NAME_SIZE];
    tn_store_name(kind, key, name);
    tn_log_send(store->log, TENON_LOG_WARNING, "entry %s of the store %s; it will be created again",
                name, why);
    tn_store_remove(store, kind, key);
    free(bytes);
    return NULL;
}

void *tn_store_get(tn_store *store, tn_store_kind kind, const char *key, size_t *size)
{
    char name[TN_STORE_NAME_SIZE];
    tn_entry entry;
    size_t all;
    if (!is_usable(store))
        return NULL;
    tn_store_name(kind, key, name);
    unsigned char *bytes = store->folder != NULL ? tn_folder_use(store->folder, name, &all)
                                                 : read_value(store, name, &all);
    if (bytes == NULL)
        return NULL;
    if (!tn_entry_read(bytes, all, &entry))
        return discard_entry(store, kind, key, "is truncated or corrupted", bytes);
    /* The names of two keys differ, so a file with another key was renamed or copied. */
    if (entry.kind != kind || strcmp(entry.key, key) != 0)
        return discard_entry(store, kind, key, "has the wrong key", bytes);
    *size = entry.data_size;
    memmove(bytes, entry.data, entry.data_size);
    bytes[entry.data_size] = '\0';
    return bytes;
}

bool tn_store_has(tn_store *store, tn_store_kind kind, const char *key)
{
    char name[TN_STORE_NAME_SIZE];
    if (!is_usable(store))
        return false;
    tn_store_name(kind, key, name);
    return store->folder != NULL ? tn_folder_has(store->folder, name)
                                 : store->where.get(store->where.user, name, NULL, 0) > 0;
}

typedef struct kind_visit {
    const char *kind;
    bool (*visit)(void *user, const char *name);
    void *user;
} kind_visit;

static bool visit_kind(void *user, const char *name, uint64_t size, int64_t used)
{
    const kind_visit *v = user;
    (void)size;
    (void)used;
    return strcmp(strchr(name, '.') + 1, v->kind) != 0 || v->visit(v->user, name);
}

bool tn_store_each(tn_store *store, tn_store_kind kind, bool (*visit)(void *user, const char *name),
                   void *user)
{
    kind_visit v = {tn_store_kind_name(kind), visit, user};
    return store == NULL || (is_usable(store) && store->folder != NULL &&
                             tn_folder_each(store->folder, visit_kind, &v));
}

typedef struct entry_visit {
    tn_store *store;
    tn_store_visitor visit;
    void *user;
} entry_visit;

static bool visit_entry(void *user, const char *name)
{
    const entry_visit *v = user;
    tn_entry entry;
    size_t size;
    unsigned char *bytes = tn_folder_read(v->store->folder, name, &size);
    if (bytes != NULL && tn_entry_read(bytes, size, &entry)) {
        bytes[size] = '\0'; /* tn_folder_read leaves a spare byte */
        v->visit(v->user, entry.key, (const char *)entry.data, entry.data_size);
    }
    free(bytes);
    return true;
}

bool tn_store_each_entry(tn_store *store, tn_store_kind kind, tn_store_visitor visit, void *user)
{
    entry_visit v = {store, visit, user};
    return tn_store_each(store, kind, visit_entry, &v);
}

/* Trims the folder after this process's first write, and then each time it has written 1/16 of the
 * limit. */
static void count_written(tn_store *store, size_t size)
{
    tn_mutex_lock(&store->lock);
    const bool is_first = store->written == 0;
    store->written += size;
    const bool trims = is_first || store->written > store->where.limit / 16;
    if (trims)
        store->written = 1;
    tn_mutex_unlock(&store->lock);
    if (trims)
        tn_folder_trim(store->folder, store->where.limit);
}

static void write_file(tn_store *store, const char *name, const void *bytes, size_t size)
{
    char why[256];
    if (atomic_load(&store->is_full))
        return;
    if (tn_folder_write(store->folder, name, bytes, size, why) == NULL) {
        count_written(store, size);
        return;
    }
    if (tn_folder_is_blocked(store->folder, name)) {
        if (!atomic_exchange(&store->is_blocked, true))
            tn_log_send(store->log, TENON_LOG_WARNING,
                        "entry %s of the store cannot be written, because %s/%s is a directory; "
                        "remove it",
                        name, store->folder, name);
        return;
    }
    if (!atomic_exchange(&store->is_full, true))
        tn_log_send(store->log, TENON_LOG_WARNING, "results are not kept: folder %s: %s",
                    store->folder, why);
}

void tn_store_put(tn_store *store, tn_store_kind kind, const char *key, const void *data,
                  size_t size)
{
    char name[TN_STORE_NAME_SIZE];
    size_t all;
    if (!is_usable(store))
        return;
    unsigned char *bytes = tn_entry_make(kind, key, data, size, &all);
    if (bytes == NULL)
        return;
    tn_store_name(kind, key, name);
    if (store->folder != NULL)
        write_file(store, name, bytes, all);
    else
        store->where.set(store->where.user, name, bytes, all);
    free(bytes);
}

void tn_store_remove(tn_store *store, tn_store_kind kind, const char *key)
{
    char name[TN_STORE_NAME_SIZE];
    if (!is_usable(store))
        return;
    tn_store_name(kind, key, name);
    if (store->folder != NULL)
        tn_folder_remove(store->folder, name);
    else
        store->where.set(store->where.user, name, NULL, 0);
}

#define LOCK_FILES 64 /* their number does not grow with that of the keys */
#define PATH_SIZE  4096

struct tn_store_lock {
    intptr_t file;
};

tn_store_lock *tn_store_lock_try(tn_store *store, const char *key, bool *is_busy)
{
    char name[TN_STORE_NAME_SIZE], path[PATH_SIZE], hash[5] = "";
    *is_busy = false;
    if (!is_usable(store) || store->folder == NULL || atomic_load(&store->is_full))
        return NULL;
    tn_store_name(TN_STORE_CHECK, key, name);
    memcpy(hash, name, sizeof hash - 1);
    if (snprintf(path, sizeof path, "%s/.lock-%02lx", store->folder,
                 strtoul(hash, NULL, 16) % LOCK_FILES) >= PATH_SIZE)
        return NULL;
    tn_store_lock *lock = malloc(sizeof *lock);
    const int error = lock != NULL ? tn_file_lock(path, &lock->file) : ENOMEM;
    if (error == 0)
        return lock;
    *is_busy = error == EBUSY;
    free(lock);
    return NULL;
}

/* Time between two attempts to take a lock. */
#define LOCK_PAUSE_NS UINT64_C(5000000)

tn_store_lock *tn_store_lock_wait(tn_store *store, const char *key, uint64_t longest,
                                  bool (*goes_on)(const void *user), const void *user)
{
    const uint64_t began = tn_now();
    bool is_busy;
    tn_store_lock *lock = tn_store_lock_try(store, key, &is_busy);
    while (is_busy && tn_now() - began < longest && goes_on(user)) {
        tn_sleep(LOCK_PAUSE_NS);
        lock = tn_store_lock_try(store, key, &is_busy);
    }
    return lock;
}

void tn_store_lock_release(tn_store_lock *lock)
{
    if (lock == NULL)
        return;
    tn_file_unlock(lock->file);
    free(lock);
}

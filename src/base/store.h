/*
 * The store: data kept between processes under a key, in a folder or through the application's
 * functions (tenon/store.h). An entry is one file, or one value of the application: a header with
 * a checksum, the whole key, and the data. An entry with a wrong checksum or key is treated as
 * missing.
 *
 * Failures of the store never fail a call. If it does not work, one message is logged and
 * everything continues without it. All functions are thread-safe and accept NULL for a store that
 * keeps nothing. The caller must not hold a lock, since the log callback may be called.
 */
#ifndef TN_BASE_STORE_H
#define TN_BASE_STORE_H

#include "base/log.h"

#include <tenon/store.h>

#include <stdbool.h>

typedef struct tn_store tn_store;

/* The kind of an entry. It is part of the entry's name, so equal keys of different kinds are
 * different entries. */
typedef enum tn_store_kind {
    TN_STORE_PROGRAM,   /* the binary of a program */
    TN_STORE_CHECK,     /* the verdict of a self-check */
    TN_STORE_TRIAL,     /* the result of a capability's trial */
    TN_STORE_RUNNING,   /* a check or trial that has not ended (the crash guard's record) */
    TN_STORE_TUNING,    /* the measured fastest solver of a problem */
    TN_STORE_CONSTANTS, /* measured constants of the device model */
    TN_STORE_KINDS
} tn_store_kind;

/* Returns the name of a kind, which is the suffix of its entries' names. */
const char *tn_store_kind_name(tn_store_kind kind);

/* Creates a store from the application's settings; gives NULL if nothing is to be kept. Fails for
 * invalid settings. Whether a folder is usable is found at the first use. */
tenon_status tn_store_create(const char *caller, const tenon_store *where, const tn_log *log,
                             tn_store **out);
void tn_store_destroy(tn_store *store);

/* Returns the data of an entry with a terminating 0 byte, which the caller frees; NULL if there is
 * none. */
void *tn_store_get(tn_store *store, tn_store_kind kind, const char *key, size_t *size);

/* Returns true if the entry exists; its data may still be invalid. */
bool tn_store_has(tn_store *store, tn_store_kind kind, const char *key);

void tn_store_put(tn_store *store, tn_store_kind kind, const char *key, const void *data,
                  size_t size);
void tn_store_remove(tn_store *store, tn_store_kind kind, const char *key);

/* Writes the name of an entry: a hash of its key as 32 hexadecimal digits, and the name of its
 * kind. */
#define TN_STORE_NAME_SIZE 64
void tn_store_name(tn_store_kind kind, const char *key, char name[TN_STORE_NAME_SIZE]);

/* Visits the name of every entry of a kind. Returns false if they cannot all be listed, as with
 * the application's functions. */
bool tn_store_each(tn_store *store, tn_store_kind kind, bool (*visit)(void *user, const char *name),
                   void *user);

/* Visits every valid entry of a kind with its key and its data, which has a terminating 0 byte.
 * Returns false if they cannot all be listed. */
typedef void (*tn_store_visitor)(void *user, const char *key, const char *data, size_t size);
bool tn_store_each_entry(tn_store *store, tn_store_kind kind, tn_store_visitor visit, void *user);

/* A lock between the processes that share a folder, for the work whose result is an entry. The
 * locks of a process that ends are released. */
typedef struct tn_store_lock tn_store_lock;

/* Takes the lock of a key. Returns NULL if another thread or process holds it (*is_busy is then
 * true), or if there are no locks: the store uses no folder, its file system has none, or memory is
 * short. Keys may share a lock, so a thread must not take two. */
tn_store_lock *tn_store_lock_try(tn_store *store, const char *key, bool *is_busy);

/* The same, but waits at most `longest` nanoseconds for a lock that another one holds, and as long
 * as `goes_on`, which is called between two attempts, returns true. */
tn_store_lock *tn_store_lock_wait(tn_store *store, const char *key, uint64_t longest,
                                  bool (*goes_on)(const void *user), const void *user);

/* NULL is allowed. */
void tn_store_lock_release(tn_store_lock *lock);

/* Returns the store's folder; NULL if it does not use one. */
const char *tn_store_folder(const tn_store *store);

#endif

/*
 * What is kept between processes: bytes under a key, in a folder or by the application's functions
 * (tenon/store.h). An entry is one file, or one value of the application's: a header with a
 * checksum, the whole key, the data. What does not fit its checksum or its key is as if it were not
 * there.
 *
 * Nothing here fails a call. Where the store does not work, one message in the log says so, and all
 * goes on without it. Every function is safe from any thread, and takes NULL for a store that keeps
 * nothing. None must be called with a lock held, since the log may be told.
 */
#ifndef TN_BASE_STORE_H
#define TN_BASE_STORE_H

#include "base/log.h"

#include <tenon/store.h>

#include <stdbool.h>

typedef struct tn_store tn_store;

/* What an entry is: a part of its name, so that equal keys of two kinds are two entries. */
typedef enum tn_store_kind {
    TN_STORE_PROGRAM,   /* a program as the driver gives it */
    TN_STORE_CHECK,     /* the outcome of a self-check */
    TN_STORE_TRIAL,     /* the outcome of a capability's trial */
    TN_STORE_RUNNING,   /* a check or trial that has not ended */
    TN_STORE_TUNING,    /* the fastest solver of a problem, as measured */
    TN_STORE_CONSTANTS, /* the device model's numbers, as measured */
    TN_STORE_KINDS
} tn_store_kind;

/* The word for a kind, which ends its entries' names. */
const char *tn_store_kind_name(tn_store_kind kind);

/* Makes a store from what the application says, NULL included where nothing is to be kept. Refuses
 * what is wrong with it; whether a folder works is found at the first use. */
tenon_status tn_store_create(const char *caller, const tenon_store *where, const tn_log *log,
                             tn_store **out);
void tn_store_destroy(tn_store *store);

/* The data of an entry, which the caller frees, with a byte of 0 behind it; NULL where there is
 * none. */
void *tn_store_get(tn_store *store, tn_store_kind kind, const char *key, size_t *size);

/* Whether there is an entry; its data may still turn out to be useless. */
bool tn_store_has(tn_store *store, tn_store_kind kind, const char *key);

void tn_store_put(tn_store *store, tn_store_kind kind, const char *key, const void *data,
                  size_t size);
void tn_store_remove(tn_store *store, tn_store_kind kind, const char *key);

/* The name of an entry: a hash of its key in 32 hexadecimal digits, and the word for its kind. */
#define TN_STORE_NAME_SIZE 64
void tn_store_name(tn_store_kind kind, const char *key, char name[TN_STORE_NAME_SIZE]);

/* Calls for the name of every entry of a kind. False where they cannot all be listed: those of the
 * application's functions cannot. */
bool tn_store_each(tn_store *store, tn_store_kind kind, bool (*visit)(void *user, const char *name),
                   void *user);

/* Calls for every entry of a kind that is whole, with its key and its data, which has a byte of 0
 * behind it. False where they cannot all be listed. */
typedef void (*tn_store_visitor)(void *user, const char *key, const char *data, size_t size);
bool tn_store_each_entry(tn_store *store, tn_store_kind kind, tn_store_visitor visit, void *user);

/* Where it is; NULL where that is no folder. */
const char *tn_store_folder(const tn_store *store);

#endif

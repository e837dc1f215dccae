/* The entries in the store's folder, for `tenon cache`. */
#ifndef TENON_TOOLS_CACHE_LIST_H
#define TENON_TOOLS_CACHE_LIST_H

#include "base/store_entry.h"

typedef struct cache_row {
    char name[TN_STORE_NAME_SIZE];
    uint64_t size;
    int64_t used; /* seconds since 1970 */
} cache_row;

typedef struct cache_rows {
    cache_row *rows;
    uint32_t count, capacity;
    uint64_t bytes;
    bool is_short; /* out of memory */
} cache_rows;

/* Reads all entries, sorted by kind and then by most recent use; the caller frees `rows`. A missing
 * folder has no entries. Prints the reason to stderr and returns false if the folder cannot be
 * read. */
bool cache_rows_read(const char *verb, const char *folder, cache_rows *out);

/* Returns the kind of an entry: the suffix of its name. */
const char *cache_row_kind(const cache_row *row);

/* Prints the entries, only those of `kind` if it is not NULL, and their totals. Returns the exit
 * status: a failure if an entry is damaged. */
int cache_list(const char *folder, const cache_rows *rows, const char *kind);

#endif

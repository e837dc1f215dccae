/* What is in the store's folder, for `tenon cache`. */
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
    size_t count, capacity;
    uint64_t bytes;
    bool is_short; /* memory was */
} cache_rows;

/* All entries, by kind, and of a kind those that were used last first; the caller frees `rows`. A
 * folder that is not there has none. False, which stderr is told, where it cannot be read. */
bool cache_rows_read(const char *verb, const char *folder, cache_rows *out);

/* The word behind the point: its kind. */
const char *cache_row_kind(const cache_row *row);

/* Prints entries, those of one kind where that is not NULL, and their totals. Returns the exit
 * status: that of a failure where one of them is damaged. */
int cache_list(const char *folder, const cache_rows *rows, const char *kind);

#endif

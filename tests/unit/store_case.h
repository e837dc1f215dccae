/* Support for tests of the store: opening one, its entries, and the lines that it logs. */
#ifndef TENON_TESTS_UNIT_STORE_CASE_H
#define TENON_TESTS_UNIT_STORE_CASE_H

#include "base/store_entry.h"
#include "base/store_folder.h"

/* Counts lines, which must be warnings, and keeps the last one. */
extern const tn_log store_heard;

/* Opens a store that logs to store_heard, whose count becomes 0. */
tn_store *store_open(const tenon_store *where);
tn_store *store_open_folder(const char *folder, uint64_t limit);

/* Stores a text under a key. */
void store_put(tn_store *store, const char *key, const char *text);

/* Asserts that the key has this text; NULL: that it has none. */
void store_assert_has(tn_store *store, const char *key, const char *text);

/* Returns the last line that was logged. */
const char *store_last_line(void);

/* Asserts the number of lines since the last call, and that the last one contains `part`. */
void store_assert_lines(int count, const char *part);

#endif

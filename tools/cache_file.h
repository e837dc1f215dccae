/* Entries of the store in one file, as `tenon cache export` writes and `import` reads it:
 *
 *   tenon cache 1            a line, ended by a newline, as all lines here
 *   NAME SIZE CHECKSUM       of an entry: its name, its bytes, XXH3 of these as 16 hex digits
 *   …                        its bytes
 *   (and so on)
 *   end COUNT                how many entries there were
 */
#ifndef TENON_TOOLS_CACHE_FILE_H
#define TENON_TOOLS_CACHE_FILE_H

#include "base/store_entry.h"

#include <stdio.h>

#define CACHE_FAULT_SIZE 256

/* An entry of the file; the pointers are valid in the call only. */
typedef struct cache_item {
    const char *name;
    const unsigned char *bytes;
    size_t size;
    tn_entry entry;
} cache_item;

/* Writes one after the other; false where the file cannot be written. */
bool cache_file_begin(FILE *file);
bool cache_file_add(FILE *file, const char *name, const unsigned char *bytes, size_t size);
bool cache_file_end(FILE *file, unsigned long long count);

/* Calls for each entry of a file of any bytes, until a call returns false; each has been verified
 * before. False, with the reason in `fault`, where the file is not one that was written whole. */
typedef bool (*cache_visitor)(void *user, const cache_item *item);
bool cache_file_read(FILE *file, cache_visitor visit, void *user, char fault[CACHE_FAULT_SIZE]);

#endif

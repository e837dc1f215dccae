/* The file written by `tenon cache export` and read by `tenon cache import`:
 *
 *   tenon cache 1            first line; every line ends with a newline
 *   NAME SIZE CHECKSUM       for each entry: its name, its size in bytes, its XXH3 as 16 hex digits
 *   …                        the bytes of the entry
 *   (and so on)
 *   end COUNT                the number of entries */
#ifndef TENON_TOOLS_CACHE_FILE_H
#define TENON_TOOLS_CACHE_FILE_H

#include "base/store_entry.h"

#include <stdio.h>

#define CACHE_FAULT_SIZE 256

/* An entry of the file; the pointers are valid only during the call. */
typedef struct cache_item {
    const char *name;
    const unsigned char *bytes;
    size_t size;
    tn_entry entry;
} cache_item;

/* Write the file in this order: begin, entries, end. Return false if the file cannot be written. */
bool cache_file_begin(FILE *file);
bool cache_file_add(FILE *file, const char *name, const unsigned char *bytes, size_t size);
bool cache_file_end(FILE *file, unsigned long long count);

/* Calls `visit` for each entry of a file with arbitrary contents, after verifying the entry, until
 * a call returns false. Returns false, with the reason in `fault`, if the file is incomplete or
 * damaged. */
typedef bool (*cache_visitor)(void *user, const cache_item *item);
bool cache_file_read(FILE *file, cache_visitor visit, void *user, char fault[CACHE_FAULT_SIZE]);

#endif

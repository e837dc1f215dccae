/* A store in a folder. Files are written under a temporary name and renamed, so that readers see a
 * whole file or none, on network file systems too, without locks. */
#ifndef TN_BASE_STORE_FOLDER_H
#define TN_BASE_STORE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_STORE_LIMIT (UINT64_C(256) << 20)

/* Returns the folder that the environment defines, which the caller frees; NULL if it defines none
 * or memory is short. */
char *tn_folder_usual(void);

/* Returns why a folder cannot be used, written to `why`, or NULL. Its content is run as code, so
 * no other user may be able to write to it. */
const char *tn_folder_check(const char *folder, char why[256]);

/* Creates the folder and its parents if necessary. Returns why it cannot be used, written to
 * `why`, or NULL. */
const char *tn_folder_make(const char *folder, char why[256]);

/* Reads a whole file into memory with one spare byte, which the caller frees; NULL if that fails.
 */
unsigned char *tn_folder_read(const char *folder, const char *name, size_t *size);

/* The same, and marks the file as used. */
unsigned char *tn_folder_use(const char *folder, const char *name, size_t *size);

bool tn_folder_has(const char *folder, const char *name);

/* Writes a file. Returns why that failed, or NULL. */
const char *tn_folder_write(const char *folder, const char *name, const void *bytes, size_t size,
                            char why[256]);

/* Returns true if a directory has the file's name, so that the file cannot be written. */
bool tn_folder_is_blocked(const char *folder, const char *name);

void tn_folder_remove(const char *folder, const char *name);

/* Removes temporary files of writers that have ended. */
void tn_folder_sweep(const char *folder);

/* Removes the least recently used files until at most `limit` bytes remain. */
void tn_folder_trim(const char *folder, uint64_t limit);

/* Visits the file of every entry and ignores other files. Returns false if the folder cannot be
 * read or a visit returned false. */
typedef bool (*tn_folder_visitor)(void *user, const char *name, uint64_t size, int64_t used);
bool tn_folder_each(const char *folder, tn_folder_visitor visit, void *user);

#endif

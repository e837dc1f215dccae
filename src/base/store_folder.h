/* A folder of entries: files that are written under a temporary name and renamed, so that a reader
 * sees all of one or nothing, on a network's file system too. No locks. */
#ifndef TN_BASE_STORE_FOLDER_H
#define TN_BASE_STORE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TN_STORE_LIMIT (UINT64_C(256) << 20)

/* The folder that the environment names; NULL where it names none, or without memory. The caller
 * frees it. */
char *tn_folder_usual(void);

/* Why a folder cannot be used, NULL where it can: `why` holds the text. What is kept there is run
 * as code, so nobody else may put anything in. */
const char *tn_folder_refuse(const char *folder, char why[256]);

/* Makes the folder and those above it where they are not there. Returns why it cannot be used, NULL
 * where it can: `why` holds the text. */
const char *tn_folder_make(const char *folder, char why[256]);

/* A whole file, which the caller frees, with room for a byte behind it; NULL where it cannot be
 * read. */
unsigned char *tn_folder_read(const char *folder, const char *name, size_t *size);

/* The same, and notes that it was used. */
unsigned char *tn_folder_use(const char *folder, const char *name, size_t *size);

bool tn_folder_has(const char *folder, const char *name);

/* Keeps a file. Returns why it cannot, NULL where it can. */
const char *tn_folder_write(const char *folder, const char *name, const void *bytes, size_t size,
                            char why[256]);

/* Whether a directory has the file's name, so that the file cannot be written. */
bool tn_folder_is_blocked(const char *folder, const char *name);

void tn_folder_remove(const char *folder, const char *name);

/* Removes what writers have left that are no more. */
void tn_folder_sweep(const char *folder);

/* Removes files, those that were used longest ago first, until no more than `limit` bytes are
 * left. */
void tn_folder_trim(const char *folder, uint64_t limit);

/* Calls for every entry's file; what is there besides is left out. False where the folder cannot be
 * read, or a call returned false. */
typedef bool (*tn_folder_visitor)(void *user, const char *name, uint64_t size, int64_t used);
bool tn_folder_each(const char *folder, tn_folder_visitor visit, void *user);

#endif

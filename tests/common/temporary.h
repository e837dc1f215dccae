/* Temporary folders of tests, and access to their contents. */
#ifndef TENON_TESTS_TEMPORARY_H
#define TENON_TESTS_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

/* Creates an empty folder below TMPDIR or /tmp, to be removed by temporary_remove. If a failed test
 * leaves it, it is removed before the next test or when the program ends. */
char *temporary_make(void);

/* Removes a folder and its contents, and frees the path. */
void temporary_remove(char *folder);

/* Returns "folder/name", which is valid until the fourth call from now. */
const char *temporary_path(const char *folder, const char *name);

/* Returns the number of files whose names contain `part`; 0 if the folder cannot be read. */
int temporary_count(const char *folder, const char *part);

/* Copies the alphabetically first of these names; returns false if there is none. */
bool temporary_find(const char *folder, const char *part, char name[256]);

/* Read a whole file into memory that the caller frees, followed by a 0 byte; write a file. Both
 * fail the test on an error. */
unsigned char *temporary_read(const char *path, size_t *size);
void temporary_write(const char *path, const void *bytes, size_t size);

/* Returns true if a file has these bytes, and no others. Fails the test if it cannot be read. */
bool temporary_has(const char *path, const void *bytes, size_t size);

#endif

/* Folders of tests' own, and what is in them. */
#ifndef TENON_TESTS_TEMPORARY_H
#define TENON_TESTS_TEMPORARY_H

#include <stdbool.h>
#include <stddef.h>

/* Makes an empty folder below TMPDIR or /tmp, for temporary_remove. A folder that a failed test
 * leaves is removed before the next test, or when the program ends. */
char *temporary_make(void);

/* Removes a folder with all in it, and frees the path. */
void temporary_remove(char *folder);

/* "folder/name", valid until the fourth call from now. */
const char *temporary_path(const char *folder, const char *name);

/* Files whose names have a text in them; folders that cannot be read have none. */
int temporary_count(const char *folder, const char *part);

/* The name of the first such file, in the order of names; false where there is none. */
bool temporary_find(const char *folder, const char *part, char name[256]);

/* A whole file, which the caller frees, with a 0 behind it. Both fail the test where they cannot.
 */
unsigned char *temporary_read(const char *path, size_t *size);
void temporary_write(const char *path, const void *bytes, size_t size);

#endif

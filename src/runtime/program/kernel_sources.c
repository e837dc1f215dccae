/* Assembly of a program's source from the embedded files. */
#include "runtime/program/kernel_sources.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INCLUDE   "#include \""
#define NAME_SIZE 128

static int compare_name(const void *name, const void *file)
{
    return strcmp(name, ((const struct tenon_kernel_file *)file)->name);
}

static const struct tenon_kernel_file *
kernel_sources_find(const struct tenon_kernel_sources *sources, const char *name)
{
    return bsearch(name, sources->files, sources->count, sizeof *sources->files, compare_name);
}

const struct tenon_kernel_file *tn_kernel_file(const struct tenon_kernel_sources *sources,
                                               const char *kernel)
{
    char name[NAME_SIZE];
    int length = snprintf(name, sizeof name, "%s.cl", kernel);
    return length < NAME_SIZE ? kernel_sources_find(sources, name) : NULL;
}

/* A growing text. */
typedef struct assembly {
    const struct tenon_kernel_sources *sources;
    bool *taken; /* indexed by file number: already included */
    char *text;
    size_t length, capacity;
    bool failed; /* out of memory */
} assembly;

static void append(assembly *a, const char *text, size_t length)
{
    if (a->length + length >= a->capacity && !a->failed) {
        size_t capacity = 2 * (a->capacity + length) + 4096;
        char *grown = realloc(a->text, capacity);
        a->failed = grown == NULL;
        if (grown == NULL)
            return;
        a->text = grown;
        a->capacity = capacity;
    }
    if (a->failed || a->text == NULL)
        return;
    memcpy(a->text + a->length, text, length);
    a->length += length;
    a->text[a->length] = '\0';
}

static void append_position(assembly *a, const struct tenon_kernel_file *file, unsigned line)
{
    char text[NAME_SIZE + 64];
    int length =
        snprintf(text, sizeof text, "#line %u \"%s/%s\"\n", line, a->sources->root, file->name);
    append(a, text, (size_t)length);
}

/* Returns the file that a line includes, or NULL if it is not an include. */
static const struct tenon_kernel_file *included(const assembly *a, const char *line,
                                                const char *end)
{
    char name[NAME_SIZE];
    const size_t head = sizeof INCLUDE - 1;
    if ((size_t)(end - line) <= head || memcmp(line, INCLUDE, head) != 0)
        return NULL;
    const size_t length = (size_t)(end - line) - head - 1;
    if (length >= sizeof name)
        return NULL;
    memcpy(name, line + head, length);
    name[length] = '\0';
    return kernel_sources_find(a->sources, name);
}

/* Recursive; includes nest only a few levels deep. */
static void append_file(assembly *a, const struct tenon_kernel_file *file)
{
    unsigned number = 1;
    a->taken[file - a->sources->files] = true;
    append_position(a, file, number);
    for (const char *line = file->text; *line != '\0'; number++) {
        const char *end = strchr(line, '\n');
        const struct tenon_kernel_file *other = included(a, line, end);
        if (other == NULL) {
            append(a, line, (size_t)(end + 1 - line));
        } else if (a->taken[other - a->sources->files]) {
            append(a, "\n", 1);
        } else {
            append_file(a, other);
            append_position(a, file, number + 1);
        }
        line = end + 1;
    }
}

char *tn_kernel_text(const struct tenon_kernel_sources *sources,
                     const struct tenon_kernel_file *file, size_t *length)
{
    assembly a = {.sources = sources, .taken = calloc(sources->count, sizeof *a.taken)};
    if (a.taken == NULL)
        return NULL;
    append_file(&a, file);
    free(a.taken);
    if (a.failed) {
        free(a.text);
        return NULL;
    }
    *length = a.length;
    return a.text;
}

#include "base/processor.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MOST_TOLD 16384 /* bytes of /proc/cpuinfo that surely hold the first processor */

/* What stands behind "name :" in a line of its own, and its length; NULL where no line is so. */
static const char *line_of(const char *text, const char *name, size_t *length)
{
    const size_t size = strlen(name);
    for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + size;
        if (strncmp(line, name, size) != 0)
            continue;
        at += strspn(at, " \t");
        if (*at++ != ':')
            continue;
        at += strspn(at, " \t");
        *length = strcspn(at, "\n");
        return at;
    }
    return NULL;
}

/* The first of these lines that there is. */
static const char *one_of(const char *text, const char *const *names, size_t *length)
{
    const char *found = NULL;
    *length = 0;
    for (; found == NULL && *names != NULL; names++)
        found = line_of(text, *names, length);
    return found;
}

void tn_processor_name(char name[TN_PROCESSOR_SIZE])
{
    /* x86, ARM, POWER, RISC-V. */
    static const char *const brands[] = {"model name", "CPU part", "cpu", "uarch", NULL};
    static const char *const features[] = {"flags", "Features", "isa", NULL};
    static const char path[] = "/proc/cpuinfo";
    char text[MOST_TOLD];
    size_t brand_length, length;
    name[0] = '\0';
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return;
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    const char *brand = one_of(text, brands, &brand_length);
    const char *feature = one_of(text, features, &length);
    snprintf(name, TN_PROCESSOR_SIZE, "%.*s, features %016" PRIx64,
             brand_length < 128 ? (int)brand_length : 128, brand != NULL ? brand : "",
             (uint64_t)XXH3_64bits(feature != NULL ? feature : "", length));
}

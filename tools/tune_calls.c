#include "tune_calls.h"

#include "ops/registry.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(void)
{
    fprintf(stderr, "tenon tune: out of memory\n");
    return false;
}

static bool grow(tune_calls *calls)
{
    const uint32_t capacity = calls->capacity * 2 + 16;
    tn_case *cases = realloc(calls->cases, capacity * sizeof *cases);
    if (cases == NULL)
        return no_memory();
    calls->cases = cases;
    char **texts = realloc(calls->texts, capacity * sizeof *texts);
    if (texts == NULL)
        return no_memory();
    calls->texts = texts;
    calls->capacity = capacity;
    return true;
}

bool tune_calls_add(tune_calls *calls, const tn_case *given)
{
    char text[TN_CASE_TEXT_SIZE];
    if (calls->count == calls->capacity && !grow(calls))
        return false;
    tn_case *c = &calls->cases[calls->count];
    *c = *given;
    c->seed = 1;
    c->integers = false;
    snprintf(c->solver, sizeof c->solver, "%s", c->operation->family->name);
    tn_case_text(c, text);
    for (uint32_t i = 0; i < calls->count; i++)
        if (strcmp(calls->texts[i], text) == 0)
            return true;
    if ((calls->texts[calls->count] = tn_text_copy(text)) == NULL)
        return no_memory();
    calls->count++;
    return true;
}

bool tune_calls_add_line(tune_calls *calls, const char *line, tenon_dtype type)
{
    tn_case c;
    if (tn_case_parse_line(line, type, &c) == TENON_OK)
        return tune_calls_add(calls, &c);
    fprintf(stderr, "%s\n", tenon_last_error());
    return false;
}

static bool add_file_line(tune_calls *calls, const char *path, unsigned number, char *line,
                          size_t length, tenon_dtype type)
{
    static const char begins[] = "tenon check ";
    if (memchr(line, '\0', length) != NULL) {
        fprintf(stderr, "tenon tune: %s:%u: contains a null byte\n", path, number);
        return false;
    }
    line[strcspn(line, "\r\n")] = '\0';
    if (strncmp(line, begins, sizeof begins - 1) == 0)
        line += sizeof begins - 1;
    if (line[strspn(line, " \t")] == '\0' || line[0] == '#')
        return true;
    if (tune_calls_add_line(calls, line, type))
        return true;
    fprintf(stderr, "tenon tune: %s:%u: not a call\n", path, number);
    return false;
}

/* Reads a line with its newline. Returns its length; 0 at the end of the file or on an error, which
 * ferror and errno show. */
static size_t read_line(FILE *file, char **line, size_t *capacity)
{
    size_t length = 0;
    for (int c = 0; c != '\n' && (c = getc(file)) != EOF;) {
        if (length + 2 > *capacity) {
            char *larger = realloc(*line, 2 * *capacity + 128);
            if (larger == NULL)
                return 0;
            *line = larger;
            *capacity = 2 * *capacity + 128;
        }
        (*line)[length++] = (char)c;
        (*line)[length] = '\0';
    }
    return length;
}

bool tune_calls_add_file(tune_calls *calls, const char *path, tenon_dtype type)
{
    char *line = NULL;
    size_t capacity = 0;
    size_t length;
    bool added = true;
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "tenon tune: cannot read %s: %s\n", path, strerror(errno));
        return false;
    }
    errno = 0;
    for (unsigned n = 1; added && (length = read_line(file, &line, &capacity)) > 0; n++)
        added = add_file_line(calls, path, n, line, length, type);
    if (errno == ENOMEM || ferror(file)) {
        fprintf(stderr, "tenon tune: cannot read %s: %s\n", path, strerror(errno));
        added = false;
    }
    free(line);
    fclose(file);
    return added;
}

void tune_calls_free(tune_calls *calls)
{
    for (uint32_t i = 0; i < calls->count; i++)
        free(calls->texts[i]);
    free(calls->texts);
    free(calls->cases);
}

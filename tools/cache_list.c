/* tenon cache list. */
#include "cache_list.h"

#include "command.h"

#include "base/grow.h"
#include "base/store_folder.h"
#include "dispatch/tuning.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool add(void *user, const char *name, uint64_t size, int64_t used)
{
    cache_rows *list = user;
    list->is_short = !tn_grow(&list->rows, list->count, &list->capacity, sizeof *list->rows);
    if (list->is_short)
        return false;
    cache_row *row = &list->rows[list->count++];
    *row = (cache_row){.size = size, .used = used};
    snprintf(row->name, sizeof row->name, "%s", name);
    list->bytes += size;
    return true;
}

const char *cache_row_kind(const cache_row *row)
{
    const char *point = strchr(row->name, '.');
    return point != NULL ? point + 1 : "";
}

static int compare(const void *a, const void *b)
{
    const cache_row *x = a, *y = b;
    const int kinds = strcmp(cache_row_kind(x), cache_row_kind(y));
    if (kinds != 0)
        return kinds;
    return x->used != y->used ? (x->used < y->used) - (x->used > y->used)
                              : strcmp(x->name, y->name);
}

bool cache_rows_read(const char *verb, const char *folder, cache_rows *out)
{
    tn_file_facts is;
    *out = (cache_rows){0};
    if (tn_file_look(folder, &is) == ENOENT)
        return true;
    if (tn_folder_each(folder, add, out)) {
        if (out->count > 0)
            qsort(out->rows, out->count, sizeof *out->rows, compare);
        return true;
    }
    fprintf(stderr, "tenon cache: %s: cannot read folder %s%s\n", verb, folder,
            out->is_short ? ": out of memory" : "");
    free(out->rows);
    return false;
}

/* Copies the rest of the line that begins with `name`, truncated to `size`. */
static void copy_line(const char *text, const char *name, char *line, size_t size)
{
    const size_t length = strlen(name);
    for (; text != NULL; text = strchr(text, '\n')) {
        text += *text == '\n';
        if (strncmp(text, name, length) == 0) {
            snprintf(line, size, "%.*s", (int)strcspn(text + length, "\n"), text + length);
            return;
        }
    }
    line[0] = '\0';
}

static void print_program(const tn_entry *entry)
{
    char kernel[160], options[512];
    copy_line(entry->key, "kernel ", kernel, sizeof kernel);
    kernel[strcspn(kernel, ",")] = '\0'; /* remove the hash of its source */
    copy_line(entry->key, "options ", options, sizeof options);
    printf("%s %s\n", kernel, options);
}

/* Prints the first line of a result, followed by the reason, if there is one. */
static void print_outcome(const tn_entry *entry, const char *first, const char *reason)
{
    char line[256];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(first, "\n"), first);
    /* The key begins with its kind, except for a crash guard, whose key begins with the guarded
     * work. */
    const char *kind = tn_store_kind_name(entry->kind), *of = entry->key;
    if (strncmp(of, kind, strlen(kind)) == 0)
        of += strlen(kind) + strspn(of + strlen(kind), " ");
    printf("%.*s: %s", (int)strcspn(of, "\n"), of, line);
    if (reason != NULL && reason[1] != '\0')
        printf(": %.*s", (int)strcspn(reason + 1, "\n"), reason + 1);
    putchar('\n');
}

static void print_tuning(const char *data)
{
    tn_tuned tuned;
    if (tn_tuned_parse(data, &tuned))
        printf("%s: %s, %.0f ns, of %u candidates\n", tuned.call, tuned.solver, tuned.nanoseconds,
               tuned.candidates);
    else
        printf("cannot be parsed\n");
}

static void print_entry(const tn_entry *entry)
{
    char data[4096];
    const size_t size = entry->data_size < sizeof data ? entry->data_size : sizeof data - 1;
    if (entry->kind == TN_STORE_PROGRAM) {
        print_program(entry);
        return;
    }
    memcpy(data, entry->data, size);
    data[size] = '\0';
    if (entry->kind == TN_STORE_TUNING) {
        print_tuning(data);
        return;
    }
    const char *right = "right 1 ", *wrong = "right 0 ", *absent = "form -1";
    const char *first = strncmp(data, right, strlen(right)) == 0     ? "right"
                        : strncmp(data, wrong, strlen(wrong)) == 0   ? "wrong"
                        : strncmp(data, absent, strlen(absent)) == 0 ? "absent"
                                                                     : data;
    print_outcome(entry, first, strchr(data, '\n'));
}

static bool print_row(const char *folder, const cache_row *row)
{
    char when[32] = "?";
    size_t size;
    tn_entry entry;
    const time_t used = (time_t)row->used;
    const struct tm *parts = localtime(&used);
    if (parts != NULL)
        strftime(when, sizeof when, "%Y-%m-%d %H:%M", parts);
    printf("%-8s %10" PRIu64 "  %s  ", cache_row_kind(row), row->size, when);
    unsigned char *bytes = tn_folder_read(folder, row->name, &size);
    const bool is_right = bytes != NULL && tn_entry_read(bytes, size, &entry);
    if (is_right)
        print_entry(&entry);
    else
        printf("%s is %s\n", row->name, bytes != NULL ? "damaged" : "gone or cannot be read");
    const bool is_damaged = bytes != NULL && !is_right;
    free(bytes);
    return !is_damaged;
}

int cache_list(const char *folder, const cache_rows *rows, const char *kind)
{
    size_t count = 0, damaged = 0;
    uint64_t bytes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const cache_row *row = &rows->rows[i];
        if (kind != NULL && strcmp(cache_row_kind(row), kind) != 0)
            continue;
        count++;
        bytes += row->size;
        damaged += !print_row(folder, row);
    }
    printf("%zu %s of %" PRIu64 " bytes in %s\n", count, count == 1 ? "entry" : "entries", bytes,
           folder);
    if (damaged > 0)
        fprintf(stderr, "tenon cache: list: %zu damaged in %s\n", damaged, folder);
    return damaged > 0 ? EXIT_FAILED : EXIT_OK;
}

#include "tune_file.h"

#include "base/platform.h"
#include "dispatch/operation.h"
#include "ops/registry.h"
#include "runtime/probe/constants.h"

#include <jansson.h>

#include <errno.h>
#include <math.h>
#include <stdarg.h>

#define FORMAT      "tenon tuning"
#define VERSION     1
#define LINE_SIZE   1024
#define HASH_DIGITS 32

TN_PRINTF(2, 3) static bool fail(const char *path, const char *format, ...)
{
    va_list arguments;
    fprintf(stderr, "tenon tune: %s: ", path);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    return false;
}

/* Returns the properties that results depend on: the lines of the context's identity after the
 * library's sources, each a name and a value. */
static json_t *machine_of(const tenon_context *context)
{
    json_t *machine = json_object();
    const char *line = context->persistence.identity;
    while ((line = strchr(line, '\n')) != NULL && *++line != '\0') {
        const size_t length = strcspn(line, "\n"), word = strcspn(line, " \n");
        char name[32], value[LINE_SIZE];
        snprintf(name, sizeof name, "%.*s", (int)word, line);
        snprintf(value, sizeof value, "%.*s", (int)(length > word ? length - word - 1 : 0),
                 line + word + 1);
        json_object_set_new(machine, name, json_string(value));
    }
    return machine;
}

/* Returns the data of the device that a table of its kind can be made from, together with the
 * results; it is not read back. */
static json_t *device_of(tenon_context *context)
{
    const tn_model *model = &context->device.model;
    tn_host_speed speed;
    json_t *device = json_pack("{s:s, s:s, s:f, s:I}", "name", context->device.info.name, "kind",
                               model->kind->name, "compute_units", model->units, "cache",
                               (json_int_t)context->device.driver_cache);
    if (tn_constants_measured(context, &speed))
        json_object_set_new(device, "speed",
                            json_pack("{s:f, s:f, s:f, s:I, s:f, s:f}", "rate", speed.rate,
                                      "memory", speed.memory, "cache", speed.cache, "cache_size",
                                      (json_int_t)speed.cache_size, "pages", speed.pages,
                                      "unaligned", speed.unaligned));
    return device;
}

/* Compares two results by call. */
static int by_call(const void *a, const void *b)
{
    const json_t *const *x = a, *const *y = b;
    return strcmp(json_string_value(json_object_get(*x, "call")),
                  json_string_value(json_object_get(*y, "call")));
}

static json_t *sorted(json_t *list)
{
    const size_t count = json_array_size(list);
    json_t **items = calloc(count + 1, sizeof *items), *result = json_array();
    for (size_t i = 0; items != NULL && i < count; i++)
        items[i] = json_array_get(list, i);
    if (items != NULL)
        qsort(items, count, sizeof *items, by_call);
    for (size_t i = 0; items != NULL && i < count; i++)
        json_array_append(result, items[i]);
    free(items);
    json_decref(list);
    return result;
}

/* Adds a result to the list. A key without a space belongs to a `tenon tune` that tests if results
 * can be stored; it is skipped. */
static void add_outcome(void *user, const char *problem, const tn_tuned *tuned)
{
    if (strchr(problem, ' ') == NULL)
        return;
    json_t *outcome =
        json_pack("{s:s, s:s, s:f, s:I, s:b, s:s}", "call", tuned->call, "solver", tuned->solver,
                  "nanoseconds", tuned->nanoseconds, "candidates", (json_int_t)tuned->candidates,
                  "searched", (int)tuned->is_searched, "key", problem);
    if (outcome != NULL)
        json_array_append_new(user, outcome);
}

/* Writes a temporary file in the same folder, and renames it. */
static bool write_file(const char *path, const json_t *document)
{
    char temporary[4096];
    if (snprintf(temporary, sizeof temporary, "%s.XXXXXX", path) >= (int)sizeof temporary)
        return fail(path, "cannot write the file: %s", strerror(ENAMETOOLONG));
    FILE *file = tn_file_begin(temporary);
    if (file == NULL)
        return fail(path, "cannot write the file: %s", strerror(errno));
    const bool written =
        json_dumpf(document, file, JSON_INDENT(2)) == 0 && fputc('\n', file) != EOF;
    const int error = tn_file_keep(file, temporary, path, written, true);
    return error == 0 || fail(path, "cannot write the file: %s", strerror(error));
}

bool tune_file_export(tenon_context *context, const char *path)
{
    json_t *outcomes = json_array();
    if (!tn_tuning_each(context, add_outcome, outcomes)) {
        json_decref(outcomes);
        return fail(path, "cannot read the store");
    }
    outcomes = sorted(outcomes);
    const size_t count = json_array_size(outcomes);
    json_t *document =
        json_pack("{s:s, s:i, s:o, s:o, s:o}", "format", FORMAT, "version", VERSION, "machine",
                  machine_of(context), "device", device_of(context), "outcomes", outcomes);
    const bool written =
        document != NULL ? write_file(path, document) : fail(path, "cannot write the file");
    json_decref(document);
    if (written)
        printf("wrote %zu outcomes to %s\n", count, path);
    return written;
}

/* A result read from the file. */
typedef struct entry {
    char key[TN_TUNING_KEY_SIZE];
    tn_tuned tuned;
} entry;

typedef struct reader {
    const char *path;
    size_t number; /* number of the result in the file, from 1 */
} reader;

static bool fail_field(const reader *r, const char *field, const char *what)
{
    return fail(r->path, "outcome %zu: %s %s", r->number, field, what);
}

static bool read_text(const reader *r, const json_t *outcome, const char *field, char *text,
                      size_t size)
{
    const char *value = json_string_value(json_object_get(outcome, field));
    if (value == NULL)
        return fail_field(r, field, "is not a string");
    const size_t length = strlen(value);
    if (length == 0 || length >= size)
        return fail_field(r, field, length == 0 ? "is empty" : "is too long");
    for (const char *c = value; *c != '\0'; c++)
        if ((unsigned char)*c < ' ')
            return fail_field(r, field, "contains a control character");
    memcpy(text, value, length + 1);
    return true;
}

static bool read_numbers(const reader *r, const json_t *outcome, tn_tuned *tuned)
{
    const json_t *nanoseconds = json_object_get(outcome, "nanoseconds"),
                 *candidates = json_object_get(outcome, "candidates"),
                 *searched = json_object_get(outcome, "searched");
    tuned->nanoseconds = json_number_value(nanoseconds);
    if (!json_is_number(nanoseconds) || !(tuned->nanoseconds > 0 && tuned->nanoseconds < 1e18))
        return fail_field(r, "nanoseconds", "is not a number above 0");
    const json_int_t count = json_integer_value(candidates);
    if (!json_is_integer(candidates) || count < 1 || count > UINT32_MAX)
        return fail_field(r, "candidates", "is not an integer above 0");
    tuned->candidates = (uint32_t)count;
    if (!json_is_boolean(searched))
        return fail_field(r, "searched", "is neither true nor false");
    tuned->is_searched = json_is_true(searched);
    return true;
}

static const tn_family *family_named(const char *name, size_t length)
{
    const tn_family *family;
    for (uint32_t i = 0; (family = tn_family_at(i)) != NULL; i++)
        if (strlen(family->name) == length && strncmp(family->name, name, length) == 0)
            return family;
    return NULL;
}

/* Checks that the key names an operation and that the solver belongs to it. */
static bool check_names(const reader *r, const entry *e)
{
    tn_problem problem = {.forced = -1};
    const size_t length = strcspn(e->key, " ");
    const tn_family *family = family_named(e->key, length);
    const char *hash = e->key + length + (e->key[length] == ' ');
    if (family == NULL || strlen(hash) != HASH_DIGITS ||
        strspn(hash, "0123456789abcdef") != HASH_DIGITS)
        return fail_field(r, "key", "is not an operation and 32 hexadecimal digits");
    if (tn_solver_force("tenon tune", family, e->tuned.solver, &problem) == TENON_OK)
        return true;
    return fail(r->path, "outcome %zu: solver: %s", r->number, tenon_last_error());
}

static bool read_outcome(const reader *r, const json_t *outcome, entry *e)
{
    if (!json_is_object(outcome))
        return fail(r->path, "outcome %zu is not an object", r->number);
    return read_text(r, outcome, "call", e->tuned.call, sizeof e->tuned.call) &&
           read_text(r, outcome, "solver", e->tuned.solver, sizeof e->tuned.solver) &&
           read_text(r, outcome, "key", e->key, sizeof e->key) &&
           read_numbers(r, outcome, &e->tuned) && check_names(r, e);
}

/* Checks that the results were measured on this device, driver, processor and version. */
static bool check_machine(tenon_context *context, const char *path, const json_t *document)
{
    json_t *own = machine_of(context);
    const json_t *there = json_object_get(document, "machine");
    const char *name;
    json_t *value;
    bool same = json_is_object(there) || fail(path, "machine is not an object");
    if (same)
        json_object_foreach(own, name, value)
        {
            const char *text = json_string_value(json_object_get(there, name));
            same = text != NULL && strcmp(text, json_string_value(value)) == 0;
            if (!same) {
                fail(path, "machine: %s is \"%s\", must be \"%s\"", name, text != NULL ? text : "",
                     json_string_value(value));
                break;
            }
        }
    json_decref(own);
    return same;
}

static bool check_head(tenon_context *context, const char *path, const json_t *document)
{
    const char *format = json_string_value(json_object_get(document, "format"));
    const json_t *version = json_object_get(document, "version");
    if (format == NULL || strcmp(format, FORMAT) != 0)
        return fail(path, "format is not \"" FORMAT "\"");
    if (!json_is_integer(version) || json_integer_value(version) != VERSION)
        return fail(path, "version is not %d", VERSION);
    return check_machine(context, path, document);
}

/* Reads all results, which the caller frees; NULL if one is invalid. */
static entry *read_outcomes(const char *path, const json_t *document, size_t *count)
{
    const json_t *list = json_object_get(document, "outcomes");
    *count = json_array_size(list);
    entry *entries = calloc(*count + 1, sizeof *entries);
    if (entries == NULL) {
        fail(path, "out of memory");
        return NULL;
    }
    bool well = json_is_array(list) || fail(path, "outcomes is not an array");
    for (size_t i = 0; well && i < *count; i++)
        well = read_outcome(&(reader){path, i + 1}, json_array_get(list, i), &entries[i]);
    if (well)
        return entries;
    free(entries);
    return NULL;
}

static void put_outcomes(tenon_context *context, const entry *entries, size_t count, bool merges,
                         const char *path)
{
    size_t taken = 0;
    for (size_t i = 0; i < count; i++) {
        tn_tuned own;
        if (merges && tn_tuning_get(context, entries[i].key, &own) &&
            own.nanoseconds <= entries[i].tuned.nanoseconds)
            continue;
        tn_tuning_put(context, entries[i].key, &entries[i].tuned);
        taken++;
    }
    printf("imported %zu of %zu outcomes from %s\n", taken, count, path);
}

bool tune_file_import(tenon_context *context, const char *path, bool merges)
{
    json_error_t error;
    size_t count;
    json_t *document = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL)
        return error.line > 0
                   ? fail(path, "line %d, column %d: %s", error.line, error.column, error.text)
                   : fail(path, "%s", error.text);
    entry *entries = NULL;
    if (check_head(context, path, document))
        entries = read_outcomes(path, document, &count);
    if (entries != NULL)
        put_outcomes(context, entries, count, merges, path);
    json_decref(document);
    free(entries);
    return entries != NULL;
}

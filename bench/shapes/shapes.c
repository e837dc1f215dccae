#include "shapes.h"

#include "built_in.h"
#include "reader.h"

#include "../bench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FORMAT "tenon-bench shapes 1"

bench_shape_suite *bench_shape_suites;
uint32_t bench_shape_suite_count;

/* The kinds of suites, and their readers. */
static const struct {
    const char *kind;
    bench_cases_reader *read;
    const char *members[4]; /* besides those of all suites */
} kinds[] = {
    {"gemm", bench_read_gemm, {"products_of", "match"}},
    {"conv", bench_read_conv, {"from", "match", "n"}},
    {"conv gradients", bench_read_conv, {"from", "match", "n"}},
    {"conv nhwc", bench_read_conv, {"from", "match", "n"}},
    {"conv nhwc gradients", bench_read_conv, {"from", "match", "n"}},
    {"conv int8", bench_read_conv, {"from", "match", "n"}},
    {"calls", bench_read_calls, {"sizes"}},
    {"calls nhwc", bench_read_image_calls, {"images"}},
    {"activation", bench_read_activations, {"sizes"}},
    {"bandwidth", bench_read_passes, {"sizes"}},
    {"pool", bench_read_pools, {"n", "layouts"}},
    {"packed", bench_read_packed, {"m"}},
    {"recurrence", bench_read_recurrent, {"n", "steps"}},
    {"collectives", bench_read_collectives, {"bytes", "members"}},
    {"scaling", bench_read_scaling, {"n", "members"}},
    {"networks", bench_read_networks, {NULL}},
    {"historic", bench_read_historic, {NULL}},
};
#define KINDS (sizeof kinds / sizeof *kinds)

const bench_shape_suite *bench_shape_suite_named(const char *name)
{
    for (uint32_t i = 0; i < bench_shape_suite_count; i++)
        if (strcmp(bench_shape_suites[i].name, name) == 0)
            return &bench_shape_suites[i];
    return NULL;
}

bench_shape_suite *bench_shape_suite_add(const char *name, const char *kind)
{
    bench_shape_suite *list =
        realloc(bench_shape_suites, (bench_shape_suite_count + 1) * sizeof *list);
    if (list == NULL)
        return NULL;
    bench_shape_suites = list;
    list[bench_shape_suite_count] = (bench_shape_suite){.name = name, .about = name, .kind = kind};
    return &list[bench_shape_suite_count++];
}

static bool read_peers(const bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const char *peers = "all";
    if (!bench_read_text(reader, suite, "peers", false, &peers))
        return false;
    to->peers = strcmp(peers, "cpu") == 0   ? BENCH_PEERS_CPU
                : strcmp(peers, "gpu") == 0 ? BENCH_PEERS_GPU
                                            : BENCH_PEERS_ALL;
    return to->peers != BENCH_PEERS_ALL || strcmp(peers, "all") == 0 ||
           bench_refuse(reader, "\"peers\" must be \"all\", \"cpu\" or \"gpu\", not \"%.40s\"",
                        peers);
}

static bool read_seconds(const bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const json_t *seconds = json_object_get(suite, "seconds");
    to->seconds = seconds != NULL ? json_number_value(seconds) : 0.3;
    return (to->seconds >= 1e-3 && to->seconds <= 3600) ||
           bench_refuse(reader, "\"seconds\" must be a number from 0.001 to 3600");
}

static bool read_kind(const bench_reader *reader, const json_t *suite, size_t *kind)
{
    const char *names[KINDS];
    uint32_t chosen = 0;
    for (size_t i = 0; i < KINDS; i++)
        names[i] = kinds[i].kind;
    if (!bench_read_choice(reader, suite, "kind", true, names, KINDS, &chosen))
        return false;
    *kind = chosen;
    return true;
}

static bool has_known_members(const bench_reader *reader, const json_t *suite, size_t kind)
{
    const char *known[16] = {"name", "kind", "about", "source", "seconds", "peers", "cases"};
    size_t count = 7;
    for (size_t i = 0; kinds[kind].members[i] != NULL; i++)
        known[count++] = kinds[kind].members[i];
    known[count] = NULL;
    const json_t *cases = json_object_get(suite, "cases");
    return bench_only_known(reader, suite, known) &&
           (cases == NULL || json_is_array(cases) ||
            bench_refuse(reader, "\"cases\" must be an array"));
}

/* Names are words of --suite, which lists them with commas. */
static bool is_new_name(const bench_reader *reader, const char *name)
{
    const size_t length = strlen(name);
    if (length > 32 || strcspn(name, ", \t\n\"") != length || strcmp(name, "gpu") == 0 ||
        strcmp(name, "cpu") == 0)
        return bench_refuse(reader,
                            "\"name\": \"%.40s\" is not a word of up to 32 characters "
                            "without commas",
                            name);
    return bench_shape_suite_named(name) == NULL ||
           bench_refuse(reader, "\"name\": there is a suite \"%.40s\" already", name);
}

static bool read_suite(bench_reader *reader, const json_t *suite)
{
    size_t kind = 0;
    const char *name = NULL;
    if (!json_is_object(suite))
        return bench_refuse(reader, "it must be a JSON object");
    if (!bench_read_text(reader, suite, "name", true, &name) || !is_new_name(reader, name) ||
        !read_kind(reader, suite, &kind) || !has_known_members(reader, suite, kind))
        return false;
    bench_shape_suite *to = bench_shape_suite_add(name, kinds[kind].kind);
    if (to == NULL)
        return bench_refuse(reader, "out of memory");
    return bench_read_text(reader, suite, "about", false, &to->about) &&
           bench_read_source(reader, suite) && read_peers(reader, suite, to) &&
           read_seconds(reader, suite, to) && kinds[kind].read(reader, suite, to) &&
           (to->count > 0 || bench_refuse(reader, "it has no cases"));
}

/* Reads a document, which is used until the program ends. */
static bool read_document(bench_reader *reader, const char *text, size_t length)
{
    static const char *const known[] = {"format", "about", "sources", "suites", NULL};
    json_error_t error;
    const char *format = NULL;
    const json_t *document = json_loadb(text, length, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL)
        return bench_refuse(reader, "line %d: %s", error.line, error.text);
    if (!bench_only_known(reader, document, known) ||
        !bench_read_text(reader, document, "format", true, &format))
        return false;
    if (strcmp(format, FORMAT) != 0)
        return bench_refuse(reader, "\"format\" is \"%.40s\", must be \"" FORMAT "\"", format);
    reader->sources = json_object_get(document, "sources");
    const json_t *suites = json_object_get(document, "suites"), *suite;
    size_t i;
    if (!json_is_array(suites) || json_array_size(suites) == 0)
        return bench_refuse(reader, "\"suites\" must be an array that is not empty");
    json_array_foreach(suites, i, suite)
    {
        snprintf(reader->place, sizeof reader->place, "suites[%zu]", i);
        if (!read_suite(reader, suite))
            return false;
    }
    return true;
}

bool bench_shapes_read_built_in(void)
{
    static bool is_read;
    for (size_t i = 0; i < bench_built_in_count && !is_read; i++) {
        bench_reader reader = {.file = bench_built_in_files[i].name};
        if (!read_document(&reader, bench_built_in_files[i].text, bench_built_in_files[i].length))
            return false;
    }
    is_read = true;
    return true;
}

/* Reads a whole file, which a 0 byte terminates. */
static char *read_file(const char *path, size_t *length)
{
    FILE *file = fopen(path, "r");
    size_t capacity = 1 << 16;
    char *text = file != NULL ? malloc(capacity) : NULL;
    *length = 0;
    while (text != NULL && !feof(file) && !ferror(file)) {
        *length += fread(text + *length, 1, capacity - *length - 1, file);
        if (*length + 1 < capacity)
            continue;
        char *more = realloc(text, capacity *= 2);
        if (more == NULL)
            break;
        text = more;
    }
    const bool well = text != NULL && feof(file) && !ferror(file);
    if (!well)
        bench_complain("--shapes: %s: %s", path, errno != 0 ? strerror(errno) : "cannot be read");
    if (file != NULL)
        fclose(file);
    if (!well) {
        free(text);
        return NULL;
    }
    text[*length] = '\0';
    return text;
}

bool bench_shapes_read(const char *path)
{
    bench_reader reader = {.file = path};
    const uint32_t before = bench_shape_suite_count;
    size_t length;
    errno = 0;
    char *text = read_file(path, &length);
    if (text == NULL)
        return false;
    if (strlen(text) != length) {
        free(text);
        return bench_refuse(&reader, "it is neither a JSON document nor a list of calls");
    }
    const bool is_json = text[strspn(text, " \t\r\n")] == '{';
    const bool well =
        is_json ? read_document(&reader, text, length) : bench_read_recorded(&reader, text);
    for (uint32_t i = before; i < bench_shape_suite_count; i++)
        bench_shape_suites[i].is_users = true;
    if (is_json)
        free(text);
    return well;
}

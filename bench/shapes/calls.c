/* Reads the cases of suites of calls, and files of recorded calls. */
#include "reader.h"

#include "ops/registry.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIZES 16
#define CHECK      "tenon check "

static bool add_call(bench_shape_suite *to, const bench_listed_call *call)
{
    bench_listed_call *list = realloc(to->calls, (to->count + 1) * sizeof *list);
    if (list == NULL)
        return false;
    to->calls = list;
    to->calls[to->count++] = *call;
    return true;
}

/* Replaces $N and $R by sizes for which every call is valid. */
static void fill_sizes(const char *line, char text[TN_CASE_TEXT_SIZE])
{
    size_t used = 0;
    for (; *line != '\0' && used < TN_CASE_TEXT_SIZE - 8; line++)
        if (*line == '$' && line[1] != '\0')
            used += (size_t)snprintf(text + used, TN_CASE_TEXT_SIZE - used, "%s",
                                     *++line == 'N' ? "65536" : "64");
        else
            text[used++] = *line;
    text[used] = '\0';
}

bool bench_check_call(const bench_reader *reader, const char *line)
{
    char text[TN_CASE_TEXT_SIZE];
    tn_case *parsed = malloc(sizeof *parsed);
    if (parsed == NULL)
        return bench_refuse(reader, "out of memory");
    fill_sizes(line, text);
    const bool well = tn_case_parse_line(text, TENON_DTYPE_F32, parsed) == TENON_OK;
    free(parsed);
    return well || bench_refuse(reader, "%.300s", tenon_last_error());
}

static bool read_call(const bench_reader *reader, const json_t *from, bench_listed_call *call)
{
    static const char *const known[] = {"name",    "source", "call",  "numpy",
                                        "by_rows", "picked", "limit", NULL};
    *call = (bench_listed_call){.name = NULL};
    return bench_only_known(reader, from, known) && bench_read_source(reader, from) &&
           bench_read_text(reader, from, "name", true, &call->name) &&
           bench_read_text(reader, from, "call", true, &call->line) &&
           bench_read_text(reader, from, "numpy", false, &call->numpy) &&
           bench_read_text(reader, from, "picked", false, &call->picked) &&
           bench_read_text(reader, from, "limit", false, &call->limit) &&
           bench_read_flag(reader, from, "by_rows", &call->by_rows) &&
           bench_check_call(reader, call->line);
}

static bool read_sizes(const bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const json_t *list = json_object_get(suite, "sizes");
    const size_t count = json_array_size(list);
    to->sizes = calloc(count + 1, sizeof *to->sizes);
    if (to->sizes == NULL)
        return bench_refuse(reader, "out of memory");
    to->size_count = count > 0 ? (uint32_t)count : 1;
    if (list != NULL && (count < 1 || count > MOST_SIZES))
        return bench_refuse(reader, "\"sizes\" must be an array of 1 to %d integers", MOST_SIZES);
    for (size_t i = 0; i < count; i++) {
        to->sizes[i] = json_integer_value(json_array_get(list, i));
        if (!json_is_integer(json_array_get(list, i)) || to->sizes[i] < 1024 ||
            to->sizes[i] % 1024 != 0)
            return bench_refuse(reader, "\"sizes\" must be multiples of 1024");
    }
    return true;
}

bool bench_read_calls(bench_reader *reader, const json_t *suite, bench_shape_suite *to)
{
    const json_t *each;
    size_t i;
    if (!read_sizes(reader, suite, to))
        return false;
    json_array_foreach(json_object_get(suite, "cases"), i, each)
    {
        bench_listed_call call;
        snprintf(reader->place, sizeof reader->place, "%.40s cases[%zu]", to->name, i);
        if (!read_call(reader, each, &call))
            return false;
        for (uint32_t k = 0; k < to->count; k++)
            if (strcmp(to->calls[k].name, call.name) == 0)
                return bench_refuse(reader, "an earlier case has the name \"%.40s\"", call.name);
        if (!add_call(to, &call))
            return bench_refuse(reader, "out of memory");
    }
    return true;
}

static bool is_recorded_already(const bench_shape_suite *suite, const char *line)
{
    for (uint32_t i = 0; i < suite->count; i++)
        if (strcmp(suite->calls[i].line, line) == 0)
            return true;
    return false;
}

/* Names a call after its operation and its line in the file. */
static char *name_of(const char *line, int number)
{
    char *name = malloc(64);
    if (name != NULL)
        snprintf(name, 64, "%.*s, line %d", (int)strcspn(line, " /"), line, number);
    return name;
}

static bool read_line(bench_reader *reader, char *line, int number, bench_shape_suite *to)
{
    size_t length = strlen(line);
    while (length > 0 && isspace((unsigned char)line[length - 1]))
        line[--length] = '\0';
    while (isspace((unsigned char)*line))
        line++;
    if (strncmp(line, CHECK, strlen(CHECK)) == 0)
        line += strlen(CHECK);
    if (*line == '\0' || *line == '#' || is_recorded_already(to, line))
        return true;
    snprintf(reader->place, sizeof reader->place, "line %d", number);
    if (!bench_check_call(reader, line))
        return false;
    char *name = name_of(line, number);
    const bench_listed_call call = {.name = name, .line = line};
    if (name != NULL && add_call(to, &call))
        return true;
    free(name);
    return bench_refuse(reader, "out of memory");
}

bool bench_read_recorded(bench_reader *reader, char *text)
{
    if (bench_shape_suite_named("recorded") != NULL)
        return bench_refuse(reader, "only one file of recorded calls is allowed");
    bench_shape_suite *to = bench_shape_suite_add("recorded", "calls");
    if (to == NULL)
        return bench_refuse(reader, "out of memory");
    to->about = "recorded calls";
    to->seconds = 0.3;
    to->is_recorded = true;
    to->sizes = calloc(1, sizeof *to->sizes);
    to->size_count = 1;
    if (to->sizes == NULL)
        return bench_refuse(reader, "out of memory");
    for (int number = 1; text != NULL; number++) {
        char *next = strchr(text, '\n');
        if (next != NULL)
            *next++ = '\0';
        if (!read_line(reader, text, number, to))
            return false;
        text = next;
    }
    reader->place[0] = '\0';
    return to->count > 0 || bench_refuse(reader, "the file has no call");
}

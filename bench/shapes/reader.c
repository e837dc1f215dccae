#include "reader.h"

#include "../bench.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool bench_refuse(const bench_reader *reader, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    bench_complain("%s: %s%s%s", reader->file, reader->place, *reader->place != '\0' ? ": " : "",
                   text);
    return false;
}

bool bench_only_known(const bench_reader *reader, const json_t *object, const char *const *names)
{
    const char *key;
    const json_t *value;
    if (!json_is_object(object))
        return bench_refuse(reader, "it must be a JSON object");
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (names[i] != NULL && strcmp(names[i], key) != 0)
            i++;
        if (names[i] == NULL)
            return bench_refuse(reader, "unknown member \"%.40s\"", key);
    }
    return true;
}

/* Refuses a member: "NAME" must be WANTED, not the value that it has. */
static bool refuse_value(const bench_reader *reader, const char *name, const char *wanted,
                         const json_t *member)
{
    char *value = json_dumps(member, JSON_COMPACT | JSON_ENCODE_ANY);
    (void)bench_refuse(reader, "\"%s\" must be %s, not %.40s", name, wanted,
                       value != NULL ? value : "?");
    free(value);
    return false;
}

bool bench_read_text(const bench_reader *reader, const json_t *object, const char *name,
                     bool is_required, const char **value)
{
    const json_t *member = json_object_get(object, name);
    if (member == NULL && !is_required)
        return true;
    if (member == NULL)
        return bench_refuse(reader, "the member \"%s\" is missing", name);
    if (!json_is_string(member) || *json_string_value(member) == '\0')
        return refuse_value(reader, name, "a text that is not empty", member);
    *value = json_string_value(member);
    return true;
}

bool bench_read_integer(const bench_reader *reader, const json_t *object, const char *name,
                        bool is_required, int64_t least, int64_t most, int64_t *value)
{
    const json_t *member = json_object_get(object, name);
    if (member == NULL && !is_required)
        return true;
    if (member == NULL)
        return bench_refuse(reader, "the member \"%s\" is missing", name);
    const json_int_t number = json_integer_value(member);
    if (!json_is_integer(member) || number < least || number > most) {
        char wanted[80];
        snprintf(wanted, sizeof wanted, "an integer from %lld to %lld", (long long)least,
                 (long long)most);
        return refuse_value(reader, name, wanted, member);
    }
    *value = (int64_t)number;
    return true;
}

bool bench_read_flag(const bench_reader *reader, const json_t *object, const char *name,
                     bool *value)
{
    const json_t *member = json_object_get(object, name);
    if (member == NULL)
        return true;
    if (!json_is_boolean(member))
        return refuse_value(reader, name, "true or false", member);
    *value = json_is_true(member);
    return true;
}

bool bench_read_source(const bench_reader *reader, const json_t *object)
{
    const char *source = NULL;
    if (!bench_read_text(reader, object, "source", false, &source))
        return false;
    if (source != NULL && json_object_get(reader->sources, source) == NULL)
        return bench_refuse(reader, "\"source\": the file's \"sources\" have no \"%.40s\"", source);
    return true;
}

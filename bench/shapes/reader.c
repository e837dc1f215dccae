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

bool bench_read_integers(const bench_reader *reader, const json_t *object, const char *name,
                         int64_t least, int64_t most, bench_integers *list)
{
    const json_t *member = json_object_get(object, name);
    if (member == NULL)
        return list->count > 0 || bench_refuse(reader, "the member \"%s\" is missing", name);
    const size_t count = json_is_array(member) ? json_array_size(member) : 1;
    if (count < 1 || count > BENCH_MOST_LISTED)
        return bench_refuse(reader, "\"%s\" must be an array of 1 to %d integers", name,
                            BENCH_MOST_LISTED);
    for (size_t i = 0; i < count; i++) {
        const json_t *each = json_is_array(member) ? json_array_get(member, i) : member;
        const json_int_t value = json_integer_value(each);
        if (!json_is_integer(each) || value < least || value > most)
            return bench_refuse(reader, "\"%s\" must be an array of integers from %lld to %lld",
                                name, (long long)least, (long long)most);
        list->values[i] = (int64_t)value;
    }
    list->count = count;
    return true;
}

bool bench_read_choice(const bench_reader *reader, const json_t *object, const char *name,
                       bool is_required, const char *const *names, size_t count, uint32_t *value)
{
    char allowed[400] = "";
    const char *text = NULL;
    if (!bench_read_text(reader, object, name, is_required, &text))
        return false;
    for (size_t i = 0, used = 0; text != NULL && i < count; i++) {
        if (strcmp(names[i], text) == 0) {
            *value = (uint32_t)i;
            return true;
        }
        if (used < sizeof allowed)
            used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s",
                                     i > 0 ? ", " : "", names[i]);
    }
    return text == NULL ||
           bench_refuse(reader, "\"%s\": \"%.40s\" is none of %s", name, text, allowed);
}

void bench_set_case(bench_reader *reader, const char *suite, size_t number)
{
    snprintf(reader->place, sizeof reader->place, "%.40s cases[%zu]", suite, number);
}

bool bench_add_case(const bench_reader *reader, const bench_shape_case *shape,
                    bench_shape_suite *to)
{
    for (uint32_t i = 0; i < to->count; i++)
        if (strcmp(to->cases[i].name, shape->name) == 0)
            return bench_refuse(reader, "an earlier case has the name \"%s\"", shape->name);
    bench_shape_case *list = realloc(to->cases, (to->count + 1) * sizeof *list);
    if (list == NULL)
        return bench_refuse(reader, "out of memory");
    to->cases = list;
    to->cases[to->count++] = *shape;
    return true;
}

bool bench_tensor_fits(const bench_reader *reader, const char *what, int64_t a, int64_t b,
                       int64_t c)
{
    return (double)a * (double)b * (double)c <= (double)BENCH_MOST_SIZE ||
           bench_refuse(reader, "%s of %lldx%lldx%lld elements is larger than %lld elements", what,
                        (long long)a, (long long)b, (long long)c, (long long)BENCH_MOST_SIZE);
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

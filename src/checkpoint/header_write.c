/* Writing the header of a safetensors file. */
#include "base/checked.h"
#include "base/shape.h"
#include "checkpoint/header.h"

#include <inttypes.h>
#include <string.h>

/* Text that grows. After a failed allocation it no longer changes. */
typedef struct growing_text {
    char *at;
    size_t used, room;
    bool has_failed;
} growing_text;

static void put(growing_text *text, const char *from, size_t size)
{
    if (text->has_failed)
        return;
    if (size > text->room - text->used) {
        const size_t room = 2 * (text->room + size) + 256;
        char *more = realloc(text->at, room);
        if (more == NULL) {
            text->has_failed = true;
            return;
        }
        text->at = more;
        text->room = room;
    }
    memcpy(text->at + text->used, from, size);
    text->used += size;
}

static void put_string(growing_text *text, const char *string)
{
    put(text, string, strlen(string));
}

static void put_number(growing_text *text, uint64_t number)
{
    char digits[24];
    put(text, digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu64, number));
}

static void put_quoted(growing_text *text, const char *string)
{
    put_string(text, "\"");
    for (const char *c = string; *c != '\0'; c++) {
        char escaped[8];
        if (*c == '"' || *c == '\\')
            put(text, (const char[]){'\\', *c}, 2);
        else if ((unsigned char)*c < 0x20)
            put(text, escaped, (size_t)snprintf(escaped, sizeof escaped, "\\u%04x", (unsigned)*c));
        else
            put(text, c, 1);
    }
    put_string(text, "\"");
}

static tenon_status check_name(const char *caller, const char *list, uint32_t number,
                               const char *member, const char *text)
{
    if (text == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s[%" PRIu32 "].%s is NULL", caller, list,
                       number, member);
    if (!tn_utf8_is_valid(text))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s[%" PRIu32 "].%s is not UTF-8", caller,
                       list, number, member);
    return TENON_OK;
}

static tenon_status check_arguments(const char *caller, const tenon_named_tensor *tensors,
                                    uint32_t count, const tenon_named_text *texts,
                                    uint32_t text_count)
{
    if ((tensors == NULL && count > 0) || (texts == NULL && text_count > 0))
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       tensors == NULL && count > 0 ? "tensors" : "texts");
    for (uint32_t i = 0; i < count; i++) {
        char argument[48];
        TN_TRY(check_name(caller, "tensors", i, "name", tensors[i].name));
        if (strcmp(tensors[i].name, "__metadata__") == 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: tensors[%" PRIu32 "].name is \"__metadata__\", which is reserved",
                           caller, i);
        snprintf(argument, sizeof argument, "tensors[%" PRIu32 "]", i);
        TN_TRY(tn_tensor_check(caller, argument, &tensors[i].tensor));
    }
    for (uint32_t i = 0; i < text_count; i++) {
        TN_TRY(check_name(caller, "texts", i, "name", texts[i].name));
        TN_TRY(check_name(caller, "texts", i, "text", texts[i].text));
    }
    return TENON_OK;
}

static void put_texts(growing_text *text, const tenon_named_text *texts, uint32_t count)
{
    put_string(text, "\"__metadata__\":{");
    for (uint32_t i = 0; i < count; i++) {
        put_string(text, i > 0 ? "," : "");
        put_quoted(text, texts[i].name);
        put_string(text, ":");
        put_quoted(text, texts[i].text);
    }
    put_string(text, "}");
}

static void put_tensor(growing_text *text, const tenon_named_tensor *named, uint64_t begin,
                       uint64_t end)
{
    const tenon_tensor *tensor = &named->tensor;
    put_quoted(text, named->name);
    put_string(text, ":{\"dtype\":\"");
    put_string(text, tn_file_type_of(tensor->dtype)->name);
    put_string(text, "\",\"shape\":[");
    for (uint32_t d = 0; d < tensor->rank; d++) {
        put_string(text, d > 0 ? "," : "");
        put_number(text, (uint64_t)tensor->shape[d]);
    }
    put_string(text, "],\"data_offsets\":[");
    put_number(text, begin);
    put_string(text, ",");
    put_number(text, end);
    put_string(text, "]}");
}

/* Writes the tensors whose elements have `size` bytes. Returns false if the bytes overflow. */
static bool put_tensors(growing_text *text, const tenon_named_tensor *tensors, uint32_t count,
                        size_t size, bool *is_first, uint64_t *place)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t begin = *place,
                       elements = (uint64_t)tenon_tensor_elements(&tensors[i].tensor);
        if (tenon_dtype_size(tensors[i].tensor.dtype) != size)
            continue;
        /* The format's readers compute with signed 64-bit numbers. */
        if (!tn_add_u64(begin, elements * size, place) || *place > INT64_MAX)
            return false;
        put_string(text, *is_first ? "" : ",");
        put_tensor(text, &tensors[i], begin, *place);
        *is_first = false;
    }
    return true;
}

tenon_status tn_header_write(const char *caller, const tenon_named_tensor *tensors, uint32_t count,
                             const tenon_named_text *texts, uint32_t text_count, char **out,
                             size_t *size)
{
    growing_text text = {0};
    uint64_t place = 0;
    bool is_first = text_count == 0, fits = true;
    TN_TRY(check_arguments(caller, tensors, count, texts, text_count));
    put_string(&text, "{");
    if (text_count > 0)
        put_texts(&text, texts, text_count);
    for (size_t bytes = sizeof(double); bytes > 0 && fits; bytes /= 2)
        fits = put_tensors(&text, tensors, count, bytes, &is_first, &place);
    put_string(&text, "}");
    while (!text.has_failed && text.used % 8 != 0)
        put_string(&text, " ");
    put(&text, "", 1); /* the spare byte */
    if (text.has_failed || !fits || text.used - 1 > TN_HEADER_MOST) {
        free(text.at);
        return text.has_failed ? tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller)
               : !fits         ? tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                                         "%s: the tensors have too many bytes", caller)
                               : tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                                         "%s: the header has %zu bytes, must be at most %u", caller,
                                         text.used - 1, TN_HEADER_MOST);
    }
    *out = text.at;
    *size = text.used - 1;
    return TENON_OK;
}

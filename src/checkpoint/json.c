#include "checkpoint/json.h"

#include <string.h>

size_t tn_utf8_length(const char *at, const char *end)
{
    const unsigned char *c = (const unsigned char *)at;
    const size_t left = (size_t)(end - at);
    const size_t length = left == 0      ? 0
                          : c[0] < 0x80  ? 1
                          : c[0] < 0xc2  ? 0
                          : c[0] < 0xe0  ? 2
                          : c[0] < 0xf0  ? 3
                          : c[0] <= 0xf4 ? 4
                                         : 0;
    if (length == 0 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    /* Overlong forms, surrogates, and code points above U+10FFFF. */
    const bool invalid = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
                         (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f);
    return invalid ? 0 : length;
}

bool tn_utf8_is_valid(const char *text)
{
    const char *end = text + strlen(text);
    while (text < end) {
        const size_t length = tn_utf8_length(text, end);
        if (length == 0)
            return false;
        text += length;
    }
    return true;
}

tenon_status tn_json_fail(const tn_json *json, const char *expected)
{
    return tn_fail(json->invalid, "%s: %s: header, byte %zu: expected %s", json->caller, json->path,
                   (size_t)(json->at - json->begin), expected);
}

static void skip_space(tn_json *json)
{
    while (json->at < json->end &&
           (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t'))
        json->at++;
}

bool tn_json_take(tn_json *json, char c)
{
    skip_space(json);
    const bool is_next = json->at < json->end && *json->at == c;
    json->at += is_next;
    return is_next;
}

tenon_status tn_json_want(tn_json *json, char c)
{
    const char expected[] = {'\'', c, '\'', '\0'};
    return tn_json_take(json, c) ? TENON_OK : tn_json_fail(json, expected);
}

/* Reads four hexadecimal digits. */
static bool read_unit(tn_json *json, uint32_t *unit)
{
    *unit = 0;
    for (int i = 0; i < 4; i++, json->at++) {
        if (json->at == json->end)
            return false;
        const char c = *json->at;
        const int digit = c >= '0' && c <= '9'   ? c - '0'
                          : c >= 'a' && c <= 'f' ? c - 'a' + 10
                          : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                 : -1;
        if (digit < 0)
            return false;
        *unit = *unit << 4 | (uint32_t)digit;
    }
    return true;
}

static char *put_utf8(char *out, uint32_t c)
{
    if (c < 0x80) {
        *out++ = (char)c;
    } else if (c < 0x800) {
        *out++ = (char)(0xc0 | c >> 6);
        *out++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (char)(0xe0 | c >> 12);
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    } else {
        *out++ = (char)(0xf0 | c >> 18);
        *out++ = (char)(0x80 | (c >> 12 & 0x3f));
        *out++ = (char)(0x80 | (c >> 6 & 0x3f));
        *out++ = (char)(0x80 | (c & 0x3f));
    }
    return out;
}

/* Reads the rest of \uXXXX, or of two of them that form a surrogate pair. Returns 0 if it is
 * invalid, or a NUL. */
static uint32_t read_code_point(tn_json *json)
{
    uint32_t high, low;
    if (!read_unit(json, &high) || (high >= 0xdc00 && high <= 0xdfff))
        return 0;
    if (high < 0xd800 || high > 0xdbff)
        return high;
    if (json->end - json->at < 2 || json->at[0] != '\\' || json->at[1] != 'u')
        return 0;
    json->at += 2;
    if (!read_unit(json, &low) || low < 0xdc00 || low > 0xdfff)
        return 0;
    return 0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00);
}

/* Decodes the escape sequence after a backslash. An encoded character is never longer than its
 * escape sequence. Returns NULL if it is invalid. */
static char *read_escape(tn_json *json, char *out)
{
    static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
    if (json->at == json->end)
        return NULL;
    const char c = *json->at;
    if (c == 'u') {
        json->at++;
        const uint32_t point = read_code_point(json);
        return point != 0 ? put_utf8(out, point) : NULL;
    }
    const char *found = c != '\0' ? strchr(names, c) : NULL;
    if (found == NULL)
        return NULL;
    json->at++;
    *out = values[found - names];
    return out + 1;
}

tenon_status tn_json_string(tn_json *json, const char **text)
{
    TN_TRY(tn_json_want(json, '"'));
    char *out = json->at;
    *text = out;
    while (json->at < json->end && *json->at != '"') {
        if (*json->at == '\\') {
            json->at++;
            out = read_escape(json, out);
            if (out == NULL)
                return tn_json_fail(json, "the rest of an escape sequence");
            continue;
        }
        const size_t length = tn_utf8_length(json->at, json->end);
        if (length == 0 || (unsigned char)*json->at < 0x20)
            return tn_json_fail(json, "a character in UTF-8");
        memmove(out, json->at, length);
        out += length;
        json->at += length;
    }
    if (json->at == json->end)
        return tn_json_fail(json, "the end of a string");
    json->at++;
    *out = '\0'; /* at the quote or before it */
    return TENON_OK;
}

tenon_status tn_json_integer(tn_json *json, uint64_t *value)
{
    static const char expected[] = "an integer from 0 to 18446744073709551615";
    skip_space(json);
    const char *first = json->at;
    *value = 0;
    for (; json->at < json->end && *json->at >= '0' && *json->at <= '9'; json->at++) {
        const uint64_t digit = (uint64_t)(*json->at - '0');
        if (*value > (UINT64_MAX - digit) / 10)
            return tn_json_fail(json, expected);
        *value = *value * 10 + digit;
    }
    const bool has_zero = json->at - first > 1 && *first == '0';
    return json->at > first && !has_zero ? TENON_OK : tn_json_fail(json, expected);
}

tenon_status tn_json_finish(tn_json *json)
{
    skip_space(json);
    return json->at == json->end ? TENON_OK : tn_json_fail(json, "the end of the header");
}

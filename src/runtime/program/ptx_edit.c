#include "runtime/program/ptx_edit.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* First PTX version with the target sm_90a. */
#define MIN_VERSION "8.0"

/* A section of the text. */
typedef struct span {
    const char *at, *end;
} span;

/* The growing output. */
typedef struct output {
    char *text;
    size_t length, room;
    bool is_out_of_memory;
} output;

static void put(output *out, const char *from, size_t length)
{
    if (length == 0)
        return;
    if (out->room - out->length < length) {
        const size_t room = 2 * out->room + length;
        char *text = out->is_out_of_memory ? NULL : realloc(out->text, room);
        if (text == NULL) {
            out->is_out_of_memory = true;
            return;
        }
        out->text = text;
        out->room = room;
    }
    memcpy(out->text + out->length, from, length);
    out->length += length;
}

static void put_text(output *out, const char *text)
{
    put(out, text, strlen(text));
}

static bool begins(span s, const char *word)
{
    const size_t length = strlen(word);
    return (size_t)(s.end - s.at) >= length && memcmp(s.at, word, length) == 0;
}

/* Returns the position of a word in a span, or the span's end. */
static const char *ptx_edit_find(span s, const char *word)
{
    while (s.at < s.end && !begins(s, word))
        s.at++;
    return s.at;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns true for characters of PTX identifiers. */
static bool is_part_of_name(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '$';
}

static const char *skip(span s, bool (*skips)(char))
{
    while (s.at < s.end && skips(*s.at))
        s.at++;
    return s.at;
}

/* Returns the text after a directive that begins the line; false if the line begins otherwise. */
static bool after_directive(span line, const char *directive, span *rest)
{
    *rest = (span){skip(line, is_blank), line.end};
    if (!begins(*rest, directive))
        return false;
    rest->at += strlen(directive);
    if (rest->at == rest->end || !is_blank(*rest->at))
        return false;
    rest->at = skip(*rest, is_blank);
    return true;
}

/* `.version 7.8`: raises a version that is too old for the target. */
static bool put_version(output *out, span line)
{
    span rest;
    if (!after_directive(line, ".version", &rest) || rest.end - rest.at < 3 ||
        !is_digit(rest.at[0]) || rest.at[1] != '.' || rest.at[0] >= MIN_VERSION[0])
        return false;
    put(out, line.at, (size_t)(rest.at - line.at));
    put_text(out, MIN_VERSION);
    rest.at = skip((span){rest.at + 2, rest.end}, is_digit);
    put(out, rest.at, (size_t)(rest.end - rest.at));
    return true;
}

/* `.target sm_90, texmode_independent`: replaces sm_90 by sm_90a. */
static bool put_target(output *out, span line, bool *is_right)
{
    span rest;
    if (!after_directive(line, ".target", &rest))
        return false;
    const char *end = skip(rest, is_part_of_name);
    const span name = {rest.at, end};
    const bool plain = name.end - name.at == 5 && begins(name, "sm_90");
    *is_right = plain || (name.end - name.at == 6 && begins(name, "sm_90a"));
    put(out, line.at, (size_t)(end - line.at));
    put_text(out, plain ? "a" : "");
    put(out, end, (size_t)(line.end - end));
    return true;
}

/* `.shared .align 16 .b8 gemm_matrix_$_tenon_grows[1024];`: replaces the size. */
static bool put_array(output *out, span line, uint32_t bytes)
{
    const char *at = skip(line, is_blank), *end;
    char number[16];
    if (!begins((span){at, line.end}, ".shared"))
        return false;
    at = skip((span){ptx_edit_find((span){at, line.end}, TN_PTX_ARRAY), line.end}, is_part_of_name);
    if (at == line.end || *at != '[')
        return false;
    end = skip((span){++at, line.end}, is_digit);
    if (end == at || end == line.end || *end != ']')
        return false;
    snprintf(number, sizeof number, "%" PRIu32, bytes);
    put(out, line.at, (size_t)(at - line.at));
    put_text(out, number);
    put(out, end, (size_t)(line.end - end));
    return true;
}

static void put_without_marks(output *out, span line)
{
    while (line.at < line.end) {
        const char *mark = ptx_edit_find(line, TN_PTX_MARK);
        put(out, line.at, (size_t)(mark - line.at));
        line.at = mark < line.end ? mark + strlen(TN_PTX_MARK) : line.end;
    }
}

/* Edits all lines. Returns the reason why the text is unsuitable, or NULL. */
static const char *edit_lines(output *out, span text, const tn_ptx_edit *edit)
{
    bool has_target = false, is_right = false, has_array = edit->local_bytes == 0;
    while (text.at < text.end) {
        const char *end = memchr(text.at, '\n', (size_t)(text.end - text.at));
        const span line = {text.at, end != NULL ? end + 1 : text.end};
        if (put_target(out, line, &is_right))
            has_target = true;
        else if (edit->local_bytes > 0 && put_array(out, line, edit->local_bytes))
            has_array = true;
        else if (!put_version(out, line))
            put_without_marks(out, line);
        text.at = line.end;
    }
    if (!has_target)
        return "the driver's binary is not PTX";
    if (!is_right)
        return "the driver's PTX is not for sm_90";
    return has_array ? NULL : "the driver's PTX has no array of local memory to enlarge";
}

bool tn_ptx_wanted(const char *options, tn_ptx_edit *edit)
{
    const char *local = strstr(options, TN_PTX_LOCAL_OPTION);
    *edit = (tn_ptx_edit){0};
    if (local != NULL)
        edit->local_bytes = (uint32_t)strtoul(local + strlen(TN_PTX_LOCAL_OPTION), NULL, 10);
    return strstr(options, TN_PTX_OPTION) != NULL;
}

char *tn_ptx_edited(const char *bytes, size_t size, const tn_ptx_edit *edit, size_t *edited_size,
                    const char **why)
{
    output out = {0};
    const char *nul = size > 0 ? memchr(bytes, '\0', size) : NULL;
    const span text = {bytes, nul != NULL ? nul : bytes + size};
    const span tail = {text.end, bytes + size};
    *why = NULL;
    for (const char *at = tail.at; at < tail.end; at++)
        if (*at != '\0')
            *why = "the driver's binary is not PTX";
    if (*why == NULL)
        *why = edit_lines(&out, text, edit);
    put(&out, tail.at, (size_t)(tail.end - tail.at));
    if (*why != NULL || out.is_out_of_memory) {
        *why = out.is_out_of_memory ? NULL : *why;
        free(out.text);
        return NULL;
    }
    *edited_size = out.length;
    return out.text;
}

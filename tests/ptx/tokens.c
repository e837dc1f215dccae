/* Splits a PTX module into tokens. */
#include "parse_internal.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void parse_fail(parser *p, const char *format, ...)
{
    char what[160];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    const int at = p->next < p->token_count ? p->next : p->token_count - 1;
    snprintf(p->message, 256, "line %d: %s", at >= 0 ? p->tokens[at].line : 0, what);
    longjmp(p->failed, 1);
}

void *list_add(parser *p, list *l, size_t size, const void *item)
{
    if (l->count == l->capacity) {
        l->capacity = 2 * l->capacity + 16;
        l->items = realloc(l->items, (size_t)l->capacity * size);
        if (l->items == NULL)
            parse_fail(p, "out of memory");
    }
    void *place = (char *)l->items + (size_t)l->count++ * size;
    memcpy(place, item, size);
    return place;
}

static bool is_word(const char *at)
{
    return isalnum((unsigned char)*at) || strchr("_$%.", *at) != NULL;
}

/* Skips blanks and comments. */
static const char *skip(const char *at, int *line)
{
    for (;;) {
        if (at[0] == '/' && at[1] == '/') {
            at += strcspn(at, "\n");
        } else if (at[0] == '/' && at[1] == '*') {
            for (at += 2; *at != '\0' && !(at[0] == '*' && at[1] == '/'); at++)
                *line += *at == '\n';
            at += *at != '\0' ? 2 : 0;
        } else if (isspace((unsigned char)*at)) {
            *line += *at++ == '\n';
        } else {
            return at;
        }
    }
}

/* A word may contain "::"; the ':' of a label is a token of its own. */
static int token_length(const char *at)
{
    int length = 0;
    if (*at == '"') {
        const char *end = strchr(at + 1, '"');
        return end != NULL ? (int)(end - at) + 1 : (int)strlen(at);
    }
    while (at[length] != '\0' &&
           (is_word(at + length) || (at[length] == ':' && at[length + 1] == ':' && length > 0)))
        length += at[length] == ':' ? 2 : 1;
    return length > 0 ? length : 1;
}

void split_tokens(parser *p, const char *text)
{
    int line = 1, capacity = 0;
    for (const char *at = skip(text, &line); *at != '\0'; at = skip(at, &line)) {
        if (p->token_count == capacity) {
            capacity = 2 * capacity + 1024;
            p->tokens = realloc(p->tokens, (size_t)capacity * sizeof *p->tokens);
            if (p->tokens == NULL)
                parse_fail(p, "out of memory");
        }
        const token t = {at, token_length(at), line};
        p->tokens[p->token_count++] = t;
        at += t.length;
    }
}

bool token_is(const token *t, const char *text)
{
    return strlen(text) == (size_t)t->length && strncmp(t->at, text, (size_t)t->length) == 0;
}

token *peek(parser *p)
{
    if (p->next >= p->token_count)
        parse_fail(p, "the text ends too early");
    return &p->tokens[p->next];
}

token *take(parser *p)
{
    token *t = peek(p);
    p->next++;
    return t;
}

bool accept(parser *p, const char *text)
{
    if (!token_is(peek(p), text))
        return false;
    p->next++;
    return true;
}

void expect(parser *p, const char *text)
{
    if (!accept(p, text))
        parse_fail(p, "\"%s\" expected, \"%.*s\" found", text, peek(p)->length, peek(p)->at);
}

char *token_text(const token *t)
{
    char *text = malloc((size_t)t->length + 1);
    if (text != NULL) {
        memcpy(text, t->at, (size_t)t->length);
        text[t->length] = '\0';
    }
    return text;
}

uint64_t take_number(parser *p)
{
    bool negative = false;
    while (token_is(peek(p), "-") || token_is(peek(p), "+"))
        negative ^= token_is(take(p), "-");
    const token *t = take(p);
    char text[32], *end;
    uint64_t value;
    if (t->length >= (int)sizeof text || !isdigit((unsigned char)*t->at))
        parse_fail(p, "a number expected, \"%.*s\" found", t->length, t->at);
    snprintf(text, sizeof text, "%.*s", t->length, t->at);
    if (text[0] == '0' && strchr("fFdD", text[1]) != NULL && text[1] != '\0')
        value = strtoull(text + 2, &end, 16);
    else
        value = strtoull(text, &end, 0);
    if (*end == 'U')
        end++;
    if (*end != '\0')
        parse_fail(p, "\"%s\" is not a number", text);
    return negative ? 0 - value : value;
}

/* What the parser's files share. */
#ifndef PTX_PARSE_INTERNAL_H
#define PTX_PARSE_INTERNAL_H

#include "program.h"

#include <setjmp.h>

typedef struct token {
    const char *at;
    int length, line;
} token;

/* Registers that one declaration made: all of %r<10>, or one. */
typedef struct declared {
    token name;
    int first, count; /* count -1: one, of that very name */
} declared;

typedef struct named {
    token name;
    int number;
} named;

/* A label that is not known yet: of an operand, or of a list of targets. */
typedef struct fixup {
    token name;
    int instruction, operand; /* operand -1: targets[instruction] */
} fixup;

typedef struct list {
    void *items;
    int count, capacity;
} list;

typedef struct parser {
    ptx_program *program;
    token *tokens;
    int token_count, next;
    list registers;                     /* declared; those of inner scopes last */
    list labels, target_lists, symbols; /* named; symbols: variables in scope */
    list fixups;
    list calls; /* fixups whose label is a function */
    uint64_t const_bytes;
    jmp_buf failed;
    char *message;
} parser;

_Noreturn void parse_fail(parser *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Tokens. */
void split_tokens(parser *p, const char *text);
bool token_is(const token *t, const char *text);
token *peek(parser *p);
token *take(parser *p);
bool accept(parser *p, const char *text);
void expect(parser *p, const char *text);
char *token_text(const token *t);
/* A number as an operand has it: a whole one, 0f…, 0d…; a sign before it. */
uint64_t take_number(parser *p);

/* Adds an item, copied. Returns its place. */
void *list_add(parser *p, list *l, size_t size, const void *item);

/* The opcode: what its parts say. */
void decode_opcode(parser *p, const token *t, ptx_instruction *out);
/* ".b32" and the like. */
bool type_named(const char *name, ptx_type *type);

/* At a function's end its labels are known; at the module's, its functions. */
void fix_labels(parser *p);
void fix_calls(parser *p);

/* The register of a guard. */
int take_register(parser *p);
/* The operands up to ';'. */
void take_operands(parser *p, ptx_instruction *out, int number);

#endif

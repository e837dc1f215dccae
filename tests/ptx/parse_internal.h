/* Declarations shared by the parser's source files. */
#ifndef PTX_PARSE_INTERNAL_H
#define PTX_PARSE_INTERNAL_H

#include "program.h"

#include <setjmp.h>

typedef struct token {
    const char *at;
    int length, line;
} token;

/* Registers of one declaration: all of %r<10>, or a single one. */
typedef struct declared {
    token name;
    int first, count; /* count -1: a single register with exactly this name */
} declared;

typedef struct named {
    token name;
    int number;
} named;

/* An unresolved label: of an operand, or of a list of targets. */
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
    list registers;                     /* declared registers; those of inner scopes last */
    list labels, target_lists, symbols; /* by name; symbols are the variables in scope */
    list fixups;
    list calls; /* fixups whose label may be a function */
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
/* Parses a number in an operand: an integer, 0f… or 0d…, optionally with a sign. */
uint64_t take_number(parser *p);

/* Appends a copy of an item. Returns its address. */
void *list_add(parser *p, list *l, size_t size, const void *item);

/* Decodes an opcode. */
void decode_opcode(parser *p, const token *t, ptx_instruction *out);
/* Looks up a type such as ".b32". */
bool type_named(const char *name, ptx_type *type);

/* Resolve labels at the end of their function, and calls at the end of the module. */
void fix_labels(parser *p);
void fix_calls(parser *p);

/* Parses the register of a guard. */
int take_register(parser *p);
/* Parses operands up to ';'. */
void take_operands(parser *p, ptx_instruction *out, int number);

#endif

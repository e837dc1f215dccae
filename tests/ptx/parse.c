/* Parses a PTX module: its variables, functions and instructions (PTX ISA, "Syntax",
 * "Directives"). */
#include "operations.h"
#include "parse_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Shared memory starts here. Each variable is placed at exactly its declared alignment and no
 * better, so that code which relies on more fails. */
#define SHARED_START 1024

static uint64_t place(uint64_t *end, uint64_t size, uint32_t align, bool barely)
{
    uint64_t at = (*end + align - 1) / align * align;
    if (barely && at / align % 2 == 0)
        at += align;
    *end = at + size;
    return at;
}

static uint32_t take_count(parser *p)
{
    uint32_t count = 1;
    while (accept(p, "[")) {
        count *= token_is(peek(p), "]") ? 0 : (uint32_t)take_number(p);
        expect(p, "]");
    }
    return count;
}

/* Initializer of a variable in global or constant memory: = {1, 2}. */
static void take_values(parser *p, ptx_variable *v, size_t size)
{
    v->data = calloc(1, v->size + 1);
    if (v->data == NULL)
        parse_fail(p, "out of memory");
    if (!accept(p, "="))
        return;
    const bool several = accept(p, "{");
    uint64_t at = 0;
    do {
        const uint64_t value = take_number(p);
        if (at + size > v->size)
            parse_fail(p, "%s has too many values", v->name);
        memcpy(v->data + at, &value, size);
        at += size;
    } while (accept(p, ",") && several);
    if (several)
        expect(p, "}");
}

/* Parses a variable after .shared, .global, .const, .local or .param, up to but excluding the
 * ';'. */
static int take_variable(parser *p, ptx_space space, bool is_function)
{
    ptx_type type = {PTX_BITS, 0, 1};
    ptx_variable v = {.space = (uint8_t)space, .align = 0};
    named n;
    while (*peek(p)->at == '.') {
        char *word = token_text(take(p));
        if (strcmp(word, ".align") == 0)
            v.align = (uint32_t)take_number(p);
        else if (strcmp(word, ".ptr") != 0 && type.bits == 0)
            type_named(word + 1, &type); /* other words describe the target of a pointer */
        free(word);
    }
    n.name = *take(p);
    if (type.bits == 0)
        parse_fail(p, "%.*s has no type", n.name.length, n.name.at);
    const size_t size = type.bits / 8U * type.count;
    v.name = token_text(&n.name);
    v.size = (uint64_t)take_count(p) * size;
    v.align = v.align > size ? v.align : (uint32_t)size;
    if (space == PTX_GLOBAL || space == PTX_CONST)
        take_values(p, &v, size);
    else if (space == PTX_SHARED)
        v.offset = place(&p->program->shared_bytes, v.size, v.align, true);
    else if (space == PTX_LOCAL || is_function)
        v.offset = place(&p->program->local_bytes, v.size, v.align < 16 ? 16 : v.align, false);
    if (is_function)
        v.space = PTX_LOCAL;
    n.number = p->program->variable_count;
    p->program->variables = realloc(p->program->variables, (size_t)(n.number + 1) * sizeof v);
    if (p->program->variables == NULL)
        parse_fail(p, "out of memory");
    p->program->variables[p->program->variable_count++] = v;
    list_add(p, &p->symbols, sizeof n, &n);
    return n.number;
}

static ptx_space space_of(const token *t)
{
    return token_is(t, ".shared")   ? PTX_SHARED
           : token_is(t, ".local")  ? PTX_LOCAL
           : token_is(t, ".param")  ? PTX_PARAM
           : token_is(t, ".const")  ? PTX_CONST
           : token_is(t, ".global") ? PTX_GLOBAL
                                    : PTX_GENERIC;
}

/* .reg .b32 %r<20>; */
static void take_registers(parser *p)
{
    ptx_type type = {PTX_BITS, 0, 1};
    char *word = token_text(take(p));
    const bool known = type_named(word + 1, &type) && type.bits <= 64;
    free(word);
    if (!known)
        parse_fail(p, "registers of an unknown type");
    do {
        declared d = {*take(p), p->program->register_count, -1};
        if (accept(p, "<")) {
            d.count = (int)take_number(p);
            expect(p, ">");
        }
        const int more = d.count < 0 ? 1 : d.count;
        p->program->register_count += more;
        p->program->register_bits =
            realloc(p->program->register_bits, (size_t)p->program->register_count + 1);
        if (p->program->register_bits == NULL)
            parse_fail(p, "out of memory");
        memset(p->program->register_bits + d.first, type.bits == 1 ? 1 : type.bits * type.count,
               (size_t)more);
        list_add(p, &p->registers, sizeof d, &d);
    } while (accept(p, ","));
    expect(p, ";");
}

/* NAME: .branchtargets A, B; */
static void take_targets(parser *p, const token *name)
{
    ptx_program *program = p->program;
    const named n = {*name, program->target_count};
    int count = 0;
    do {
        program->targets =
            realloc(program->targets, (size_t)(n.number + count + 2) * sizeof *program->targets);
        if (program->targets == NULL)
            parse_fail(p, "out of memory");
        const fixup f = {*take(p), n.number + ++count, -1};
        list_add(p, &p->fixups, sizeof f, &f);
    } while (accept(p, ","));
    program->targets[n.number] = count;
    program->target_count += count + 1;
    list_add(p, &p->target_lists, sizeof n, &n);
    expect(p, ";");
}

static void take_instruction(parser *p)
{
    ptx_program *program = p->program;
    ptx_instruction i = {.guard = -1, .line = peek(p)->line, .round = PTX_RN};
    if (accept(p, "@")) {
        i.guard_negated = accept(p, "!");
        i.guard = take_register(p);
    }
    decode_opcode(p, take(p), &i);
    take_operands(p, &i, program->instruction_count);
    program->has_wgmma |= i.op == PTX_OP_wgmma;
    if (program->instruction_count % 256 == 0) {
        program->instructions =
            realloc(program->instructions,
                    (size_t)(program->instruction_count + 256) * sizeof *program->instructions);
        if (program->instructions == NULL)
            parse_fail(p, "out of memory");
    }
    program->instructions[program->instruction_count++] = i;
}

/* Skips directives that have no effect here. */
static bool skip_directive(parser *p)
{
    const token *t = peek(p);
    if (token_is(t, ".pragma")) {
        while (!accept(p, ";"))
            p->next++;
        return true;
    }
    if (!token_is(t, ".loc") && !token_is(t, ".file") && !token_is(t, ".callprototype"))
        return false;
    while (p->next < p->token_count && p->tokens[p->next].line == t->line)
        p->next++;
    return true;
}

static void take_statement(parser *p)
{
    const token *t = peek(p);
    const ptx_space space = space_of(t);
    if (accept(p, ".reg")) {
        take_registers(p);
    } else if (space != PTX_GENERIC) {
        p->next++;
        take_variable(p, space, space == PTX_PARAM);
        expect(p, ";");
    } else if (skip_directive(p) || accept(p, ";")) {
        /* no effect */
    } else if (token_is(t + 1, ":")) {
        const named n = {*t, p->program->instruction_count};
        p->next += 2;
        if (accept(p, ".branchtargets"))
            take_targets(p, t);
        else
            list_add(p, &p->labels, sizeof n, &n);
    } else {
        take_instruction(p);
    }
}

/* Parses statements up to the '}'; declarations within end there. */
static void take_block(parser *p)
{
    const int registers = p->registers.count, symbols = p->symbols.count;
    while (!accept(p, "}")) {
        if (accept(p, "{"))
            take_block(p);
        else
            take_statement(p);
    }
    p->registers.count = registers;
    p->symbols.count = symbols;
}

static void take_parameters(parser *p, ptx_function *f)
{
    uint64_t end = 0;
    expect(p, "(");
    while (!accept(p, ")")) {
        expect(p, ".param");
        if (f->param_count == (int)(sizeof f->params / sizeof *f->params))
            parse_fail(p, "%s has too many parameters", f->name);
        const int number = take_variable(p, PTX_PARAM, !f->is_kernel);
        ptx_variable *v = &p->program->variables[number];
        if (f->is_kernel)
            v->offset = place(&end, v->size, v->align, false);
        f->params[f->param_count++] = number;
        accept(p, ",");
    }
    f->param_bytes = (uint32_t)end;
}

/* Parses a function whose .entry or .func has been read. */
static void take_function(parser *p, bool is_kernel)
{
    ptx_function f = {.is_kernel = is_kernel, .result = -1};
    const int symbols = p->symbols.count;
    if (!is_kernel && accept(p, "(")) {
        expect(p, ".param");
        f.result = take_variable(p, PTX_PARAM, true);
        expect(p, ")");
    }
    f.name = token_text(take(p));
    if (token_is(peek(p), "("))
        take_parameters(p, &f);
    while (!token_is(peek(p), "{") && !token_is(peek(p), ";"))
        if (accept(p, ".reqntid"))
            for (int d = 0; d == 0 || (d < 3 && accept(p, ",")); d++)
                f.required[d] = (uint32_t)take_number(p);
        else
            p->next++;
    if (accept(p, ";")) { /* a declaration; calls of it find no function */
        free(f.name);
        p->symbols.count = symbols;
        return;
    }
    expect(p, "{");
    f.first = p->program->instruction_count;
    take_block(p);
    fix_labels(p);
    f.end = p->program->instruction_count;
    p->symbols.count = symbols;
    p->program->functions =
        realloc(p->program->functions, (size_t)(p->program->function_count + 1) * sizeof f);
    if (p->program->functions == NULL)
        parse_fail(p, "out of memory");
    p->program->functions[p->program->function_count++] = f;
}

static void take_module(parser *p)
{
    while (p->next < p->token_count) {
        const token *t = take(p);
        const ptx_space space = space_of(t);
        if (token_is(t, ".version") || token_is(t, ".address_size")) {
            p->next++;
        } else if (token_is(t, ".target")) {
            char *name = token_text(take(p));
            snprintf(p->program->target, sizeof p->program->target, "%s", name);
            free(name);
            while (p->next < p->token_count && accept(p, ","))
                p->next++;
        } else if (token_is(t, ".entry") || token_is(t, ".func")) {
            take_function(p, token_is(t, ".entry"));
        } else if (space != PTX_GENERIC) {
            take_variable(p, space, false);
            expect(p, ";");
        } else if (!token_is(t, ".visible") && !token_is(t, ".weak") && !token_is(t, ".extern") &&
                   !token_is(t, ".common")) {
            parse_fail(p, "unexpected \"%.*s\" at module level", t->length, t->at);
        }
    }
    fix_calls(p);
}

/* Returns false if the module cannot be run. */
static bool read_module(parser *p, const char *text)
{
    if (setjmp(p->failed) != 0)
        return false;
    split_tokens(p, text);
    take_module(p);
    return true;
}

ptx_program *ptx_parse(const char *text, char message[256])
{
    parser *p = calloc(1, sizeof *p);
    ptx_program *program = calloc(1, sizeof *program);
    if (p == NULL || program == NULL || (program->text = strdup(text)) == NULL)
        abort();
    p->program = program;
    p->message = message;
    program->shared_bytes = SHARED_START;
    const bool is_right = read_module(p, program->text);
    list *const lists[] = {&p->registers, &p->labels, &p->target_lists,
                           &p->symbols,   &p->fixups, &p->calls};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        free(lists[i]->items);
    free(p->tokens);
    free(p);
    if (is_right)
        return program;
    ptx_destroy(program);
    return NULL;
}

const ptx_function *ptx_find(const ptx_program *program, const char *kernel)
{
    for (int i = 0; i < program->function_count; i++)
        if (program->functions[i].is_kernel && strcmp(program->functions[i].name, kernel) == 0)
            return &program->functions[i];
    return NULL;
}

void ptx_destroy(ptx_program *program)
{
    if (program == NULL)
        return;
    for (int i = 0; i < program->instruction_count; i++)
        for (int o = 0; o < program->instructions[i].operand_count; o++)
            if (program->instructions[i].operands[o].form == PTX_VECTOR)
                free(program->instructions[i].operands[o].elements);
    for (int i = 0; i < program->function_count; i++)
        free(program->functions[i].name);
    for (int i = 0; i < program->variable_count; i++) {
        free(program->variables[i].name);
        free(program->variables[i].data);
    }
    free(program->instructions);
    free(program->functions);
    free(program->variables);
    free(program->register_bits);
    free(program->targets);
    free(program->text);
    free(program);
}

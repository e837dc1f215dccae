/* Parses the operands of an instruction. */
#include "parse_internal.h"
#include "special.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool same(const token *a, const token *b)
{
    return a->length == b->length && strncmp(a->at, b->at, (size_t)a->length) == 0;
}

/* Returns the register number of `name`, such as %r12 if 20 of %r are declared; -1 if it does not
 * belong to this declaration. */
static int member(const declared *d, const token *name)
{
    if (d->count < 0)
        return same(&d->name, name) ? d->first : -1;
    if (name->length <= d->name.length ||
        strncmp(name->at, d->name.at, (size_t)d->name.length) != 0)
        return -1;
    long number = 0;
    for (int i = d->name.length; i < name->length; i++) {
        if (!isdigit((unsigned char)name->at[i]) || number > d->count)
            return -1;
        number = 10 * number + (name->at[i] - '0');
    }
    return number < d->count ? d->first + (int)number : -1;
}

static int find_register(const parser *p, const token *name)
{
    const declared *d = p->registers.items;
    for (int i = p->registers.count - 1; i >= 0; i--) {
        const int found = member(&d[i], name);
        if (found >= 0)
            return found;
    }
    return -1;
}

static int find_named(const list *l, const token *name)
{
    const named *n = l->items;
    for (int i = l->count - 1; i >= 0; i--)
        if (same(&n[i].name, name))
            return n[i].number;
    return -1;
}

static void take_symbol(parser *p, int variable, ptx_operand *out)
{
    const ptx_variable *v = &p->program->variables[variable];
    out->form = PTX_SYMBOL;
    out->space = v->space;
    out->number = variable;
    out->value = v->offset;
}

static void take_word(parser *p, ptx_operand *out, int instruction, int operand)
{
    const token *t = take(p);
    int number = find_register(p, t);
    if (number >= 0) {
        out->form = PTX_REGISTER;
        out->number = number;
    } else if ((number = find_named(&p->symbols, t)) >= 0) {
        take_symbol(p, number, out);
    } else if ((number = special_named(t->at, t->length)) >= 0) {
        out->form = PTX_SPECIAL;
        out->number = number;
    } else if ((number = find_named(&p->target_lists, t)) >= 0) {
        out->form = PTX_LABEL;
        out->number = number;
    } else if (*t->at == '%' || operand < 0) {
        parse_fail(p, "%.*s is not declared", t->length, t->at);
    } else {
        const fixup f = {*t, instruction, operand};
        out->form = PTX_LABEL;
        list_add(p, &p->fixups, sizeof f, &f);
    }
}

static void take_operand(parser *p, ptx_operand *out, int instruction, int operand);

static void take_vector(parser *p, const char *end, ptx_operand *out)
{
    list elements = {NULL, 0, 0};
    out->form = PTX_VECTOR;
    while (!accept(p, end)) {
        ptx_operand element = {.also = -1};
        take_operand(p, &element, -1, -1);
        list_add(p, &elements, sizeof element, &element);
        accept(p, ",");
    }
    out->elements = elements.items;
    out->number = elements.count;
}

static void take_address(parser *p, ptx_operand *out)
{
    if (isalpha((unsigned char)*peek(p)->at) || strchr("%_$", *peek(p)->at) != NULL) {
        take_word(p, out, -1, -1);
        if (out->form == PTX_REGISTER)
            out->has_register = true;
        else if (out->form != PTX_SYMBOL)
            parse_fail(p, "an address begins with neither a register nor a variable");
        else
            out->also = out->number;
    }
    if (!token_is(peek(p), "]"))
        out->value += take_number(p);
    out->form = PTX_ADDRESS;
    expect(p, "]");
}

static void take_operand(parser *p, ptx_operand *out, int instruction, int operand)
{
    const token *t = peek(p);
    if (accept(p, "{")) {
        take_vector(p, "}", out);
    } else if (accept(p, "(")) {
        take_vector(p, ")", out);
    } else if (accept(p, "[")) {
        take_address(p, out);
    } else if (accept(p, "!")) {
        take_word(p, out, instruction, operand);
        out->negated = true;
    } else if (accept(p, "_")) {
        out->form = PTX_SINK;
    } else if (isdigit((unsigned char)*t->at) || *t->at == '-' || *t->at == '+') {
        out->form = PTX_IMMEDIATE;
        out->value = take_number(p);
    } else {
        take_word(p, out, instruction, operand);
        if (accept(p, "|")) {
            ptx_operand also = {.also = -1};
            if (!accept(p, "_")) {
                take_word(p, &also, -1, -1);
                out->also = also.number;
            }
        }
        if (token_is(peek(p), "+") || token_is(peek(p), "-")) /* mov.b64 %rd1, variable+8 */
            out->value += take_number(p);
    }
}

int take_register(parser *p)
{
    const token *t = take(p);
    const int number = find_register(p, t);
    if (number < 0)
        parse_fail(p, "%.*s is not declared", t->length, t->at);
    return number;
}

void take_operands(parser *p, ptx_instruction *out, int number)
{
    while (!accept(p, ";")) {
        if (out->operand_count == PTX_MAX_OPERANDS)
            parse_fail(p, "%s has too many operands", out->text);
        ptx_operand *operand = &out->operands[out->operand_count];
        *operand = (ptx_operand){.also = -1};
        take_operand(p, operand, number, out->operand_count++);
        accept(p, ",");
    }
}

/* Resolves labels and names of functions. */
#include "operations.h"
#include "parse_internal.h"

#include <stdio.h>
#include <string.h>

static int find_function(const ptx_program *program, const token *name)
{
    for (int i = 0; i < program->function_count; i++)
        if (token_is(name, program->functions[i].name))
            return i;
    return -1;
}

/* Resolves labels within their function. A name that is not a label may be a function, possibly one
 * defined later. */
void fix_labels(parser *p)
{
    const fixup *f = p->fixups.items;
    const named *labels = p->labels.items;
    for (int i = 0; i < p->fixups.count; i++) {
        int found = -1;
        for (int l = 0; l < p->labels.count; l++)
            if (labels[l].name.length == f[i].name.length &&
                strncmp(labels[l].name.at, f[i].name.at, (size_t)f[i].name.length) == 0)
                found = labels[l].number;
        if (f[i].operand < 0)
            p->program->targets[f[i].instruction] = found;
        else
            p->program->instructions[f[i].instruction].operands[f[i].operand].number = found;
        if (found < 0)
            list_add(p, &p->calls, sizeof f[i], &f[i]);
    }
    p->fixups.count = p->labels.count = p->target_lists.count = 0;
}

void fix_calls(parser *p)
{
    const fixup *f = p->calls.items;
    for (int i = 0; i < p->calls.count; i++) {
        const int found = find_function(p->program, &f[i].name);
        const bool is_call =
            f[i].operand >= 0 && p->program->instructions[f[i].instruction].op == PTX_OP_call;
        if (found < 0 || !is_call) {
            snprintf(p->message, 256, "line %d: there is no %.*s", f[i].name.line, f[i].name.length,
                     f[i].name.at);
            longjmp(p->failed, 1);
        }
        p->program->instructions[f[i].instruction].operands[f[i].operand].number = found;
    }
}

/* tenon solvers: lists the solvers of each operation. */
#include "command.h"

#include "ops/registry.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static void print_parameters(const tn_solver *solver)
{
    for (uint32_t i = 0; i < solver->parameter_count; i++) {
        const tn_parameter *p = &solver->parameters[i];
        printf("%s%s %d..%d", i == 0 ? "  parameters  " : ", ", p->name, (int)p->low, (int)p->high);
    }
    if (solver->parameter_count > 0)
        putchar('\n');
}

static void print_solver(const tn_family *family, const tn_solver *solver)
{
    printf("%s/%s\n", family->name, solver->name);
    print_parameters(solver);
    if (solver->serves != NULL)
        printf("  serves      %s\n", solver->serves);
    if (solver->needs != NULL)
        printf("  needs       %s\n", solver->needs);
}

/* Prints one family, or all if `wanted` is NULL. Returns false if there is no such family. */
static bool print_families(const char *wanted)
{
    bool found = false;
    const tn_family *family;
    for (uint32_t f = 0; (family = tn_family_at(f)) != NULL; f++) {
        if (wanted != NULL && strcmp(wanted, family->name) != 0)
            continue;
        found = true;
        for (uint32_t s = 0; s < family->solver_count; s++)
            print_solver(family, family->solvers[s]);
    }
    return found;
}

static int run(int argc, char **argv)
{
    const command_option none[] = {{NULL}};
    command_line line;
    if (!command_line_read(&solvers_command, argc, argv, none, 1, &line))
        return line.status;
    if (print_families(line.operands[0]))
        return EXIT_OK;
    return command_line_wrong(&solvers_command, "unknown operation \"%s\"", line.operands[0]);
}

const command solvers_command = {
    .name = "solvers",
    .summary =
        "list the solvers of every operation, or of one, with their parameters and requirements",
    .run = run,
    .arguments = "[OPERATION]",
    .details =
        "Prints for each solver: its name, with which a call can force it; its tuning parameters,\n"
        "which can follow the name (as in gemm/skinny:mr4,nr2), with their smallest and\n"
        "largest values; the problems that it supports; and the memory that it requires in\n"
        "addition to its operands, if any. No device is queried.\n",
};

/* The grammar of solver names: operation/solver[:name1value1,name2value2,...]. */
#include "dispatch/solver.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *tn_solver_name(const tn_family *family, const tn_choice *choice,
                     char text[TN_SOLVER_NAME_SIZE])
{
    int used = snprintf(text, TN_SOLVER_NAME_SIZE, "%s/%s", family->name, choice->solver->name);
    for (uint32_t i = 0; i < choice->solver->parameter_count && used < TN_SOLVER_NAME_SIZE; i++)
        used += snprintf(text + used, (size_t)(TN_SOLVER_NAME_SIZE - used), "%c%s%d",
                         i == 0 ? ':' : ',', choice->solver->parameters[i].name, choice->values[i]);
    return text;
}

static tenon_status fail(const char *caller, const char *name, const char *why)
{
    return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: solver: \"%s\" %s", caller, name, why);
}

static int32_t find_solver(const tn_family *family, const char *name, size_t length)
{
    for (uint32_t i = 0; i < family->solver_count; i++)
        if (strlen(family->solvers[i]->name) == length &&
            strncmp(family->solvers[i]->name, name, length) == 0)
            return (int32_t)i;
    return -1;
}

const tn_solver *tn_solver_named(const tn_family *family, const char *name)
{
    const size_t length = strlen(family->name);
    if (name == NULL || strncmp(name, family->name, length) != 0 || name[length] != '/')
        return NULL;
    const char *solver = name + length + 1;
    int32_t i = find_solver(family, solver, strcspn(solver, ":"));
    return i < 0 ? NULL : family->solvers[i];
}

/* Parses "name12" at `*text` and advances past it. Returns the parameter's index, or -1. Names end
 * in a letter. */
static int32_t read_parameter(const tn_solver *solver, const char **text, long *value)
{
    for (uint32_t i = 0; i < solver->parameter_count; i++) {
        size_t length = strlen(solver->parameters[i].name);
        const char *digits = *text + length;
        if (strncmp(*text, solver->parameters[i].name, length) != 0 ||
            !isdigit((unsigned char)*digits))
            continue;
        char *end;
        *value = strtol(digits, &end, 10);
        *text = end;
        return (int32_t)i;
    }
    return -1;
}

static tenon_status read_parameters(const char *caller, const char *name, const char *text,
                                    const tn_solver *solver, tn_problem *problem)
{
    do {
        long value;
        int32_t i = read_parameter(solver, &text, &value);
        if (i < 0)
            return fail(caller, name, "has an unknown parameter");
        if (value < solver->parameters[i].low || value > solver->parameters[i].high || value == 0)
            return tn_fail(TENON_ERROR_INVALID_ARGUMENT,
                           "%s: solver: \"%s\": %s is %ld, must be from %d to %d", caller, name,
                           solver->parameters[i].name, value, solver->parameters[i].low,
                           solver->parameters[i].high);
        if (problem->forced_values[i] != 0)
            return fail(caller, name, "repeats a parameter");
        problem->forced_values[i] = (int32_t)value;
    } while (*text == ',' && *++text != '\0');
    return *text == '\0' && text[-1] != ',' ? TENON_OK
                                            : fail(caller, name, "has unexpected text at the end");
}

/* Appends the valid names to the error message. */
static tenon_status list_solvers(const tn_family *family)
{
    tn_fail_append("; those of ");
    tn_fail_append(family->name);
    for (uint32_t i = 0; i < family->solver_count; i++) {
        tn_fail_append(i == 0 ? " are " : ", ");
        tn_fail_append(family->solvers[i]->name);
    }
    return TENON_ERROR_INVALID_ARGUMENT;
}

void tn_problem_begin(tn_problem *head, size_t size)
{
    memset(head, 0, size);
    head->size = size;
    head->forced = -1;
}

tenon_status tn_solver_force(const char *caller, const tn_family *family, const char *name,
                             tn_problem *problem)
{
    problem->forced = -1;
    if (name == NULL)
        return TENON_OK;
    size_t family_length = strlen(family->name);
    if (strncmp(name, family->name, family_length) != 0 || name[family_length] != '/')
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: solver: \"%s\" is not a solver of %s",
                       caller, name, family->name);
    const char *solver = name + family_length + 1, *colon = strchr(solver, ':');
    problem->forced =
        find_solver(family, solver, colon != NULL ? (size_t)(colon - solver) : strlen(solver));
    if (problem->forced < 0) {
        fail(caller, name, "names an unknown solver");
        return list_solvers(family);
    }
    if (colon == NULL)
        return TENON_OK;
    return read_parameters(caller, name, colon + 1, family->solvers[problem->forced], problem);
}

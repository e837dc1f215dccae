/* The self-check of a solver: runs its family's awkward cases in the validation context. */
#include "check/awkward.h"
#include "dispatch/state.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t tn_awkward_count(const tn_choice *choice)
{
    uint32_t count = 1;
    for (const char *at = choice->solver->awkward; at != NULL && *at != '\0'; at++)
        count += *at == ';';
    return count;
}

/* Reads a parameter's value or a number. Advances *text. */
static int64_t read_factor(const tn_choice *choice, const char **text)
{
    if (isdigit((unsigned char)**text))
        return strtoll(*text, (char **)text, 10);
    const size_t length = strspn(*text, "abcdefghijklmnopqrstuvwxyz_");
    const char *name = *text;
    *text += length;
    for (uint32_t i = 0; i < choice->solver->parameter_count; i++) {
        const char *known = choice->solver->parameters[i].name;
        if (strlen(known) == length && strncmp(known, name, length) == 0)
            return choice->values[i];
    }
    return 0;
}

/* Evaluates sums and differences of products and quotients. */
static int64_t read_size(const tn_choice *choice, const char *text)
{
    int64_t sum = 0;
    for (char sign = '+'; sign == '+' || sign == '-'; sign = *text++) {
        int64_t product = read_factor(choice, &text);
        while (*text == '*' || *text == '/') {
            const bool divides = *text++ == '/';
            const int64_t factor = read_factor(choice, &text);
            if (factor != 0 || !divides)
                product = divides ? product / factor : product * factor;
        }
        sum += sign == '-' ? -product : product;
    }
    return sum;
}

int64_t tn_awkward_size(const tn_choice *choice, uint32_t number, const char *name, int64_t usual)
{
    const size_t length = strlen(name);
    const char *at = choice->solver->awkward;
    for (; at != NULL && number > 0; number--) {
        at = strchr(at, ';');
        at = at != NULL ? at + 1 : NULL;
    }
    while (at != NULL && *at != '\0' && *at != ';') {
        at += strspn(at, " ");
        if (strncmp(at, name, length) == 0 && at[length] == '=')
            return read_size(choice, at + length + 1);
        at += strcspn(at, " ;");
    }
    return usual;
}

void tn_awkward_begin(tn_case *c, const tn_operation *operation)
{
    c->operation = operation;
    tn_operation_defaults(operation, c->params.bytes);
}

tenon_tensor tn_awkward_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape, bool gaps)
{
    tenon_tensor view = tenon_tensor_view(dtype, rank, shape);
    view.offset = 3 * tenon_dtype_size(dtype);
    for (uint32_t d = rank; gaps && d-- > 0;)
        view.stride[d] = d == rank - 1 ? 2 : view.stride[d + 1] * view.shape[d + 1] + 1;
    return view;
}

/* Returns false for an operation private to its family, which `tenon check` cannot express. */
static bool has_words(const tn_operation *operation)
{
    const tn_registry *registry = operation->family->registry;
    for (uint32_t i = 0; i < registry->operation_count; i++)
        if (registry->operations[i] == operation)
            return true;
    return false;
}

/* Runs one case. After a failure, stores the command that reproduces it in the validation context.
 */
static tenon_status check_case(tenon_stream *validation, const tn_family *family, uint32_t number,
                               tn_case *c, bool *served, bool *right, char why[256])
{
    tn_dispatch *dispatch = tn_dispatch_of(validation->context);
    const tn_choice *usual = dispatch->choice;
    tn_choice choice = *usual;
    tn_case_result result;
    for (uint32_t i = 0; i < TN_MAX_PARAMETERS; i++)
        if (c->values[i] != 0)
            choice.values[i] = c->values[i];
    tn_solver_name(family, &choice, c->solver);
    c->seed = number + 1;
    dispatch->choice = &choice;
    dispatch->same_options = c->same_options;
    const tenon_status status = tn_case_run(validation, c, &result);
    dispatch->same_options = false;
    dispatch->choice = usual;
    TN_TRY(status);
    *served |= result.served;
    *right = result.right;
    if (!result.served || !result.right)
        snprintf(why, 256, "%s", result.why);
    if (!result.right && has_words(c->operation))
        tn_case_text(c, dispatch->repeat);
    return TENON_OK;
}

/* Runs the cases until one has a wrong result. With `any_options` cases that build other kernel
 * variants are run as well. */
static tenon_status check_cases(tenon_stream *validation, const tn_family *family,
                                const tn_problem *problem, const tn_choice *choice,
                                bool any_options, tn_case *c, bool *served, bool *right,
                                char why[256])
{
    for (uint32_t i = 0; *right; i++) {
        memset(c, 0, sizeof *c);
        c->context = validation->context;
        if (!family->awkward(problem, choice, i, c))
            break;
        c->same_options &= !any_options;
        TN_TRY(check_case(validation, family, i, c, served, right, why));
    }
    return TENON_OK;
}

tenon_status tn_oracle(tenon_stream *validation, const tn_family *family, const tn_problem *problem,
                       const tn_choice *choice, bool *right, char why[256])
{
    bool served = false;
    tn_case *c = malloc(sizeof *c);
    *right = true;
    if (c == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a self-check", family->name);
    tenon_status status =
        check_cases(validation, family, problem, choice, false, c, &served, right, why);
    if (status == TENON_OK && !served)
        status = check_cases(validation, family, problem, choice, true, c, &served, right, why);
    free(c);
    if (status == TENON_OK && !served)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: the self-check has no case for solver %s: %s",
                       family->name, choice->solver->name, why);
    return status;
}

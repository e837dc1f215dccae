/* Choosing a solver. */
#include "dispatch/solver.h"

#include "runtime/cl_error.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A solver that could serve. */
typedef struct candidate {
    tn_choice choice;
    double estimate;
} candidate;

#define MAX_CANDIDATES 24

static uint64_t workspace_of(tenon_context *context, const tn_problem *problem,
                             const tn_choice *choice)
{
    return choice->solver->workspace != NULL
               ? choice->solver->workspace(context, problem, choice->values)
               : 0;
}

static void tune(tenon_context *context, const tn_problem *problem, tn_choice *choice)
{
    if (choice->solver->tune != NULL)
        choice->solver->tune(context, problem, choice->values);
}

static const char *constrains(tenon_context *context, const tn_problem *problem,
                              const tn_choice *choice)
{
    return choice->solver->constrains != NULL
               ? choice->solver->constrains(context, problem, choice->values)
               : NULL;
}

/* A forced solver may serve where it would never be chosen, but for a context that asks what would
 * be built for a kind of device. */
static tenon_status refuses_forced(const char *operation, tenon_context *context,
                                   const tn_problem *problem, const tn_solver *solver,
                                   const char **why)
{
    if (!context->only_chosen) {
        *why = solver->refuses(context, problem);
        return TENON_OK;
    }
    tn_problem *unforced = malloc(problem->size);
    if (unforced == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan", operation);
    memcpy(unforced, problem, problem->size);
    unforced->forced = -1;
    *why = solver->refuses(context, unforced);
    free(unforced);
    return TENON_OK;
}

static tenon_status select_forced(const char *operation, tenon_context *context,
                                  const tn_family *family, const tn_problem *problem,
                                  tn_choice *choice)
{
    char name[TN_SOLVER_NAME_SIZE], wrong[256];
    const char *why = NULL;
    bool right;
    *choice = (tn_choice){.solver = family->solvers[problem->forced]};
    TN_TRY(refuses_forced(operation, context, problem, choice->solver, &why));
    if (why != NULL)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: solver %s/%s cannot serve: %s", operation,
                       family->name, choice->solver->name, why);
    memcpy(choice->values, problem->forced_values, sizeof choice->values);
    tune(context, problem, choice);
    tn_solver_name(family, choice, name);
    if ((why = constrains(context, problem, choice)) != NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: solver: %s: %s", operation, name, why);
    uint64_t workspace = workspace_of(context, problem, choice);
    if (workspace > problem->workspace_limit)
        return tn_fail(TENON_ERROR_WORKSPACE_TOO_SMALL,
                       "%s: solver %s needs a workspace of %" PRIu64
                       " bytes, the limit is %" PRIu64,
                       operation, name, workspace, problem->workspace_limit);
    TN_TRY(tn_self_check(operation, context, family, problem, choice, &right, wrong));
    if (!right)
        return tn_fail(TENON_ERROR_SOLVER_BARRED,
                       "%s: solver %s gives wrong results on this device: %s", operation, name,
                       wrong);
    return TENON_OK;
}

/* Every solver that could serve, the fastest by estimate first. Appends the others' reasons to
 * `reasons`. */
static uint32_t gather(tenon_context *context, const tn_family *family, const tn_problem *problem,
                       candidate candidates[MAX_CANDIDATES], char *reasons, size_t size)
{
    uint32_t count = 0;
    size_t used = 0;
    reasons[0] = '\0';
    for (uint32_t i = 0; i < family->solver_count && count < MAX_CANDIDATES; i++) {
        candidate c = {.choice.solver = family->solvers[i]};
        const char *why = c.choice.solver->refuses(context, problem);
        if (why == NULL)
            tune(context, problem, &c.choice);
        if (why == NULL)
            why = constrains(context, problem, &c.choice);
        if (why == NULL && workspace_of(context, problem, &c.choice) > problem->workspace_limit)
            why = "needs more workspace than the limit";
        if (why != NULL) {
            int length = snprintf(reasons + used, size - used, "\n  %s/%s: %s", family->name,
                                  c.choice.solver->name, why);
            used += (size_t)length < size - used ? (size_t)length : size - used - 1;
            continue;
        }
        c.estimate = c.choice.solver->estimate(context, problem, c.choice.values);
        uint32_t at = count++;
        for (; at > 0 && candidates[at - 1].estimate > c.estimate; at--)
            candidates[at] = candidates[at - 1];
        candidates[at] = c;
    }
    return count;
}

tenon_status tn_select(const char *operation, tenon_context *context, const tn_family *family,
                       const tn_problem *problem, tn_choice *choice)
{
    candidate candidates[MAX_CANDIDATES];
    char reasons[1024], why[256];
    if (tn_self_check_chooses(context, family, problem, choice))
        return TENON_OK;
    if (problem->forced >= 0)
        return select_forced(operation, context, family, problem, choice);
    uint32_t count = gather(context, family, problem, candidates, reasons, sizeof reasons);
    if (count == 0)
        return tn_fail(TENON_ERROR_UNSUPPORTED, "%s: no solver can serve:%s", operation, reasons);
    tenon_status status = TENON_OK;
    for (uint32_t i = 0; i < count; i++) {
        bool right = false;
        status =
            tn_self_check(operation, context, family, problem, &candidates[i].choice, &right, why);
        if (status == TENON_OK && right) {
            *choice = candidates[i].choice;
            return TENON_OK;
        }
        /* A solver that this device cannot build, launch or check leaves the others to try. Any
         * other failure is not about the solver: a plan without it would be kept though it may
         * serve the next time. */
        if (status != TENON_OK && !tn_failure_lasts(status))
            return status;
    }
    if (status != TENON_OK)
        return status;
    return tn_fail(TENON_ERROR_SOLVER_BARRED,
                   "%s: every solver gives wrong results on this device; the last one: %s",
                   operation, why);
}

#include "check/search_space.h"

#include "dispatch/plan.h"
#include "runtime/context/target.h"

#include <stdio.h>
#include <string.h>

/* Values from here on are not varied by 1, which would not affect speed. */
#define SMALL 16

static tenon_status open_kind(tenon_context *context, const tn_device_kind *kind,
                              tn_search_space *space)
{
    if (space->kind_count == sizeof space->kinds / sizeof *space->kinds)
        return TENON_OK;
    TN_TRY(tn_target_like(context, kind, NULL, NULL, &space->kinds[space->kind_count]));
    space->kind_count++;
    return TENON_OK;
}

tenon_status tn_search_space_open(tenon_context *context, tn_search_space *space)
{
    const tn_device_kind *own = context->device.model.kind;
    space->kind_count = space->count = 0;
    TN_TRY(open_kind(context, own, space));
    for (size_t k = 0; k < tn_device_kind_count; k++)
        if (&tn_device_kinds[k] != own &&
            tn_device_kind_is_cpu(&tn_device_kinds[k]) == tn_device_kind_is_cpu(own))
            TN_TRY(open_kind(context, &tn_device_kinds[k], space));
    return TENON_OK;
}

void tn_search_space_close(tn_search_space *space)
{
    for (uint32_t k = 0; k < space->kind_count; k++)
        tenon_context_release(space->kinds[k]);
    space->kind_count = 0;
}

void tn_search_space_add(tn_search_space *space, const char *name)
{
    for (uint32_t i = 0; i < space->count; i++)
        if (strcmp(space->names[i], name) == 0)
            return;
    if (space->count < TN_MAX_POINTS)
        snprintf(space->names[space->count++], TN_SOLVER_NAME_SIZE, "%s", name);
}

/* Adds the full name of the solver's plan for a kind, if it can serve the call with these
 * parameters, both there and on the device's own kind, which may pack weights differently. */
static void add_planned(tn_search_space *space, uint32_t kind, const tn_case *c, const char *name)
{
    tenon_plan *plan = NULL;
    if (tn_case_plan(space->kinds[kind], c, name, &plan) == TENON_OK) {
        if (kind == 0)
            tn_search_space_add(space, plan->name);
        else
            add_planned(space, 0, c, plan->name);
    }
    tenon_plan_release(plan);
}

void tn_search_space_add_shipped(tn_search_space *space, const tn_case *c)
{
    const tn_family *family = c->operation->family;
    char name[TN_SOLVER_NAME_SIZE];
    for (uint32_t k = 0; k < space->kind_count; k++)
        for (uint32_t s = 0; s < family->solver_count; s++) {
            snprintf(name, sizeof name, "%s/%s", family->name, family->solvers[s]->name);
            add_planned(space, k, c, name);
        }
}

void tn_search_space_add_neighbors(tn_search_space *space, const tn_case *c, const char *of)
{
    const tn_family *family = c->operation->family;
    tn_problem problem = {.forced = -1};
    char name[TN_SOLVER_NAME_SIZE];
    if (tn_solver_force("the search space", family, of, &problem) != TENON_OK || problem.forced < 0)
        return;
    tn_choice choice = {.solver = family->solvers[problem.forced]};
    memcpy(choice.values, problem.forced_values, sizeof choice.values);
    for (uint32_t p = 0; p < choice.solver->parameter_count; p++) {
        const int32_t value = choice.values[p],
                      others[] = {value / 2, 2 * value, value - 1, value + 1};
        for (int i = 0; i < (value < SMALL ? 4 : 2); i++) {
            choice.values[p] = others[i];
            tn_solver_name(family, &choice, name);
            add_planned(space, 0, c, name);
        }
        choice.values[p] = value;
    }
}

#include "candidates.h"

#include "runtime/target.h"

#include <stdio.h>
#include <string.h>

/* From here on one more or less is no other speed. */
#define SMALL 16

static void ignore(void *user, const char *source, const char *options, const char *kernel,
                   size_t work_group)
{
    (void)user;
    (void)source;
    (void)options;
    (void)kernel;
    (void)work_group;
}

static bool open_kind(bench_session *session, const tn_device_kind *kind, bench_candidates *c)
{
    if (c->kind_count == sizeof c->kinds / sizeof *c->kinds)
        return true;
    return BENCH_WELL(
        tn_target_like(session->context, kind, ignore, NULL, &c->kinds[c->kind_count++]));
}

bool bench_candidates_open(bench_session *session, bench_candidates *c)
{
    const tn_device_kind *own = session->context->device.model.kind;
    bool well = open_kind(session, own, c);
    for (size_t k = 0; well && k < tn_device_kind_count; k++)
        if (&tn_device_kinds[k] != own &&
            tn_device_kind_is_cpu(&tn_device_kinds[k]) == tn_device_kind_is_cpu(own))
            well = open_kind(session, &tn_device_kinds[k], c);
    return well;
}

void bench_candidates_close(bench_candidates *c)
{
    for (uint32_t k = 0; k < c->kind_count; k++)
        tenon_context_release(c->kinds[k]);
    c->kind_count = 0;
}

void bench_candidates_add(bench_candidates *c, const char *name)
{
    for (uint32_t i = 0; i < c->count; i++)
        if (strcmp(c->names[i], name) == 0)
            return;
    if (c->count < BENCH_MOST_CANDIDATES)
        snprintf(c->names[c->count++], TN_SOLVER_NAME_SIZE, "%s", name);
}

/* By the solver of a name, where it may be chosen with these parameters. */
static void add_planned(bench_candidates *c, tenon_context *kind, const tn_case *call,
                        const char *name)
{
    tenon_plan *plan = NULL;
    if (tn_case_plan(kind, call, name, &plan) == TENON_OK)
        bench_candidates_add(c, plan->name);
    tenon_plan_release(plan);
}

void bench_candidates_add_shipped(bench_candidates *c, const tn_case *call)
{
    const tn_family *family = call->operation->family;
    char name[TN_SOLVER_NAME_SIZE];
    for (uint32_t k = 0; k < c->kind_count; k++)
        for (uint32_t s = 0; s < family->solver_count; s++) {
            snprintf(name, sizeof name, "%s/%s", family->name, family->solvers[s]->name);
            add_planned(c, c->kinds[k], call, name);
        }
}

void bench_candidates_add_neighbours(bench_candidates *c, const tn_case *call, const char *of)
{
    const tn_family *family = call->operation->family;
    tn_problem problem = {.forced = -1};
    char name[TN_SOLVER_NAME_SIZE];
    if (tn_solver_force("tenon-bench", family, of, &problem) != TENON_OK || problem.forced < 0)
        return;
    tn_choice choice = {.solver = family->solvers[problem.forced]};
    memcpy(choice.values, problem.forced_values, sizeof choice.values);
    for (uint32_t p = 0; p < choice.solver->parameter_count; p++) {
        const int32_t value = choice.values[p],
                      others[] = {value / 2, 2 * value, value - 1, value + 1};
        for (int i = 0; i < (value < SMALL ? 4 : 2); i++) {
            choice.values[p] = others[i];
            tn_solver_name(family, &choice, name);
            add_planned(c, c->kinds[0], call, name);
        }
        choice.values[p] = value;
    }
}

#include "ceilings.h"

#include "device.h"
#include "ops/registry.h"

#include <stdio.h>

static json_t *parameters_of(const tn_solver *solver)
{
    json_t *all = json_object();
    for (uint32_t i = 0; i < solver->parameter_count; i++)
        json_object_set_new(
            all, solver->parameters[i].name,
            json_pack("[i, i]", (int)solver->parameters[i].low, (int)solver->parameters[i].high));
    return all;
}

bool bench_solvers(void)
{
    json_t *all = json_object();
    for (uint32_t f = 0; tn_family_at(f) != NULL; f++)
        for (uint32_t s = 0; s < tn_family_at(f)->solver_count; s++) {
            char name[128];
            snprintf(name, sizeof name, "%s/%s", tn_family_at(f)->name,
                     tn_family_at(f)->solvers[s]->name);
            json_object_set_new(all, name, parameters_of(tn_family_at(f)->solvers[s]));
        }
    return bench_json_write(NULL, all);
}

/* The bounded table of plans behind the immediate calls. */
#include "dispatch/plan_table.h"

#include "dispatch/plan.h"
#include "dispatch/state.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

bool tn_plan_table_init(tn_plan_table *table)
{
    memset(table, 0, sizeof *table);
    return tn_mutex_init(&table->lock);
}

void tn_plan_table_destroy(tn_plan_table *table)
{
    for (tenon_plan *plan = table->newest; plan != NULL;) {
        tenon_plan *older = plan->older;
        tenon_plan_release(plan);
        plan = older;
    }
    tn_mutex_destroy(&table->lock);
}

/* The caller of the functions below holds the lock. */

static tenon_plan **bucket_of(tn_plan_table *table, uint64_t hash)
{
    return &table->buckets[hash % TN_PLAN_TABLE_BUCKETS];
}

static tenon_plan *plan_table_find(tn_plan_table *table, const tn_family *family,
                                   const tn_problem *problem, uint64_t hash)
{
    for (tenon_plan *plan = *bucket_of(table, hash); plan != NULL; plan = plan->next_in_bucket)
        if (plan->hash == hash && plan->family == family && plan->problem->size == problem->size &&
            memcmp(plan->problem, problem, problem->size) == 0)
            return plan;
    return NULL;
}

static void unlink_from_list(tn_plan_table *table, tenon_plan *plan)
{
    *(plan->newer != NULL ? &plan->newer->older : &table->newest) = plan->older;
    *(plan->older != NULL ? &plan->older->newer : &table->oldest) = plan->newer;
}

static void link_as_newest(tn_plan_table *table, tenon_plan *plan)
{
    plan->newer = NULL;
    plan->older = table->newest;
    *(table->newest != NULL ? &table->newest->newer : &table->oldest) = plan;
    table->newest = plan;
}

static tenon_plan *take_oldest(tn_plan_table *table)
{
    tenon_plan *plan = table->oldest, **link = bucket_of(table, plan->hash);
    while (*link != plan)
        link = &(*link)->next_in_bucket;
    *link = plan->next_in_bucket;
    unlink_from_list(table, plan);
    table->count--;
    return plan;
}

static void insert(tn_plan_table *table, tenon_plan *plan)
{
    tenon_plan **bucket = bucket_of(table, plan->hash);
    plan->next_in_bucket = *bucket;
    *bucket = plan;
    link_as_newest(table, plan);
    table->count++;
}

/* Gives the caller a reference to a plan of the table. */
static tenon_plan *use(tn_plan_table *table, tenon_plan *plan)
{
    if (plan != table->newest) {
        unlink_from_list(table, plan);
        link_as_newest(table, plan);
    }
    tenon_plan_retain(plan);
    return plan;
}

static tenon_status make(const tn_request *r, uint64_t hash, tenon_plan **out)
{
    TN_TRY(tn_plan_create(r, out));
    tenon_plan *plan = *out;
    plan->family = r->family;
    plan->hash = hash;
    plan->problem = malloc(r->problem->size);
    if (plan->problem == NULL) {
        tenon_plan_release(plan);
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for a plan", r->caller);
    }
    memcpy(plan->problem, r->problem, r->problem->size);
    return TENON_OK;
}

tenon_status tn_plan_table_get(const tn_request *request, tenon_plan **out)
{
    tenon_context *context = request->context;
    const tn_family *family = request->family;
    const tn_problem *problem = request->problem;
    tn_dispatch *dispatch = tn_dispatch_of(context);
    if (dispatch == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the table of plans",
                       request->caller);
    tn_plan_table *table = &dispatch->plans;
    uint64_t hash = XXH3_64bits(problem, problem->size);
    tn_mutex_lock(&table->lock);
    tenon_plan *plan = plan_table_find(table, family, problem, hash);
    *out = plan != NULL ? use(table, plan) : NULL;
    tn_mutex_unlock(&table->lock);
    if (*out != NULL) {
        tn_count_only(context, TN_PLANS_FOUND, context->owner == NULL);
        return TENON_OK;
    }
    /* Not under the lock, since creating a plan compiles. If two threads create the same plan, the
     * first one is kept. */
    tenon_plan *made, *spare = NULL, *evicted = NULL;
    const unsigned untested = tn_capabilities_untested(context);
    TN_TRY(make(request, hash, &made));
    /* Selected without knowing all capabilities of the device: used for this call only. */
    if (tn_capabilities_untested(context) != untested) {
        *out = made;
        return TENON_OK;
    }
    tn_mutex_lock(&table->lock);
    if ((plan = plan_table_find(table, family, problem, hash)) != NULL) {
        spare = made;
    } else {
        evicted = table->count == TN_PLAN_TABLE_CAPACITY ? take_oldest(table) : NULL;
        insert(table, plan = made);
    }
    *out = use(table, plan);
    tn_mutex_unlock(&table->lock);
    tenon_plan_release(spare);
    tenon_plan_release(evicted);
    return TENON_OK;
}

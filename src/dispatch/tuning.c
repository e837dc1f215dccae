#include "dispatch/tuning.h"

#include "base/grow.h"
#include "dispatch/measure.h"
#include "dispatch/operation.h"
#include "dispatch/state.h"
#include "runtime/context/identity.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool tn_tuning_name(const tn_family *family, const tn_problem *problem,
                    char name[TN_TUNING_KEY_SIZE])
{
    uint64_t words[TN_PROBLEM_SIZE / sizeof(uint64_t)];
    tn_problem *open = (tn_problem *)words;
    if (problem->size > sizeof words)
        return false;
    memcpy(words, problem, problem->size);
    open->forced = -1;
    memset(open->forced_values, 0, sizeof open->forced_values);
    const XXH128_hash_t hash = XXH3_128bits(words, problem->size);
    return snprintf(name, TN_TUNING_KEY_SIZE, "%s %016" PRIx64 "%016" PRIx64, family->name,
                    (uint64_t)hash.high64, (uint64_t)hash.low64) < TN_TUNING_KEY_SIZE;
}

#define KEY_BEGINS "tuned "

/* The caller frees the result. */
static char *key_of(const tenon_context *context, const char *problem)
{
    return tn_identity_machine_key(context, KEY_BEGINS "%s", problem);
}

int tn_tuned_text(const tn_tuned *tuned, char *text, size_t size)
{
    return snprintf(
        text, size, "solver %s\nnanoseconds %.0f\ncandidates %u\nsearched %d\ncall %s\n",
        tuned->solver, tuned->nanoseconds, tuned->candidates, tuned->is_searched, tuned->call);
}

bool tn_tuned_parse(const char *text, tn_tuned *tuned)
{
    int length = 0, searched;
    memset(tuned, 0, sizeof *tuned);
    if (sscanf(text, "solver %127s nanoseconds %lf candidates %u searched %d call %n",
               tuned->solver, &tuned->nanoseconds, &tuned->candidates, &searched, &length) != 4 ||
        length == 0 || !(tuned->nanoseconds >= 0 && tuned->nanoseconds < (double)INFINITY))
        return false;
    tuned->is_searched = searched == 1;
    snprintf(tuned->call, sizeof tuned->call, "%.*s", (int)strcspn(text + length, "\n"),
             text + length);
    return true;
}

/* Returns the first 64 bits of an entry's name. */
static uint64_t first_bits(const char *name)
{
    char digits[17] = "";
    memcpy(digits, name, sizeof digits - 1);
    return strtoull(digits, NULL, 16);
}

/* Adds to the list of existing measurements, which saves disk accesses for problems without one.
 * The caller holds the lock. */
static bool add_name(tn_dispatch *dispatch, uint64_t name)
{
    if (!tn_grow(&dispatch->tuned, dispatch->tuned_count, &dispatch->tuned_capacity,
                 sizeof *dispatch->tuned))
        return false;
    dispatch->tuned[dispatch->tuned_count++] = name;
    return true;
}

static bool add_listed(void *user, const char *name)
{
    tn_dispatch *dispatch = user;
    tn_mutex_lock(&dispatch->checked_lock);
    const bool added = add_name(dispatch, first_bits(name));
    tn_mutex_unlock(&dispatch->checked_lock);
    return added;
}

/* Called without the lock, since the store may log. Names that two threads list appear twice. */
static void list_names(tenon_context *context, tn_dispatch *dispatch)
{
    tn_mutex_lock(&dispatch->checked_lock);
    const bool is_known = dispatch->knows_tuned;
    tn_mutex_unlock(&dispatch->checked_lock);
    if (is_known)
        return;
    const bool listed =
        tn_store_each(context->persistence.store, TN_STORE_TUNING, add_listed, dispatch);
    tn_mutex_lock(&dispatch->checked_lock);
    dispatch->knows_tuned = true;
    dispatch->lists_tuned = listed;
    tn_mutex_unlock(&dispatch->checked_lock);
}

/* Quick check: most contexts have no measurements, and their plans should not wait for a key. */
bool tn_tuning_has_any(tenon_context *context)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    if (dispatch == NULL || context->owner != NULL || context->persistence.store == NULL ||
        context->policy.measurements == TENON_MEASUREMENTS_NONE)
        return false;
    list_names(context, dispatch);
    tn_mutex_lock(&dispatch->checked_lock);
    const bool has = !dispatch->lists_tuned || dispatch->tuned_count > 0;
    tn_mutex_unlock(&dispatch->checked_lock);
    return has;
}

static bool may_exist(tenon_context *context, const char *key)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    char name[TN_STORE_NAME_SIZE];
    tn_store_name(TN_STORE_TUNING, key, name);
    const uint64_t wanted = first_bits(name);
    tn_mutex_lock(&dispatch->checked_lock);
    bool found = !dispatch->lists_tuned;
    for (uint32_t i = 0; !found && i < dispatch->tuned_count; i++)
        found = dispatch->tuned[i] == wanted;
    tn_mutex_unlock(&dispatch->checked_lock);
    return found;
}

static bool read_entry(tenon_context *context, const char *key, tn_tuned *tuned)
{
    size_t size;
    char *text = tn_store_get(context->persistence.store, TN_STORE_TUNING, key, &size);
    const bool found = text != NULL && tn_tuned_parse(text, tuned);
    free(text);
    return found;
}

bool tn_tuning_get(tenon_context *context, const char *problem, tn_tuned *tuned)
{
    char *key = key_of(context, problem);
    const bool found = key != NULL && read_entry(context, key, tuned);
    free(key);
    return found;
}

bool tn_tuning_find(const tn_request *request, tn_tuned *tuned)
{
    tenon_context *context = request->context;
    char name[TN_TUNING_KEY_SIZE];
    if (!tn_tuning_has_any(context) || !tn_tuning_name(request->family, request->problem, name))
        return false;
    char *key = key_of(context, name);
    const bool found = key != NULL && may_exist(context, key) && read_entry(context, key, tuned);
    free(key);
    return found;
}

void tn_tuning_put(tenon_context *context, const char *problem, const tn_tuned *tuned)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    char text[TN_SOLVER_NAME_SIZE + TN_REPEAT_SIZE + 128], name[TN_STORE_NAME_SIZE];
    char *key = key_of(context, problem);
    if (key == NULL || dispatch == NULL) {
        free(key);
        return;
    }
    const int length = tn_tuned_text(tuned, text, sizeof text);
    tn_store_put(context->persistence.store, TN_STORE_TUNING, key, text, (size_t)length);
    tn_store_name(TN_STORE_TUNING, key, name);
    tn_mutex_lock(&dispatch->checked_lock);
    add_name(dispatch, first_bits(name));
    tn_mutex_unlock(&dispatch->checked_lock);
    free(key);
}

void tn_tuning_drop(tenon_context *context, const char *problem)
{
    char *key = key_of(context, problem);
    if (key != NULL)
        tn_store_remove(context->persistence.store, TN_STORE_TUNING, key);
    free(key);
}

void tn_tuning_keep(tenon_context *context, const tn_family *family, const tn_problem *problem,
                    const tn_tuned *tuned)
{
    char name[TN_TUNING_KEY_SIZE];
    if (tn_tuning_name(family, problem, name))
        tn_tuning_put(context, name, tuned);
}

typedef struct listing {
    tenon_context *context;
    tn_tuning_visitor *visit;
    void *user;
} listing;

/* Extracts the problem's part of a key if the key belongs to this machine; otherwise returns
 * false. */
static bool read_key(const listing *l, const char *key, char name[TN_TUNING_KEY_SIZE])
{
    const char *end = strchr(key, '\n');
    const size_t begins = sizeof KEY_BEGINS - 1;
    if (end == NULL || strncmp(key, KEY_BEGINS, begins) != 0 ||
        (size_t)(end - key) - begins >= TN_TUNING_KEY_SIZE)
        return false;
    snprintf(name, TN_TUNING_KEY_SIZE, "%.*s", (int)((size_t)(end - key) - begins), key + begins);
    char *own = key_of(l->context, name);
    const bool is_own = own != NULL && strcmp(own, key) == 0;
    free(own);
    return is_own;
}

static void visit_entry(void *user, const char *key, const char *data, size_t size)
{
    const listing *l = user;
    char name[TN_TUNING_KEY_SIZE];
    tn_tuned tuned;
    (void)size;
    if (read_key(l, key, name) && tn_tuned_parse(data, &tuned))
        l->visit(l->user, name, &tuned);
}

bool tn_tuning_each(tenon_context *context, tn_tuning_visitor *visit, void *user)
{
    listing l = {context, visit, user};
    return context->persistence.store != NULL &&
           tn_store_each_entry(context->persistence.store, TN_STORE_TUNING, visit_entry, &l);
}

bool tn_tuning_choose(const tn_request *r, tn_choice *const *choices, uint32_t count, uint32_t *out)
{
    double times[TN_TUNING_MAX];
    uint32_t best = 0;
    tn_tuned tuned;
    if (!tn_can_measure(r->call) ||
        tn_measure(r->context, r->problem, r->call, choices, count, times) != TENON_OK)
        return false;
    for (uint32_t i = 1; i < count; i++)
        best = times[i] < times[best] ? i : best;
    if (!(times[best] < (double)INFINITY))
        return false;
    tuned = (tn_tuned){.nanoseconds = times[best], .candidates = count};
    tn_solver_name(r->family, choices[best], tuned.solver);
    tn_call_text(r->call, tuned.call);
    tn_tuning_keep(r->context, r->family, r->problem, &tuned);
    tn_log_send(&r->context->reports.log, TENON_LOG_INFO,
                "measured %s: %.0f ns, the fastest of %u, for %s", tuned.solver, tuned.nanoseconds,
                count, tuned.call);
    *out = best;
    return true;
}

/* Checking kernel variants against the reference, once for a device, in the lab. */
#include "dispatch/plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const tn_checked_variant *find(const tn_dispatch *dispatch, const char *key)
{
    for (uint32_t i = 0; i < dispatch->checked_count; i++)
        if (strcmp(dispatch->checked[i].key, key) == 0)
            return &dispatch->checked[i];
    return NULL;
}

static bool recall(tn_dispatch *dispatch, const char *key, bool *right, char why[256])
{
    pthread_mutex_lock(&dispatch->checked_lock);
    const tn_checked_variant *known = find(dispatch, key);
    if (known != NULL) {
        *right = known->right;
        memcpy(why, known->why, sizeof known->why);
    }
    pthread_mutex_unlock(&dispatch->checked_lock);
    return known != NULL;
}

/* With the lock held. Forgetting is harmless: the variant is checked again. */
static void append(tn_dispatch *dispatch, const char *key, bool right, const char *why)
{
    if (dispatch->checked_count == dispatch->checked_capacity) {
        uint32_t capacity = dispatch->checked_capacity * 2 + 16;
        tn_checked_variant *checked = realloc(dispatch->checked, capacity * sizeof *checked);
        if (checked == NULL)
            return;
        dispatch->checked = checked;
        dispatch->checked_capacity = capacity;
    }
    tn_checked_variant variant = {.key = strdup(key), .right = right};
    if (variant.key == NULL)
        return;
    snprintf(variant.why, sizeof variant.why, "%s", why);
    dispatch->checked[dispatch->checked_count++] = variant;
}

static void remember(tn_dispatch *dispatch, const char *key, bool right, const char *why)
{
    pthread_mutex_lock(&dispatch->checked_lock);
    if (find(dispatch, key) == NULL)
        append(dispatch, key, right, why);
    pthread_mutex_unlock(&dispatch->checked_lock);
}

/* A variant that is to be checked. */
typedef struct variant {
    const tn_family *family;
    const tn_problem *problem;
    const tn_choice *choice;
    char name[TN_SOLVER_NAME_SIZE], options[TN_OPTIONS_SIZE],
        key[TN_SOLVER_NAME_SIZE + TN_OPTIONS_SIZE + 2];
    char repeat[TN_REPEAT_SIZE];
} variant;

static void name_variant(tenon_context *context, variant *v)
{
    tn_solver_name(v->family, v->choice, v->name);
    v->choice->solver->options(context, v->problem, v->choice->values, v->options);
    snprintf(v->key, sizeof v->key, "%s %s", v->name, v->options);
}

/* How often a driver that errs by chance is asked for code of a variant. */
#define MOST_TRIES 4

/* Under options that it has not seen, it compiles anew; what it has compiled, it keeps. The lab tries
 * alone: the context takes what came out right, and nothing of a variant that never does. */
static tenon_status check_until_right(tenon_context *context, tenon_stream *lab, variant *v,
                                      bool *right, char why[256])
{
    const int most = context->device.errs_by_chance ? MOST_TRIES : 1;
    tenon_status status = v->family->self_check(lab, v->problem, v->choice, right, why);
    for (int tries = 1; status == TENON_OK && !*right && tries < most; tries++) {
        tn_log_send(&context->log, TENON_LOG_INFO,
                    "solver %s is compiled anew, as this driver may err by chance: %s", v->name,
                    why);
        lab->context->anew++;
        why[0] = '\0';
        status = v->family->self_check(lab, v->problem, v->choice, right, why);
    }
    if (status == TENON_OK && *right)
        context->anew = lab->context->anew;
    lab->context->anew = context->anew;
    name_variant(context, v);
    return status;
}

static tenon_status check_in_lab(tenon_context *context, variant *v, bool *right, char why[256])
{
    tn_dispatch *dispatch = tn_dispatch_of(context), *lab_dispatch;
    tenon_status status = TENON_OK;
    tenon_stream *lab;
    TN_TRY(tn_lab_enter(context, &lab));
    /* Another thread may have checked it while this one waited. */
    if (!recall(dispatch, v->key, right, why)) {
        if ((lab_dispatch = tn_dispatch_of(lab->context)) != NULL)
            lab_dispatch->repeat[0] = '\0';
        status = check_until_right(context, lab, v, right, why);
        if (status == TENON_OK)
            remember(dispatch, v->key, *right, why);
        if (lab_dispatch != NULL)
            memcpy(v->repeat, lab_dispatch->repeat, sizeof v->repeat);
    }
    tn_lab_leave(context);
    return status;
}

static void report(const tenon_context *context, const variant *v, tenon_status status,
                   const char *why)
{
    const char *device = context->device.info.name;
    if (status != TENON_OK)
        tn_log_send(&context->log, TENON_LOG_ERROR, "solver %s cannot be checked on %s: %s",
                    v->name, device, tenon_last_error());
    else
        tn_log_send(&context->log, TENON_LOG_WARNING, "solver %s is barred on %s: %s (options %s)",
                    v->name, device, why, v->options);
    if (v->repeat[0] != '\0')
        tn_log_send(&context->log, TENON_LOG_WARNING, "to repeat that: %s", v->repeat);
}

static tenon_status check_variant(const char *operation, tenon_context *context, variant *v,
                                  bool *right, char why[256])
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    if (dispatch == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the self-check", operation);
    name_variant(context, v);
    if (recall(dispatch, v->key, right, why))
        return TENON_OK;
    tenon_status status = check_in_lab(context, v, right, why);
    if (status != TENON_OK || !*right)
        report(context, v, status, why);
    return status;
}

tenon_status tn_self_check(const char *operation, tenon_context *context, const tn_family *family,
                           const tn_problem *problem, const tn_choice *choice, bool *right,
                           char why[256])
{
    *right = true;
    why[0] = '\0';
    if (context->owner != NULL || context->cl == NULL)
        return TENON_OK;
    variant *v = calloc(1, sizeof *v);
    if (v == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the self-check", operation);
    v->family = family;
    v->problem = problem;
    v->choice = choice;
    tenon_status status = check_variant(operation, context, v, right, why);
    free(v);
    return status;
}

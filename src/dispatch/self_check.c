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

tenon_status tn_self_check(const char *operation, tenon_context *context, const tn_family *family,
                           const tn_problem *problem, const tn_choice *choice, bool *right,
                           char why[256])
{
    char name[TN_SOLVER_NAME_SIZE], options[TN_OPTIONS_SIZE],
        key[TN_SOLVER_NAME_SIZE + TN_OPTIONS_SIZE + 2];
    tn_dispatch *dispatch;
    tenon_stream *lab;
    *right = true;
    why[0] = '\0';
    if (context->owner != NULL)
        return TENON_OK;
    if ((dispatch = tn_dispatch_of(context)) == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory for the self-check", operation);
    tn_solver_name(family, choice, name);
    choice->solver->options(context, problem, choice->values, options);
    snprintf(key, sizeof key, "%s %s", name, options);
    if (recall(dispatch, key, right, why))
        return TENON_OK;
    TN_TRY(tn_lab_enter(context, &lab));
    tenon_status status = TENON_OK;
    /* Another thread may have checked it while this one waited. */
    if (!recall(dispatch, key, right, why)) {
        status = family->self_check(lab, problem, choice, right, why);
        if (status == TENON_OK)
            remember(dispatch, key, *right, why);
    }
    tn_lab_leave(context);
    if (status != TENON_OK)
        tn_log_send(&context->log, TENON_LOG_ERROR, "solver %s cannot be checked on %s: %s", name,
                    context->device.info.name, tenon_last_error());
    if (status == TENON_OK && !*right)
        tn_log_send(&context->log, TENON_LOG_WARNING, "solver %s is barred on %s: %s (options %s)",
                    name, context->device.info.name, why, options);
    return status;
}

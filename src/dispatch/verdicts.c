#include "dispatch/verdicts.h"

#include "base/grow.h"
#include "runtime/opencl/gate.h"
#include "runtime/context/identity.h"
#include "runtime/probe/crash_guard.h"

#include <tenon/statistics.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Size of the first line of a key, which names its subject. */
#define TN_KEY_WORDS (TN_SOLVER_NAME_SIZE + TN_OPTIONS_SIZE + 16)

static tn_checked_variant *verdicts_find(tn_dispatch *dispatch, const char *key)
{
    for (uint32_t i = 0; i < dispatch->checked_count; i++)
        if (strcmp(dispatch->checked[i].key, key) == 0)
            return &dispatch->checked[i];
    return NULL;
}

bool tn_verdict_recall(tn_dispatch *dispatch, const char *key, uint64_t paths, bool *right,
                       char why[256])
{
    tn_mutex_lock(&dispatch->checked_lock);
    const tn_checked_variant *known = verdicts_find(dispatch, key);
    if (known != NULL && known->right && (paths & ~known->paths) != 0)
        known = NULL;
    if (known != NULL) {
        *right = known->right;
        memcpy(why, known->why, sizeof known->why);
    }
    tn_mutex_unlock(&dispatch->checked_lock);
    return known != NULL;
}

/* The caller holds the lock. If memory is short nothing is remembered, and the variant is checked
 * again. */
static tn_checked_variant *append(tn_dispatch *dispatch, const char *key)
{
    if (!tn_grow(&dispatch->checked, dispatch->checked_count, &dispatch->checked_capacity,
                 sizeof *dispatch->checked))
        return NULL;
    tn_checked_variant variant = {.key = tn_text_copy(key), .right = true};
    if (variant.key == NULL)
        return NULL;
    dispatch->checked[dispatch->checked_count] = variant;
    return &dispatch->checked[dispatch->checked_count++];
}

void tn_verdict_remember(tn_dispatch *dispatch, const char *key, uint64_t paths, bool right,
                         const char *why)
{
    tn_mutex_lock(&dispatch->checked_lock);
    tn_checked_variant *variant = verdicts_find(dispatch, key);
    if (variant == NULL)
        variant = append(dispatch, key);
    if (variant != NULL && variant->right) {
        variant->right = right;
        variant->paths |= paths;
        snprintf(variant->why, sizeof variant->why, "%s", why);
    }
    tn_mutex_unlock(&dispatch->checked_lock);
}

/* Parses a stored verdict: the paths for which it holds, and the reason if the variant is wrong.
 * Accepts any text. */
static bool read_outcome(const char *text, uint64_t *paths, bool *right, char why[256])
{
    int is_right, length = 0;
    if (sscanf(text, "right %d paths %" SCNx64 "%n", &is_right, paths, &length) != 2 ||
        text[length] != '\n' || is_right < 0 || is_right > 1)
        return false;
    *right = is_right == 1;
    snprintf(why, 256, "%s", text + length + 1);
    return true;
}

char *tn_verdict_name(const tenon_context *context, const char *key)
{
    return tn_identity_key(context, "check %s", key);
}

void tn_verdict_recall_stored(tenon_context *context, const char *key)
{
    size_t size;
    uint64_t paths;
    bool right;
    char why[256];
    char *name = tn_verdict_name(context, key);
    char *text =
        name != NULL ? tn_store_get(context->persistence.store, TN_STORE_CHECK, name, &size) : NULL;
    if (text != NULL && read_outcome(text, &paths, &right, why)) {
        tn_verdict_remember(tn_dispatch_of(context), key, paths, right, why);
        tn_count_only(context, TN_CHECKS_RECALLED, 1);
    }
    free(text);
    free(name);
}

void tn_verdict_store(tenon_context *context, const char *key)
{
    tn_dispatch *dispatch = tn_dispatch_of(context);
    char text[384] = "";
    tn_mutex_lock(&dispatch->checked_lock);
    const tn_checked_variant *known = verdicts_find(dispatch, key);
    if (known != NULL)
        snprintf(text, sizeof text, "right %d paths %" PRIx64 "\n%s", known->right, known->paths,
                 known->why);
    tn_mutex_unlock(&dispatch->checked_lock);
    char *name = tn_verdict_name(context, key);
    if (name != NULL && known != NULL)
        tn_store_put(context->persistence.store, TN_STORE_CHECK, name, text, strlen(text));
    free(name);
}

/* Arguments for listing what is barred on a device. */
typedef struct listing_request {
    tn_dispatch *dispatch;
    const char *identity;
    tenon_barred_callback barred;
    void *user;
} listing_request;

/* Extracts the subject of a key of this device, after the word for its kind ("check", "trial").
 * Returns false for any other key. */
static bool subject_of(const listing_request *t, const char *key, char subject[TN_KEY_WORDS])
{
    const char *end = strchr(key, '\n'), *blank = strchr(key, ' ');
    if (end == NULL || blank == NULL || blank > end || strcmp(end + 1, t->identity) != 0)
        return false;
    snprintf(subject, TN_KEY_WORDS, "%.*s", (int)(end - blank - 1), blank + 1);
    return true;
}

/* Returns true if this context has a verdict, which has been reported by then. */
static bool is_known(tn_dispatch *dispatch, const char *key)
{
    tn_mutex_lock(&dispatch->checked_lock);
    const bool known = verdicts_find(dispatch, key) != NULL;
    tn_mutex_unlock(&dispatch->checked_lock);
    return known;
}

static void list_check(void *user, const char *key, const char *data, size_t size)
{
    const listing_request *t = user;
    char subject[TN_KEY_WORDS], why[256];
    uint64_t paths;
    bool right;
    (void)size;
    if (subject_of(t, key, subject) && read_outcome(data, &paths, &right, why) && !right &&
        !is_known(t->dispatch, subject))
        t->barred(t->user, subject, why);
}

static void list_record(void *user, const char *key, const char *data, size_t size)
{
    const listing_request *t = user;
    char subject[TN_KEY_WORDS], why[256];
    (void)size;
    if (subject_of(t, key, subject) && tn_crash_guard_explain(data, why))
        t->barred(t->user, subject, why);
}

/* Reports the verdicts of this context. The callback must not be called under the lock. */
static void report_own(tn_dispatch *dispatch, const listing_request *t)
{
    for (uint32_t i = 0;; i++) {
        char words[TN_KEY_WORDS] = "", why[256] = "";
        bool is_wrong = false;
        tn_mutex_lock(&dispatch->checked_lock);
        const bool is_last = i >= dispatch->checked_count;
        if (!is_last && !dispatch->checked[i].right) {
            is_wrong = true;
            snprintf(words, sizeof words, "%s", dispatch->checked[i].key);
            memcpy(why, dispatch->checked[i].why, sizeof why);
        }
        tn_mutex_unlock(&dispatch->checked_lock);
        if (is_last)
            return;
        if (is_wrong)
            t->barred(t->user, words, why);
    }
}

TENON_API tenon_status tenon_context_barred(tenon_context *context, tenon_barred_callback barred,
                                            void *user)
{
    static const char caller[] = "tenon_context_barred";
    if (context == NULL || barred == NULL)
        return tn_fail(TENON_ERROR_INVALID_ARGUMENT, "%s: %s is NULL", caller,
                       context == NULL ? "context" : "barred");
    TN_TRY(tn_gate_check(caller));
    tn_dispatch *dispatch = tn_dispatch_of(context);
    listing_request t = {dispatch, context->persistence.identity, barred, user};
    if (dispatch == NULL)
        return tn_fail(TENON_ERROR_OUT_OF_MEMORY, "%s: no memory", caller);
    report_own(dispatch, &t);
    if (context->persistence.identity == NULL)
        return TENON_OK;
    tn_store_each_entry(context->persistence.store, TN_STORE_CHECK, list_check, &t);
    tn_store_each_entry(context->persistence.store, TN_STORE_RUNNING, list_record, &t);
    return TENON_OK;
}

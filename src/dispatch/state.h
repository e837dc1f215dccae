/* The state of dispatch in a context: its plans, its verdicts, and the listener for choices. */
#ifndef TN_DISPATCH_STATE_H
#define TN_DISPATCH_STATE_H

#include "dispatch/plan_table.h"

/* Called for each choice before it is recorded, that of the outermost operation first; `choice` is
 * NULL if no solver serves. The request of a child has no call. */
typedef void (*tn_choice_listener)(void *user, const tn_request *request, const tn_choice *choice);

typedef struct tn_checked_variant {
    char *key;
    uint64_t paths; /* paths with correct results; see tn_family */
    bool right;     /* a variant that is wrong on one path is barred on all paths */
    char why[256];
} tn_checked_variant;

typedef struct tn_searched {
    struct tn_tuned *outcomes;
    uint32_t count;
} tn_searched;

typedef struct tn_dispatch {
    tn_plan_table plans;
    struct tn_preparer *preparer; /* prepare.h; NULL until first used; guarded by the lock below */
    tn_choice_listener listener;  /* NULL: none; set before plans are created */
    void *listener_user;
    tn_mutex checked_lock;
    tn_checked_variant *checked;
    uint32_t checked_count, checked_capacity;
    /* Guarded by the same lock: the names of stored measurements, as their first 64 bits, if the
     * store can be listed. */
    uint64_t *tuned;
    uint32_t tuned_count, tuned_capacity;
    bool knows_tuned, lists_tuned;
    /* Also guarded by it: results of `tenon tune`, read when a call without a measurement needs a
     * similar one. */
    tn_searched searched;
    bool knows_searched;
    /* In a validation context: the family whose self-check is running, and the paths that its
     * cases have used. */
    const tn_family *checking;
    const tn_choice *choice; /* choice of that family, used instead of selecting one */
    uint64_t paths;
    bool same_options; /* refuse problems for which this choice has other options */
    /* In a validation context: the `tenon check` line that repeats the last failed self-check;
     * empty if there is none. */
    char repeat[TN_REPEAT_SIZE];
} tn_dispatch;

/* Returns NULL if memory is short. */
tn_dispatch *tn_dispatch_of(tenon_context *context);

#endif

/* The state of dispatch in a context: its plans, its verdicts, the listener of its choices. */
#ifndef TN_DISPATCH_STATE_H
#define TN_DISPATCH_STATE_H

#include "dispatch/plan_table.h"

/* Is told of each choice before it is recorded, the outermost operation's first; NULL where none
 * serves. A request of one operation to another has no call. */
typedef void (*tn_choice_listener)(void *user, const tn_request *request, const tn_choice *choice);

typedef struct tn_checked_variant {
    char *key;
    uint64_t paths; /* that were found right; see tn_family */
    bool right;     /* a variant that is wrong on one path is barred on all */
    char why[256];
} tn_checked_variant;

typedef struct tn_searched {
    struct tn_tuned *outcomes;
    uint32_t count;
} tn_searched;

typedef struct tn_dispatch {
    tn_plan_table plans;
    struct tn_preparer
        *preparer; /* prepare.h; NULL until something is made later; under the lock below */
    tn_choice_listener listener; /* NULL: none; set before plans are made */
    void *listener_user;
    tn_mutex checked_lock;
    tn_checked_variant *checked;
    uint32_t checked_count, checked_capacity;
    /* Under the same lock: the names of stored measurements, by their first 64 bits, where they can
     * be listed. */
    uint64_t *tuned;
    uint32_t tuned_count, tuned_capacity;
    bool knows_tuned, lists_tuned;
    /* And what `tenon tune` has found, where a call without an outcome has asked for a like one. */
    tn_searched searched;
    bool knows_searched;
    /* Of a validation context: whose problems the self-check at hand runs, and which paths they
     * have taken. */
    const tn_family *checking;
    const tn_choice *choice; /* of that family, in the place of what would be chosen */
    uint64_t paths;
    /* Of a validation context: how to repeat the self-check that failed last; "" where its family
     * does not say. */
    char repeat[TN_REPEAT_SIZE];
} tn_dispatch;

/* NULL without memory. */
tn_dispatch *tn_dispatch_of(tenon_context *context);

#endif

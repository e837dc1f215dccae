/* What is known of kernel variants: in memory, by what this context has checked, and in the store,
 * by what any process has. A variant's key is its solver's name and its options. */
#ifndef TN_DISPATCH_VERDICTS_H
#define TN_DISPATCH_VERDICTS_H

#include "dispatch/state.h"

/* Whether it is known that a variant is wrong, or right on all of these paths (tn_family). */
bool tn_verdict_recall(tn_dispatch *dispatch, const char *key, uint64_t paths, bool *right,
                       char why[256]);

/* A variant that is wrong once stays so. */
void tn_verdict_remember(tn_dispatch *dispatch, const char *key, uint64_t paths, bool right,
                         const char *why);

/* What another process has found out is remembered like one's own. */
void tn_verdict_recall_stored(tenon_context *context, const char *key);

/* Stores what is remembered. */
void tn_verdict_store(tenon_context *context, const char *key);

/* The key of a variant's entries in the store; the caller frees it. NULL: nothing is kept. */
char *tn_verdict_name(const tenon_context *context, const char *key);

#endif

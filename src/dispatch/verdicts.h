/* Verdicts on kernel variants: in memory those of this context, in the store those of any process.
 * A variant's key is its solver's name and its options. */
#ifndef TN_DISPATCH_VERDICTS_H
#define TN_DISPATCH_VERDICTS_H

#include "dispatch/state.h"

/* Returns true if a variant is known to be wrong, or to be right on all of these paths
 * (tn_family). */
bool tn_verdict_recall(tn_dispatch *dispatch, const char *key, uint64_t paths, bool *right,
                       char why[256]);

/* Remembers a verdict. A variant that was wrong once stays wrong. */
void tn_verdict_remember(tn_dispatch *dispatch, const char *key, uint64_t paths, bool right,
                         const char *why);

/* Remembers the verdict of another process like one of this context. */
void tn_verdict_recall_stored(tenon_context *context, const char *key);

/* Stores the remembered verdict. */
void tn_verdict_store(tenon_context *context, const char *key);

/* Returns the key of a variant's store entry; the caller frees it. NULL: nothing is stored. */
char *tn_verdict_name(const tenon_context *context, const char *key);

#endif

/* The kind of host memory that serves messages of a device with memory of its own. */
#ifndef TN_GROUP_STAGING_CHOICE_H
#define TN_GROUP_STAGING_CHOICE_H

#include "base/platform.h"

#include <tenon/context.h>

#include <stdbool.h>

/* The choice of a context. */
typedef struct tn_staging_choice {
    tn_mutex lock;
    bool is_made, is_pinned;
} tn_staging_choice;

/* Returns false if copies with ordinary memory are clearly faster. The arguments are times of the
 * same copies; one that is not a positive number decides for pinned memory. */
bool tn_staging_pinned_serves(double pinned, double ordinary);

/* Returns the choice of a context, or NULL if there is no memory. The caller locks it. */
tn_staging_choice *tn_staging_choice_of(tenon_context *context);

/* Returns true if messages should be in pinned memory. The first call for a context measures copies
 * in both directions, unless measurements are forbidden. Pinned memory is the choice if anything
 * fails. May be called by several threads; the thread's error message is kept. */
bool tn_staging_is_pinned(tenon_context *context);

#endif

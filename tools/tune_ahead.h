/* Building candidates before they are measured: in processes side by side, from which the driver's
 * cache and the store have them. One that ends its process ends no other. */
#ifndef TENON_TOOLS_TUNE_AHEAD_H
#define TENON_TOOLS_TUNE_AHEAD_H

#include "check/case.h"

typedef struct tune_ahead {
    const char *device; /* or NULL */
    unsigned jobs;      /* processes at once; below 2 nothing is built ahead */
} tune_ahead;

/* Builds a few solvers, by their names, for a call. Returns how many processes have ended well. */
uint32_t tune_ahead_build(const tune_ahead *ahead, const tn_case *c, const char *const *names,
                          uint32_t count);

#endif

/* Builds candidates in parallel child processes before they are measured. The driver's cache and
 * the store pass the binaries to this process. A build that crashes only ends its own child
 * process. */
#ifndef TENON_TOOLS_TUNE_AHEAD_H
#define TENON_TOOLS_TUNE_AHEAD_H

#include "check/case.h"

typedef struct tune_ahead {
    const char *device; /* may be NULL */
    unsigned jobs;      /* number of processes at once; below 2 nothing is built in advance */
} tune_ahead;

/* Builds a few solvers, by name, for a call. Returns the number of processes that succeeded. */
uint32_t tune_ahead_build(const tune_ahead *ahead, const tn_case *c, const char *const *names,
                          uint32_t count);

#endif

/* Searching the fastest way to serve a call on this device. */
#ifndef TENON_TOOLS_TUNE_SEARCH_H
#define TENON_TOOLS_TUNE_SEARCH_H

#include "tune_ahead.h"

#include "check/search_space.h"
#include "dispatch/tuning.h"

/* What came of a call. */
typedef enum tune_end {
    TUNE_DONE,
    TUNE_BEFORE,   /* it was tuned before; `fastest` is what is stored */
    TUNE_CUT,      /* it was to stop before all was measured; what was found is kept */
    TUNE_LEFT,     /* it was to stop before anything was compared */
    TUNE_BY_VALUE, /* its time depends on its operands' values: it is not measured */
    TUNE_FAILED    /* `why` says why */
} tune_end;

typedef struct tune_result {
    tune_end end;
    char estimated[TN_SOLVER_NAME_SIZE], fastest[TN_SOLVER_NAME_SIZE];
    double estimated_time, fastest_time; /* nanoseconds */
    char why[256];
    uint32_t measured, left_out, barred; /* left out: the model's estimate is too long */
    uint32_t ahead;                      /* processes that have built candidates */
} tune_result;

typedef struct tune_search {
    tenon_context *context; /* TENON_MEASUREMENTS_NONE, so that it chooses by estimates */
    tn_search_space *space; /* of the context */
    bool anew;              /* calls that were tuned before, too */
    tune_ahead ahead;
    /* Asked between candidates: whether to stop. Told of the result so far. */
    bool (*is_over)(void *user);
    void (*progress)(void *user, const tune_result *result);
    void *user;
} tune_search;

/* Measures candidates in batches, each of which keeps the fastest: those of the devices' tables,
 * then neighbours of the fastest as long as there is a faster one. Each is checked before it is
 * measured. Keeps the outcome in the store. */
void tune_call(const tune_search *search, const tn_case *c, tune_result *result);

/* What a process that builds ahead does: checks solvers, whose names blanks separate, and runs
 * them. Keeps no outcome. The status is that of the last one that failed. */
tenon_status tune_build(tenon_context *context, const tn_case *c, const char *names);

#endif

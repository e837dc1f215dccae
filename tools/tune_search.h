/* Search for the fastest solver of a call on this device. */
#ifndef TENON_TOOLS_TUNE_SEARCH_H
#define TENON_TOOLS_TUNE_SEARCH_H

#include "tune_ahead.h"

#include "check/search_space.h"
#include "dispatch/tuning.h"

/* The outcome of tuning a call. */
typedef enum tune_end {
    TUNE_DONE,
    TUNE_BEFORE,   /* already tuned; `fastest` is the stored solver */
    TUNE_CUT,      /* stopped before all candidates were measured; the best one so far is stored */
    TUNE_LEFT,     /* stopped before any comparison */
    TUNE_BY_VALUE, /* not measured, because its time depends on the values of its operands */
    TUNE_FAILED    /* failed; the reason is in `why` */
} tune_end;

typedef struct tune_result {
    tune_end end;
    char estimated[TN_SOLVER_NAME_SIZE], fastest[TN_SOLVER_NAME_SIZE];
    double estimated_time, fastest_time; /* nanoseconds */
    char why[256];
    uint32_t measured, left_out, barred; /* left_out: skipped because the estimate is too long */
    uint32_t ahead;                      /* processes that built candidates in advance */
} tune_result;

typedef struct tune_search {
    tenon_context *context; /* made with TENON_MEASUREMENTS_NONE, so it chooses by estimates */
    tn_search_space *space; /* search space of the context */
    bool is_forced;         /* also tune calls that are already tuned */
    tune_ahead ahead;
    /* is_over is called between candidates and returns true to stop; progress gets the result so
     * far. */
    bool (*is_over)(void *user);
    void (*progress)(void *user, const tune_result *result);
    void *user;
} tune_search;

/* Measures candidates in batches, each of which keeps the fastest: first those in the tables of all
 * devices, then neighbors of the fastest as long as a faster one is found. Each candidate is
 * self-checked before it is measured. Stores the result. */
void tune_call(const tune_search *search, const tn_case *c, tune_result *result);

/* Runs in a child process that builds in advance: checks solvers, whose names are separated by
 * spaces, and runs them. Stores no result. Returns the status of the last one that failed. */
tenon_status tune_build(tenon_context *context, const tn_case *c, const char *names);

#endif

/* The calls to be tuned by `tenon tune`, without duplicates. */
#ifndef TENON_TOOLS_TUNE_CALLS_H
#define TENON_TOOLS_TUNE_CALLS_H

#include "check/case.h"

typedef struct tune_calls {
    tn_case *cases;
    char **texts; /* in the syntax of `tenon check`, without a solver or seed */
    uint32_t count, capacity;
} tune_calls;

/* Each of these functions adds the new calls. If a call is invalid, it prints the reason to stderr
 * and returns false. */
bool tune_calls_add(tune_calls *calls, const tn_case *c);
/* Adds the calls of a file written by TENON_RECORD, one per line; empty lines and lines that begin
 * with # are ignored. */
bool tune_calls_add_file(tune_calls *calls, const char *path, tenon_dtype type);
/* Adds a call. */
bool tune_calls_add_line(tune_calls *calls, const char *line, tenon_dtype type);
/* Adds the products, or the forward convolutions, of a suite of tenon-bench in this type. */
bool tune_calls_add_suite(tune_calls *calls, const char *name, tenon_dtype type);

void tune_calls_free(tune_calls *calls);

#endif

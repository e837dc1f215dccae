/* The calls that `tenon tune` is asked to tune, each once. */
#ifndef TENON_TOOLS_TUNE_CALLS_H
#define TENON_TOOLS_TUNE_CALLS_H

#include "check/case.h"

typedef struct tune_calls {
    tn_case *cases;
    char **texts; /* in the words of `tenon check`, with neither a solver nor a seed of their own */
    uint32_t count, capacity;
} tune_calls;

/* Each adds what is new. False where something is wrong, which stderr is told. */
bool tune_calls_add(tune_calls *calls, const tn_case *c);
/* A file that TENON_RECORD wrote: a call a line; lines that are empty or begin with # are passed
 * over. */
bool tune_calls_add_file(tune_calls *calls, const char *path, tenon_dtype type);
/* A suite of tenon-bench, of this type. */
bool tune_calls_add_suite(tune_calls *calls, const char *name, tenon_dtype type);

void tune_calls_free(tune_calls *calls);

#endif

/*
 * The ways to serve a call: solvers, each with the parameters that a table of some kind of device
 * gives it, and their neighbours. By their names with all parameters.
 */
#ifndef TN_CHECK_SEARCH_SPACE_H
#define TN_CHECK_SEARCH_SPACE_H

#include "check/case.h"

#define TN_MOST_POINTS 256

typedef struct tn_search_space {
    tenon_context *kinds[32]; /* the device, taken for each kind of its class; its own first */
    uint32_t kind_count;
    char names[TN_MOST_POINTS][TN_SOLVER_NAME_SIZE];
    uint32_t count;
} tn_search_space;

/* Makes the contexts, in which plans are made and nothing is built. What was made before a failure
 * is for tn_search_space_close, too. */
tenon_status tn_search_space_open(tenon_context *context, tn_search_space *space);
void tn_search_space_close(tn_search_space *space);

/* Adds a name that is new. */
void tn_search_space_add(tn_search_space *space, const char *name);

/* Adds every solver that may be chosen for the call, with the parameters that it takes by the
 * tables of each kind. */
void tn_search_space_add_shipped(tn_search_space *space, const tn_case *c);

/* Adds what differs from the name `of` in one parameter: half of it, twice, and of small ones one
 * less and one more. */
void tn_search_space_add_neighbours(tn_search_space *space, const tn_case *c, const char *of);

#endif

/* The search space of tuning: solvers with the parameters that the tables of each kind of device
 * give them, and their neighbors, as full solver names. */
#ifndef TN_CHECK_SEARCH_SPACE_H
#define TN_CHECK_SEARCH_SPACE_H

#include "check/case.h"

#define TN_MAX_POINTS 256

typedef struct tn_search_space {
    tenon_context *kinds[32]; /* the device treated as each kind of its class; its own kind first */
    uint32_t kind_count;
    char names[TN_MAX_POINTS][TN_SOLVER_NAME_SIZE];
    uint32_t count;
} tn_search_space;

/* Creates the contexts, in which plans are made but nothing is built. After a failure,
 * tn_search_space_close is needed as well. */
tenon_status tn_search_space_open(tenon_context *context, tn_search_space *space);
void tn_search_space_close(tn_search_space *space);

/* Adds a name if it is new. */
void tn_search_space_add(tn_search_space *space, const char *name);

/* Adds every solver that can be selected for the call, with its parameters by the tables of each
 * kind. */
void tn_search_space_add_shipped(tn_search_space *space, const tn_case *c);

/* Adds the names that differ from `of` in one parameter: half, twice, and for small values one
 * less and one more. */
void tn_search_space_add_neighbors(tn_search_space *space, const tn_case *c, const char *of);

#endif

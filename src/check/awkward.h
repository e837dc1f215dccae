/*
 * Awkward cases: the calls that a solver is checked on before its first result is used. A family
 * derives them from the problem (tn_family.awkward), with its layouts, types and paths. A solver
 * states their sizes in terms of its parameters (tn_solver.awkward):
 *
 *   "m=2*mb+1 n=2*nb+1 k=4*kb+3; m=1"
 *
 * is two cases. A name that is left out has the family's usual value. Quotients are rounded down.
 */
#ifndef TN_CHECK_AWKWARD_H
#define TN_CHECK_AWKWARD_H

#include "check/case.h"

/* Returns the number of cases that the solver lists, at least 1. */
uint32_t tn_awkward_count(const tn_choice *choice);

/* Returns the value of a name in one of the cases. */
int64_t tn_awkward_size(const tn_choice *choice, uint32_t number, const char *name, int64_t usual);

/* Begins a case of an operation, with default parameters and without operands. */
void tn_awkward_begin(tn_case *c, const tn_operation *operation);

/* Returns a view of a shape, a few elements after the start of its memory: row-major, optionally
 * with gaps between elements and lines. */
tenon_tensor tn_awkward_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape, bool gaps);

#endif

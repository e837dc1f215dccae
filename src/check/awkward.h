/*
 * Awkward cases: what a family's solvers are checked on before their first result is used. A family
 * derives them from the problem at hand (tn_family.awkward), so that they take its layouts, types
 * and paths; a solver says beside it how large they are, in terms of its parameters
 * (tn_solver.awkward):
 *
 *   "m=2*mb+1 n=2*nb+1 k=4*kb+3; m=1"
 *
 * is two cases; a name that is left out has the family's usual value. A quotient is rounded down.
 */
#ifndef TN_CHECK_AWKWARD_H
#define TN_CHECK_AWKWARD_H

#include "check/case.h"

/* How many cases the solver lists: at least 1. */
uint32_t tn_awkward_count(const tn_choice *choice);

/* What a name stands for in one of them. */
int64_t tn_awkward_size(const tn_choice *choice, uint32_t number, const char *name, int64_t usual);

/* Begins a case of an operation: its default parameters, no operands. */
void tn_awkward_begin(tn_case *c, const tn_operation *operation);

/* A view of a shape, a few elements behind the start of its memory; row-major, or with gaps
 * between elements and lines, too. */
tenon_tensor tn_awkward_view(tenon_dtype dtype, uint32_t rank, const int64_t *shape, bool gaps);

#endif

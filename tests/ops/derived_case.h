/*
 * Random calls derived from the examples of an operation's description: with other sizes, layouts,
 * kinds and flags.
 */
#ifndef TENON_TESTS_OPS_DERIVED_CASE_H
#define TENON_TESTS_OPS_DERIVED_CASE_H

#include "support.h"

/* Derives a call that the operation accepts, and that the quick set includes, from an example with
 * T = `type`. Returns false if none was found. */
bool derived_case(const char *line, tenon_dtype type, test_random *random, tn_case *c);

#endif

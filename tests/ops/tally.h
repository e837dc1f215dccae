/* Statistics of a test run: how often each solver served, and how close errors came to their
 * bounds. */
#ifndef TENON_TESTS_OPS_TALLY_H
#define TENON_TESTS_OPS_TALLY_H

#include "support.h"

/* Attributes the following results to this operation; NULL: to none. */
void tally_begin(const tn_operation *operation);

void tally_errors(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype);

/* Records the largest error of a random problem relative to its bound, and the sizes of its
 * operands, to count those that differ. */
void tally_problem(const tn_case *problem, tenon_dtype dtype, double ratio);

/* Returns the number of results of an operation and type so far. */
long tally_results(const tn_operation *operation, tenon_dtype dtype);

/* Records whether a solver served. */
void tally_run(const char *solver, bool served);

void tally_print(void);

#endif

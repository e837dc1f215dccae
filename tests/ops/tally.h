/* What a run of tests leaves behind for its reader: which solvers served how often, and how near to
 * their bounds the errors came. */
#ifndef TENON_TESTS_OPS_TALLY_H
#define TENON_TESTS_OPS_TALLY_H

#include "support.h"

/* Results are of this family from now on. */
void tally_begin(const char *family);

void tally_errors(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype);

/* A solver served, or could not. */
void tally_run(const char *solver, bool served);

void tally_print(void);

#endif

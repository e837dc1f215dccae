/* Statistics of a test run: how often each solver served, and how close errors came to their
 * bounds. */
#ifndef TENON_TESTS_OPS_TALLY_H
#define TENON_TESTS_OPS_TALLY_H

#include "support.h"

/* Attributes the following results to this family. */
void tally_begin(const char *family);

void tally_errors(const double *got, const tn_bounded *expected, int64_t count, tenon_dtype dtype);

/* Records whether a solver served. */
void tally_run(const char *solver, bool served);

void tally_print(void);

#endif

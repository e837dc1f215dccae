/*
 * y = the sum, mean, sum of squares, Euclidean norm or variance of each row of x, or the sum of the
 * absolute values, or the product (REDUCTION_VARIANT), as selected by args.kind, with a team of
 * work-items per row. A variance takes two passes, to avoid cancellation.
 *
 * reduce_group: see common/reduction_team.clh, with its global size.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_GROUP: see common/team.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/sums_team.clh"

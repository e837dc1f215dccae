/*
 * y = the sum, mean, sum of squares, Euclidean norm or variance of each row of x, or the sum of the
 * absolute values, or the product (REDUCTION_VARIANT), as selected by args.kind.
 *
 * reduce_rows, reduce_columns, reduce_finish: see common/reduction.clh, with their global sizes.
 *
 * A variance takes two passes, to avoid cancellation. With args.stage REDUCTION_WHOLE both are in
 * one launch. Otherwise the launches are: partial sums; their finish, which leaves the means in the
 * workspace; partial squared deviations from the means; and their finish.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/sums.clh"

/*
 * y = the sum, mean, sum of squares, Euclidean norm or variance of each row of x, by args.kind.
 *
 * reduce_rows, reduce_columns, reduce_finish: see common/reduction.clh, with their global sizes.
 *
 * A variance takes two passes, so that nothing cancels: with args.stage REDUCTION_WHOLE in one
 * launch; else the launches are pieces of the sums, their finish, which leaves the means in the
 * workspace, pieces of the squares about them, and their finish.
 *
 * TENON_VW: lanes of a vector.  TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/sums.clh"

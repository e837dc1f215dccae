/*
 * Mean squared error: loss = args.scale times the sum of (x - t)² of each row.
 *
 * reduce_rows, reduce_columns, reduce_finish: see common/reduction.clh, with their global sizes.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#define TENON_PAIR 1
#include "common/sums.clh"

/*
 * Mean squared error: loss = args.scale times the sum of (x - t)² of each row, with a team of
 * work-items per row.
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
#define TENON_PAIR 1
#include "common/sums_team.clh"

/*
 * y = the greatest or the least element of each row of x, or its position, as in
 * reduce/extremum.cl, with a team of work-items per row.
 *
 * reduce_group: see common/reduction_team.clh, with its global size. The second input and the means
 * are unused; the kernel has them only for a common signature.
 *
 * TENON_VW: lanes of a vector.
 * TENON_EXTREMUM: set in every build of this file.
 *
 * TENON_GROUP: see common/team.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "reduce/champions.clh"
#include "reduce/place.clh"

#include "common/reduction_team.clh"

#if REDUCTION_VARIANT == REDUCTION_LAST
/* Returns the position of the last element of a spot's line. */
TENON_INLINE long last_of_line(const reduction_args *args, spot s)
{
    return (s.line + 1) * entry_of(args->shape, args->rank - 1) - 1;
}
#endif

/* Updates with the vector at a spot. Lanes past the end of the row are -inf, which replaces
 * nothing. */
TENON_INLINE void meet_spot(champions *best, __global const data_t *x, const reduction_args *args,
                            long at, spot s)
{
    const int inner = args->rank - 1, least = is_least(args);
    const long i = at + place_of_spot(args, REDUCTION_X, s);
    const position_t place =
        (position_t)(s.line * entry_of(args->shape, inner) + (long)s.unit * TENON_VW);
    const acc_v v = load_spot(x, i, entry_of(args->stride[REDUCTION_X], inner),
                              lanes_of_spot(args, s), NEVER_BEST(least));
    meet(best, RANKED(least, v),
         PLACES((position_v)(place) + lane_numbers(), last_of_line(args, s)));
}

TEAM_KERNEL void reduce_group(__global const data_t *x, __global const data_t *t,
                              __global data_t *y, __global data_t *means, const reduction_args args)
{
    __local champion scratch[TENON_GROUP];
    const team mine = team_of(args.way.team, args.across, args.count);
    const int me = (int)get_local_id(0);
    champions best[REDUCTION_VECTORS];
    long at[REDUCTION_VIEWS];
    row_begin(&args, args.kept_rank, mine.row, at);
#pragma unroll
    for (int k = 0; k < REDUCTION_VECTORS; k++) {
        best[k].value = splat(-INFINITY);
        best[k].place = (position_v)(0);
    }
    EACH_SPOT(&args.way, mine.lane, lines_of_row(&args))
    {
        meet_spot(&best[k], x, &args, at[REDUCTION_X], s);
    }
    scratch[me] = best_lane(best);
    for (int part = mine.size / 2; part > 0; part /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (mine.lane < part) {
            scratch[me] = better(scratch[me], scratch[me + part * mine.step]);
        }
    }
    if (mine.works && mine.lane == 0) {
        const champion winner = scratch[me];
        if (args.kind == REDUCTION_ARGMAX || args.kind == REDUCTION_ARGMIN) {
            ((__global REDUCTION_PLACE *)y)[at[REDUCTION_Y]] = (REDUCTION_PLACE)winner.place;
        } else {
            store_result(y, at[REDUCTION_Y], BEST_RESULT(&args, winner), &args);
        }
    }
}

/*
 * Softmax along an axis, or with args.flag log-softmax, with a team of work-items per row. y may be
 * x: the work-item that writes an element is the last to read it.
 *
 * forward_group: see common/team.clh. Global size: {ceil(count · team / TENON_GROUP) ·
 *   TENON_GROUP}. Tensors: x, y.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_GROUP: see common/team.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/team_rows.clh"

/* Returns the results of a vector, given the greatest element and the sum of its row. */
TENON_INLINE acc_v result_of(const rows_args *args, acc_v x, acc_t most, acc_t sum, acc_t shift)
{
    const acc_v d = x - splat(most);
    return args->flag ? d - splat(shift) : math_exp_falling_v(d) / splat(sum);
}

TEAM_KERNEL void forward_group(__global const data_t *x, __global data_t *y, const rows_args args)
{
    __local acc_t scratch[TENON_GROUP];
    const team t = team_of(args.team, args.across, args.count);
    const int begin = t.lane * TENON_VW, size = (int)args.size;
    long at[TENON_ROWS_VIEWS];
    acc_v block[TEAM_VECTORS];
    acc_t most;
    row_begin(&args, args.rank, t.row, at);
    const team_line from = team_line_of(x, at[0], args.axis[0]);
    const team_line to = team_line_of(y, at[1], args.axis[1]);
    const acc_t sum = team_row(&from, &args, &t, scratch, block, &most);
    const acc_t shift = args.flag ? log(sum) : 0;
    for (int first = begin; t.works && first < size; first += block_step(&args)) {
        if (size > block_step(&args)) {
            load_block(&from, &args, first, block);
        }
#pragma unroll
        for (int k = 0; k < TEAM_VECTORS; k++) {
            const int i = first + k * vector_step(&args);
            if (i < size) {
                team_store(&to, i, size, result_of(&args, block[k], most, sum, shift));
            }
        }
    }
}

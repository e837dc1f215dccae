/*
 * Cross-entropy loss = log(sum of exp(x - m)) - (x[label] - m) of each row x of the logits, where m
 * is its greatest element, with a team of work-items per row. A label that is not a valid class
 * gives NaN, and no logit is read for it.
 *
 * cross_entropy_group: see common/team.clh. Global size: {ceil(count · team / TENON_GROUP) ·
 *   TENON_GROUP}. Tensors: logits, and without the axis labels, loss.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_GROUP: see common/team.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/team_rows.clh"
#include "loss/cross_entropy.clh"

TEAM_KERNEL void cross_entropy_group(__global const data_t *x, __global const int *labels,
                                     __global data_t *loss, const rows_args args)
{
    __local acc_t scratch[TENON_GROUP];
    const team t = team_of(args.team, args.across, args.count);
    long at[TENON_ROWS_VIEWS];
    acc_v block[TEAM_VECTORS];
    acc_t most;
    row_begin(&args, args.rank, t.row, at);
    const team_line line = team_line_of(x, at[0], args.axis[0]);
    const acc_t sum = team_row(&line, &args, &t, scratch, block, &most);
    if (t.works && t.lane == 0) {
        const long label = labels[at[1]];
        acc_t result = is_ignored(&args, label) ? 0 : (acc_t)NAN;
        if (!is_ignored(&args, label) && is_class(&args, label)) {
            result = log(sum) - (load_data(x, at[0] + label * args.axis[0]) - most);
        }
        store_data(loss, at[2], result);
    }
}

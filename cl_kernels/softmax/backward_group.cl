/*
 * Gradient of softmax along an axis, from its result y: dx = y (dy - sum of y dy); with args.flag
 * the gradient of log-softmax with result y: dx = dy - exp(y) (sum of dy). Uses a team of
 * work-items per row. dx may be y or dy: the work-item that writes an element is the last to read
 * it.
 *
 * backward_group: see common/team.clh. Global size: {ceil(count · team / TENON_GROUP) ·
 *   TENON_GROUP}. Tensors: y, dy, dx.
 *
 * TENON_VW: lanes of a vector.
 *
 * TENON_GROUP: see common/team.clh. TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "common/team_rows.clh"

/* Loads the vectors of both tensors from element `first` on; lanes past the end of the row are
 * 0. */
TENON_INLINE void load_pairs(const team_line *y_line, const team_line *dy_line,
                             const rows_args *args, int first, acc_v y[TEAM_VECTORS],
                             acc_v dy[TEAM_VECTORS])
{
#pragma unroll
    for (int k = 0; k < TEAM_VECTORS; k++) {
        const int i = first + k * vector_step(args), size = (int)args->size;
        y[k] = dy[k] = splat(0);
        if (i < size) {
            y[k] = team_load(y_line, i, size, 0);
            dy[k] = team_load(dy_line, i, size, 0);
        }
    }
}

TEAM_KERNEL void backward_group(__global const data_t *y, __global const data_t *dy,
                                __global data_t *dx, const rows_args args)
{
    __local acc_t scratch[TENON_GROUP];
    const team t = team_of(args.team, args.across, args.count);
    const int begin = t.lane * TENON_VW, size = (int)args.size, is_log = args.flag;
    long at[TENON_ROWS_VIEWS];
    acc_v sums = splat(0), a[TEAM_VECTORS], b[TEAM_VECTORS];
    row_begin(&args, args.rank, t.row, at);
    const team_line y_line = team_line_of(y, at[0], args.axis[0]);
    const team_line dy_line = team_line_of(dy, at[1], args.axis[1]);
    const team_line dx_line = team_line_of(dx, at[2], args.axis[2]);
    for (int first = begin; first < size; first += block_step(&args)) {
        load_pairs(&y_line, &dy_line, &args, first, a, b);
#pragma unroll
        for (int k = 0; k < TEAM_VECTORS; k++) {
            sums = is_log ? sums + b[k] : TENON_FMA(a[k], b[k], sums);
        }
    }
    const acc_t sum = team_sum(&t, sum_of_lanes(sums), scratch);
    for (int first = begin; t.works && first < size; first += block_step(&args)) {
        if (size > block_step(&args)) {
            load_pairs(&y_line, &dy_line, &args, first, a, b);
        }
#pragma unroll
        for (int k = 0; k < TEAM_VECTORS; k++) {
            const int i = first + k * vector_step(&args);
            if (i < size) {
                team_store(&dx_line, i, size,
                           is_log ? b[k] - math_exp_v(a[k]) * splat(sum)
                                  : a[k] * (b[k] - splat(sum)));
            }
        }
    }
}

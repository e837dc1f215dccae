/*
 * Gradient of the cross-entropy of each row x of the logits, with a team of work-items per row.
 * With m the greatest element of the row, p = exp(x - m) / (sum of exp(x - m)) and f = args.scale
 * times the row's dloss, dx = p f, and (p - 1) f at the label. A label that is not a valid class
 * gives a row of NaN, an ignored one zeros. dx may be x: the work-item that writes an element is
 * the last to read it.
 *
 * cross_entropy_group: see common/team.clh. Global size: {ceil(count · team / TENON_GROUP) ·
 *   TENON_GROUP}. Tensors: logits; without the axis labels, dloss (absent without
 *   CROSS_ENTROPY_HAS_DLOSS); dlogits.
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

/* Parameters of a row's gradient. */
typedef struct gradient {
    acc_t most, sum, factor;
    int label; /* -1: none */
    int ignored;
} gradient;

TENON_INLINE acc_v gradient_of(const gradient *g, acc_v x, int i)
{
    acc_t p[TENON_VW];
    TENON_VSTORE(math_exp_falling_v(x - splat(g->most)) / splat(g->sum), 0, p);
#pragma unroll
    for (int l = 0; l < TENON_VW; l++) {
        p[l] = (i + l == g->label ? p[l] - 1 : p[l]) * g->factor;
    }
    return g->ignored ? splat(0) : TENON_VLOAD(0, p);
}

TENON_INLINE void read_label(gradient *g, const rows_args *args, long label,
                             __global const data_t *dloss, long at)
{
    const int is_known = is_class(args, label);
    g->ignored = is_ignored(args, label);
    g->label = is_known ? (int)label : -1;
    g->factor = is_known ? TENON_FROM_BITS(args->scale) : (acc_t)NAN;
    if (is_known && !g->ignored && (args->flag & CROSS_ENTROPY_HAS_DLOSS)) {
        g->factor *= load_data(dloss, at);
    }
}

TEAM_KERNEL void cross_entropy_group(__global const data_t *x, __global const int *labels,
                                     __global const data_t *dloss, __global data_t *dx,
                                     const rows_args args)
{
    __local acc_t scratch[TENON_GROUP];
    const team t = team_of(args.team, args.across, args.count);
    const int begin = t.lane * TENON_VW, size = (int)args.size;
    long at[TENON_ROWS_VIEWS];
    acc_v block[TEAM_VECTORS];
    gradient g;
    row_begin(&args, args.rank, t.row, at);
    const team_line from = team_line_of(x, at[0], args.axis[0]);
    const team_line to = team_line_of(dx, at[3], args.axis[3]);
    read_label(&g, &args, labels[at[1]], dloss, at[2]);
    g.sum = team_row(&from, &args, &t, scratch, block, &g.most);
    for (int first = begin; t.works && first < size; first += block_step(&args)) {
        if (size > block_step(&args)) {
            load_block(&from, &args, first, block);
        }
#pragma unroll
        for (int k = 0; k < TEAM_VECTORS; k++) {
            const int i = first + k * vector_step(&args);
            if (i < size) {
                team_store(&to, i, size, gradient_of(&g, block[k], i));
            }
        }
    }
}

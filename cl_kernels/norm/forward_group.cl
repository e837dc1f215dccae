/*
 * Normalization: y = (x - m) · r · gamma + beta, with m, v and r = rsqrt(v + epsilon) of each set,
 * with a team of work-items per set: its mean, then the squared deviations, then y. y may be x.
 *
 * norm_group: see norm/team.clh. Global size: {ceil(sets · team / TENON_GROUP) · TENON_GROUP}.
 *
 * Macros: see norm/norm.clh and common/team.clh.
 */
#include "norm/save.clh"
#include "norm/team.clh"

/* The vectors of a set that stay in registers. */
typedef struct kept_set {
    acc_v x[TEAM_VECTORS];
} kept_set;

/* Returns the sum over a set of x, or of (x - mean)². `reads`: x is loaded from memory, and
 * kept. */
TENON_INLINE acc_t sum_set(const int squares, const int reads, __global const data_t *x,
                           const set_view *v, const norm_args *args, const team *t, acc_t mean,
                           kept_set *kept)
{
    acc_v sum = splat(0);
    EACH_SPOT(&args->way, t->lane, args->lines)
    {
        const int lanes = lanes_of_spot(args, s);
        const acc_v value = reads ? load_spot(x, v, s, lanes) : kept->x[k];
        if (squares) {
            const acc_v d = zero_tail(value - splat(mean), lanes);
            sum = TENON_FMA(d, d, sum);
        } else {
            sum += value;
        }
        kept->x[k] = value;
    }
    return sum_of_lanes(sum);
}

TEAM_KERNEL void norm_group(__global const data_t *x, __global const param_t *gamma,
                            __global const param_t *beta, __global data_t *y, __global acc_t *mean,
                            __global acc_t *rstd, __global acc_t *running_mean,
                            __global acc_t *running_variance, const norm_args args)
{
    __local acc_t scratch[TENON_GROUP];
    const team t = team_of(args.way.team, args.columns, args.sets);
    const int is_kept = set_is_kept(&args), centered = args.flags & NORM_CENTERED;
    const acc_t n = (acc_t)args.count;
    acc_t m = 0, squares;
    kept_set kept;
    long at[NORM_VIEWS];
    set_begin(&args, t.row, at);
    const set_view from = view_of_set(&args, at, NORM_X), to = view_of_set(&args, at, NORM_Y);
    const set_view g_view = view_of_set(&args, at, NORM_GAMMA);
    const set_view b_view = view_of_set(&args, at, NORM_BETA);
    if (centered) {
        m = team_sum(&t, sum_set(0, 1, x, &from, &args, &t, 0, &kept), scratch) / n;
    }
    if (centered && is_kept) {
        squares = sum_set(1, 0, x, &from, &args, &t, m, &kept);
    } else {
        squares = sum_set(1, 1, x, &from, &args, &t, m, &kept);
    }
    const acc_t variance = team_sum(&t, squares, scratch) / n;
    const acc_t r = rsqrt(variance + TENON_FROM_BITS(args.epsilon));
    if (!t.works) {
        return;
    }
    if (t.lane == 0) {
        const outputs out = {mean, rstd, running_mean, running_variance};
        save(&out, &args, at, m, variance, r);
    }
    EACH_SPOT(&args.way, t.lane, args.lines)
    {
        const int lanes = lanes_of_spot(&args, s);
        const acc_v value = is_kept ? kept.x[k] : load_spot(x, &from, s, lanes);
        const acc_v h = (value - splat(m)) * splat(r);
        const acc_v g =
            load_param_spot(gamma, &g_view, s, lanes, (args.flags & NORM_HAS(NORM_GAMMA)) != 0, 1);
        const acc_v b =
            load_param_spot(beta, &b_view, s, lanes, (args.flags & NORM_HAS(NORM_BETA)) != 0, 0);
        store_spot(y, &to, s, lanes, TENON_FMA(h, g, b));
    }
}

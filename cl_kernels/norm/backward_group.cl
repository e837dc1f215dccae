/*
 * Gradient of normalization, with a team of work-items per set. With h = (x - m) · r, w = gamma if
 * it varies within a set (NORM_WEIGHTED) and 1 otherwise, and g = dy · w, the kernel computes the
 * sums of g and of g · h, then dx = r · gamma / w · (g - (s + h · t)), where s and t are these sums
 * divided by n. If sets are parameters, the sums are dbeta and dgamma. dx may be dy or x.
 *
 * norm_group: see norm/team.clh. Global size: {ceil(sets · team / TENON_GROUP) · TENON_GROUP}.
 *
 * Macros: see norm/norm.clh and common/team.clh.
 */
#include "norm/team.clh"

typedef struct kept_set {
    acc_v g[TEAM_VECTORS], h[TEAM_VECTORS];
} kept_set;

/* Operands of a set. */
typedef struct operands {
    __global const data_t *x, *dy;
    __global const param_t *gamma;
    set_view x_view, dy_view, gamma_view;
    acc_t mean, rstd;
    int weighted;
} operands;

TENON_INLINE void load_pair(const operands *o, spot s, int lanes, acc_v *g, acc_v *h)
{
    const acc_v dy = load_spot(o->dy, &o->dy_view, s, lanes);
    const acc_v x = load_spot(o->x, &o->x_view, s, lanes);
    *g = o->weighted ? dy * load_param_spot(o->gamma, &o->gamma_view, s, lanes, 1, 0) : dy;
    *h = (x - splat(o->mean)) * splat(o->rstd);
}

TENON_INLINE void save_sums(__global param_t *dgamma, __global param_t *dbeta,
                            const norm_args *args, const long at[NORM_VIEWS], acc_t first,
                            acc_t second)
{
    if (args->flags & NORM_HAS(NORM_DGAMMA)) {
        store_param(dgamma, at[NORM_DGAMMA], 0, 1, splat(second));
    }
    if (args->flags & NORM_HAS(NORM_DBETA)) {
        store_param(dbeta, at[NORM_DBETA], 0, 1, splat(first));
    }
}

TEAM_KERNEL void norm_group(__global const data_t *x, __global const data_t *dy,
                            __global const param_t *gamma, __global const acc_t *mean,
                            __global const acc_t *rstd, __global data_t *dx,
                            __global param_t *dgamma, __global param_t *dbeta, const norm_args args)
{
    __local acc_t scratch[TENON_GROUP];
    const team t = team_of(args.way.team, args.columns, args.sets);
    const int is_kept = set_is_kept(&args), centered = args.flags & NORM_CENTERED;
    const int has_gamma = (args.flags & NORM_HAS(NORM_GAMMA)) != 0;
    const acc_t n = (acc_t)args.count;
    acc_v firsts = splat(0), seconds = splat(0);
    kept_set kept;
    long at[NORM_VIEWS];
    set_begin(&args, t.row, at);
    const operands o = {x,
                        dy,
                        gamma,
                        view_of_set(&args, at, NORM_X),
                        view_of_set(&args, at, NORM_DY),
                        view_of_set(&args, at, NORM_GAMMA),
                        centered ? mean[at[NORM_MEAN]] : 0,
                        rstd[at[NORM_RSTD]],
                        args.flags & NORM_WEIGHTED};
    const set_view to = view_of_set(&args, at, NORM_DX);
    EACH_SPOT(&args.way, t.lane, args.lines)
    {
        const int lanes = lanes_of_spot(&args, s);
        load_pair(&o, s, lanes, &kept.g[k], &kept.h[k]);
        firsts += kept.g[k];
        seconds = TENON_FMA(kept.g[k], zero_tail(kept.h[k], lanes), seconds);
    }
    const acc_t first = team_sum(&t, sum_of_lanes(firsts), scratch);
    const acc_t second = team_sum(&t, sum_of_lanes(seconds), scratch);
    if (!t.works) {
        return;
    }
    if (t.lane == 0) {
        save_sums(dgamma, dbeta, &args, at, first, second);
    }
    const acc_v first_mean = splat(centered ? first / n : 0), second_mean = splat(second / n);
    const acc_t same = has_gamma && !o.weighted ? load_param(gamma, at[NORM_GAMMA], 0, 1).s0 : 1;
    const acc_v factor = splat(o.rstd * same);
    EACH_SPOT(&args.way, t.lane, args.lines)
    {
        const int lanes = lanes_of_spot(&args, s);
        acc_v g = kept.g[k], h = kept.h[k];
        if (!is_kept) {
            load_pair(&o, s, lanes, &g, &h);
        }
        store_spot(dx, &to, s, lanes, (g - TENON_FMA(h, second_mean, first_mean)) * factor);
    }
}

/*
 * Gradients of normalization. With h = (x - m) · r, w = gamma if it varies within a set
 * (NORM_WEIGHTED) and 1 otherwise, and g = dy · w:
 *
 * norm_sums: computes the sums of g and of g · h over a piece of a set. They are written to the
 *   workspace (NORM_TO_WORK) or, with a single piece and w = 1, to dbeta and dgamma. The sets are
 *   then the parameters.
 * norm_reduce: adds the pieces, in their order. Writes dbeta and dgamma if they are present and, if
 *   the sums belong to sets, the sums divided by n to the workspace.
 * norm_gradient: dx = r · gamma / w · (g - (s + h · t)), where s and t are these quotients. Without
 *   columns kept is 0, and all dimensions are iterated over.
 * norm_whole: computes sums and dx of a set in one work-item.
 *
 * With NORM_GIVEN, r = rsqrt(variance + epsilon) and dx = r · gamma · dy. dx may be dy or x.
 *
 * Global size: at least {args.items}. Workspace: acc_t[2][pieces][sets] (sums of g, of g · h), then
 * acc_t[2][sets] (s, t). Macros, pieces and lines: see norm/norm.clh.
 */
#include "norm/norm.clh"

#define SUM_VIEWS                                                                                  \
    (NORM_HAS(NORM_X) | NORM_HAS(NORM_DY) | NORM_HAS(NORM_GAMMA) | NORM_HAS(NORM_MEAN) |           \
     NORM_HAS(NORM_RSTD))

typedef struct sums {
    acc_v first, second;
} sums;

/* Returns the mask of the factors of an element: mean and r of its set, and gamma if required. */
TENON_INLINE int factors_of(const norm_args *args, int gamma)
{
    return (args->flags & NORM_CENTERED ? 1 << FACTOR_MEAN : 0) | 1 << FACTOR_RSTD |
           (gamma && (args->flags & NORM_HAS(NORM_GAMMA)) ? 1 << FACTOR_GAMMA : 0);
}

TENON_INLINE acc_v load_element(const int view, __global const data_t *p, const norm_args *args,
                                const norm_walk *w, long i, int b, int lanes)
{
    return load_lanes(p, place_of(view, args, w, i, b), lane_stride(args, view), lanes);
}

TENON_INLINE void sum_piece(const int side, const norm_sources *from, const norm_args *args,
                            norm_walk w, const norm_piece *piece, int column_lanes, sums *result)
{
    const int weighted = args->flags & NORM_WEIGHTED;
    int added = 0;
    norm_factors f;
    block_sum first, second;
    clear_sum(side, &first);
    clear_sum(side, &second);
    prepare_factors(side, &f, args, factors_of(args, weighted));
    const norm_walk set = w;
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        load_factors(side, 0, &f, from, args, &w, 0, TENON_COLUMNS ? column_lanes : TENON_VW);
        for (long i = piece->unit; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(args, i, column_lanes);
            if (f.any_steps) {
                load_factors(side, 1, &f, from, args, &w, i, lanes);
            }
            for (int b = 0; b < side; b++) {
                acc_v g = load_element(NORM_DY, from->dy, args, &w, i, b, lanes);
                acc_v x = load_element(NORM_X, from->x, args, &w, i, b, lanes);
                acc_v h = (x - f.value[b][FACTOR_MEAN]) * f.value[b][FACTOR_RSTD];
                g = weighted ? g * f.value[b][FACTOR_GAMMA] : g;
                h = TENON_COLUMNS ? h : keep_lanes(h, lanes);
                first.block[b] += g;
                second.block[b] = TENON_FMA(g, h, second.block[b]);
            }
            if (++added == NORM_BLOCK) {
                flush_sum(side, &first);
                flush_sum(side, &second);
                added = 0;
            }
        }
        walk_next_line(SUM_VIEWS, &w, &set, args, line + 1);
    }
    for (int b = 0; b < side; b++) {
        result[b].first = fold_sum(&first, b);
        result[b].second = fold_sum(&second, b);
    }
}

TENON_INLINE void save_parameters(__global param_t *dgamma, __global param_t *dbeta,
                                  const norm_args *args, const norm_walk *w, int b, int lanes,
                                  sums s)
{
    if (args->flags & NORM_HAS(NORM_DGAMMA)) {
        store_param(dgamma, place_of(NORM_DGAMMA, args, w, 0, b), lane_stride(args, NORM_DGAMMA),
                    lanes, s.second);
    }
    if (args->flags & NORM_HAS(NORM_DBETA)) {
        store_param(dbeta, place_of(NORM_DBETA, args, w, 0, b), lane_stride(args, NORM_DBETA),
                    lanes, s.first);
    }
}

TENON_INLINE void do_sums(const int side, const norm_sources *from, __global acc_t *work,
                          __global param_t *dgamma, __global param_t *dbeta, const norm_args *args,
                          long number, long set, int column_lanes)
{
    const norm_piece piece = piece_of(args, number);
    const int lanes = TENON_COLUMNS ? column_lanes : 1;
    sums s[NORM_SIDE];
    norm_walk w;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    sum_piece(side, from, args, w, &piece, column_lanes, s);
    work += args->work + number * args->sets + set;
    for (int b = 0; b < side; b++) {
        if (args->flags & NORM_TO_WORK) {
            store_stat(work, b * TENON_VW, 1, lanes, s[b].first);
            store_stat(work, args->pieces * args->sets + b * TENON_VW, 1, lanes, s[b].second);
        } else {
            save_parameters(dgamma, dbeta, args, &w, b, lanes, s[b]);
        }
    }
}

TENON_VECTOR_KERNEL void norm_sums(__global const data_t *x, __global const data_t *dy,
                                   __global const param_t *gamma, __global const acc_t *mean,
                                   __global const acc_t *rstd, __global acc_t *work,
                                   __global param_t *dgamma, __global param_t *dbeta,
                                   const norm_args args)
{
    const norm_sources from = {x, dy, gamma, 0, mean, rstd, 0};
    const norm_share s = share_of(&args);
#define SUMS(side, set, lanes)                                                                     \
    do_sums(side, &from, work, dgamma, dbeta, &args, s.number, set, lanes)
    FOR_SETS(s, NORM_SIDE, SUMS)
}

TENON_KERNEL void norm_reduce(__global acc_t *work, __global param_t *dgamma,
                              __global param_t *dbeta, const norm_args args)
{
    const long set = (long)get_global_id(0) * TENON_VW, all = args.pieces * args.sets;
    const int lanes = (int)min_long(TENON_VW, args.sets - set);
    const acc_v n = splat((acc_t)args.count);
    acc_t first[TENON_VW], second[TENON_VW];
    sums s;
    s.first = s.second = splat(0);
    work += args.work;
    for (long p = 0; p < args.pieces && lanes > 0; p++) {
        s.first += load_stat(work, p * args.sets + set, 1, lanes);
        s.second += load_stat(work, all + p * args.sets + set, 1, lanes);
    }
    if (args.flags & NORM_TO_WORK) {
        store_stat(work, 2 * all + set, 1, lanes, s.first / n);
        store_stat(work, 2 * all + args.sets + set, 1, lanes, s.second / n);
    }
    TENON_VSTORE(s.first, 0, first);
    TENON_VSTORE(s.second, 0, second);
    EACH_LANE(l, lanes)
    {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, set + l);
        s.first = splat(first[l]);
        s.second = splat(second[l]);
        save_parameters(dgamma, dbeta, &args, &w, 0, 1, s);
    }
}

/* Computes dx of a piece. */
TENON_INLINE void gradient_piece(const int side, const norm_sources *from, __global data_t *dx,
                                 const norm_args *args, norm_walk w, const norm_piece *piece,
                                 int column_lanes, norm_factors *f)
{
    const int weighted = args->flags & NORM_WEIGHTED;
    const norm_walk set = w;
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        load_factors(side, 0, f, from, args, &w, 0, TENON_COLUMNS ? column_lanes : TENON_VW);
        for (long i = piece->unit; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(args, i, column_lanes);
            if (f->any_steps) {
                load_factors(side, 1, f, from, args, &w, i, lanes);
            }
            for (int b = 0; b < side; b++) {
                acc_v g = load_element(NORM_DY, from->dy, args, &w, i, b, lanes);
                acc_v gamma = f->value[b][FACTOR_GAMMA], rstd = f->value[b][FACTOR_RSTD];
                g = weighted ? g * gamma : g;
                if (!(args->flags & NORM_GIVEN)) {
                    acc_v x = load_element(NORM_X, from->x, args, &w, i, b, lanes);
                    acc_v h = (x - f->value[b][FACTOR_MEAN]) * rstd;
                    g -= TENON_FMA(h, f->value[b][FACTOR_SECOND], f->value[b][FACTOR_FIRST]);
                }
                store_lanes(dx, place_of(NORM_DX, args, &w, i, b), lane_stride(args, NORM_DX),
                            lanes, g * (weighted ? rstd : rstd * gamma));
            }
        }
        walk_next_line(NORM_HAS(NORM_VIEWS) - 1, &w, &set, args, line + 1);
    }
}

TENON_INLINE void do_gradient(const int side, const norm_sources *from, __global data_t *dx,
                              const norm_args *args, long number, long set, int column_lanes)
{
    const norm_piece piece = piece_of(args, number);
    const int first = args->flags & NORM_CENTERED ? 1 << FACTOR_FIRST : 0;
    const int sums = args->flags & NORM_GIVEN ? 0 : first | 1 << FACTOR_SECOND;
    norm_walk w;
    norm_factors f;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    prepare_factors(side, &f, args, factors_of(args, 1) | sums);
    gradient_piece(side, from, dx, args, w, &piece, column_lanes, &f);
}

TENON_VECTOR_KERNEL void norm_gradient(__global const data_t *x, __global const data_t *dy,
                                       __global const param_t *gamma, __global const acc_t *mean,
                                       __global const acc_t *rstd, __global const acc_t *sums,
                                       __global data_t *dx, const norm_args args)
{
    const norm_sources from = {x, dy, gamma, 0, mean, rstd, sums};
    const norm_share s = share_of(&args);
#define GRADIENT(side, set, lanes) do_gradient(side, &from, dx, &args, s.number, set, lanes)
    FOR_SETS(s, NORM_SIDE, GRADIENT)
}

TENON_INLINE void do_whole(const int side, const norm_sources *from, __global data_t *dx,
                           __global param_t *dgamma, __global param_t *dbeta, const norm_args *args,
                           long set, int column_lanes)
{
    const norm_piece all = piece_of(args, 0);
    const acc_v n = splat((acc_t)args->count);
    sums s[NORM_SIDE];
    norm_walk w;
    norm_factors f;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    sum_piece(side, from, args, w, &all, column_lanes, s);
    prepare_factors(side, &f, args, factors_of(args, 1));
    for (int b = 0; b < side; b++) {
        save_parameters(dgamma, dbeta, args, &w, b, TENON_COLUMNS ? column_lanes : 1, s[b]);
        f.value[b][FACTOR_FIRST] = args->flags & NORM_CENTERED ? s[b].first / n : splat(0);
        f.value[b][FACTOR_SECOND] = s[b].second / n;
    }
    gradient_piece(side, from, dx, args, w, &all, column_lanes, &f);
}

TENON_VECTOR_KERNEL void norm_whole(__global const data_t *x, __global const data_t *dy,
                                    __global const param_t *gamma, __global const acc_t *mean,
                                    __global const acc_t *rstd, __global data_t *dx,
                                    __global param_t *dgamma, __global param_t *dbeta,
                                    const norm_args args)
{
    const norm_sources from = {x, dy, gamma, 0, mean, rstd, 0};
    const norm_share s = share_of(&args);
#define WHOLE(side, set, lanes) do_whole(side, &from, dx, dgamma, dbeta, &args, set, lanes)
    FOR_SETS(s, 1, WHOLE)
}

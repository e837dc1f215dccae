/*
 * The gradients of normalization. With h = (x - m) · r, w = gamma where it varies within a set
 * (NORM_WEIGHTED) and 1 elsewhere, and g = dy · w:
 *
 * norm_sums_rows, norm_sums_columns  The sums of g and of g · h over a piece of a set: to the
 *                                    workspace (NORM_TO_WORK), or, with a single piece and w = 1, to
 *                                    dbeta and dgamma. Their sets are then the parameters.
 * norm_reduce                        Adds up the pieces, in their order: to dbeta and dgamma where
 *                                    those are there, and, where the sums are of sets, to the
 *                                    workspace, divided by n.
 * norm_gradient, norm_gradient_columns  dx = r · gamma / w · (g - (s + h · t)), s and t being those
 *                                    quotients; without columns kept is 0, and every dimension is
 *                                    walked.
 * norm_whole_rows, norm_whole_columns  Sums and dx of a set in one work-item.
 *
 * With NORM_GIVEN, r = rsqrt(variance + epsilon) and dx = r · gamma · dy. dx may be dy or x.
 *
 * Global size: at least {args.items}. The workspace is acc_t[2][pieces][sets] (sums of g, of g · h),
 * then acc_t[2][sets] (s, t). Macros, `columns`, pieces and lines: see norm/norm.clh.
 */
#include "norm/norm.clh"

typedef struct operands {
    __global const data_t *x, *dy;
    __global const param_t *gamma;
    __global const acc_t *mean, *rstd;
} operands;

/* What goes with an element beside x and dy: mean, rstd and gamma, and of dx the two sums. */
enum { FACTOR_MEAN, FACTOR_RSTD, FACTOR_GAMMA, FACTOR_FIRST, FACTOR_SECOND, FACTORS };

typedef struct factors {
    acc_v value[FACTORS];
    int steps[FACTORS]; /* whether it steps along a line */
} factors;

TENON_INLINE acc_v rstd_of(const norm_args *args, acc_v v)
{
    return args->flags & NORM_GIVEN ? rsqrt(v + splat(TENON_FROM_BITS(args->epsilon))) : v;
}

TENON_INLINE acc_v factor_at(const int columns, const int which, const operands *o,
                             __global const acc_t *sums, const norm_args *args, const norm_walk *w,
                             long i, int lanes)
{
    const int view = which == FACTOR_MEAN    ? NORM_MEAN
                     : which == FACTOR_RSTD  ? NORM_RSTD
                     : which == FACTOR_GAMMA ? NORM_GAMMA
                     : which == FACTOR_FIRST ? NORM_DGAMMA
                                             : NORM_DBETA;
    const long at = w->at[view] + i * unit_stride(columns, args, view);
    const long lane = lane_stride(columns, args, view);
    if (which == FACTOR_MEAN) {
        return load_stat(o->mean, at, lane, lanes);
    }
    if (which == FACTOR_RSTD) {
        return rstd_of(args, load_stat(o->rstd, at, lane, lanes));
    }
    if (which == FACTOR_GAMMA) {
        return load_param(o->gamma, at, lane, lanes);
    }
    return load_stat(sums, at, lane, lanes);
}

/* At the beginning of a line: what does not step along it is loaded once for all of it. Operands
 * that are absent, and sums without `loads_sums`, stay as they are. */
#define BEGIN_FACTOR(which, has, view)                                                             \
    f->steps[which] = (has) && args->stride[view][args->rank - 1] != 0;                            \
    if ((has) && !f->steps[which]) {                                                               \
        f->value[which] = factor_at(columns, which, o, sums, args, w, 0, lanes);                   \
    }
TENON_INLINE void begin_line(factors *f, const int columns, const int loads_sums, const operands *o,
                             __global const acc_t *sums, const norm_args *args, const norm_walk *w,
                             int lanes)
{
    const int centered = args->flags & NORM_CENTERED;
    BEGIN_FACTOR(FACTOR_MEAN, centered, NORM_MEAN)
    BEGIN_FACTOR(FACTOR_RSTD, 1, NORM_RSTD)
    BEGIN_FACTOR(FACTOR_GAMMA, args->flags & NORM_HAS(NORM_GAMMA), NORM_GAMMA)
    BEGIN_FACTOR(FACTOR_FIRST, loads_sums && centered, NORM_DGAMMA)
    BEGIN_FACTOR(FACTOR_SECOND, loads_sums, NORM_DBETA)
}

#define STEP_FACTOR(which)                                                                         \
    if (f->steps[which]) {                                                                         \
        f->value[which] = factor_at(columns, which, o, sums, args, w, i, lanes);                   \
    }
TENON_INLINE void step_line(factors *f, const int columns, const operands *o,
                            __global const acc_t *sums, const norm_args *args, const norm_walk *w,
                            long i, int lanes){
    STEP_FACTOR(FACTOR_MEAN) STEP_FACTOR(FACTOR_RSTD) STEP_FACTOR(FACTOR_GAMMA)
        STEP_FACTOR(FACTOR_FIRST) STEP_FACTOR(FACTOR_SECOND)}

TENON_INLINE void no_factors(factors *f)
{
    f->value[FACTOR_MEAN] = f->value[FACTOR_FIRST] = f->value[FACTOR_SECOND] = splat(0);
    f->value[FACTOR_RSTD] = f->value[FACTOR_GAMMA] = splat(1);
}

TENON_INLINE acc_v load_element(const int columns, const int view, __global const data_t *p,
                                const norm_args *args, const norm_walk *w, long i, int lanes)
{
    return load_lanes(p, w->at[view] + i * unit_stride(columns, args, view),
                      lane_stride(columns, args, view), lanes);
}

#define SUM_VIEWS                                                                                  \
    (NORM_HAS(NORM_X) | NORM_HAS(NORM_DY) | NORM_HAS(NORM_GAMMA) | NORM_HAS(NORM_MEAN) |           \
     NORM_HAS(NORM_RSTD))

typedef struct sums {
    acc_v first, second;
} sums;

TENON_INLINE sums sum_piece(const int columns, const operands *o, const norm_args *args,
                            norm_walk w, const norm_piece *piece, int column_lanes)
{
    const int weighted = args->flags & NORM_WEIGHTED;
    int added = 0;
    factors f;
    BLOCK_SUM(first);
    BLOCK_SUM(second);
    no_factors(&f);
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        begin_line(&f, columns, 0, o, 0, args, &w, columns ? column_lanes : TENON_VW);
        for (long i = piece->unit; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(columns, args, i, column_lanes);
            step_line(&f, columns, o, 0, args, &w, i, lanes);
            acc_v g = load_element(columns, NORM_DY, o->dy, args, &w, i, lanes);
            acc_v x = load_element(columns, NORM_X, o->x, args, &w, i, lanes);
            acc_v h = (x - f.value[FACTOR_MEAN]) * f.value[FACTOR_RSTD];
            g = weighted ? g * f.value[FACTOR_GAMMA] : g;
            h = columns ? h : keep_lanes(h, lanes);
            first_block += g;
            second_block = TENON_FMA(g, h, second_block);
            if (++added == NORM_BLOCK) {
                BLOCK_FLUSH(first);
                BLOCK_FLUSH(second);
                added = 0;
            }
        }
        walk_next_line(SUM_VIEWS, &w, args);
    }
    sums s;
    s.first = fold(columns, first_total + first_block);
    s.second = fold(columns, second_total + second_block);
    return s;
}

TENON_INLINE void save_parameters(__global param_t *dgamma, __global param_t *dbeta,
                                  const norm_args *args, const norm_walk *w, long stride_dgamma,
                                  long stride_dbeta, int lanes, sums s)
{
    if (args->flags & NORM_HAS(NORM_DGAMMA)) {
        store_param(dgamma, w->at[NORM_DGAMMA], stride_dgamma, lanes, s.second);
    }
    if (args->flags & NORM_HAS(NORM_DBETA)) {
        store_param(dbeta, w->at[NORM_DBETA], stride_dbeta, lanes, s.first);
    }
}

TENON_INLINE void do_sums(const int columns, const operands *o, __global acc_t *work,
                          __global param_t *dgamma, __global param_t *dbeta, const norm_args *args,
                          long number, long set, int column_lanes)
{
    const norm_piece piece = piece_of(columns, args, number);
    const int lanes = columns ? column_lanes : 1;
    norm_walk w;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    sums s = sum_piece(columns, o, args, w, &piece, column_lanes);
    if (args->flags & NORM_TO_WORK) {
        work += args->work + number * args->sets + set;
        store_stat(work, 0, 1, lanes, s.first);
        store_stat(work, args->pieces * args->sets, 1, lanes, s.second);
    } else {
        save_parameters(dgamma, dbeta, args, &w, lane_stride(columns, args, NORM_DGAMMA),
                        lane_stride(columns, args, NORM_DBETA), lanes, s);
    }
}

__kernel void norm_sums_rows(__global const data_t *x, __global const data_t *dy,
                             __global const param_t *gamma, __global const acc_t *mean,
                             __global const acc_t *rstd, __global acc_t *work,
                             __global param_t *dgamma, __global param_t *dbeta,
                             const norm_args args)
{
    const operands o = {x, dy, gamma, mean, rstd};
    long id = (long)get_global_id(0), number = id % args.pieces;
    long first = id / args.pieces * args.chunk, last = min_long(first + args.chunk, args.sets);
    for (long set = first; set < last; set++) {
        do_sums(0, &o, work, dgamma, dbeta, &args, number, set, TENON_VW);
    }
}

__kernel void norm_sums_columns(__global const data_t *x, __global const data_t *dy,
                                __global const param_t *gamma, __global const acc_t *mean,
                                __global const acc_t *rstd, __global acc_t *work,
                                __global param_t *dgamma, __global param_t *dbeta,
                                const norm_args args)
{
    const operands o = {x, dy, gamma, mean, rstd};
    const long inner = args.shape[args.kept - 1], chunks = (inner + args.chunk - 1) / args.chunk;
    long id = (long)get_global_id(0);
    long first = id % chunks * args.chunk, last = min_long(first + args.chunk, inner);
    long number = id / chunks % args.pieces, row = id / chunks / args.pieces;
    for (long c = first; c < last && id < args.items; c += TENON_VW) {
        do_sums(1, &o, work, dgamma, dbeta, &args, number, row * inner + c,
                (int)min_long(TENON_VW, last - c));
    }
}

__kernel void norm_reduce(__global acc_t *work, __global param_t *dgamma, __global param_t *dbeta,
                          const norm_args args)
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
    for (int l = 0; l < lanes; l++) {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, set + l);
        s.first = splat(first[l]);
        s.second = splat(second[l]);
        save_parameters(dgamma, dbeta, &args, &w, 1, 1, 1, s);
    }
}

/* dx of a piece. The sums are a constant of the lanes unless `loads_sums`. */
TENON_INLINE void gradient_piece(const int columns, const int loads_sums, const operands *o,
                                 __global const acc_t *sums, __global data_t *dx,
                                 const norm_args *args, norm_walk w, const norm_piece *piece,
                                 int column_lanes, factors *f)
{
    const int weighted = args->flags & NORM_WEIGHTED;
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        begin_line(f, columns, loads_sums, o, sums, args, &w, columns ? column_lanes : TENON_VW);
        for (long i = piece->unit; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(columns, args, i, column_lanes);
            step_line(f, columns, o, sums, args, &w, i, lanes);
            acc_v g = load_element(columns, NORM_DY, o->dy, args, &w, i, lanes);
            acc_v gamma = f->value[FACTOR_GAMMA], rstd = f->value[FACTOR_RSTD];
            g = weighted ? g * gamma : g;
            if (!(args->flags & NORM_GIVEN)) {
                acc_v x = load_element(columns, NORM_X, o->x, args, &w, i, lanes);
                acc_v h = (x - f->value[FACTOR_MEAN]) * rstd;
                g -= TENON_FMA(h, f->value[FACTOR_SECOND], f->value[FACTOR_FIRST]);
            }
            store_lanes(dx, w.at[NORM_DX] + i * unit_stride(columns, args, NORM_DX),
                        lane_stride(columns, args, NORM_DX), lanes,
                        g * (weighted ? rstd : rstd * gamma));
        }
        walk_next_line(NORM_HAS(NORM_VIEWS) - 1, &w, args);
    }
}

__kernel void norm_gradient(__global const data_t *x, __global const data_t *dy,
                            __global const param_t *gamma, __global const acc_t *mean,
                            __global const acc_t *rstd, __global const acc_t *sums,
                            __global data_t *dx, const norm_args args)
{
    const operands o = {x, dy, gamma, mean, rstd};
    const long id = (long)get_global_id(0);
    if (id < args.items) {
        const norm_piece piece = piece_of(0, &args, id);
        norm_walk w;
        factors f;
        walk_begin(&w, &args);
        no_factors(&f);
        gradient_piece(0, !(args.flags & NORM_GIVEN), &o, sums, dx, &args, w, &piece, TENON_VW, &f);
    }
}

__kernel void norm_gradient_columns(__global const data_t *x, __global const data_t *dy,
                                    __global const param_t *gamma, __global const acc_t *mean,
                                    __global const acc_t *rstd, __global const acc_t *sums,
                                    __global data_t *dx, const norm_args args)
{
    const operands o = {x, dy, gamma, mean, rstd};
    const long inner = args.shape[args.kept - 1], chunks = (inner + args.chunk - 1) / args.chunk;
    long id = (long)get_global_id(0);
    long first = id % chunks * args.chunk, last = min_long(first + args.chunk, inner);
    const norm_piece piece = piece_of(1, &args, id / chunks % args.pieces);
    for (long c = first; c < last && id < args.items; c += TENON_VW) {
        norm_walk w;
        factors f;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, id / chunks / args.pieces * inner + c);
        no_factors(&f);
        gradient_piece(1, !(args.flags & NORM_GIVEN), &o, sums, dx, &args, w, &piece,
                       (int)min_long(TENON_VW, last - c), &f);
    }
}

TENON_INLINE void do_whole(const int columns, const operands *o, __global data_t *dx,
                           __global param_t *dgamma, __global param_t *dbeta, const norm_args *args,
                           long set, int column_lanes)
{
    const norm_piece all = piece_of(columns, args, 0);
    const acc_v n = splat((acc_t)args->count);
    norm_walk w;
    factors f;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    sums s = sum_piece(columns, o, args, w, &all, column_lanes);
    save_parameters(dgamma, dbeta, args, &w, lane_stride(columns, args, NORM_DGAMMA),
                    lane_stride(columns, args, NORM_DBETA), columns ? column_lanes : 1, s);
    no_factors(&f);
    if (args->flags & NORM_CENTERED) {
        f.value[FACTOR_FIRST] = s.first / n;
    }
    f.value[FACTOR_SECOND] = s.second / n;
    gradient_piece(columns, 0, o, 0, dx, args, w, &all, column_lanes, &f);
}

__kernel void norm_whole_rows(__global const data_t *x, __global const data_t *dy,
                              __global const param_t *gamma, __global const acc_t *mean,
                              __global const acc_t *rstd, __global data_t *dx,
                              __global param_t *dgamma, __global param_t *dbeta,
                              const norm_args args)
{
    const operands o = {x, dy, gamma, mean, rstd};
    long first = (long)get_global_id(0) * args.chunk;
    long last = min_long(first + args.chunk, args.sets);
    for (long set = first; set < last; set++) {
        do_whole(0, &o, dx, dgamma, dbeta, &args, set, TENON_VW);
    }
}

__kernel void norm_whole_columns(__global const data_t *x, __global const data_t *dy,
                                 __global const param_t *gamma, __global const acc_t *mean,
                                 __global const acc_t *rstd, __global data_t *dx,
                                 __global param_t *dgamma, __global param_t *dbeta,
                                 const norm_args args)
{
    const operands o = {x, dy, gamma, mean, rstd};
    const long inner = args.shape[args.kept - 1], chunks = (inner + args.chunk - 1) / args.chunk;
    long id = (long)get_global_id(0);
    long first = id % chunks * args.chunk, last = min_long(first + args.chunk, inner);
    for (long c = first; c < last && id < args.items; c += TENON_VW) {
        do_whole(1, &o, dx, dgamma, dbeta, &args, id / chunks * inner + c,
                 (int)min_long(TENON_VW, last - c));
    }
}

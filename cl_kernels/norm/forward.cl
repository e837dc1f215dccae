/*
 * Normalization: y = (x - m) · r · gamma + beta, with m, v and r = rsqrt(v + epsilon) of each set.
 * y may be x.
 *
 * norm_sets: handles a whole set in one work-item: its mean, then the squared deviations, then y.
 * norm_partial: computes the same statistics of a piece of a set, and writes the sum and the
 *   squared deviations from the piece's own mean to the workspace.
 * norm_combine: computes the statistics of sets from those of their pieces: squares = sum of
 *   (squares of the piece + its elements · (its mean - m)²) (T. Chan, G. Golub and R. LeVeque,
 *   "Algorithms for computing the sample variance", 1983).
 * norm_apply: computes y from statistics. Without columns kept is 0, and all dimensions are
 *   iterated over.
 *
 * Global size: at least {args.items}. Workspace: acc_t[2][pieces][sets] (sums, squares), then
 * acc_t[2][sets] (m, r). If the vectors of norm_partial lie across the innermost dimension of a
 * set, the entries of that dimension are treated as separate sets until norm_combine, where
 * args.parts of them are one set; each receives the set's m and r. Macros, pieces and lines: see
 * norm/norm.clh.
 */
#include "norm/dense.clh"
#include "norm/save.clh"
#if TENON_COLUMNS && !TENON_GPU
#include "norm/columns.clh"
#endif

/* Statistics of sets, one per lane. */
typedef struct statistics {
    acc_v mean, variance, rstd;
} statistics;

/* Computes the sums of x, or of (x - shift)², over a piece. */
TENON_INLINE void sum_piece(const int side, const int squares, __global const data_t *x,
                            const norm_args *args, norm_walk w, const norm_piece *piece,
                            int column_lanes, const acc_v *shift, acc_v *result)
{
    const long lane = lane_stride(args, NORM_X);
    const long dense = dense_end(args, piece);
    int added = 0;
    block_sum sum;
    clear_sum(side, &sum);
    const norm_walk set = w;
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        long i = sum_dense(squares, x + w.at[NORM_X], piece->unit, dense, shift[0], &sum, &added);
        for (; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(args, i, column_lanes);
            for (int b = 0; b < side; b++) {
                acc_v d = load_lanes(x, place_of(NORM_X, args, &w, i, b), lane, lanes);
                if (squares) {
                    d = TENON_COLUMNS ? d - shift[b] : keep_lanes(d - shift[b], lanes);
                    sum.block[b] = TENON_FMA(d, d, sum.block[b]);
                } else {
                    sum.block[b] += d;
                }
            }
            if (++added >= NORM_BLOCK) {
                flush_sum(side, &sum);
                added = 0;
            }
        }
        walk_next_line(NORM_HAS(NORM_X), &w, &set, args, line + 1);
    }
    for (int b = 0; b < side; b++) {
        result[b] = fold_sum(&sum, b);
    }
}

/* Saves the statistics of `lanes` sets, from the one `skip` sets after `set` on. */
TENON_INLINE void save_lanes(const outputs *o, const norm_args *args, const norm_walk *set,
                             int skip, int lanes, const statistics *s)
{
    acc_t mean[TENON_VW], variance[TENON_VW], rstd[TENON_VW];
    long at[NORM_VIEWS];
    TENON_VSTORE(s->mean, 0, mean);
    TENON_VSTORE(s->variance, 0, variance);
    TENON_VSTORE(s->rstd, 0, rstd);
    EACH_LANE(l, lanes)
    {
        for (int v = 0; v < NORM_VIEWS; v++) {
            at[v] = set->at[v];
            if (skip + l > 0) {
                at[v] += (skip + l) * entry_of(args->stride[v], args->kept - 1);
            }
        }
        save(o, args, at, mean[l], variance[l], rstd[l]);
    }
}

#define APPLY_VIEWS                                                                                \
    (NORM_HAS(NORM_X) | NORM_HAS(NORM_GAMMA) | NORM_HAS(NORM_BETA) | NORM_HAS(NORM_MEAN) |         \
     NORM_HAS(NORM_RSTD) | NORM_HAS(NORM_Y))

TENON_INLINE void apply_piece(const int side, const norm_sources *from, __global data_t *y,
                              const norm_args *args, norm_walk w, const norm_piece *piece,
                              int column_lanes, norm_factors *f)
{
    const long dense = dense_end(args, piece);
    const norm_walk set = w;
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        load_factors(side, 0, f, from, args, &w, 0, TENON_COLUMNS ? column_lanes : TENON_VW);
        const norm_lines lines = {from->x + w.at[NORM_X], from->gamma + w.at[NORM_GAMMA],
                                  from->beta + w.at[NORM_BETA], y + w.at[NORM_Y]};
        long i = apply_dense(&lines, args, piece->unit, dense, f);
        for (; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(args, i, column_lanes);
            if (f->any_steps) {
                load_factors(side, 1, f, from, args, &w, i, lanes);
            }
            for (int b = 0; b < side; b++) {
                acc_v x = load_lanes(from->x, place_of(NORM_X, args, &w, i, b),
                                     lane_stride(args, NORM_X), lanes);
                acc_v h = (x - f->value[b][FACTOR_MEAN]) * f->value[b][FACTOR_RSTD];
                stream_lanes(y, place_of(NORM_Y, args, &w, i, b), lane_stride(args, NORM_Y), lanes,
                             TENON_FMA(h, f->value[b][FACTOR_GAMMA], f->value[b][FACTOR_BETA]),
                             y != from->x);
            }
        }
        walk_next_line(APPLY_VIEWS, &w, &set, args, line + 1);
    }
}

TENON_INLINE void do_sets(const int side, const norm_sources *from, __global data_t *y,
                          const outputs *out, const norm_args *args, long set, int column_lanes)
{
    const norm_piece all = piece_of(args, 0);
    const acc_v n = splat((acc_t)args->count);
    acc_v mean[NORM_SIDE], squares[NORM_SIDE];
    norm_walk w;
    norm_factors f;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    for (int b = 0; b < side; b++) {
        mean[b] = splat(0);
    }
    if (args->flags & NORM_CENTERED) {
        sum_piece(side, 0, from->x, args, w, &all, column_lanes, mean, mean);
        for (int b = 0; b < side; b++) {
            mean[b] /= n;
        }
    }
    sum_piece(side, 1, from->x, args, w, &all, column_lanes, mean, squares);
    prepare_factors(side, &f, args, weights_of(args));
    for (int b = 0; b < side; b++) {
        statistics s;
        s.mean = f.value[b][FACTOR_MEAN] = mean[b];
        s.variance = squares[b] / n;
        s.rstd = f.value[b][FACTOR_RSTD] = rstd_of(args, s.variance);
        save_lanes(out, args, &w, b * TENON_VW, TENON_COLUMNS ? column_lanes : 1, &s);
    }
    apply_piece(side, from, y, args, w, &all, column_lanes, &f);
}

TENON_VECTOR_KERNEL void norm_sets(__global const data_t *x, __global const param_t *gamma,
                                   __global const param_t *beta, __global data_t *y,
                                   __global acc_t *mean, __global acc_t *rstd,
                                   __global acc_t *running_mean, __global acc_t *running_variance,
                                   const norm_args args)
{
    const norm_sources from = {x, 0, gamma, beta, 0, 0, 0};
    const outputs out = {mean, rstd, running_mean, running_variance};
    const norm_share s = share_of(&args);
#define SETS(side, set, lanes) do_sets(side, &from, y, &out, &args, set, lanes)
    FOR_SETS(s, 1, SETS)
}

TENON_INLINE void do_partial(const int side, __global const data_t *x, __global acc_t *work,
                             const norm_args *args, long number, long set, int column_lanes)
{
    const norm_piece piece = piece_of(args, number);
    const acc_v n = splat((acc_t)piece_count(args, &piece));
    const int lanes = TENON_COLUMNS ? column_lanes : 1;
    acc_v sum[NORM_SIDE], mean[NORM_SIDE], squares[NORM_SIDE];
    norm_walk w;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    for (int b = 0; b < side; b++) {
        sum[b] = splat(0);
    }
    if (args->flags & NORM_CENTERED) {
        sum_piece(side, 0, x, args, w, &piece, column_lanes, sum, sum);
    }
    for (int b = 0; b < side; b++) {
        mean[b] = sum[b] / n;
    }
    sum_piece(side, 1, x, args, w, &piece, column_lanes, mean, squares);
    work += args->work + number * args->sets + set;
    for (int b = 0; b < side; b++) {
        store_stat(work, b * TENON_VW, 1, lanes, sum[b]);
        store_stat(work, args->pieces * args->sets + b * TENON_VW, 1, lanes, squares[b]);
    }
}

TENON_VECTOR_KERNEL void norm_partial(__global const data_t *x, __global acc_t *work,
                                      const norm_args args)
{
    const norm_share s = share_of(&args);
#define PARTIAL(side, set, lanes) do_partial(side, x, work, &args, s.number, set, lanes)
    FOR_SETS(s, NORM_SIDE, PARTIAL)
}

/* Returns the number of elements of a piece that belong to one set. */
TENON_INLINE acc_v count_of(const norm_args *args, long number)
{
    const norm_piece piece = piece_of(args, number);
    return splat((acc_t)piece_count(args, &piece));
}

TENON_KERNEL void norm_combine(__global acc_t *work, __global acc_t *mean, __global acc_t *rstd,
                               __global acc_t *running_mean, __global acc_t *running_variance,
                               const norm_args args)
{
    const outputs out = {mean, rstd, running_mean, running_variance};
    const long set = (long)get_global_id(0) * TENON_VW, parts = args.parts;
    const long stored = args.sets * parts, all = args.pieces * stored;
    const int lanes = (int)min_long(TENON_VW, args.sets - set);
    const acc_v n = splat((acc_t)args.count);
    acc_v sum = splat(0), squares = splat(0);
    statistics s;
    work += args.work + set * parts;
    for (long part = 0; part < parts && lanes > 0; part++) {
        acc_v part_sum = splat(0);
        for (long p = 0; p < args.pieces; p++) {
            part_sum += load_stat(work, p * stored + part, parts, lanes);
        }
        sum += part_sum;
    }
    s.mean = sum / n;
    for (long part = 0; part < parts && lanes > 0; part++) {
        acc_v part_squares = splat(0);
        for (long p = 0; p < args.pieces; p++) {
            const long at = p * stored + part;
            acc_v pn = count_of(&args, p);
            acc_v d = load_stat(work, at, parts, lanes) / pn - s.mean;
            part_squares += load_stat(work, all + at, parts, lanes) + pn * (d * d);
        }
        squares += part_squares;
    }
    s.variance = squares / n;
    s.rstd = rstd_of(&args, s.variance);
    for (long i = 0; i < parts; i++) {
        store_stat(work, 2 * all + i, parts, lanes, s.mean);
        store_stat(work, 2 * all + stored + i, parts, lanes, s.rstd);
    }
    acc_t m[TENON_VW], v[TENON_VW], r[TENON_VW];
    TENON_VSTORE(s.mean, 0, m);
    TENON_VSTORE(s.variance, 0, v);
    TENON_VSTORE(s.rstd, 0, r);
    EACH_LANE(l, lanes)
    {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, (set + l) * parts);
        save(&out, &args, w.at, m[l], v[l], r[l]);
    }
}

TENON_INLINE void do_apply(const int side, const norm_sources *from, __global data_t *y,
                           const norm_args *args, long number, long set, int column_lanes)
{
    const norm_piece piece = piece_of(args, number);
    const int mean = args->flags & NORM_CENTERED ? 1 << FACTOR_MEAN : 0;
    norm_walk w;
    norm_factors f;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    prepare_factors(side, &f, args, mean | 1 << FACTOR_RSTD | weights_of(args));
    apply_piece(side, from, y, args, w, &piece, column_lanes, &f);
}

TENON_VECTOR_KERNEL void norm_apply(__global const data_t *x, __global const param_t *gamma,
                                    __global const param_t *beta, __global const acc_t *mean,
                                    __global const acc_t *rstd, __global data_t *y,
                                    const norm_args args)
{
    const norm_sources from = {x, 0, gamma, beta, mean, rstd, 0};
    const norm_share s = share_of(&args);
#if TENON_COLUMNS && !TENON_GPU
    if (apply_in_order(&from, y, &args, &s)) {
        return;
    }
#endif
#define APPLY(side, set, lanes) do_apply(side, &from, y, &args, s.number, set, lanes)
    FOR_SETS(s, NORM_SIDE, APPLY)
}

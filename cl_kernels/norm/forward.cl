/*
 * y = (x - m) · r · gamma + beta, with m, v and r = rsqrt(v + epsilon) of each set. y may be x.
 *
 * norm_sets_rows, norm_sets_columns        All of a set in one work-item: its mean, then the squares
 *                                          of what differs from it, then y.
 * norm_partial_rows, norm_partial_columns  The same statistics of a piece of a set; the sum and the
 *                                          squares about the piece's own mean go to the workspace.
 * norm_combine                             Statistics of sets from those of their pieces:
 *   squares = sum of (squares of the piece + its elements · (its mean - m)²)
 *   (T. Chan, G. Golub and R. LeVeque, "Algorithms for computing the sample variance", 1983).
 * norm_apply, norm_apply_columns           y from statistics; without columns kept is 0, and every
 *                                          dimension is walked.
 *
 * Global size: at least {args.items}. The workspace is acc_t[2][pieces][sets] (sums, squares), then
 * acc_t[2][sets] (m, r). Where the vectors of norm_partial lie across the innermost dimension of a
 * set, the entries of that dimension count as sets of their own until norm_combine, whose args.parts
 * of them are one set; each gets the set's m and r. Macros, `columns`, pieces and lines: see norm/norm.clh.
 */
#include "norm/norm.clh"

/* Statistics of the sets in the lanes. */
typedef struct statistics {
    acc_v mean, variance, rstd;
} statistics;

/* The sum of x - shift over a piece, or of its square. */
TENON_INLINE acc_v sum_piece(const int columns, const int squares, __global const data_t *x,
                             const norm_args *args, norm_walk w, const norm_piece *piece,
                             int column_lanes, acc_v shift)
{
    const long unit = unit_stride(columns, args, NORM_X);
    const long lane = lane_stride(columns, args, NORM_X);
    int added = 0;
    BLOCK_SUM(sum);
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        for (long i = piece->unit; i < piece->unit_end; i += piece->step) {
            int lanes = lanes_of(columns, args, i, column_lanes);
            acc_v d = load_lanes(x, w.at[NORM_X] + i * unit, lane, lanes);
            if (squares) {
                d = columns ? d - shift : keep_lanes(d - shift, lanes);
                sum_block = TENON_FMA(d, d, sum_block);
            } else {
                sum_block += d;
            }
            if (++added == NORM_BLOCK) {
                BLOCK_FLUSH(sum);
                added = 0;
            }
        }
        walk_next_line(NORM_HAS(NORM_X), &w, args);
    }
    return fold(columns, sum_total + sum_block);
}

TENON_INLINE acc_v rstd_of(const norm_args *args, acc_v variance)
{
    return rsqrt(variance + splat(TENON_FROM_BITS(args->epsilon)));
}

/* Where a set's statistics go besides y. */
typedef struct outputs {
    __global acc_t *mean, *rstd, *running_mean, *running_variance;
} outputs;

TENON_INLINE void save(const outputs *o, const norm_args *args, const long *at, acc_t mean,
                       acc_t variance, acc_t rstd)
{
    const acc_t momentum = TENON_FROM_BITS(args->momentum), n = (acc_t)args->count;
    if (args->flags & NORM_HAS(NORM_MEAN)) {
        o->mean[at[NORM_MEAN]] = mean;
    }
    if (args->flags & NORM_HAS(NORM_RSTD)) {
        o->rstd[at[NORM_RSTD]] = rstd;
    }
    if (args->flags & NORM_HAS(NORM_RUNNING_MEAN)) {
        __global acc_t *p = o->running_mean + at[NORM_RUNNING_MEAN];
        *p = (1 - momentum) * *p + momentum * mean;
    }
    if (args->flags & NORM_HAS(NORM_RUNNING_VARIANCE)) {
        __global acc_t *p = o->running_variance + at[NORM_RUNNING_VARIANCE];
        acc_t unbiased = variance * (n / (acc_t)(args->count - 1));
        *p = (1 - momentum) * *p + momentum * unbiased;
    }
}

TENON_INLINE void save_lanes(const outputs *o, const norm_args *args, const norm_walk *set,
                             int lanes, const statistics *s)
{
    acc_t mean[TENON_VW], variance[TENON_VW], rstd[TENON_VW];
    long at[NORM_VIEWS];
    TENON_VSTORE(s->mean, 0, mean);
    TENON_VSTORE(s->variance, 0, variance);
    TENON_VSTORE(s->rstd, 0, rstd);
    for (int v = 0; v < NORM_VIEWS; v++) {
        at[v] = set->at[v];
    }
    for (int l = 0; l < lanes; l++) {
        save(o, args, at, mean[l], variance[l], rstd[l]);
        for (int v = NORM_MEAN; v < NORM_VIEWS && args->kept > 0; v++) {
            at[v] += args->stride[v][args->kept - 1];
        }
    }
}

#define APPLY_VIEWS                                                                                \
    (NORM_HAS(NORM_X) | NORM_HAS(NORM_GAMMA) | NORM_HAS(NORM_BETA) | NORM_HAS(NORM_MEAN) |         \
     NORM_HAS(NORM_RSTD) | NORM_HAS(NORM_Y))

/* What y is made of. The statistics are a constant of the lanes unless `loaded`. */
typedef struct operands {
    __global const data_t *x;
    __global const param_t *gamma, *beta;
    __global const acc_t *mean, *rstd;
    __global data_t *y;
} operands;

TENON_INLINE acc_v load_mean(const int columns, const operands *o, const norm_args *args,
                             const norm_walk *w, long i, int lanes)
{
    return load_stat(o->mean, w->at[NORM_MEAN] + i * unit_stride(columns, args, NORM_MEAN),
                     lane_stride(columns, args, NORM_MEAN), lanes);
}

TENON_INLINE acc_v load_rstd(const int columns, const operands *o, const norm_args *args,
                             const norm_walk *w, long i, int lanes)
{
    acc_v v = load_stat(o->rstd, w->at[NORM_RSTD] + i * unit_stride(columns, args, NORM_RSTD),
                        lane_stride(columns, args, NORM_RSTD), lanes);
    return args->flags & NORM_GIVEN ? rstd_of(args, v) : v;
}

TENON_INLINE acc_v load_weight(const int columns, const int view, __global const param_t *p,
                               const norm_args *args, const norm_walk *w, long i, int lanes)
{
    return load_param(p, w->at[view] + i * unit_stride(columns, args, view),
                      lane_stride(columns, args, view), lanes);
}

/* What does not step along a line is loaded once for all of it. */
TENON_INLINE void apply_line(const int columns, const int loaded, const operands *o,
                             const norm_args *args, const norm_walk *w, const norm_piece *piece,
                             int column_lanes, acc_v mean, acc_v rstd)
{
    const int inner = args->rank - 1;
    const int has_gamma = args->flags & NORM_HAS(NORM_GAMMA);
    const int has_beta = args->flags & NORM_HAS(NORM_BETA);
    const int has_mean = loaded && (args->flags & NORM_CENTERED);
    const int mean_steps = has_mean && args->stride[NORM_MEAN][inner] != 0;
    const int rstd_steps = loaded && args->stride[NORM_RSTD][inner] != 0;
    const int gamma_steps = has_gamma && args->stride[NORM_GAMMA][inner] != 0;
    const int beta_steps = has_beta && args->stride[NORM_BETA][inner] != 0;
    const int most = columns ? column_lanes : TENON_VW;
    acc_v gamma = splat(1), beta = splat(0);
    mean = has_mean && !mean_steps ? load_mean(columns, o, args, w, 0, most) : mean;
    rstd = loaded && !rstd_steps ? load_rstd(columns, o, args, w, 0, most) : rstd;
    if (has_gamma && !gamma_steps) {
        gamma = load_weight(columns, NORM_GAMMA, o->gamma, args, w, 0, most);
    }
    if (has_beta && !beta_steps) {
        beta = load_weight(columns, NORM_BETA, o->beta, args, w, 0, most);
    }
    for (long i = piece->unit; i < piece->unit_end; i += piece->step) {
        int lanes = lanes_of(columns, args, i, column_lanes);
        mean = mean_steps ? load_mean(columns, o, args, w, i, lanes) : mean;
        rstd = rstd_steps ? load_rstd(columns, o, args, w, i, lanes) : rstd;
        gamma = gamma_steps ? load_weight(columns, NORM_GAMMA, o->gamma, args, w, i, lanes) : gamma;
        beta = beta_steps ? load_weight(columns, NORM_BETA, o->beta, args, w, i, lanes) : beta;
        acc_v d = load_lanes(o->x, w->at[NORM_X] + i * unit_stride(columns, args, NORM_X),
                             lane_stride(columns, args, NORM_X), lanes) -
                  mean;
        store_lanes(o->y, w->at[NORM_Y] + i * unit_stride(columns, args, NORM_Y),
                    lane_stride(columns, args, NORM_Y), lanes, TENON_FMA(d * rstd, gamma, beta));
    }
}

TENON_INLINE void apply_piece(const int columns, const int loaded, const operands *o,
                              const norm_args *args, norm_walk w, const norm_piece *piece,
                              int column_lanes, acc_v mean, acc_v rstd)
{
    walk_enter(&w, args, args->kept, args->rank - 1, piece->line);
    for (long line = piece->line; line < piece->line_end; line++) {
        apply_line(columns, loaded, o, args, &w, piece, column_lanes, mean, rstd);
        walk_next_line(APPLY_VIEWS, &w, args);
    }
}

/* The set or sets that `w` has entered. */
TENON_INLINE void do_sets(const int columns, const operands *o, const outputs *out,
                          const norm_args *args, const norm_walk *w, int column_lanes)
{
    const norm_piece all = piece_of(columns, args, 0);
    const acc_v n = splat((acc_t)args->count);
    statistics s;
    s.mean = splat(0);
    if (args->flags & NORM_CENTERED) {
        s.mean = sum_piece(columns, 0, o->x, args, *w, &all, column_lanes, splat(0)) / n;
    }
    s.variance = sum_piece(columns, 1, o->x, args, *w, &all, column_lanes, s.mean) / n;
    s.rstd = rstd_of(args, s.variance);
    save_lanes(out, args, w, columns ? column_lanes : 1, &s);
    apply_piece(columns, 0, o, args, *w, &all, column_lanes, s.mean, s.rstd);
}

__kernel void norm_sets_rows(__global const data_t *x, __global const param_t *gamma,
                             __global const param_t *beta, __global data_t *y, __global acc_t *mean,
                             __global acc_t *rstd, __global acc_t *running_mean,
                             __global acc_t *running_variance, const norm_args args)
{
    const operands o = {x, gamma, beta, 0, 0, y};
    const outputs out = {mean, rstd, running_mean, running_variance};
    long first = (long)get_global_id(0) * args.chunk;
    long last = min_long(first + args.chunk, args.sets);
    for (long set = first; set < last; set++) {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, set);
        do_sets(0, &o, &out, &args, &w, TENON_VW);
    }
}

__kernel void norm_sets_columns(__global const data_t *x, __global const param_t *gamma,
                                __global const param_t *beta, __global data_t *y,
                                __global acc_t *mean, __global acc_t *rstd,
                                __global acc_t *running_mean, __global acc_t *running_variance,
                                const norm_args args)
{
    const operands o = {x, gamma, beta, 0, 0, y};
    const outputs out = {mean, rstd, running_mean, running_variance};
    const long inner = args.shape[args.kept - 1], chunks = (inner + args.chunk - 1) / args.chunk;
    long id = (long)get_global_id(0);
    long first = id % chunks * args.chunk, last = min_long(first + args.chunk, inner);
    for (long c = first; c < last && id < args.items; c += TENON_VW) {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, id / chunks * inner + c);
        do_sets(1, &o, &out, &args, &w, (int)min_long(TENON_VW, last - c));
    }
}

TENON_INLINE void do_partial(const int columns, __global const data_t *x, __global acc_t *work,
                             const norm_args *args, long number, long set, int column_lanes)
{
    const norm_piece piece = piece_of(columns, args, number);
    const int lanes = columns ? column_lanes : 1;
    acc_v sum = splat(0), mean = splat(0);
    norm_walk w;
    walk_begin(&w, args);
    walk_enter(&w, args, 0, args->kept, set);
    if (args->flags & NORM_CENTERED) {
        sum = sum_piece(columns, 0, x, args, w, &piece, column_lanes, splat(0));
        mean = sum / splat((acc_t)piece_count(columns, args, &piece));
    }
    acc_v squares = sum_piece(columns, 1, x, args, w, &piece, column_lanes, mean);
    work += args->work + number * args->sets + set;
    store_stat(work, 0, 1, lanes, sum);
    store_stat(work, args->pieces * args->sets, 1, lanes, squares);
}

__kernel void norm_partial_rows(__global const data_t *x, __global acc_t *work,
                                const norm_args args)
{
    long id = (long)get_global_id(0), number = id % args.pieces;
    long first = id / args.pieces * args.chunk, last = min_long(first + args.chunk, args.sets);
    for (long set = first; set < last; set++) {
        do_partial(0, x, work, &args, number, set, TENON_VW);
    }
}

__kernel void norm_partial_columns(__global const data_t *x, __global acc_t *work,
                                   const norm_args args)
{
    const long inner = args.shape[args.kept - 1], chunks = (inner + args.chunk - 1) / args.chunk;
    long id = (long)get_global_id(0);
    long first = id % chunks * args.chunk, last = min_long(first + args.chunk, inner);
    long number = id / chunks % args.pieces, row = id / chunks / args.pieces;
    for (long c = first; c < last && id < args.items; c += TENON_VW) {
        do_partial(1, x, work, &args, number, row * inner + c, (int)min_long(TENON_VW, last - c));
    }
}

/* The elements of a piece that are of one set. */
TENON_INLINE acc_v count_of(const norm_args *args, long number)
{
    const norm_piece piece = piece_of(args->columns, args, number);
    return splat((acc_t)piece_count(args->columns, args, &piece));
}

__kernel void norm_combine(__global acc_t *work, __global acc_t *mean, __global acc_t *rstd,
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
    for (long i = 0; i < args.pieces * parts && lanes > 0; i++) {
        sum += load_stat(work, i / parts * stored + i % parts, parts, lanes);
    }
    s.mean = sum / n;
    for (long i = 0; i < args.pieces * parts && lanes > 0; i++) {
        const long at = i / parts * stored + i % parts;
        acc_v pn = count_of(&args, i / parts);
        acc_v d = load_stat(work, at, parts, lanes) / pn - s.mean;
        squares += load_stat(work, all + at, parts, lanes) + pn * (d * d);
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
    for (int l = 0; l < lanes; l++) {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, (set + l) * parts);
        save(&out, &args, w.at, m[l], v[l], r[l]);
    }
}

__kernel void norm_apply(__global const data_t *x, __global const param_t *gamma,
                         __global const param_t *beta, __global const acc_t *mean,
                         __global const acc_t *rstd, __global data_t *y, const norm_args args)
{
    const operands o = {x, gamma, beta, mean, rstd, y};
    const long id = (long)get_global_id(0);
    if (id < args.items) {
        const norm_piece piece = piece_of(0, &args, id);
        norm_walk w;
        walk_begin(&w, &args);
        apply_piece(0, 1, &o, &args, w, &piece, TENON_VW, splat(0), splat(1));
    }
}

__kernel void norm_apply_columns(__global const data_t *x, __global const param_t *gamma,
                                 __global const param_t *beta, __global const acc_t *mean,
                                 __global const acc_t *rstd, __global data_t *y,
                                 const norm_args args)
{
    const operands o = {x, gamma, beta, mean, rstd, y};
    const long inner = args.shape[args.kept - 1], chunks = (inner + args.chunk - 1) / args.chunk;
    long id = (long)get_global_id(0);
    long first = id % chunks * args.chunk, last = min_long(first + args.chunk, inner);
    const norm_piece piece = piece_of(1, &args, id / chunks % args.pieces);
    for (long c = first; c < last && id < args.items; c += TENON_VW) {
        norm_walk w;
        walk_begin(&w, &args);
        walk_enter(&w, &args, 0, args.kept, id / chunks / args.pieces * inner + c);
        apply_piece(1, 1, &o, &args, w, &piece, (int)min_long(TENON_VW, last - c), splat(0),
                    splat(1));
    }
}

/*
 * y = the greatest or the least element of each row of x, or its position, as selected by
 * args.kind; of equal elements the first is taken. A NaN is beyond any number, and the first NaN is
 * taken. Variants (REDUCTION_VARIANT) take the last instead, or compare absolute values, or compute
 * the logarithm of the sum of exponentials. The least is computed as the greatest of the negated
 * elements, which is exact.
 *
 * reduce_rows, reduce_columns, reduce_finish: see common/reduction.clh, with their global sizes.
 * The second input and the means are unused; the kernels have them only for a common signature.
 *
 * TENON_VW: lanes of a vector.
 * TENON_EXTREMUM: set in every build of this file, to distinguish it from builds of sum.cl.
 *
 * TENON_DTYPE: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#include "reduce/champions.clh"
#include "reduce/place.clh"

/* Loads a vector whose lanes past the last repeat it. Along a row, such a lane is a later equal
 * element and replaces nothing; across rows, it is not used. For the logarithm of the sum of
 * exponentials, in which it would count, it is -inf instead. */
TENON_INLINE acc_v load_repeating(__global const data_t *x, long i, long stride, int lanes)
{
    if (lanes >= TENON_VW) {
        return load_lanes(x, i, stride, TENON_VW);
    }
#if REDUCTION_VARIANT == REDUCTION_LOG_SUM_EXP
    return load_filled(x, i, stride, lanes, -INFINITY);
#else
    acc_t all[TENON_VW];
    TENON_UNROLL
    for (int l = 0; l < TENON_VW; l++) {
        all[l] = load_data(x, i + min(l, lanes - 1) * stride);
    }
    return TENON_VLOAD(0, all);
#endif
}

/* `meet` without the position, if it is not required. */
TENON_INLINE void meet_value(champions *best, acc_v x)
{
    best->value = ((x > best->value) | (x != x)) ? x : best->value;
}

/* Updates with one vector of a step that is complete and contiguous. The constants select the
 * kind. */
TENON_INLINE void meet_dense(const int least, const int placed, champions *best,
                             __global const data_t *x, position_v place)
{
    const acc_v v = load_data_v(x, 0);
    if (placed) {
        meet(best, RANKED(least, v), place);
    } else {
        meet_value(best, RANKED(least, v));
    }
}

/* Updates with `steps` such steps, whose positions increase by a constant. The four champions
 * are variables instead of an array, for compilers to keep them in registers. */
TENON_INLINE void meet_steps(const int least, const int placed, champions best[REDUCTION_VECTORS],
                             __global const data_t *x, long x_step, long steps, position_v place,
                             const int along)
{
    const position_v vector = (position_v)(along ? TENON_VW : 0);
    const position_v step = (position_v)(along ? REDUCTION_VECTORS * TENON_VW : 1);
    champions a = best[0], b = best[1], c = best[2], d = best[3];
    for (long i = 0; i < steps; i++) {
        meet_dense(least, placed, &a, x, place);
        meet_dense(least, placed, &b, x + TENON_VW, place + vector);
        meet_dense(least, placed, &c, x + 2 * TENON_VW, place + vector + vector);
        meet_dense(least, placed, &d, x + 3 * TENON_VW, place + vector + vector + vector);
        x += x_step;
        place += step;
    }
    best[0] = a;
    best[1] = b;
    best[2] = c;
    best[3] = d;
}

/* Updates with the elements of a stretch by complete, contiguous steps, if there are any;
 * returns the first remaining element. */
TENON_INLINE long meet_contiguous(champions best[REDUCTION_VECTORS], __global const data_t *x,
                                  const reduction_args *args, long at, const stretch *s,
                                  const lane_layout *l)
{
    const long all = REDUCTION_VECTORS * TENON_VW, step = l->along ? all : 1;
    const long x_step = step * entry_of(args->stride[REDUCTION_X], args->rank - 1);
    const position_v place =
        (position_v)((position_t)s->index) + (l->along ? lane_numbers() : (position_v)(0));
    if (l->stride[REDUCTION_X] != 1 || !(l->along || l->lanes >= all)) {
        return 0;
    }
    const long steps = s->n / step;
#if TENON_GPU /* fewer loops need fewer registers */
    if (is_least(args)) {
        meet_steps(1, 1, best, x + at, x_step, steps, place, l->along);
    } else {
        meet_steps(0, 1, best, x + at, x_step, steps, place, l->along);
    }
#else
    switch (args->kind) {
    case REDUCTION_MAX:
        meet_steps(0, REDUCTION_VARIANT == REDUCTION_LOG_SUM_EXP, best, x + at, x_step, steps,
                   place, l->along);
        break;
    case REDUCTION_MIN:
        meet_steps(1, 0, best, x + at, x_step, steps, place, l->along);
        break;
    case REDUCTION_ARGMAX:
        meet_steps(0, 1, best, x + at, x_step, steps, place, l->along);
        break;
    default:
        meet_steps(1, 1, best, x + at, x_step, steps, place, l->along);
        break;
    }
#endif
    return steps * step;
}

/* Updates with the elements of a stretch, a step of vectors at a time. */
TENON_INLINE void meet_stretch(champions best[REDUCTION_VECTORS], __global const data_t *x,
                               const reduction_args *args, long at, const stretch *s,
                               const lane_layout *l)
{
    const long step = l->along ? REDUCTION_VECTORS * TENON_VW : 1;
    const long stride = entry_of(args->stride[REDUCTION_X], args->rank - 1);
    const position_v numbers = l->along ? lane_numbers() : (position_v)(0);
    const int least = is_least(args);
    for (long i = meet_contiguous(best, x, args, at, s, l); i < s->n; i += step) {
        const long left = l->along ? s->n - i : l->lanes;
        TENON_UNROLL
        for (int k = 0; k < REDUCTION_VECTORS; k++) {
            const int lanes = (int)min(left - k * TENON_VW, (long)TENON_VW);
            if (lanes > 0) {
                const long from = at + i * stride + k * TENON_VW * l->stride[REDUCTION_X];
                const long place = s->index + i + (l->along ? k * TENON_VW : 0);
                acc_v v = load_repeating(x, from, l->stride[REDUCTION_X], lanes);
                meet(&best[k], RANKED(least, v),
                     PLACES((position_v)((position_t)place) + numbers, s->index + s->n - 1));
            }
        }
    }
}

/* Finds the best element of a piece of a row in each lane. */
TENON_INLINE void piece_best(champions best[REDUCTION_VECTORS], __global const data_t *x,
                             const reduction_args *args, long at, long piece, const lane_layout *l)
{
    stretch s;
    TENON_UNROLL
    for (int k = 0; k < REDUCTION_VECTORS; k++) {
        best[k].value = splat(-INFINITY);
        best[k].place = (position_v)(0);
    }
    for (first_stretch(&s, args, piece); next_stretch(&s, args, args->size);) {
        meet_stretch(best, x, args, at + s.at[REDUCTION_X], &s, l);
    }
}

/* Returns the start of the positions in the workspace, which follow the values of the pieces. */
TENON_INLINE long places_begin(const reduction_args *args)
{
    return args->partials + args->pieces * args->count;
}

TENON_INLINE void store_row(__global data_t *y, long y_at, __global acc_t *workspace,
                            const reduction_args *args, long partial, champion best)
{
    if (args->stage == REDUCTION_PARTIAL) {
        workspace[args->partials + partial] = best.value;
        ((__global position_t *)(workspace + places_begin(args)))[partial] = best.place;
    } else if (args->kind == REDUCTION_ARGMAX || args->kind == REDUCTION_ARGMIN) {
        ((__global REDUCTION_PLACE *)y)[y_at] = (REDUCTION_PLACE)best.place;
    } else {
        store_result(y, y_at, BEST_RESULT(args, best), args);
    }
}

#if TENON_MASKS
#if REDUCTION_VARIANT == REDUCTION_LOG_SUM_EXP
#define PLACE_AS_VALUE(x) x
#define VALUE_AS_PLACE(x) x
#elif TENON_DTYPE == TENON_DTYPE_F64
#define PLACE_AS_VALUE TENON_CAT(as_double, TENON_VW)
#define VALUE_AS_PLACE TENON_CAT(as_long, TENON_VW)
#else
#define PLACE_AS_VALUE TENON_CAT(as_float, TENON_VW)
#define VALUE_AS_PLACE TENON_CAT(as_int, TENON_VW)
#endif

/* Updates with the vectors of a short row. */
TENON_INLINE void meet_short_row(int least, const int placed, champions best[REDUCTION_VECTORS],
                                 __global const data_t *x, long size)
{
    const long step = REDUCTION_VECTORS * TENON_VW, steps = size / step;
    const acc_t fill = NEVER_BEST(least);
    position_v place = lane_numbers();
    meet_steps(least, placed, best, x, step, steps, place, 1);
    place += (position_v)((position_t)(steps * step));
#pragma unroll
    for (int k = 0; k < REDUCTION_VECTORS; k++) {
        const long i = steps * step + k * TENON_VW;
        if (i < size) {
            const acc_v v = load_part(x + i, (int)min(size - i, (long)TENON_VW), fill);
            if (placed) {
                meet(&best[k], RANKED(least, v), PLACES(place, size - 1));
            } else {
                meet_value(&best[k], RANKED(least, v));
            }
        }
        place += (position_v)(TENON_VW);
    }
}

/* Replaces elements of a by better ones of b, lane by lane. */
TENON_INLINE void keep_better(const int placed, champions *a, const champions *b)
{
    if (placed) {
        *a = better_v(*a, *b);
    } else {
        meet_value(a, b->value);
    }
}

/* Moves lane l of block[i] to lane i of block[l]. */
TENON_INLINE void transpose_block(const int placed, champions block[TENON_VW])
{
    acc_v value[TENON_VW], place[TENON_VW];
#pragma unroll
    for (int l = 0; l < TENON_VW; l++) {
        value[l] = block[l].value;
        place[l] = PLACE_AS_VALUE(block[l].place);
    }
    transpose_square(value);
    if (placed) {
        transpose_square(place);
    }
#pragma unroll
    for (int l = 0; l < TENON_VW; l++) {
        block[l].value = value[l];
        block[l].place = VALUE_AS_PLACE(place[l]);
    }
}

/* Handles rows [first, last), at most TENON_VW. */
TENON_INLINE void reduce_block(const int placed, __global const data_t *x, __global data_t *y,
                               __global acc_t *workspace, const reduction_args *args, long first,
                               long last)
{
    long y_at[TENON_VW];
    acc_t value[TENON_VW];
    position_t place[TENON_VW];
    champions block[TENON_VW];
    const champions none = {splat(-INFINITY), (position_v)(0)};
    for (int r = 0; r < TENON_VW; r++) {
        champions best[REDUCTION_VECTORS] = {none, none, none, none};
        if (r < last - first) {
            long at[REDUCTION_VIEWS];
            row_begin(args, args->kept_rank, first + r, at);
            y_at[r] = at[REDUCTION_Y];
            meet_short_row(is_least(args), placed, best, x + at[REDUCTION_X], args->size);
        }
        keep_better(placed, &best[0], &best[1]);
        keep_better(placed, &best[2], &best[3]);
        keep_better(placed, &best[0], &best[2]);
        block[r].value = best[0].value;
        block[r].place = best[0].place;
    }
    transpose_block(placed, block);
#pragma unroll
    for (int half_width = TENON_VW / 2; half_width > 0; half_width /= 2) {
#pragma unroll
        for (int l = 0; l < half_width; l++) {
            keep_better(placed, &block[l], &block[l + half_width]);
        }
    }
    TENON_VSTORE(block[0].value, 0, value);
    TENON_VSTORE(block[0].place, 0, place);
    for (int r = 0; r < last - first; r++) {
        const champion winner = {value[r], place[r]};
        store_row(y, y_at[r], workspace, args, 0, winner);
    }
}

/* Handles rows [first, last) in blocks. */
TENON_FUNCTION void reduce_blocks(__global const data_t *x, __global data_t *y,
                                  __global acc_t *workspace, const reduction_args *args, long first,
                                  long last)
{
    const int placed = args->kind == REDUCTION_ARGMAX || args->kind == REDUCTION_ARGMIN ||
                       REDUCTION_VARIANT == REDUCTION_LOG_SUM_EXP;
    for (long row = first; row < last; row += TENON_VW) {
        const long end = min(row + TENON_VW, last);
        if (placed) {
            reduce_block(1, x, y, workspace, args, row, end);
        } else {
            reduce_block(0, x, y, workspace, args, row, end);
        }
    }
}
#endif

TENON_VECTOR_KERNEL void reduce_rows(__global const data_t *x, __global const data_t *t,
                                     __global data_t *y, __global data_t *means,
                                     __global acc_t *workspace, const reduction_args args)
{
    const long id = (long)get_global_id(0);
    long first, piece;
    TENON_DIVIDE(id, (long)args.pieces, first, piece)
    first *= args.chunk;
    const long last = min(first + args.chunk, (long)args.count);
    const lane_layout l = {{entry_of(args.stride[REDUCTION_X], args.rank - 1), 0}, 1, 0};
#if TENON_MASKS
    if (has_blocks(&args, 1)) {
        reduce_blocks(x, y, workspace, &args, first, last);
        return;
    }
#endif
    for (long row = first; row < last; row++) {
        long at[REDUCTION_VIEWS];
        champions best[REDUCTION_VECTORS];
        row_begin(&args, args.kept_rank, row, at);
        piece_best(best, x, &args, at[REDUCTION_X], piece, &l);
        store_row(y, at[REDUCTION_Y], workspace, &args, piece * args.count + row, best_lane(best));
    }
}

/* Stores the results of `lanes` rows, from column c of the work on. */
TENON_INLINE void store_columns(__global data_t *y, __global acc_t *workspace,
                                const reduction_args *args, const column_work *w, long c, int lanes,
                                const champions *best)
{
    const long ys = entry_of(args->kept_stride[REDUCTION_Y], args->kept_rank - 1);
    acc_t value[TENON_VW];
    position_t place[TENON_VW];
    TENON_VSTORE(best->value, 0, value);
    TENON_VSTORE(best->place, 0, place);
    EACH_LANE(i, lanes)
    {
        const champion winner = {value[i], place[i]};
        store_row(y, w->at[REDUCTION_Y] + (c + i) * ys, workspace, args,
                  w->piece * args->count + w->row + c + i, winner);
    }
}

TENON_VECTOR_KERNEL void reduce_columns(__global const data_t *x, __global const data_t *t,
                                        __global data_t *y, __global data_t *means,
                                        __global acc_t *workspace, const reduction_args args)
{
    const long xs = entry_of(args.kept_stride[REDUCTION_X], args.kept_rank - 1);
    column_work w;
    if (!column_work_of(&args, (long)get_global_id(0), &w)) {
        return;
    }
    for (long c = w.first; c < w.last; c += REDUCTION_VECTORS * TENON_VW) {
        const lane_layout l = {
            {xs, 0}, 0, (int)min((long)REDUCTION_VECTORS * TENON_VW, w.last - c)};
        champions best[REDUCTION_VECTORS];
        piece_best(best, x, &args, w.at[REDUCTION_X] + c * xs, w.piece, &l);
        TENON_UNROLL
        for (int k = 0; k < REDUCTION_VECTORS; k++) {
            store_columns(y, workspace, &args, &w, c + k * TENON_VW,
                          min(l.lanes - k * TENON_VW, TENON_VW), &best[k]);
        }
    }
}

TENON_KERNEL void reduce_finish(__global data_t *y, __global data_t *means,
                                __global acc_t *workspace, const reduction_args args)
{
    __local champion best[REDUCTION_GROUP];
    const long row = get_group_id(0);
    const int me = (int)get_local_id(0), group = (int)get_local_size(0);
    champion mine = {-INFINITY, 0};
    for (long piece = me; piece < args.pieces; piece += group) {
        const long partial = piece * args.count + row;
        const champion other = {
            workspace[args.partials + partial],
            ((__global const position_t *)(workspace + places_begin(&args)))[partial]};
        mine = better(mine, other);
    }
    best[me] = mine;
    for (int half_group = group / 2; half_group > 0; half_group /= 2) {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (me < half_group) {
            best[me] = better(best[me], best[me + half_group]);
        }
    }
    if (me == 0) {
        long at[REDUCTION_VIEWS];
        row_begin(&args, args.kept_rank, row, at);
        store_row(y, at[REDUCTION_Y], workspace, &args, 0, best[0]);
    }
}

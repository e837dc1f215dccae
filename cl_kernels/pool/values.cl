/*
 * Pooling on CPUs without indices (pool/values.clh), with vectors along w.
 *
 * - pool_values_rows: x and y are contiguous along w. A line is a row of outputs of one channel;
 *   lines are numbered n, c, d, h. A work-item handles args.lines lines, and of each of them
 *   args.chunk outputs. For each line it first combines the window's rows of x, for every column,
 *   in a private array, in which the columns of the padding have no effect. Then it combines the
 *   columns of each output.
 * - pool_values_planes: x is contiguous along w, and the windows contain whole rows. Lines are
 *   numbered as above and have one output; the lanes of a vector are adjacent columns.
 *
 * Global size: {ceil(line length / chunk), ceil(line_count / lines)}.
 *
 * TENON_POOL_LINE: elements of the private array. They include the columns of args.chunk outputs,
 *   rounded up to a multiple of TENON_VW.
 * TENON_BUILTIN_PREFETCH: 1: prefetches by clang's __builtin_prefetch. 0 (the default): no
 *   prefetches.
 *
 * Other macros: see pool/values.clh. indices is not used.
 */
#ifndef TENON_BUILTIN_PREFETCH
#define TENON_BUILTIN_PREFETCH 0
#endif
#ifndef TENON_POOL_LINE
#define TENON_POOL_LINE 1024
#endif
#include "pool/values.clh"

#define LINES 4 /* that are computed at once, if there are enough */

/* Loads of elements p[0], p[step], … of the private array. */
#define LOAD_LINE(p, step) TENON_VLOAD(0, p)

TENON_INLINE acc_v load_line_by_2(const acc_t *p, long step)
{
    const acc_v a = TENON_VLOAD(0, p), b = TENON_VLOAD(0, p + TENON_VW);
    return (acc_v)(a.even, b.even);
}

TENON_INLINE acc_v load_line_by(const acc_t *p, long step)
{
    acc_t x[TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        x[l] = p[l * step];
    }
    return TENON_VLOAD(0, x);
}

/* A packed member need not be aligned to the vector. Unlike a vstore, it is stored by one
 * instruction in PoCL 3.1. */
typedef struct __attribute__((packed)) pool_packed {
    acc_v v;
} pool_packed;

TENON_INLINE void store_line(acc_t *p, acc_v v)
{
    ((pool_packed *)p)->v = v;
}

POOL_DEFINE_COMBINE(combine_line, const acc_t *, LOAD_LINE)
POOL_DEFINE_COMBINE(combine_line_by_2, const acc_t *, load_line_by_2)
POOL_DEFINE_COMBINE(combine_line_by, const acc_t *, load_line_by)

/* Combines the rows of a window for `columns` columns at p, of which it handles `vectors` vectors
 * from column `first` on. */
TENON_INLINE void combine_rows(acc_t *line, int vectors, __global const data_t *p,
                               const pool_args *args, const pool_taps *taps, long first,
                               long columns)
{
    const long plane = args->dilation[0] * args->x_stride[2],
               row = args->dilation[1] * args->x_stride[3];
    pool_state state[BLOCK];
    long at[BLOCK];
    place_vectors(at, vectors, first, columns);
    begin(state, vectors);
    for (long i = 0; i < taps[0].count; i++) {
        combine_x(state, vectors, p + i * plane, at, taps[1].count, row, 1);
    }
    EACH_VECTOR(v, vectors)
    {
        store_line(line + at[v], finish(state + v));
    }
}

/* Combines the rows of a window for `columns` columns at p. */
TENON_INLINE void fill_line(acc_t *line, __global const data_t *p, const pool_args *args,
                            const pool_taps *taps, long columns)
{
    long i = 0;
    if (columns < TENON_VW) {
        for (; i < columns; i++) {
            line[i] = combine_one(p + i, args, taps, 1);
        }
        return;
    }
    for (; columns - i > BLOCK / 2 * TENON_VW; i += BLOCK * TENON_VW) {
        combine_rows(line, BLOCK, p, args, taps, i, columns);
    }
    if (i < columns) {
        combine_rows(line, BLOCK / 2, p, args, taps, i, columns);
    }
}

/* A chunk of a line of results: their columns, the number of taps of each result along w if an
 * average is over those inside x, and the divisor for the other dimensions. */
typedef struct pool_line {
    __global data_t *y;
    const acc_t *columns, *counts;
    acc_t divisor;
} pool_line;

TENON_INLINE acc_v result_of(const pool_line *line, const pool_args *args, const pool_state *state,
                             long q)
{
#if TENON_POOL_MAX
    return finish(state);
#else
    acc_v divisor = splat(line->divisor);
    if (args->flags & POOL_COUNT_INSIDE) {
        divisor *= TENON_VLOAD(0, line->counts + q);
    }
    return finish(state) / divisor;
#endif
}

/* Defines a function that computes `vectors` vectors of `count` results, from result q on. */
#define POOL_DEFINE_RESULTS(name, combine)                                                         \
    TENON_INLINE void name(const pool_line *line, int vectors, const pool_args *args, long q,      \
                           long count, long step)                                                  \
    {                                                                                              \
        pool_state state[BLOCK];                                                                   \
        long at[BLOCK];                                                                            \
        place_vectors(at, vectors, q, count);                                                      \
        begin(state, vectors);                                                                     \
        combine(state, vectors, line->columns, at, args->window[2], args->dilation[2], step);      \
        if (count < TENON_VW) {                                                                    \
            store_lanes(line->y, 0, 1, (int)count, result_of(line, args, state, 0));               \
            return;                                                                                \
        }                                                                                          \
        EACH_VECTOR(v, vectors)                                                                    \
        {                                                                                          \
            stream_data_v(line->y, at[v], result_of(line, args, state + v, at[v]), 1);             \
        }                                                                                          \
    }

POOL_DEFINE_RESULTS(store_results_by_1, combine_line)
POOL_DEFINE_RESULTS(store_results_by_2, combine_line_by_2)
POOL_DEFINE_RESULTS(store_results_by, combine_line_by)

/* Calls one of these functions for all results of a chunk. */
#define STORE_RESULTS(store, line, args, count, step)                                              \
    {                                                                                              \
        long q = 0;                                                                                \
        for (; (count)-q > BLOCK / 2 * TENON_VW; q += BLOCK * TENON_VW) {                          \
            store(line, BLOCK, args, q, count, step);                                              \
        }                                                                                          \
        if (q < (count)) {                                                                         \
            store(line, BLOCK / 2, args, q, count, step);                                          \
        }                                                                                          \
    }

TENON_FUNCTION void store_results(const pool_line *line, const pool_args *args, long count)
{
    if (args->step[2] == 1) {
        STORE_RESULTS(store_results_by_1, line, args, count, 1)
    } else if (args->step[2] == 2) {
        STORE_RESULTS(store_results_by_2, line, args, count, 2)
    } else {
        for (long q = 0; q < count; q += TENON_VW) {
            store_results_by(line, 1, args, q, count, args->step[2]);
        }
    }
}

/* The columns of x that a chunk of a line depends on, their place in the private array, and the
 * number of columns that are read, a multiple of TENON_VW: with those in the padding, and at least
 * those of one vector of results. */
typedef struct pool_columns {
    long first, count, at, read;
} pool_columns;

TENON_INLINE pool_columns find_columns(const pool_args *args, long q, long count)
{
    const long begins = q * args->step[2] + args->start[2]; /* negative in the padding */
    pool_columns columns;
    const long reach = (count - 1) * args->step[2] + (args->window[2] - 1) * args->dilation[2] + 1;
    columns.first = max(begins, 0L);
    columns.count = min(begins + reach, (long)args->size[2]) - columns.first;
    columns.at = columns.first - begins;
    columns.read = reach + max(TENON_VW - count, 0L) * args->step[2] + args->step[2];
    columns.read = (columns.read + TENON_VW - 1) / TENON_VW * TENON_VW;
    return columns;
}

/* Elements between the rows of a line and those that are prefetched for a later one. */
#define AHEAD 512

/* Prefetches the rows of a later line, which in memory usually follow those of this line.
 * The rows of a window are several streams, too short for hardware prefetchers. */
TENON_INLINE void prefetch_rows(__global const data_t *p, const pool_args *args,
                                const pool_taps *taps, long columns)
{
    const long row = args->dilation[1] * args->x_stride[3],
               step = args->step[1] * args->x_stride[3];
    const long lines = 1 + AHEAD / max(columns * args->step[1], 1L);
    for (long j = max(taps[1].count - args->step[1], 0L); j < taps[1].count; j++) {
        for (long i = 0; i < columns; i += 64 / sizeof(data_t)) {
            const __global data_t *later = p + j * row + lines * step + i;
#if TENON_BUILTIN_PREFETCH
            __builtin_prefetch((const void *)(size_t)later);
#endif
        }
    }
}

/* Combines the rows of the windows of a line, and fills in its description. */
TENON_FUNCTION void begin_line(pool_line *line, acc_t *columns, __global const data_t *x,
                               __global data_t *y, const pool_args *args, const pool_place *place,
                               const pool_columns *inside)
{
    const long n = place->n, c = place->at[0], d = place->at[1], h = place->at[2];
    pool_taps taps[3];
    find_taps(taps, args, 0, d);
    find_taps(taps + 1, args, 1, h);
    taps[2].count = 1;
    line->y = y + n * args->y_stride[0] + c * args->y_stride[1] + d * args->y_stride[2] +
              h * args->y_stride[3];
    line->columns = columns;
    line->divisor = divisor_of(args, taps);
    __global const data_t *rows = x + n * args->x_stride[0] + c * args->x_stride[1] +
                                  taps[0].at * args->x_stride[2] + taps[1].at * args->x_stride[3] +
                                  inside->first;
    prefetch_rows(rows, args, taps, inside->count);
    fill_line(columns + inside->at, rows, args, taps, inside->count);
}

/* Several lines are filled before their results are computed, because a load that overlaps two
 * recent stores waits for both. */
TENON_VECTOR_KERNEL void pool_values_rows(__global const data_t *x, __global data_t *y,
                                          __global int *indices, const pool_args args)
{
    acc_t columns[LINES * TENON_POOL_LINE];
    acc_t counts[TENON_POOL_MAX ? 1 : TENON_POOL_LINE];
    pool_line lines[LINES];
    const long size[3] = {args.channels, args.out[0], args.out[1]};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long q = (long)get_global_id(0) * args.chunk, count = min(args.chunk, args.out[2] - q);
    const pool_columns inside = find_columns(&args, q, count);
    pool_place place;
    for (long i = 0; i < LINES * inside.read; i += TENON_VW) {
        store_line(columns + i, splat(NEUTRAL));
    }
#if !TENON_POOL_MAX
    for (long i = 0; i < max(count, (long)TENON_VW); i++) {
        pool_taps taps;
        find_taps(&taps, &args, 2, q + i);
        counts[i] = i < count ? (acc_t)taps.count : 1;
    }
#endif
    find_line(&place, first, size);
    for (long line = first; line < last; line += LINES) {
        const int some = (int)min(last - line, (long)LINES);
        for (int l = 0; l < some; l++) {
            lines[l].counts = counts;
            begin_line(lines + l, columns + l * inside.read, x + args.x_offset,
                       y + args.y_offset + q, &args, &place, &inside);
            next_line(&place, size);
        }
        for (int l = 0; l < some; l++) {
            store_results(lines + l, &args, count);
        }
    }
}

/* Combines `count` contiguous elements, each with those in the same lane. */
TENON_INLINE void take_all(pool_state *state, __global const data_t *p, long count)
{
    long i = 0;
    for (; i + 2 * TENON_VW <= count; i += 2 * TENON_VW) {
        take_both(state, load_data_v(p, i), load_data_v(p, i + TENON_VW));
    }
    if (i + TENON_VW <= count) {
        take(state, load_data_v(p, i));
        i += TENON_VW;
    }
    if (i < count) {
        take(state, load_filled(p, i, 1, (int)(count - i), NEUTRAL));
    }
}

/* Combines the lanes. */
TENON_INLINE acc_t finish_lanes(const pool_state *state)
{
#if TENON_POOL_MAX
    return any(state->is_nan) ? (acc_t)NAN : greatest_of_lanes(state->value);
#else
    return sum_of_lanes(state->value);
#endif
}

TENON_VECTOR_KERNEL void pool_values_planes(__global const data_t *x, __global data_t *y,
                                            __global int *indices, const pool_args args)
{
    const long size[3] = {args.channels, args.out[0], args.out[1]};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long plane = args.dilation[0] * args.x_stride[2],
               row = args.dilation[1] * args.x_stride[3];
    pool_place place;
    find_line(&place, first, size);
    for (long line = first; line < last; line++) {
        pool_state state;
        pool_taps taps[3];
        find_taps(taps, &args, 0, place.at[1]);
        find_taps(taps + 1, &args, 1, place.at[2]);
        taps[2].count = args.size[2];
        const long rows_at_once = row == args.size[2] ? max(taps[1].count, 1L) : 1;
        __global const data_t *p = x + args.x_offset + place.n * args.x_stride[0] +
                                   place.at[0] * args.x_stride[1] + taps[0].at * args.x_stride[2] +
                                   taps[1].at * args.x_stride[3];
        begin(&state, 1);
        for (long i = 0; i < taps[0].count; i++) {
            for (long j = 0; j < taps[1].count; j += rows_at_once) {
                take_all(&state, p + i * plane + j * row, rows_at_once * args.size[2]);
            }
        }
        const acc_t value = finish_lanes(&state);
        store_data(y,
                   args.y_offset + place.n * args.y_stride[0] + place.at[0] * args.y_stride[1] +
                       place.at[1] * args.y_stride[2] + place.at[2] * args.y_stride[3],
                   TENON_POOL_MAX ? value : value / divisor_of(&args, taps));
        next_line(&place, size);
    }
}

/*
 * Pooling on CPUs without indices: y = the maximum or the average of each window of x. Vectors of
 * TENON_VW results are computed at once, by loads of contiguous elements.
 *
 * - pool_values_rows: x and y are contiguous along w. A line is a row of outputs of one channel;
 *   lines are numbered n, c, d, h. A work-item handles args.lines lines, and of each of them
 *   args.chunk outputs. For each line it first combines the window's rows of x, for every column,
 *   in a private array, in which the columns of the padding have no effect. Then it combines the
 *   columns of each output.
 * - pool_values_channels: x and y are contiguous along the channels. A line is the channels of one
 *   output; lines are numbered n, d, h, w.
 *
 * A sum is therefore not in the order of the elements, but its order is the same for all outputs.
 *
 * Global size: {ceil(line length / chunk), ceil(line_count / lines)}.
 *
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average. A NaN is greater than any number.
 * TENON_POOL_LINE: pool_values_rows: elements of the private array. They include the columns of
 *   args.chunk outputs, rounded up to a multiple of TENON_VW.
 *
 * TENON_DTYPE, TENON_VW: see common/types.clh. indices is not used.
 */
#ifndef TENON_VW
#define TENON_VW 8
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#ifndef TENON_POOL_LINE
#define TENON_POOL_LINE 1024
#endif
#include "pool/window.clh"

/* Vectors that are computed at once. */
#define BLOCK 4

/* The taps of TENON_VW windows, combined. A comparison with NaN is false, so the greatest number
 * and the lanes that have read a NaN are separate. */
typedef struct pool_state {
    acc_v value;
    position_v is_nan;
} pool_state;

#if TENON_POOL_MAX
#define NEUTRAL ((acc_t)(-INFINITY))
#else
#define NEUTRAL ((acc_t)0)
#endif

TENON_INLINE void begin(pool_state *state, int count)
{
#pragma unroll
    for (int v = 0; v < count; v++) {
        state[v].value = splat(NEUTRAL);
        state[v].is_nan = (position_v)((position_t)0);
    }
}

TENON_INLINE void take(pool_state *state, acc_v a)
{
#if TENON_POOL_MAX
    state->value = a > state->value ? a : state->value;
    state->is_nan |= a != a;
#else
    state->value += a;
#endif
}

/* Takes a, then b. One comparison detects a NaN in either. */
TENON_INLINE void take_both(pool_state *state, acc_v a, acc_v b)
{
#if TENON_POOL_MAX
    const acc_v greater = a > b ? a : b;
    state->value = greater > state->value ? greater : state->value;
    state->is_nan |= (a != a) | (b != b);
#else
    state->value += a;
    state->value += b;
#endif
}

TENON_INLINE acc_v finish(const pool_state *state)
{
#if TENON_POOL_MAX
    return state->is_nan ? splat((acc_t)NAN) : state->value;
#else
    return state->value;
#endif
}

/* Loads of elements p[i], p[i + step], …, from x and from the private array. */
#define LOAD_X(p, i, step)    load_data_v(p, i)
#define LOAD_LINE(p, i, step) TENON_VLOAD(0, (p) + (i))

TENON_INLINE acc_v load_line_by_2(const acc_t *p, long i, long step)
{
    const acc_v a = TENON_VLOAD(0, p + i), b = TENON_VLOAD(0, p + i + TENON_VW);
    return (acc_v)(a.even, b.even);
}

TENON_INLINE acc_v load_line_by(const acc_t *p, long i, long step)
{
    acc_t x[TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        x[l] = p[i + l * step];
    }
    return TENON_VLOAD(0, x);
}

/* The private array is not aligned to vectors, which a packed member states. Unlike a vstore, it
 * is one instruction in PoCL 3.1. */
typedef struct __attribute__((packed)) pool_packed {
    acc_v v;
} pool_packed;

TENON_INLINE void store_line(acc_t *p, acc_v v)
{
    ((pool_packed *)p)->v = v;
}

/* Defines a function that combines `count` taps, `stride` apart, of `vectors` adjacent vectors,
 * whose lanes are `step` apart. */
#define POOL_DEFINE_COMBINE(name, pointer_t, vectors, LOAD)                                        \
    TENON_INLINE void name(pool_state *state, pointer_t p, long count, long stride, long step)     \
    {                                                                                              \
        for (; count >= 2; count -= 2) {                                                           \
            _Pragma("unroll") for (int v = 0; v < (vectors); v++)                                  \
            {                                                                                      \
                const acc_v a = LOAD(p, v * TENON_VW * step, step);                                \
                const acc_v b = LOAD(p, stride + v * TENON_VW * step, step);                       \
                take_both(state + v, a, b);                                                        \
            }                                                                                      \
            p += 2 * stride;                                                                       \
        }                                                                                          \
        if (count > 0) {                                                                           \
            _Pragma("unroll") for (int v = 0; v < (vectors); v++)                                  \
            {                                                                                      \
                take(state + v, LOAD(p, v * TENON_VW * step, step));                               \
            }                                                                                      \
        }                                                                                          \
    }

POOL_DEFINE_COMBINE(combine_x_1, __global const data_t *, 1, LOAD_X)
POOL_DEFINE_COMBINE(combine_x, __global const data_t *, BLOCK, LOAD_X)
POOL_DEFINE_COMBINE(combine_line_1, const acc_t *, 1, LOAD_LINE)
POOL_DEFINE_COMBINE(combine_line, const acc_t *, BLOCK, LOAD_LINE)
POOL_DEFINE_COMBINE(combine_line_2, const acc_t *, 1, load_line_by_2)
POOL_DEFINE_COMBINE(combine_line_by, const acc_t *, 1, load_line_by)

/* Defines a function that combines the rows of a window, for `vectors` vectors of columns at p, in
 * the private array. */
#define POOL_DEFINE_COMBINE_ROWS(name, vectors, combine)                                           \
    TENON_INLINE void name(acc_t *line, __global const data_t *p, const pool_args *args,           \
                           const pool_taps *taps)                                                  \
    {                                                                                              \
        const long plane = args->dilation[0] * args->x_stride[2],                                  \
                   row = args->dilation[1] * args->x_stride[3];                                    \
        pool_state state[vectors];                                                                 \
        begin(state, vectors);                                                                     \
        for (long i = 0; i < taps[0].count; i++) {                                                 \
            combine(state, p + i * plane, taps[1].count, row, 1);                                  \
        }                                                                                          \
        _Pragma("unroll") for (int v = 0; v < (vectors); v++)                                      \
        {                                                                                          \
            store_line(line + v * TENON_VW, finish(state + v));                                    \
        }                                                                                          \
    }

POOL_DEFINE_COMBINE_ROWS(combine_rows_1, 1, combine_x_1)
POOL_DEFINE_COMBINE_ROWS(combine_rows, BLOCK, combine_x)

/* Combines the rows of a window for one column. */
TENON_INLINE acc_t combine_column(__global const data_t *p, const pool_args *args,
                                  const pool_taps *taps)
{
    pool_taps column[3] = {taps[0], taps[1], {0, 1}};
    column[0].at = column[1].at = 0;
#if TENON_POOL_MAX
    position_t where;
    return maximum(p, args, args->x_stride, column, 0, &where);
#else
    return sum(p, args, args->x_stride, column, 0);
#endif
}

/* Combines the rows of a window for `columns` columns at p. The last vector overlaps the one
 * before it. */
TENON_INLINE void fill_line(acc_t *line, __global const data_t *p, const pool_args *args,
                            const pool_taps *taps, long columns)
{
    long i = 0;
    for (; i + BLOCK * TENON_VW <= columns; i += BLOCK * TENON_VW) {
        combine_rows(line + i, p + i, args, taps);
    }
    if (columns >= TENON_VW) {
        while (i < columns) {
            i = min(i, columns - TENON_VW);
            combine_rows_1(line + i, p + i, args, taps);
            i += TENON_VW;
        }
    }
    for (; i < columns; i++) {
        line[i] = combine_column(p + i, args, taps);
    }
}

/* The results of a chunk of a line: their columns, the number of taps of each along w if an average
 * is over those inside x, and the divisor for the other dimensions. */
typedef struct pool_line {
    const acc_t *columns;
    const acc_t *counts;
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

/* Computes TENON_VW results. */
TENON_INLINE acc_v results_at(const pool_line *line, const pool_args *args, long q)
{
    const long step = args->step[2], count = args->window[2], apart = args->dilation[2];
    const acc_t *p = line->columns + q * step;
    pool_state state;
    begin(&state, 1);
    if (step == 1) {
        combine_line_1(&state, p, count, apart, 1);
    } else if (step == 2) {
        combine_line_2(&state, p, count, apart, 2);
    } else {
        combine_line_by(&state, p, count, apart, step);
    }
    return result_of(line, args, &state, q);
}

/* Computes a chunk of a line. The last vector overlaps the one before it. */
TENON_INLINE void store_results(__global data_t *y, const pool_line *line, const pool_args *args,
                                long count)
{
    long q = 0;
    if (args->step[2] == 1) {
        for (; q + BLOCK * TENON_VW <= count; q += BLOCK * TENON_VW) {
            pool_state state[BLOCK];
            begin(state, BLOCK);
            combine_line(state, line->columns + q, args->window[2], args->dilation[2], 1);
#pragma unroll
            for (int v = 0; v < BLOCK; v++) {
                store_data_v(y, q + v * TENON_VW,
                             result_of(line, args, state + v, q + v * TENON_VW));
            }
        }
    }
    if (count < TENON_VW) {
        store_lanes(y, 0, 1, (int)count, results_at(line, args, 0));
        return;
    }
    while (q < count) {
        q = min(q, count - TENON_VW);
        store_data_v(y, q, results_at(line, args, q));
        q += TENON_VW;
    }
}

/* The position of a line, and the sizes of its dimensions after n. */
typedef struct pool_place {
    long n, at[3];
} pool_place;

TENON_INLINE void find_line(pool_place *place, long number, const long *size)
{
    for (int d = 2; d >= 0; d--) {
        place->at[d] = number % size[d];
        number /= size[d];
    }
    place->n = number;
}

TENON_INLINE void next_line(pool_place *place, const long *size)
{
    int d = 2;
    while (d >= 0 && ++place->at[d] == size[d]) {
        place->at[d--] = 0;
    }
    place->n += d < 0;
}

TENON_VECTOR_KERNEL void pool_values_rows(__global const data_t *x, __global data_t *y,
                                          __global int *indices, const pool_args args)
{
    acc_t columns[TENON_POOL_LINE];
#if TENON_POOL_MAX
    acc_t *counts = 0;
#else
    acc_t counts[TENON_POOL_LINE];
#endif
    const long size[3] = {args.channels, args.out[0], args.out[1]};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long q = (long)get_global_id(0) * args.chunk, count = min(args.chunk, args.out[2] - q);
    const long begins = q * args.step[2] + args.start[2]; /* the column of x in columns[0] */
    const long ends = begins + (count - 1) * args.step[2] + (args.window[2] - 1) * args.dilation[2];
    const long from = max(begins, 0L), to = min(ends + 1, args.size[2]);
    pool_taps taps[3];
    pool_place place;
    for (long i = 0; i < TENON_POOL_LINE; i++) {
        columns[i] = NEUTRAL;
    }
#if !TENON_POOL_MAX
    for (long i = 0; i < count; i++) {
        find_taps(taps + 2, &args, 2, q + i);
        counts[i] = (acc_t)taps[2].count;
    }
    for (long i = count; i < TENON_VW; i++) {
        counts[i] = 1;
    }
#endif
    find_line(&place, first, size);
    for (long line = first; line < last; line++) {
        find_taps(taps, &args, 0, place.at[1]);
        find_taps(taps + 1, &args, 1, place.at[2]);
        fill_line(columns + (from - begins),
                  x + args.x_offset + place.n * args.x_stride[0] + place.at[0] * args.x_stride[1] +
                      taps[0].at * args.x_stride[2] + taps[1].at * args.x_stride[3] + from,
                  &args, taps, to - from);
        pool_line results;
        results.columns = columns;
        results.counts = counts;
        taps[2].count = 1;
        results.divisor = divisor_of(&args, taps);
        store_results(y + args.y_offset + place.n * args.y_stride[0] +
                          place.at[0] * args.y_stride[1] + place.at[1] * args.y_stride[2] +
                          place.at[2] * args.y_stride[3] + q,
                      &results, &args, count);
        next_line(&place, size);
    }
}

/* Defines a function that computes `vectors` vectors of channels of one output; x is at the first
 * tap. */
#define POOL_DEFINE_CHANNELS(name, vectors, combine)                                               \
    TENON_INLINE void name(__global const data_t *x, __global data_t *y, const pool_args *args,    \
                           const pool_taps *taps)                                                  \
    {                                                                                              \
        const long plane = args->dilation[0] * args->x_stride[2],                                  \
                   row = args->dilation[1] * args->x_stride[3],                                    \
                   pixel = args->dilation[2] * args->x_stride[4];                                  \
        pool_state state[vectors];                                                                 \
        begin(state, vectors);                                                                     \
        for (long i = 0; i < taps[0].count; i++) {                                                 \
            for (long j = 0; j < taps[1].count; j++) {                                             \
                combine(state, x + i * plane + j * row, taps[2].count, pixel, 1);                  \
            }                                                                                      \
        }                                                                                          \
        const acc_v divisor = splat(TENON_POOL_MAX ? 1 : divisor_of(args, taps));                  \
        _Pragma("unroll") for (int v = 0; v < (vectors); v++)                                      \
        {                                                                                          \
            const acc_v value = finish(state + v);                                                 \
            store_data_v(y, v *TENON_VW, TENON_POOL_MAX ? value : value / divisor);                \
        }                                                                                          \
    }

POOL_DEFINE_CHANNELS(channels_1, 1, combine_x_1)
POOL_DEFINE_CHANNELS(channels_block, BLOCK, combine_x)

TENON_INLINE void one_channel(__global const data_t *x, __global data_t *y, const pool_args *args,
                              const pool_taps *taps)
{
    pool_taps near[3] = {taps[0], taps[1], taps[2]};
    near[0].at = near[1].at = near[2].at = 0;
#if TENON_POOL_MAX
    position_t where;
    store_data(y, 0, maximum(x, args, args->x_stride, near, 0, &where));
#else
    store_data(y, 0, sum(x, args, args->x_stride, near, 0) / divisor_of(args, taps));
#endif
}

/* Computes `count` channels of one output. The last vector overlaps the one before it. */
TENON_INLINE void pool_pixel(__global const data_t *x, __global data_t *y, const pool_args *args,
                             const pool_taps *taps, long count)
{
    long c = 0;
    for (; c + BLOCK * TENON_VW <= count; c += BLOCK * TENON_VW) {
        channels_block(x + c, y + c, args, taps);
    }
    if (count >= TENON_VW) {
        while (c < count) {
            c = min(c, count - TENON_VW);
            channels_1(x + c, y + c, args, taps);
            c += TENON_VW;
        }
    }
    for (; c < count; c++) {
        one_channel(x + c, y + c, args, taps);
    }
}

TENON_VECTOR_KERNEL void pool_values_channels(__global const data_t *x, __global data_t *y,
                                              __global int *indices, const pool_args args)
{
    const long size[3] = {args.out[0], args.out[1], args.out[2]};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long c = (long)get_global_id(0) * args.chunk;
    pool_place place;
    find_line(&place, first, size);
    for (long line = first; line < last; line++) {
        pool_taps taps[3];
        long x_at = args.x_offset + place.n * args.x_stride[0] + c;
        long y_at = args.y_offset + place.n * args.y_stride[0] + c;
        for (int d = 0; d < 3; d++) {
            find_taps(taps + d, &args, d, place.at[d]);
            x_at += taps[d].at * args.x_stride[2 + d];
            y_at += place.at[d] * args.y_stride[2 + d];
        }
        pool_pixel(x + x_at, y + y_at, &args, taps, min(args.chunk, args.channels - c));
        next_line(&place, size);
    }
}

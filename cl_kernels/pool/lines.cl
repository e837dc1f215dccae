/*
 * Pooling on CPUs with windows of every kind (pool/windows.clh), also with indices. A work-item
 * handles args.windows.each lines, which are numbered n, c, d, h or n, d, h, w.
 *
 * - pool_lines_rows: x is contiguous along w. A line is a row of outputs of one channel, of which a
 *   work-item computes args.chunk. It first combines the rows of their windows for every column of
 *   x, in a private array, then the columns of each window.
 * - pool_lines_channels: x and y are contiguous along the channels. A line is the channels of one
 *   output, of which a work-item computes args.chunk.
 *
 * Global size: {ceil(line length / chunk), ceil(count / each)}. indices is not written without
 * POOL_HAS_INDICES.
 *
 * TENON_POOL_LINE: the most outputs of a chunk of a row, and the most columns of their windows.
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#ifndef TENON_POOL_LINE
#define TENON_POOL_LINE 1024
#endif
#ifndef TENON_VW
#define TENON_VW 8
#endif
#include "pool/lines_args.h"
#include "pool/windows.clh"

/* A position in the plane, as wide as a value: the result of one comparison selects both. */
#if TENON_DTYPE == TENON_DTYPE_F64
typedef long place_t;
typedef TENON_CAT(long, TENON_VW) place_v;
#else
typedef int place_t;
typedef TENON_CAT(int, TENON_VW) place_v;
#endif

/* Returns the powers of positive numbers, lane by lane: not all drivers have a correct pow of
 * vectors. */
TENON_FUNCTION acc_v powers_of(acc_v values, acc_t p)
{
    acc_t x[TENON_VW];
    TENON_VSTORE(values, 0, x);
    for (int l = 0; l < TENON_VW; l++) {
        x[l] = pow(x[l], p);
    }
    return TENON_VLOAD(0, x);
}

/* Returns the terms of elements: the elements themselves, or the powers of their magnitudes. */
TENON_INLINE acc_v terms_of(const pool_windows_args *args, acc_v values)
{
    const acc_t p = TENON_FROM_BITS(args->p);
    return args->kind != POOL_KIND_LP ? values
           : p == 1                   ? fabs(values)
           : p == 2                   ? values * values
                                      : powers_of(fabs(values), p);
}

TENON_INLINE acc_t result_of_sum(const pool_windows_args *args, const pool_range *r, acc_t sum)
{
    const acc_t p = TENON_FROM_BITS(args->p);
    return args->kind != POOL_KIND_LP ? sum / divisor_of(r)
           : p == 1                   ? sum
           : p == 2                   ? sqrt(sum)
                                      : pow(sum, TENON_FROM_BITS(args->inverse_p));
}

/* The columns of x that a chunk of a line depends on: their sums, or their greatest elements and
 * the positions of these. */
typedef struct pool_line {
    acc_t value[TENON_POOL_LINE + TENON_VW];
    place_t place[TENON_POOL_LINE + TENON_VW];
    long first, count; /* columns */
} pool_line;

/* The windows of a chunk along w. */
typedef struct pool_chunk {
    int at[TENON_POOL_LINE], count[TENON_POOL_LINE]; /* from the first column on */
    acc_t counted[TENON_POOL_LINE];
} pool_chunk;

/* Finds the windows of `count` outputs from output q on, and their columns. */
TENON_INLINE void find_chunk(pool_chunk *chunk, pool_line *line, const pool_windows_args *args,
                             long q, long count)
{
    pool_range r;
    long last = 0;
    line->first = args->size[2];
    for (long i = 0; i < count; i++) {
        find_range(&r, args, 2, q + i);
        if (r.count > 0) {
            line->first = min(line->first, r.at);
            last = max(last, r.at + (r.count - 1) * r.step + 1);
        }
    }
    line->count = max(last - line->first, 0L);
    for (long i = 0; i < count; i++) {
        find_range(&r, args, 2, q + i);
        chunk->at[i] = (int)(r.at - line->first);
        chunk->count[i] = (int)r.count;
        chunk->counted[i] = (acc_t)r.counted;
    }
}

/* Adds a row of x, of which `x` is the first column of the line. */
TENON_INLINE void add_row(pool_line *line, __global const data_t *x, const pool_windows_args *args)
{
    for (long i = 0; i < line->count; i += TENON_VW) {
        const int lanes = (int)min(line->count - i, (long)TENON_VW);
        const acc_v sum = TENON_VLOAD(0, line->value + i);
        TENON_VSTORE(sum + terms_of(args, load_lanes(x, i, 1, lanes)), 0, line->value + i);
    }
}

/* Replaces the greatest elements by those of a row that are greater, or NaN. `place` is the
 * position of its first column in the line. */
TENON_INLINE void compare_row(pool_line *line, __global const data_t *x, place_t place)
{
    for (long i = 0; i < line->count; i += TENON_VW) {
        const int lanes = (int)min(line->count - i, (long)TENON_VW);
        const acc_v value = load_lanes(x, i, 1, lanes), best = TENON_VLOAD(0, line->value + i);
        const place_v before = TENON_VLOAD(0, line->place + i);
        const place_v is_greater = (value > best) | ((value != value) & (best == best));
        TENON_VSTORE(is_greater ? value : best, 0, line->value + i);
        TENON_VSTORE(is_greater ? (place_v)(place) : before, 0, line->place + i);
    }
}

/* Combines the rows of the windows of a line; x is at the image. A place is the position of the
 * first column of the line in a row. */
TENON_FUNCTION void fill_line(pool_line *line, __global const data_t *x,
                              const pool_windows_args *args, const pool_range *r)
{
    const int is_max = args->kind == POOL_KIND_MAX;
    const place_t first =
        (place_t)((r[0].at * args->size[1] + r[1].at) * args->size[2] + line->first);
    for (long i = 0; i < line->count; i += TENON_VW) {
        TENON_VSTORE(splat(is_max ? (acc_t)(-INFINITY) : (acc_t)0), 0, line->value + i);
        TENON_VSTORE((place_v)(first), 0, line->place + i);
    }
    for (long i = 0; i < r[0].count; i++) {
        for (long j = 0; j < r[1].count; j++) {
            const long d = r[0].at + i * r[0].step, h = r[1].at + j * r[1].step;
            __global const data_t *row =
                x + d * args->x_stride[2] + h * args->x_stride[3] + line->first;
            if (is_max) {
                compare_row(line, row,
                            (place_t)((d * args->size[1] + h) * args->size[2] + line->first));
            } else {
                add_row(line, row, args);
            }
        }
    }
}

/* Returns the maximum of the columns of output i, and the position of the first element that equals
 * it. */
TENON_INLINE acc_t maximum_of_columns(const pool_line *line, const pool_chunk *chunk, long i,
                                      long step, long empty, long *where)
{
    acc_t best = (acc_t)(-INFINITY);
    long first = empty;
    for (long k = 0; k < chunk->count[i]; k++) {
        const long at = chunk->at[i] + k * step, place = line->place[at] + at;
        const acc_t value = line->value[at];
        const int is_same = (value == best) | ((value != value) & (best != best)),
                  is_greater = (value > best) | ((value != value) & (best == best)),
                  takes = is_greater | (is_same & (place < first));
        best = takes ? value : best;
        first = takes ? place : first;
    }
    *where = first;
    return best;
}

TENON_INLINE acc_t sum_of_columns(const pool_line *line, const pool_chunk *chunk, long i, long step)
{
    acc_t sum = 0;
    for (long k = 0; k < chunk->count[i]; k++) {
        sum += line->value[chunk->at[i] + k * step];
    }
    return sum;
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
pool_lines_rows(__global const data_t *x, __global data_t *y, __global int *indices,
                const pool_lines_args all)
{
    const pool_windows_args *args = &all.windows;
    const long q = (long)get_global_id(0) * all.chunk, count = min(all.chunk, args->out[2] - q);
    const long begin = (long)get_global_id(1) * args->each,
               end = min(begin + args->each, (long)args->count);
    const long step = args->flags & POOL_ADAPTIVE ? 1 : args->dilation[2];
    pool_line line;
    pool_chunk chunk;
    find_chunk(&chunk, &line, args, q, count);
    for (long number = begin; number < end; number++) {
        image_place p;
        pool_range r[3];
        find_image_place(&p, number, args->channels, 0, args->out[0], args->out[1], 1);
        find_range(r, args, 0, p.at[0]);
        find_range(r + 1, args, 1, p.at[1]);
        fill_line(&line, x + args->x_offset + p.n * args->x_stride[0] + p.c * args->x_stride[1],
                  args, r);
        __global data_t *to = y + args->y_offset + p.n * args->y_stride[0] +
                              p.c * args->y_stride[1] + p.at[0] * args->y_stride[2] +
                              p.at[1] * args->y_stride[3] + q * args->y_stride[4];
        __global int *index = indices + args->index_offset + p.n * args->index_stride[0] +
                              p.c * args->index_stride[1] + p.at[0] * args->index_stride[2] +
                              p.at[1] * args->index_stride[3] + q * args->index_stride[4];
        if (args->kind == POOL_KIND_MAX) {
            const long row = (r[0].at * args->size[1] + r[1].at) * args->size[2] + line.first;
            for (long i = 0; i < count; i++) {
                long where;
                store_data(to, i * args->y_stride[4],
                           maximum_of_columns(&line, &chunk, i, step, row + chunk.at[i], &where));
                if (args->flags & POOL_HAS_INDICES) {
                    index[i * args->index_stride[4]] = (int)where;
                }
            }
        } else {
            for (long i = 0; i < count; i++) {
                r[2].counted = (long)chunk.counted[i];
                store_data(to, i * args->y_stride[4],
                           result_of_sum(args, r, sum_of_columns(&line, &chunk, i, step)));
            }
        }
    }
}

/* Computes `lanes` channels of an output; x and y are at the first of them. */
TENON_INLINE void store_channels(__global const data_t *x, __global data_t *y,
                                 __global int *indices, const pool_windows_args *args,
                                 const pool_range *r, int lanes)
{
    if (args->kind == POOL_KIND_MAX) {
        acc_v best = splat((acc_t)(-INFINITY));
        place_v where =
            (place_v)((place_t)((r[0].at * args->size[1] + r[1].at) * args->size[2] + r[2].at));
        EACH_TAP(args, args->x_stride, r, {
            const acc_v value = load_lanes(x, at, 1, lanes);
            const place_v is_greater = (value > best) | ((value != value) & (best == best));
            best = is_greater ? value : best;
            where = is_greater ? (place_v)((place_t)place) : where;
        })
        store_lanes(y, 0, 1, lanes, best);
        if (args->flags & POOL_HAS_INDICES) {
            place_t places[TENON_VW];
            TENON_VSTORE(where, 0, places);
            for (int l = 0; l < lanes; l++) {
                indices[l * args->index_stride[1]] = (int)places[l];
            }
        }
        return;
    }
    acc_v sum = splat(0);
    EACH_TAP(args, args->x_stride, r, {
        sum += terms_of(args, load_lanes(x, at, 1, lanes));
        (void)place;
    })
    if (args->kind != POOL_KIND_LP) {
        store_lanes(y, 0, 1, lanes, sum / splat(divisor_of(r)));
        return;
    }
    acc_t sums[TENON_VW];
    TENON_VSTORE(sum, 0, sums);
    for (int l = 0; l < lanes; l++) {
        store_data(y, l, result_of_sum(args, r, sums[l]));
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
pool_lines_channels(__global const data_t *x, __global data_t *y, __global int *indices,
                    const pool_lines_args all)
{
    const pool_windows_args *args = &all.windows;
    const long first = (long)get_global_id(0) * all.chunk,
               last = min(first + all.chunk, (long)args->channels);
    const long begin = (long)get_global_id(1) * args->each,
               end = min(begin + args->each, (long)args->count);
    for (long number = begin; number < end; number++) {
        image_place p;
        pool_range r[3];
        find_image_place(&p, number, 1, 0, args->out[0], args->out[1], args->out[2]);
        long to = args->y_offset + p.n * args->y_stride[0],
             index = args->index_offset + p.n * args->index_stride[0];
        for (int d = 0; d < 3; d++) {
            find_range(r + d, args, d, p.at[d]);
            to += p.at[d] * args->y_stride[2 + d];
            index += p.at[d] * args->index_stride[2 + d];
        }
        for (long c = first; c < last; c += TENON_VW) {
            store_channels(x + args->x_offset + p.n * args->x_stride[0] + c, y + to + c,
                           indices + index + c * args->index_stride[1], args, r,
                           (int)min(last - c, (long)TENON_VW));
        }
    }
}

/*
 * Resize on CPUs by tables (resize/table.cl). The targets are y, or dx for the gradient; the
 * sources x, or dy. A work-item combines the rows of a line's windows over d and h in a private
 * array, then the elements of each target along w.
 *
 * - resize_rows: sources and targets are contiguous along w. A line is a row of one channel; lines
 *   are numbered n, c, d, h. Vectors lie along w.
 * - resize_channels: sources and targets are contiguous along the channels. A line has args.block
 *   channels; lines are numbered n, d, h. Vectors lie along the channels, or if these are fewer
 * than lanes, along the contiguous targets of several pixels.
 *
 * A work-item handles args.chunk targets along w of args.lines lines. Global size: {ceil(w /
 * chunk), ceil(line_count / lines)}, for the channels times ceil(channels / block) in the first
 * dimension.
 *
 * TENON_RESIZE_LINE: elements of the private array. They include the sources of a chunk, and the
 *   most weights of a target besides.
 * TENON_RESIZE_CHUNK: the most targets of a chunk.
 *
 * TENON_DTYPE, TENON_VW: see common/types.clh.
 */
#include "resize/rows.clh"

/* Returns TENON_VW targets from q on. Sources without weight are ignored, whatever they are. */
TENON_INLINE acc_v targets_of_line(const acc_t *line, const resize_chunk *chunk,
                                   const resize_rows_args *args, __global const acc_t *weights,
                                   long q, int lanes)
{
    acc_v sum = splat((acc_t)(-0.0f));
    acc_t value[TENON_VW];
    const long count = args->table[2].targets;
    const int *source = chunk->source + (q - chunk->first);
    for (int k = 0; k < args->table[2].most; k++) {
        acc_t weight[TENON_VW];
        for (int l = 0; l < TENON_VW; l++) {
            value[l] = l < lanes ? line[max(source[l], 0) + k] : 0;
            weight[l] = l < lanes ? weights[k * count + q + l] : 0;
        }
        const acc_v w = TENON_VLOAD(0, weight);
        sum = w != splat(0) ? TENON_FMA(w, TENON_VLOAD(0, value), sum) : sum;
    }
    TENON_VSTORE(sum, 0, value);
    for (int l = 0; l < lanes; l++) {
        value[l] = source[l] < 0 ? TENON_FROM_BITS(args->extrapolation) : value[l];
    }
    return TENON_VLOAD(0, value);
}

/* The same for a whole vector, none of whose targets is extrapolated. */
TENON_INLINE acc_v inner_targets_of_line(const acc_t *line, const resize_chunk *chunk,
                                         const resize_rows_args *args,
                                         __global const acc_t *weights, long q)
{
    const int *source = chunk->source + (q - chunk->first);
    acc_v sum = splat((acc_t)(-0.0f));
    for (int k = 0; k < args->table[2].most; k++) {
        acc_t value[TENON_VW];
        _Pragma("unroll") for (int l = 0; l < TENON_VW; l++)
        {
            value[l] = line[source[l] + k];
        }
        const acc_v w = TENON_VLOAD(0, weights + k * (long)args->table[2].targets + q);
        sum = w != splat(0) ? TENON_FMA(w, TENON_VLOAD(0, value), sum) : sum;
    }
    return sum;
}

TENON_FUNCTION void finish_row(const acc_t *line, __global data_t *y, const resize_chunk *chunk,
                               const resize_rows_args *args, __global const acc_t *weights)
{
    for (long q = chunk->first; q < chunk->last; q += TENON_VW) {
        const int lanes = (int)min(chunk->last - q, (long)TENON_VW);
        if (lanes == TENON_VW && chunk->is_inner) {
            store_data_v(y, q, inner_targets_of_line(line, chunk, args, weights, q));
        } else if (lanes == TENON_VW) {
            store_data_v(y, q, targets_of_line(line, chunk, args, weights, q, TENON_VW));
        } else {
            store_part(y + q, lanes, targets_of_line(line, chunk, args, weights, q, lanes));
        }
    }
}

TENON_INLINE void fill_row(__global data_t *y, const resize_chunk *chunk, acc_t value)
{
    for (long q = chunk->first; q < chunk->last; q++) {
        store_data(y, q, value);
    }
}

TENON_VECTOR_KERNEL void resize_rows(__global const data_t *x, __global data_t *y,
                                     __global const int *integers, __global const acc_t *numbers,
                                     const resize_rows_args args)
{
    const resize_tables tables = {integers + args.integers, numbers + args.numbers};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    acc_t line[TENON_RESIZE_LINE + TENON_VW];
    resize_chunk chunk;
    find_chunk(&chunk, &tables, args.table + 2, (long)get_global_id(0) * args.chunk, args.chunk);
    const long count = min(max(chunk.end - chunk.begin, 0L), (long)TENON_RESIZE_LINE);
    for (long number = first; number < last; number++) {
        resize_line at;
        resize_entry d, h;
        find_line(&at, &args, number, args.channels);
        find_entry(&d, &tables, args.table, at.d);
        find_entry(&h, &tables, args.table + 1, at.h);
        __global data_t *to = y + args.y_offset + at.n * args.y_stride[0] +
                              at.c * args.y_stride[1] + at.d * args.y_stride[2] +
                              at.h * args.y_stride[3];
        if (d.count < 0 || h.count < 0) {
            fill_row(to, &chunk, TENON_FROM_BITS(args.extrapolation));
            continue;
        }
        combine_rows(line,
                     x + args.x_offset + at.n * args.x_stride[0] + at.c * args.x_stride[1] +
                         chunk.begin,
                     &args, &d, &h, count);
        finish_row(line, to, &chunk, &args, tables.numbers + args.table[2].weights);
    }
}

/* Computes `count` channels of one target from the combined rows, in which a pixel has `count`
 * elements. */
TENON_FUNCTION void finish_pixel(const acc_t *line, __global data_t *y,
                                 const resize_rows_args *args, const resize_entry *w, long count)
{
    for (long c = 0; c < count; c += TENON_VW) {
        acc_v sum = splat((acc_t)(-0.0f));
        for (long k = 0; k < w->count; k++) {
            const acc_t weight = w->weights[k * w->step];
            if (weight != 0) {
                sum = TENON_FMA(splat(weight), TENON_VLOAD(0, line + k * count + c), sum);
            }
        }
        if (w->count < 0) {
            sum = splat(TENON_FROM_BITS(args->extrapolation));
        }
        store_part(y + c, (int)min(count - c, (long)TENON_VW), sum);
    }
}

/* Combines the rows of all pixels of a chunk, at once if they are contiguous. */
TENON_INLINE void combine_pixels(acc_t *line, __global const data_t *x,
                                 const resize_rows_args *args, const resize_entry *d,
                                 const resize_entry *h, long pixels, long count)
{
    if (args->x_stride[4] == count) {
        combine_rows(line, x, args, d, h, pixels * count);
        return;
    }
    for (long i = 0; i < pixels; i++) {
        combine_rows(line + i * count, x + i * args->x_stride[4], args, d, h, count);
    }
}

/* The most weights of a target of an interleaved_row. */
#define INTERLEAVED_MOST 4

/* The targets of a chunk with all their channels, numbered from 0: the first source of each in the
 * combined rows, and its weights. Up to a whole vector of them, weights are 0. */
typedef struct interleaved_row {
    int count;
    int source[TENON_RESIZE_CHUNK + TENON_VW];
    acc_t weight[INTERLEAVED_MOST][TENON_RESIZE_CHUNK + TENON_VW];
} interleaved_row;

TENON_INLINE int is_interleaved(const resize_chunk *chunk, const resize_rows_args *args)
{
    return args->channels < TENON_VW && args->y_stride[4] == args->channels && chunk->is_inner &&
           args->table[2].most <= INTERLEAVED_MOST;
}

TENON_FUNCTION void interleave(interleaved_row *row, const resize_chunk *chunk,
                               const resize_rows_args *args, __global const acc_t *weights)
{
    const int channels = (int)args->channels;
    row->count = (int)(chunk->last - chunk->first) * channels;
    for (int i = 0; i < row->count + TENON_VW; i++) {
        const int q = i / channels, within = i < row->count;
        row->source[i] = within ? chunk->source[q] * channels + i % channels : 0;
        for (int k = 0; k < args->table[2].most; k++) {
            const long at = k * (long)args->table[2].targets + chunk->first + q;
            row->weight[k][i] = within ? weights[at] : 0;
        }
    }
}

TENON_FUNCTION void finish_interleaved(const acc_t *line, __global data_t *y,
                                       const resize_rows_args *args, const interleaved_row *row)
{
    const int channels = (int)args->channels;
    for (int i = 0; i < row->count; i += TENON_VW) {
        acc_v sum = splat((acc_t)(-0.0f));
        for (int k = 0; k < args->table[2].most; k++) {
            acc_t value[TENON_VW];
            _Pragma("unroll") for (int l = 0; l < TENON_VW; l++)
            {
                value[l] = line[row->source[i + l] + k * channels];
            }
            const acc_v w = TENON_VLOAD(0, row->weight[k] + i);
            sum = w != splat(0) ? TENON_FMA(w, TENON_VLOAD(0, value), sum) : sum;
        }
        store_part(y + i, min(row->count - i, TENON_VW), sum);
    }
}

TENON_VECTOR_KERNEL void resize_channels(__global const data_t *x, __global data_t *y,
                                         __global const int *integers,
                                         __global const acc_t *numbers, const resize_rows_args args)
{
    const resize_tables tables = {integers + args.integers, numbers + args.numbers};
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long blocks = (args.channels + args.block - 1) / args.block;
    const long c = (long)get_global_id(0) % blocks * args.block;
    const long count = min(args.block, args.channels - c);
    acc_t line[TENON_RESIZE_LINE + TENON_VW];
    resize_chunk chunk;
    find_chunk(&chunk, &tables, args.table + 2, (long)get_global_id(0) / blocks * args.chunk,
               args.chunk);
    interleaved_row row;
    const int interleaved = is_interleaved(&chunk, &args);
    if (interleaved) {
        interleave(&row, &chunk, &args, tables.numbers + args.table[2].weights);
    }
    const long pixels = min(max(chunk.end - chunk.begin, 0L), TENON_RESIZE_LINE / count);
    for (long number = first; number < last; number++) {
        resize_line at;
        resize_entry d, h, w;
        find_line(&at, &args, number, 1);
        find_entry(&d, &tables, args.table, at.d);
        find_entry(&h, &tables, args.table + 1, at.h);
        const int outside = d.count < 0 || h.count < 0;
        if (!outside) {
            combine_pixels(line,
                           x + args.x_offset + at.n * args.x_stride[0] + c +
                               chunk.begin * args.x_stride[4],
                           &args, &d, &h, pixels, count);
        }
        __global data_t *to = y + args.y_offset + at.n * args.y_stride[0] + c +
                              at.d * args.y_stride[2] + at.h * args.y_stride[3];
        if (interleaved && !outside) {
            finish_interleaved(line, to + chunk.first * args.y_stride[4], &args, &row);
            continue;
        }
        for (long q = chunk.first; q < chunk.last; q++) {
            find_entry(&w, &tables, args.table + 2, q);
            w.count = outside ? -1 : w.count;
            finish_pixel(line + max(chunk.source[q - chunk.first], 0) * count,
                         to + q * args.y_stride[4], &args, &w, count);
        }
    }
}

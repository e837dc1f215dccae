/*
 * Padding: copies x to the interior of y. A work-item handles a piece of some lines along the last
 * dimension of y (common/walk.clh, with its global size): in constant mode, a line in the padding
 * is filled; any other line is copied, with padding at its two ends.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh.
 */
#include "common/element.clh"

#include "common/walk.clh"

#include "pad/args.h"

/* Returns the index in x of entry i of y's dimension d; -1 if there is none. */
TENON_INLINE long source_of(const pad_args *args, int d, long i)
{
    const long at = i - entry_of(args->begin, d), last = entry_of(args->size, d) - 1;
    if (at >= 0 && at <= last) {
        return at;
    }
    if (args->mode == PAD_CONSTANT) {
        return -1;
    }
    if (args->mode == PAD_EDGE) {
        return at < 0 ? 0 : last;
    }
    return at < 0 ? -at : 2 * last - at;
}

/* Returns the offset of the line in x; -1 if the whole line is padding. */
TENON_INLINE long source_line(const pad_args *args, const walk *w)
{
    long line = args->walk.offset[1];
    EACH_UP(d, 0, args->walk.rank - 1)
    {
        long i = source_of(args, d, w->index[d]);
        if (i < 0) {
            return -1;
        }
        line += i * args->walk.stride[1][d];
    }
    return line;
}

/* Writes elements [first, last) of a line, all of which are padding. */
TENON_INLINE void pad_end(__global const element_t *x, __global element_t *y, const pad_args *args,
                          long first, long last)
{
    const int d = args->walk.rank - 1;
    const long ys = args->walk.step[0], xs = args->walk.step[1];
    if (args->mode == PAD_CONSTANT) {
        fill_line(y, ys, first, last, (element_t)args->value);
        return;
    }
    for (long i = first; i < last; i++) {
        y[i * ys] = x[source_of(args, d, i) * xs];
    }
}

TENON_KERNEL void forward(__global const element_t *x, __global element_t *y, const pad_args args)
{
    const int d = args.walk.rank - 1;
    const long ys = args.walk.step[0], xs = args.walk.step[1];
    const long begin = entry_of(args.begin, d);
    walk w;
    walk_begin(&w, &args.walk, 1);
    const long from = clamp(begin, w.first, w.last);
    const long to = clamp(begin + entry_of(args.size, d), from, w.last);
    EACH_ROW(&w, &args.walk, 1)
    {
        __global element_t *line = y + w.at[0];
        long source = source_line(&args, &w);
        if (source < 0) {
            fill_line(line, ys, w.first, w.last, (element_t)args.value);
        } else {
            pad_end(x + source, line, &args, w.first, from);
            copy_line(x + source + (from - begin) * xs, xs, line + from * ys, ys, 0, to - from);
            pad_end(x + source, line, &args, to, w.last);
        }
    }
}

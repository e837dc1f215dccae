/*
 * Rearrangements of elements. A work-item handles a piece of some lines along the last dimension of
 * y (common/walk.clh, with its global size).
 *
 * wrapped: copies x periodically, shifted and reversed.
 * triangle: copies a triangle of each matrix, and fills the rest.
 * reversed: reverses the first elements along an axis.
 * one_hot: compares the number of each element with an index.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh. TENON_INDEX: see common/index.clh.
 */
#include "common/element.clh"

#include "common/index.clh"
#include "common/walk.clh"

#include "rearrange/args.h"

/* Returns the index in x, before reversal, of entry i of y's dimension d. */
TENON_INLINE long wrapped_index(const rearrange_args *args, int d, long i)
{
    const long size = entry_of(args->size, d);
    long at = i + entry_of(args->begin, d);
    if (at >= size) {
        long turns;
        TENON_DIVIDE(at, size, turns, at)
        (void)turns;
    }
    return at;
}

TENON_INLINE bool is_flipped(const rearrange_args *args, int d)
{
    return (args->flips >> d & 1) != 0;
}

/* Returns the offset of the line in x. */
TENON_INLINE long wrapped_line(const rearrange_args *args, const walk *w)
{
    long line = args->walk.offset[REARRANGE_X];
    EACH_UP(d, 0, args->walk.rank - 1)
    {
        const long i = wrapped_index(args, d, w->index[d]);
        line +=
            (is_flipped(args, d) ? args->size[d] - 1 - i : i) * args->walk.stride[REARRANGE_X][d];
    }
    return line;
}

TENON_KERNEL void wrapped(__global const element_t *x, __global element_t *y,
                          const rearrange_args args)
{
    const int last = args.walk.rank - 1;
    const long ys = args.walk.step[REARRANGE_Y], xs = args.walk.step[REARRANGE_X],
               size = entry_of(args.size, last);
    const bool flipped = is_flipped(&args, last);
    walk w;
    walk_begin(&w, &args.walk, 1);
    EACH_ROW(&w, &args.walk, 1)
    {
        __global element_t *line = y + w.at[REARRANGE_Y];
        __global const element_t *from = x + wrapped_line(&args, &w);
        for (long i = w.first; i < w.last;) {
            const long at = wrapped_index(&args, last, i);
            const long count = min(size - at, w.last - i);
            if (flipped) {
                copy_line(from + (size - 1 - at) * xs, -xs, line + i * ys, ys, 0, count);
            } else {
                copy_line(from + at * xs, xs, line + i * ys, ys, 0, count);
            }
            i += count;
        }
    }
}

TENON_KERNEL void triangle(__global const element_t *x, __global element_t *y,
                           const triangle_args args)
{
    const long ys = args.walk.step[REARRANGE_Y], xs = args.walk.step[REARRANGE_X],
               ns = args.walk.step[REARRANGE_NUMBER];
    const element_t value = (element_t)args.value;
    walk w;
    walk_begin(&w, &args.walk, REARRANGE_VIEWS);
    EACH_ROW(&w, &args.walk, REARRANGE_VIEWS)
    {
        __global element_t *line = y + w.at[REARRANGE_Y];
        /* Elements [low, high) belong to the triangle. ns is 0, 1 or -1. */
        const long beyond = args.most - w.at[REARRANGE_NUMBER];
        long low = w.first, high = w.last;
        if (ns == 0 && beyond < 0) {
            high = low;
        } else if (ns > 0) {
            high = clamp(beyond + 1, low, high);
        } else if (ns < 0) {
            low = clamp(-beyond, low, high);
        }
        fill_line(line, ys, w.first, low, value);
        copy_line(x + w.at[REARRANGE_X] + low * xs, xs, line + low * ys, ys, 0, high - low);
        fill_line(line, ys, high, w.last, value);
    }
}

/* Returns the position in x of position `at` along the axis. */
TENON_INLINE long reversed_at(const reverse_args *args, index_t length, long at)
{
    const long count = clamp((long)length, 0L, (long)args->size);
    return at < count ? count - 1 - at : at;
}

TENON_KERNEL void reversed(__global const element_t *x, __global const index_t *lengths,
                           __global element_t *y, const reverse_args args)
{
    const long ys = args.walk.step[REARRANGE_Y], xs = args.walk.step[REARRANGE_X],
               ls = args.walk.step[REARRANGE_LIST], ns = args.walk.step[REARRANGE_NUMBER];
    walk w;
    walk_begin(&w, &args.walk, REARRANGE_VIEWS);
    EACH_ROW(&w, &args.walk, REARRANGE_VIEWS)
    {
        __global element_t *line = y + w.at[REARRANGE_Y];
        __global const element_t *from = x + w.at[REARRANGE_X];
        const long number = w.at[REARRANGE_NUMBER];
        if (ls == 0 && ns == 0) {
            const long at = reversed_at(&args, lengths[w.at[REARRANGE_LIST]], number);
            copy_line(from + at * args.step, xs, line, ys, w.first, w.last);
        } else {
            for (long i = w.first; i < w.last; i++) {
                const long at =
                    reversed_at(&args, lengths[w.at[REARRANGE_LIST] + i * ls], number + i * ns);
                line[i * ys] = from[i * xs + at * args.step];
            }
        }
    }
}

/* Returns the class that an index selects; a number that is no class if it is out of range. */
TENON_INLINE long class_of(const one_hot_args *args, index_t index)
{
    const long at = index;
    return args->from_end && at < 0 ? at + args->classes : at;
}

TENON_KERNEL void one_hot(__global const index_t *indices, __global element_t *y,
                          const one_hot_args args)
{
    const long ys = args.walk.step[REARRANGE_Y], is = args.walk.step[REARRANGE_LIST],
               ns = args.walk.step[REARRANGE_NUMBER];
    const element_t on = (element_t)args.on, off = (element_t)args.off;
    walk w;
    walk_begin(&w, &args.walk, REARRANGE_VIEWS);
    EACH_ROW(&w, &args.walk, REARRANGE_VIEWS)
    {
        __global element_t *line = y + w.at[REARRANGE_Y];
        __global const index_t *list = indices + w.at[REARRANGE_LIST];
        const long number = w.at[REARRANGE_NUMBER];
        if (is == 0 && ns == 1) {
            const long at = class_of(&args, list[0]) - number;
            fill_line(line, ys, w.first, w.last, off);
            if (at >= w.first && at < w.last) {
                line[at * ys] = on;
            }
        } else {
            for (long i = w.first; i < w.last; i++) {
                line[i * ys] = class_of(&args, list[i * is]) == number + i * ns ? on : off;
            }
        }
    }
}

/*
 * dx = what dy gives to each element of x: each sums the windows that cover it, in the order of the
 * outputs. There are no atomics, and the same bits come out every time.
 *
 * In the arguments x is dx, y is dy and image is x. A work-item does args.lines lines of args.chunk
 * elements of dx, a line being
 *   pool_backward_rows: the elements along w of one channel; lines are numbered n, c, d, h;
 *   pool_backward_channels: the channels of one pixel; lines are numbered n, d, h, w.
 * Global size: {ceil(line length / chunk), ceil(line_count / lines)}.
 *
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average.
 * TENON_VW:       lanes of a vector, over channels.
 * TENON_DTYPE:    see common/types.clh.
 * The maximum reads indices with POOL_HAS_INDICES, and x without; the average reads neither. An
 * index that lies in no window is met by no element, and never followed.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#include "pool/window.clh"

/* The outputs first..last along one dimension whose windows may cover an element. */
typedef struct pool_cover {
    long first, last;
} pool_cover;

TENON_INLINE pool_cover cover_of(const pool_args *args, int d, long at)
{
    const long reach = (args->window[d] - 1) * args->dilation[d];
    long most = at - args->start[d], least = most - reach;
    pool_cover cover;
    cover.first = least > 0 ? quotient(least + args->step[d] - 1, args->step[d]) : 0;
    cover.last = min(quotient(most, args->step[d]), args->out[d] - 1);
    return cover;
}

/* Whether a tap of the output lies on the element, not between two taps of a dilated window. */
TENON_INLINE bool meets(const pool_args *args, int d, long at, long output)
{
    return args->dilation[d] == 1 ||
           (at - args->start[d] - output * args->step[d]) % args->dilation[d] == 0;
}

typedef struct pool_sources {
    __global const data_t *image, *y;
    __global const int *indices;
} pool_sources;

#define LOAD_POSITION(p, i, stride) ((position_t)(p)[i])

/* What the window of output o gives to the element at position `here`. Its taps are looked at where
 * nothing else says enough. */
#define POOL_DEFINE_SHARE(name, value_t, where_t, LOAD, LOAD_WHERE, MAXIMUM)                       \
    TENON_INLINE value_t name(const pool_sources *from, const pool_args *args, const long *o,      \
                              position_t here)                                                     \
    {                                                                                              \
        pool_taps taps[3];                                                                         \
        where_t where;                                                                             \
        value_t dy =                                                                               \
            LOAD(from->y,                                                                          \
                 o[0] * args->y_stride[2] + o[1] * args->y_stride[3] + o[2] * args->y_stride[4],   \
                 args->y_stride[1]);                                                               \
        if (TENON_POOL_MAX && (args->flags & POOL_HAS_INDICES)) {                                  \
            where = LOAD_WHERE(from->indices,                                                      \
                               o[0] * args->index_stride[2] + o[1] * args->index_stride[3] +       \
                                   o[2] * args->index_stride[4],                                   \
                               args->index_stride[1]);                                             \
            return where == (where_t)(here) ? dy : (value_t)((acc_t)0);                            \
        }                                                                                          \
        if (TENON_POOL_MAX || (args->flags & POOL_COUNT_INSIDE)) {                                 \
            for (int d = 0; d < 3; d++) {                                                          \
                taps[d] = taps_of(args, d, o[d]);                                                  \
            }                                                                                      \
        }                                                                                          \
        if (!TENON_POOL_MAX) {                                                                     \
            return dy / (value_t)(divisor_of(args, taps));                                         \
        }                                                                                          \
        MAXIMUM(from->image, args, args->image_stride, taps, args->image_stride[1], &where);       \
        return where == (where_t)(here) ? dy : (value_t)((acc_t)0);                                \
    }

/* All windows that cover the element at `at`. */
#define POOL_DEFINE_GATHER(name, value_t, SHARE)                                                   \
    TENON_INLINE value_t name(const pool_sources *from, const pool_args *args, const long *at,     \
                              const pool_cover *cover)                                             \
    {                                                                                              \
        const position_t here =                                                                    \
            (position_t)((at[0] * args->size[1] + at[1]) * args->size[2] + at[2]);                 \
        value_t total = (value_t)((acc_t)0);                                                       \
        long o[3];                                                                                 \
        for (o[0] = cover[0].first; o[0] <= cover[0].last; o[0]++) {                               \
            for (o[1] = cover[1].first; o[1] <= cover[1].last && meets(args, 0, at[0], o[0]);      \
                 o[1]++) {                                                                         \
                for (o[2] = cover[2].first; o[2] <= cover[2].last && meets(args, 1, at[1], o[1]);  \
                     o[2]++) {                                                                     \
                    if (meets(args, 2, at[2], o[2])) {                                             \
                        total += SHARE(from, args, o, here);                                       \
                    }                                                                              \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        return total;                                                                              \
    }

POOL_DEFINE_SHARE(share, acc_t, position_t, LOAD_ONE, LOAD_POSITION, maximum)
POOL_DEFINE_SHARE(share_v, acc_v, position_v, LOAD_ALL, load_positions, maximum_v)
POOL_DEFINE_GATHER(gather, acc_t, share)
POOL_DEFINE_GATHER(gather_v, acc_v, share_v)

/* The sources of image n, channel c. */
TENON_INLINE pool_sources sources_of(__global const data_t *image, __global const data_t *dy,
                                     __global const int *indices, const pool_args *args, long n,
                                     long c)
{
    pool_sources from;
    from.image = image + args->image_offset + n * args->image_stride[0] + c * args->image_stride[1];
    from.y = dy + args->y_offset + n * args->y_stride[0] + c * args->y_stride[1];
    from.indices =
        indices + args->index_offset + n * args->index_stride[0] + c * args->index_stride[1];
    return from;
}

__kernel void pool_backward_rows(__global const data_t *image, __global const data_t *dy,
                                 __global const int *indices, __global data_t *dx,
                                 const pool_args args)
{
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    const long q = (long)get_global_id(0) * args.chunk;
    for (long line = first; line < last; line++) {
        long at[3], rest = line / args.size[1];
        at[1] = line % args.size[1];
        at[0] = rest % args.size[0];
        rest /= args.size[0];
        long c = rest % args.channels, n = rest / args.channels;
        const pool_sources from = sources_of(image, dy, indices, &args, n, c);
        long to = args.x_offset + n * args.x_stride[0] + c * args.x_stride[1] +
                  at[0] * args.x_stride[2] + at[1] * args.x_stride[3];
        pool_cover cover[3];
        cover[0] = cover_of(&args, 0, at[0]);
        cover[1] = cover_of(&args, 1, at[1]);
        for (at[2] = q; at[2] < min(q + args.chunk, args.size[2]); at[2]++) {
            cover[2] = cover_of(&args, 2, at[2]);
            store_data(dx, to + at[2] * args.x_stride[4], gather(&from, &args, at, cover));
        }
    }
}

__kernel void pool_backward_channels(__global const data_t *image, __global const data_t *dy,
                                     __global const int *indices, __global data_t *dx,
                                     const pool_args args)
{
    const long first = (long)get_global_id(1) * args.lines;
    const long last = min(first + args.lines, args.line_count);
    for (long line = first; line < last; line++) {
        long at[3], n = line, to = args.x_offset;
        pool_cover cover[3];
        for (int d = 2; d >= 0; d--) {
            at[d] = n % args.size[d];
            n /= args.size[d];
            cover[d] = cover_of(&args, d, at[d]);
            to += at[d] * args.x_stride[2 + d];
        }
        to += n * args.x_stride[0];
        long c = (long)get_global_id(0) * args.chunk;
        const long end = min(c + args.chunk, args.channels);
        for (; c + TENON_VW <= end; c += TENON_VW) {
            const pool_sources from = sources_of(image, dy, indices, &args, n, c);
            store_lanes(dx, to + c * args.x_stride[1], args.x_stride[1], TENON_VW,
                        gather_v(&from, &args, at, cover));
        }
        for (; c < end; c++) {
            const pool_sources from = sources_of(image, dy, indices, &args, n, c);
            store_data(dx, to + c * args.x_stride[1], gather(&from, &args, at, cover));
        }
    }
}

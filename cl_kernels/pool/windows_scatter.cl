/*
 * Gradient of pooling on CPUs with windows of every kind (pool/windows.clh): adds the gradient of
 * each output to the elements of dx that it depends on, output by output. The result of a window is
 * computed once. Sums are in the order of the outputs, as in pool/windows_backward.cl.
 *
 * In the arguments x is dx, y is dy and image is x. A work-item clears args.each channels of an
 * image of dx, and adds to them all of their outputs.
 *
 * Global size: {ceil(channels / each), images}. The maximum reads indices with POOL_HAS_INDICES,
 * and x without; the norm reads x, the average neither.
 *
 * TENON_DTYPE: f32 or f64, because dx holds the sums. TENON_VW: see common/types.clh.
 */
#ifndef TENON_VW
#define TENON_VW 8
#endif
#include "pool/windows.clh"

/* One channel: pointers to the first elements of its planes. */
typedef struct window_planes {
    __global const data_t *image, *dy;
    __global const int *indices;
    __global data_t *dx;
} window_planes;

TENON_INLINE void clear_channels(__global data_t *dx, const pool_windows_args *args, long channels)
{
    const long along[2] = {args->side_by_side ? channels : args->size[2],
                           args->side_by_side ? args->size[2] : channels};
    const long step[2] = {args->x_stride[args->side_by_side ? 1 : 4],
                          args->x_stride[args->side_by_side ? 4 : 1]};
    for (long i = 0; i < along[1]; i++) {
        for (long d = 0; d < args->size[0]; d++) {
            for (long h = 0; h < args->size[1]; h++) {
                __global data_t *line =
                    dx + i * step[1] + d * args->x_stride[2] + h * args->x_stride[3];
                for (long k = 0; k < along[0]; k += TENON_VW) {
                    store_lanes(line, k * step[0], step[0], (int)min(along[0] - k, (long)TENON_VW),
                                splat(0));
                }
            }
        }
    }
}

/* Executes a statement for each row of taps of a window; `to` and `from` are at its first tap in dx
 * and in x. */
#define EACH_ROW_OF_WINDOW(planes, args, r, statement)                                             \
    for (long i = 0; i < (r)[0].count; i++) {                                                      \
        for (long j = 0; j < (r)[1].count; j++) {                                                  \
            const long d = (r)[0].at + i * (r)[0].step, h = (r)[1].at + j * (r)[1].step;           \
            __global data_t *to = (planes)->dx + d * (args)->x_stride[2] +                         \
                                  h * (args)->x_stride[3] + (r)[2].at * (args)->x_stride[4];       \
            __global const data_t *from = (planes)->image + d * (args)->image_stride[2] +          \
                                          h * (args)->image_stride[3] +                            \
                                          (r)[2].at * (args)->image_stride[4];                     \
            statement                                                                              \
        }                                                                                          \
    }

/* An index that is not that of a tap matches no element. */
TENON_INLINE void add_maximum(const window_planes *planes, const pool_windows_args *args,
                              const pool_range *r, acc_t dy, long index_at)
{
    long where;
    if (args->flags & POOL_HAS_INDICES) {
        where = planes->indices[index_at];
    } else {
        maximum_of(planes->image, args, args->image_stride, r, &where);
    }
    const long row = where / args->size[2], w = where - row * args->size[2];
    const long d = row / args->size[1], h = row - d * args->size[1];
    if (where >= 0 && is_tap(r, d) && is_tap(r + 1, h) && is_tap(r + 2, w)) {
        planes->dx[d * args->x_stride[2] + h * args->x_stride[3] + w * args->x_stride[4]] += dy;
    }
}

/* Adds a norm's gradient. In each element it is dy * (|x| / norm)^(p - 1) with the sign of x. */
TENON_INLINE void add_norm(const window_planes *planes, const pool_windows_args *args,
                           const pool_range *r, acc_t dy)
{
    const acc_t p = TENON_FROM_BITS(args->p);
    const long to_step = r[2].step * args->x_stride[4],
               from_step = r[2].step * args->image_stride[4];
    long where;
    const acc_t norm = result_of(planes->image, args, args->image_stride, r, &where);
    if (norm == 0) {
        return;
    }
    EACH_ROW_OF_WINDOW(planes, args, r, {
        for (long k = 0; k < r[2].count; k++) {
            to[k * to_step] += norm_share(load_data(from, k * from_step), norm, p, dy);
        }
    })
}

TENON_INLINE void add_value(const window_planes *planes, const pool_windows_args *args,
                            const pool_range *r, acc_t value)
{
    const long step = r[2].step * args->x_stride[4];
    EACH_ROW_OF_WINDOW(planes, args, r, {
        (void)from;
        for (long k = 0; k < r[2].count; k++) {
            to[k * step] += value;
        }
    })
}

/* Adds the gradient of output `o` of some channels. */
TENON_FUNCTION void add_output(const window_planes *first, const pool_windows_args *args,
                               const pool_range *r, const long *o, long channels)
{
    const long y_at =
                   o[0] * args->y_stride[2] + o[1] * args->y_stride[3] + o[2] * args->y_stride[4],
               index_at = o[0] * args->index_stride[2] + o[1] * args->index_stride[3] +
                          o[2] * args->index_stride[4];
    for (long c = 0; c < channels; c++) {
        const window_planes planes = {
            first->image + c * args->image_stride[1], first->dy + c * args->y_stride[1],
            first->indices + c * args->index_stride[1], first->dx + c * args->x_stride[1]};
        const acc_t dy = load_data(planes.dy, y_at);
        if (args->kind == POOL_KIND_MAX) {
            add_maximum(&planes, args, r, dy, index_at);
        } else if (args->kind == POOL_KIND_LP) {
            add_norm(&planes, args, r, dy);
        } else {
            add_value(&planes, args, r, dy / divisor_of(r));
        }
    }
}

TENON_VECTOR_KERNEL __attribute__((reqd_work_group_size(1, 1, 1))) void
pool_windows_scatter(__global const data_t *image, __global const data_t *dy,
                     __global const int *indices, __global data_t *dx, const pool_windows_args args)
{
    const long c = (long)get_global_id(0) * args.each, n = (long)get_global_id(1),
               channels = min((long)args.each, args.channels - c);
    const window_planes first = {
        image + args.image_offset + n * args.image_stride[0] + c * args.image_stride[1],
        dy + args.y_offset + n * args.y_stride[0] + c * args.y_stride[1],
        indices + args.index_offset + n * args.index_stride[0] + c * args.index_stride[1],
        dx + args.x_offset + n * args.x_stride[0] + c * args.x_stride[1]};
    pool_range r[3];
    long o[3];
    clear_channels(first.dx, &args, channels);
    for (o[0] = 0; o[0] < args.out[0]; o[0]++) {
        find_range(r, &args, 0, o[0]);
        for (o[1] = 0; o[1] < args.out[1]; o[1]++) {
            find_range(r + 1, &args, 1, o[1]);
            for (o[2] = 0; o[2] < args.out[2]; o[2]++) {
                find_range(r + 2, &args, 2, o[2]);
                add_output(&first, &args, r, o, channels);
            }
        }
    }
}

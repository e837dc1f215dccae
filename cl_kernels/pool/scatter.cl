/*
 * Gradient of pooling on CPUs: adds the gradient of each output to the elements of dx that it
 * depends on, output by output. Sums are in the order of the outputs, as in pool/backward.cl, and
 * the position of a maximum is found once for each output and slab.
 *
 * In the arguments x is dx, y is dy and image is x. A work-item handles args.chunk channels of a
 * slab, which is args.lines rows of dx, or fewer at the end of a plane. It first clears them. Slabs
 * are numbered n, d, h.
 *
 * - pool_scatter_channels: dx, dy and x are contiguous along the channels, as are vectors.
 * - pool_scatter_rows: the rows of dx are contiguous. Vectors lie along w.
 *
 * Global size: {ceil(channels / chunk), n * d * ceil(h / lines)}.
 *
 * TENON_POOL_MAX: 1 for the maximum, 0 for the average.
 * TENON_VW: lanes of a vector.
 *
 * TENON_DTYPE: f32 or f64, because dx holds the sums. The maximum reads indices with
 * POOL_HAS_INDICES, and x without; the average reads neither.
 */
#ifndef TENON_VW
#define TENON_VW 4
#endif
#ifndef TENON_POOL_MAX
#define TENON_POOL_MAX 1
#endif
#ifndef TENON_CPU
#define TENON_CPU 1
#endif
#include "pool/gradient.clh"

/* Rows [first, last) of plane d of image n, and the range of outputs whose windows may contain one
 * of their elements. */
typedef struct slab {
    long n, d, first, last;
    pool_cover planes, rows;
} slab;

TENON_INLINE slab find_slab(const pool_args *args)
{
    const long slabs = (args->size[1] + args->lines - 1) / args->lines;
    const long plane = (long)get_global_id(1) / slabs;
    pool_cover last_row;
    slab s;
    s.first = ((long)get_global_id(1) - plane * slabs) * args->lines;
    s.last = min(s.first + args->lines, (long)args->size[1]);
    s.n = plane / args->size[0];
    s.d = plane - s.n * args->size[0];
    find_cover(&s.planes, args, 0, s.d);
    find_cover(&s.rows, args, 1, s.first);
    find_cover(&last_row, args, 1, s.last - 1);
    s.rows.last = last_row.last;
    return s;
}

/* True if the slab has rows of the d-th tap along the planes, or the h-th along the rows. */
TENON_INLINE bool has_plane(const slab *s, const pool_args *args, const pool_taps *taps, long d)
{
    return taps[0].at + d * args->dilation[0] == s->d;
}

TENON_INLINE bool has_row(const slab *s, long h)
{
    return h >= s->first && h < s->last;
}

/* Executes a statement for each row h of the slab that contains taps of a window. */
#define EACH_ROW_OF_TAPS(s, args, taps, h, statement)                                              \
    for (long tap_d = 0; tap_d < (taps)[0].count; tap_d++) {                                       \
        for (long tap_h = 0; tap_h < (taps)[1].count && has_plane(s, args, taps, tap_d);           \
             tap_h++) {                                                                            \
            const long h = (taps)[1].at + tap_h * (args)->dilation[1];                             \
            if (has_row(s, h)) {                                                                   \
                statement                                                                          \
            }                                                                                      \
        }                                                                                          \
    }

#define LOAD_PART(p, i, lanes) load_part((p) + (i), (int)(lanes), 0)
POOL_DEFINE_MAXIMUM(maximum_part, acc_v, position_v, LOAD_PART)

/* The positions of an output's maximum in `lanes` channels; p is at the index of the first. */
TENON_INLINE position_v load_some_positions(__global const int *p, long stride, int lanes)
{
    position_t x[TENON_VW];
    for (int l = 0; l < TENON_VW; l++) {
        x[l] = l < lanes ? p[l * stride] : -1;
    }
    return TENON_VLOAD(0, x);
}

/* Adds the gradient of an output in `lanes` channels; `from` and `to` are at the first of them, and
 * `to` at row 0 of the plane. */
TENON_FUNCTION void scatter_vector(const slab *s, const pool_sources *from, __global data_t *to,
                                   const pool_args *args, const long *o, const pool_taps *taps,
                                   int lanes)
{
    const long y_at =
        o[0] * args->y_stride[2] + o[1] * args->y_stride[3] + o[2] * args->y_stride[4];
    acc_v value = load_part(from->y + y_at, lanes, 0);
#if TENON_POOL_MAX
    position_v where;
    if (args->flags & POOL_HAS_INDICES) {
        where = load_some_positions(from->indices + o[0] * args->index_stride[2] +
                                        o[1] * args->index_stride[3] + o[2] * args->index_stride[4],
                                    args->index_stride[1], lanes);
    } else {
        maximum_part(from->image, args, args->image_stride, taps, lanes, &where);
    }
#else
    value /= splat(divisor_of(args, taps));
#endif
    EACH_ROW_OF_TAPS(s, args, taps, h, {
        for (long k = 0; k < taps[2].count; k++) {
            const long w = taps[2].at + k * args->dilation[2];
            __global data_t *p = to + h * args->x_stride[3] + w * args->x_stride[4];
#if TENON_POOL_MAX
            const position_v here =
                (position_v)((position_t)((s->d * args->size[1] + h) * args->size[2] + w));
            const acc_v share = where == here ? value : splat(0);
#else
            const acc_v share = value;
#endif
            store_part(p, lanes, load_part(p, lanes, 0) + share);
        }
    })
}

TENON_VECTOR_KERNEL void pool_scatter_channels(__global const data_t *image,
                                               __global const data_t *dy,
                                               __global const int *indices, __global data_t *dx,
                                               const pool_args args)
{
    const slab s = find_slab(&args);
    const long c = (long)get_global_id(0) * args.chunk;
    const long count = min(args.chunk, args.channels - c);
    const pool_sources all = sources_of(image, dy, indices, &args, s.n, c);
    __global data_t *to = dx + args.x_offset + s.n * args.x_stride[0] + c + s.d * args.x_stride[2];
    for (long h = s.first; h < s.last; h++) {
        for (long w = 0; w < args.size[2]; w++) {
            for (long i = 0; i < count; i += TENON_VW) {
                store_part(to + h * args.x_stride[3] + w * args.x_stride[4] + i,
                           (int)min(count - i, (long)TENON_VW), splat(0));
            }
        }
    }
    long o[3];
    for (o[0] = s.planes.first; o[0] <= s.planes.last; o[0]++) {
        for (o[1] = s.rows.first; o[1] <= s.rows.last; o[1]++) {
            for (o[2] = 0; o[2] < args.out[2]; o[2]++) {
                pool_taps taps[3];
                for (int d = 0; d < 3; d++) {
                    find_taps(taps + d, &args, d, o[d]);
                }
                for (long i = 0; i < count; i += TENON_VW) {
                    const pool_sources from = {all.image + i, all.y + i,
                                               all.indices + i * args.index_stride[1]};
                    scatter_vector(&s, &from, to + i, &args, o, taps,
                                   (int)min(count - i, (long)TENON_VW));
                }
            }
        }
    }
}

/* A row of outputs: its first gradient and index, and the taps of its windows along d and h. */
typedef struct output_row {
    __global const data_t *y;
    __global const int *indices;
    pool_taps taps[3];
} output_row;

/* A slab of one channel: its first element, the position of this element, the number of elements,
 * and those between two rows in memory that belong to neither. */
typedef struct slab_elements {
    __global data_t *to;
    long begin, count, gap;
} slab_elements;

#if TENON_POOL_MAX

/* Loads p[i], p[i + step], …, without reading past the last of them. */
TENON_INLINE acc_v load_by(__global const data_t *p, long i, long step)
{
    if (step == 2) {
        const acc_v a = load_data_v(p, i), b = load_data_v(p, i + TENON_VW - 1);
        return (acc_v)(a.even, b.odd);
    }
    return load_lanes(p, i, step, TENON_VW);
}
POOL_DEFINE_MAXIMUM(maximum_by, acc_v, position_v, load_by)

TENON_INLINE void add_at(const slab_elements *e, const pool_args *args, long position, acc_t value)
{
    const long i = position - e->begin;
    if (i >= 0 && i < e->count) {
        e->to[i + (e->gap != 0 ? i / args->size[2] * e->gap : 0)] += value;
    }
}

/* True if the position is that of a tap. */
TENON_INLINE bool is_tap(const slab *s, const pool_args *args, const pool_taps *taps, long position)
{
    EACH_ROW_OF_TAPS(s, args, taps, h, {
        const long i = position - (s->d * args->size[1] + h) * args->size[2] - taps[2].at;
        if (i >= 0 && i < taps[2].count * args->dilation[2] && i % args->dilation[2] == 0) {
            return true;
        }
    })
    return false;
}

/* Adds the gradients of TENON_VW outputs from `first` on, from output q on. The taps of all of them
 * are inside x. */
TENON_INLINE void scatter_inner(const slab_elements *e, const output_row *row,
                                __global const data_t *image, const pool_args *args, long first,
                                long q)
{
    position_t place[TENON_VW];
    position_v where;
    pool_taps taps[3] = {
        row->taps[0], row->taps[1], {first * args->step[2] + args->start[2], args->window[2]}};
    maximum_by(image, args, args->image_stride, taps, args->step[2] * args->image_stride[4],
               &where);
    TENON_VSTORE(where, 0, place);
    for (long l = q - first; l < TENON_VW; l++) {
        add_at(e, args, place[l] + l * args->step[2],
               load_data(row->y, (first + l) * args->y_stride[4]));
    }
}

TENON_FUNCTION void scatter_row(const slab *s, const slab_elements *e, output_row *row,
                                __global const data_t *image, const pool_args *args)
{
    const bool has_indices = (args->flags & POOL_HAS_INDICES) != 0,
               has_vectors = !has_indices && args->inner_last - args->inner_first >= TENON_VW;
    for (long q = 0; q < args->out[2];) {
        if (has_vectors && q >= args->inner_first && q < args->inner_last) {
            const long first = min(q, args->inner_last - TENON_VW);
            scatter_inner(e, row, image, args, first, q);
            q = first + TENON_VW;
            continue;
        }
        position_t where;
        find_taps(row->taps + 2, args, 2, q);
        if (has_indices) {
            where = (position_t)row->indices[q * args->index_stride[4]];
        } else {
            maximum(image, args, args->image_stride, row->taps, 0, &where);
        }
        if (!has_indices || is_tap(s, args, row->taps, where)) {
            add_at(e, args, where, load_data(row->y, q * args->y_stride[4]));
        }
        q++;
    }
}

#else

/* Adds the value to `count` elements, `step` apart. */
TENON_INLINE void add_to_taps(__global data_t *p, long count, long step, acc_t value)
{
    long k = 0;
    if (step == 1) {
        for (; k + TENON_VW <= count; k += TENON_VW) {
            store_data_v(p, k, load_data_v(p, k) + splat(value));
        }
    }
    for (; k < count; k++) {
        p[k * step] += value;
    }
}

/* Adds the gradients of a row of outputs to one row of dx, at p. */
TENON_INLINE void scatter_to_row(__global data_t *p, output_row *row, const pool_args *args)
{
    row->taps[2].count = args->window[2];
    const acc_t divisor = divisor_of(args, row->taps);
    for (long q = 0; q < args->out[2]; q++) {
        const acc_t dy = load_data(row->y, q * args->y_stride[4]);
        if (q >= args->inner_first && q < args->inner_last) {
            add_to_taps(p + q * args->step[2] + args->start[2], args->window[2], args->dilation[2],
                        dy / divisor);
        } else {
            find_taps(row->taps + 2, args, 2, q);
            add_to_taps(p + row->taps[2].at, row->taps[2].count, args->dilation[2],
                        dy / divisor_of(args, row->taps));
        }
    }
}

TENON_FUNCTION void scatter_row(const slab *s, const slab_elements *e, output_row *row,
                                __global const data_t *image, const pool_args *args){
    EACH_ROW_OF_TAPS(s, args, row->taps, h,
                     { scatter_to_row(e->to + (h - s->first) * args->x_stride[3], row, args); })}

#endif

TENON_VECTOR_KERNEL void pool_scatter_rows(__global const data_t *image, __global const data_t *dy,
                                           __global const int *indices, __global data_t *dx,
                                           const pool_args args)
{
    const slab s = find_slab(&args);
    long c = (long)get_global_id(0) * args.chunk;
    const long end = min(c + args.chunk, (long)args.channels);
    for (; c < end; c++) {
        const pool_sources from = sources_of(image, dy, indices, &args, s.n, c);
        const slab_elements e = {
            dx + args.x_offset + s.n * args.x_stride[0] + c * args.x_stride[1] +
                s.d * args.x_stride[2] + s.first * args.x_stride[3],
            (s.d * args.size[1] + s.first) * args.size[2], (s.last - s.first) * args.size[2],
            args.size[1] > 1 ? args.x_stride[3] - args.size[2] : 0};
        for (long h = 0; h < s.last - s.first; h++) {
            for (long w = 0; w < args.size[2]; w += TENON_VW) {
                store_part(e.to + h * args.x_stride[3] + w,
                           (int)min(args.size[2] - w, (long)TENON_VW), splat(0));
            }
        }
        for (long d = s.planes.first; d <= s.planes.last; d++) {
            for (long h = s.rows.first; h <= s.rows.last; h++) {
                output_row row;
                row.y = from.y + d * args.y_stride[2] + h * args.y_stride[3];
                row.indices = from.indices + d * args.index_stride[2] + h * args.index_stride[3];
                find_taps(row.taps, &args, 0, d);
                find_taps(row.taps + 1, &args, 1, h);
                scatter_row(&s, &e, &row, from.image, &args);
            }
        }
    }
}

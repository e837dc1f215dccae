/*
 * Copy: y = x, element by element, over any strides of x (0 broadcasts) and y.
 *
 * A work-item handles a piece of rows_each rows; on a GPU, its vectors of one row. Global size: at
 * least {args.items}.
 *
 * TENON_COPY_SIZE, TENON_VW: see common/element.clh. TENON_VECTORS: see common/stream.clh.
 */
#include "common/types.clh"
#include "common/walk.clh"

#include "common/element.clh"
typedef element_t from_t;
typedef element_t to_t;
typedef element_t value_t;
TENON_INLINE value_t load_value(__global const from_t *x)
{
    return *x;
}

TENON_INLINE void store_value(value_t value, __global to_t *y)
{
    *y = value;
}

TENON_INLINE void copy_element(__global const from_t *x, __global to_t *y)
{
    store_value(load_value(x), y);
}

#if TENON_GPU

/* Copies a work-item's vectors of a row, or its elements if unit is 1. */
TENON_INLINE void copy_span(__global const from_t *x, long x_stride, __global to_t *y,
                            long y_stride, const span *s)
{
    const size_t both = (size_t)(x + s->first) | (size_t)(y + s->first);
    const int dense = x_stride == 1 && y_stride == 1;
    if (dense && (both & (sizeof(element_v) - 1)) == 0 && has_all(s, TENON_VECTORS, TENON_VW)) {
        element_v v[TENON_VECTORS];
        FOR_VECTORS(k, TENON_VECTORS)
        {
            v[k] = *(__global const element_v *)(x + s->first + k * s->step);
        }
        FOR_VECTORS(k, TENON_VECTORS)
        {
            *(__global element_v *)(y + s->first + k * s->step) = v[k];
        }
        return;
    }
    for (long i = s->first; i < s->last; i += s->step) {
        copy_line(x, x_stride, y, y_stride, i, min(i + s->unit, s->last));
    }
}

#else

TENON_INLINE void copy_span(__global const from_t *x, long x_stride, __global to_t *y,
                            long y_stride, const span *s)
{
    long i = s->first;
    if (x_stride == 1 && y_stride == 1) {
        for (; i + TENON_VW <= s->last; i += TENON_VW) {
            stream_elements(y + i, load_elements(x + i), 1);
        }
#if TENON_MASKS
        copy_part(x + i, y + i, (int)(s->last - i));
        return;
#endif
    }
    for (; i < s->last; i++) {
        copy_element(x + i * x_stride, y + i * y_stride);
    }
}

#endif

TENON_KERNEL void copy(__global const from_t *x, __global to_t *y, const walk_args args)
{
    walk w;
    walk_begin(&w, &args, 2);
    const span s = walk_span(&w);
    EACH_ROW(&w, &args, 2)
    {
        copy_span(x + w.at[0], args.step[0], y + w.at[1], args.step[1], &s);
    }
}
